// What happens in the workspace, as it happens: a socket, or asking again every five seconds where a socket cannot be opened.
import { effect } from '../vendor/signals.js';
import { readSite, takeUpSession } from './api.js';
import { auth, now, say, tries, wire, workspaces } from './state.js';
import { actorName, isMine, readQueueCount, readWorkspaces } from './workspace.js';

const PING_MS = 10_000;
const SILENT_MS = 25_000;
const POLL_MS = 5000;
const OPEN_MS = 8000;

/** @typedef {import('./workspace-types.js').Event} Event */

/**
 * `event`: one thing happened, in order and once. `refresh`: anything may have happened, read again.
 * @typedef {{ event?: (event: Event) => void, automation?: (message: any) => void, refresh?: () => void }} Listener
 */

/** @type {Set<Listener>} */
const listeners = new Set();
/** The last event of each workspace that is here. @type {Map<string, number>} */
const cursors = new Map();
/** @type {WebSocket | null} */
let socket = null;
let failures = 0;
let wake = () => {};

/** @param {Listener} listener @returns {() => void} */
export function hear(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const refreshAll = () => listeners.forEach((it) => it.refresh?.());

/** @param {number} ms */
const pause = (ms) => new Promise((done) => {
  wake = () => done(undefined);
  setTimeout(done, ms);
});

/** Runs as long as the app does. */
export async function stayConnected() {
  effect(() => {
    // Another session or another workspace: another stream.
    void [auth.value, workspaces.value.current?.workspace_id, tries.value];
    failures = 0;
    socket?.close();
    wake();
  });
  // What could not be read without a session is read again, as if nothing had been heard yet.
  auth.subscribe((is) => is === 'ended' && cursors.clear());
  addEventListener('online', () => wake());
  hear({ automation: countLater, refresh: countLater });
  for (;;) {
    if (auth.value !== 'in' || !(await hasWorkspace())) await pause(500);
    else if (failures < 2) await connectOnce();
    else await pollFor(6);
  }
}

let countTimer = 0;
function countLater() {
  clearTimeout(countTimer);
  countTimer = setTimeout(() => void readQueueCount(), 300);
}

async function hasWorkspace() {
  if (workspaces.value.current) return true;
  try {
    await readWorkspaces();
  } catch {
    await checkServer();
  }
  return workspaces.value.current !== null;
}

/** @param {'live' | 'polling' | 'offline'} mode */
function setMode(mode) {
  if (wire.value.mode !== mode) wire.value = { mode, since: now.peek() };
}

/** Whether the server answers at all; also finds out that it is another build, or that the session ended. */
async function checkServer() {
  try {
    await readSite();
    await takeUpSession();
    return true;
  } catch {
    setMode('offline');
    return false;
  }
}

async function connectOnce() {
  const id = workspaces.value.current?.workspace_id ?? '';
  const opened = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
  socket = opened;
  const wasLive = await new Promise((done) => listenTo(opened, id, done));
  socket = null;
  failures = wasLive ? 0 : failures + 1;
  // An end is a restart of the server as often as not: who is there now?
  if (!(await checkServer())) await pause(1000);
  else if (!wasLive) await pause(300);
}

/** @param {WebSocket} opened @param {string} id @param {(wasLive: boolean) => void} done */
function listenTo(opened, id, done) {
  let isLive = false;
  let isSilent = setTimeout(() => opened.close(), OPEN_MS);
  const ping = setInterval(() => opened.readyState === WebSocket.OPEN && opened.send('{"type":"ping"}'), PING_MS);
  const subscribe = () => opened.send(JSON.stringify({ type: 'subscribe_workspace', request_id: 's', workspace_id: id, ...(cursors.has(id) ? { cursor: cursors.get(id) } : {}) }));
  opened.onopen = subscribe;
  opened.onmessage = (message) => {
    clearTimeout(isSilent);
    isSilent = setTimeout(() => opened.close(), SILENT_MS);
    const data = JSON.parse(message.data);
    if (data.type === 'subscribed') {
      isLive = true;
      failures = 0;
      setMode('live');
      // What happened before this moment was not told here.
      if (!cursors.has(id)) refreshAll();
      cursors.set(id, cursors.get(id) ?? data.replay_cursor);
    } else if (data.type === 'error' && data.code === 'STALE_CURSOR') {
      cursors.delete(id);
      subscribe();
    } else if (data.type === 'error' && data.code !== 'WS_UNKNOWN_MESSAGE') {
      opened.close();
    } else {
      take(id, data);
    }
  };
  opened.onclose = () => {
    clearTimeout(isSilent);
    clearInterval(ping);
    done(isLive);
  };
}

/** @param {string} id @param {any} data */
function take(id, data) {
  if (typeof data.event_seq !== 'number') return;
  // An event that comes again after a reconnection was told already.
  if (data.event_seq <= (cursors.get(id) ?? -1)) return;
  cursors.set(id, data.event_seq);
  if (data.type === 'automation_event') listeners.forEach((it) => it.automation?.(data));
  if (!data.event) return;
  listeners.forEach((it) => it.event?.(data.event));
  if (data.event.event_type === 'notice.posted' && !isMine(data.event)) say(`Notice from ${actorName(data.event)}`);
}

/** Asks again and again for a while; then the socket is tried once more. @param {number} times */
async function pollFor(times) {
  for (let i = 0; i < times && auth.value === 'in' && failures > 0; i += 1) {
    if (await checkServer()) {
      setMode('polling');
      refreshAll();
    }
    await pause(POLL_MS);
  }
  failures = Math.min(failures, 1);
}
