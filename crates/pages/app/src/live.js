// Changes as they happen: a stream of lines, or asking again every five seconds where there is none.
import { ApiError, readSite, send } from './api.js';
import { auth, connection, now, setClock } from './state.js';

const POLL_MS = 5000;
// The server sends a beat every ten seconds. A stream that is silent for longer is dead, whatever the socket says.
const SILENT_MS = 25_000;

/**
 * What a page wants to hear. `changed` comes at most once a second.
 * @typedef {{ changed?: () => void, entry?: (entry: import('./types.js').Entry) => void,
 *   said?: (said: { turn: number, attempt: number, text: string }) => void, poll?: () => void }} Listener
 */

/** @type {Set<Listener>} */
const listeners = new Set();
/** The run whose entries are streamed, and the last one that is here. @type {{ id: string, after: () => number } | null} */
let watched = null;
/** @type {AbortController | null} */
let current = null;
let failures = 0;
let changedLater = 0;
let isStarted = false;

/** @param {Listener} listener @returns {() => void} */
export function listen(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** @param {string} id @param {() => number} after @returns {() => void} */
export function watchRun(id, after) {
  watched = { id, after };
  current?.abort();
  return () => {
    if (watched?.id === id) {
      watched = null;
      current?.abort();
    }
  };
}

/** Runs as long as the app does. */
export async function stayLive() {
  if (isStarted) return;
  isStarted = true;
  for (;;) {
    if (auth.value !== 'in') await pause(300);
    else if (failures < 2) await streamOnce();
    else await pollFor(6);
  }
}

/** Ends the pause that is under way. */
let wake = () => {};

/** @param {number} ms */
const pause = (ms) => new Promise((done) => {
  wake = () => done(undefined);
  setTimeout(done, ms);
});

async function streamOnce() {
  const abort = new AbortController();
  current = abort;
  const run = watched ? `run=${encodeURIComponent(watched.id)}&after=${watched.after()}` : '';
  let isSilent = setTimeout(() => abort.abort(), SILENT_MS);
  try {
    const response = await send('GET', `/api/stream?${run}`, undefined, abort.signal);
    // What changed while there was no stream was told to nobody.
    tellChanged();
    for await (const line of linesOf(response)) {
      clearTimeout(isSilent);
      isSilent = setTimeout(() => abort.abort(), SILENT_MS);
      failures = 0;
      setMode('live');
      take(line);
    }
    // An end without an error is a restart of the server as often as not.
    if (current === abort) failures += 1;
  } catch (error) {
    if (abort.signal.aborted) return;
    failures += 1;
    if (error instanceof ApiError && error.status === 0) setMode('offline');
  } finally {
    clearTimeout(isSilent);
  }
  if (failures > 0) await pause(1000);
}

/** @param {Response} response @returns {AsyncGenerator<any>} */
async function* linesOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
  }
}

/** @param {any} line */
function take(line) {
  if (line.kind === 'beat') setClock(line.now);
  if (line.kind === 'runs') tellChanged();
  if (line.kind === 'entry') for (const it of listeners) it.entry?.(line.entry);
  if (line.kind === 'live') for (const it of listeners) it.said?.(line);
}

function tellChanged() {
  if (changedLater) return;
  changedLater = setTimeout(() => {
    changedLater = 0;
    for (const it of listeners) it.changed?.();
  }, 250);
}

/** Asks again and again for a while; then the stream is tried once more. @param {number} times */
async function pollFor(times) {
  for (let i = 0; i < times && auth.value === 'in'; i += 1) {
    try {
      await readSite();
      setMode('polling');
      for (const it of listeners) (it.poll ?? it.changed)?.();
    } catch {
      setMode('offline');
    }
    await pause(POLL_MS);
    // Somebody asked for the stream meanwhile.
    if (failures === 0) return;
  }
  failures = 1;
}

/** @param {'live' | 'polling' | 'offline'} mode */
function setMode(mode) {
  if (connection.value.mode === mode) return;
  const wasLost = connection.value.mode === 'offline';
  connection.value = { mode, since: now.peek() };
  if (wasLost) {
    void readSite().catch(() => {});
    tellChanged();
  }
}

/** Tries at once, for people who do not want to wait. */
export function reconnect() {
  failures = 0;
  current?.abort();
  wake();
}
