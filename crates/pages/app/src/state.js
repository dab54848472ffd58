// What the whole app shares. Everything else belongs to a page and goes with it.
import { computed, signal } from '../vendor/signals.js';

/** @type {import('../vendor/signals.js').Signal<import('./types.js').Site | null>} */
export const site = signal(null);

/** Whether a session is there; `ended` where there was one. @type {import('../vendor/signals.js').Signal<'unknown' | 'in' | 'out' | 'ended'>} */
export const auth = signal('unknown');

export const user = signal('');

/** Who is signed in to a workspace. @type {import('../vendor/signals.js').Signal<{ id: string, isOwner: boolean } | null>} */
export const me = signal(null);

/** @type {import('../vendor/signals.js').Signal<{ mode: 'connecting' | 'live' | 'polling' | 'offline', since: number }>} */
export const connection = signal({ mode: 'connecting', since: Date.now() });

/** The same for the socket of a workspace. @type {import('../vendor/signals.js').Signal<{ mode: 'connecting' | 'live' | 'polling' | 'offline', since: number }>} */
export const wire = signal({ mode: 'connecting', since: Date.now() });

/** What is said about both: the worse of them. */
export const link = computed(() => {
  if (site.value?.kind !== 'workspace') return connection.value;
  if (!site.value.has.includes('runs')) return wire.value;
  const rank = (/** @type {{ mode: string }} */ it) => ['live', 'connecting', 'polling', 'offline'].indexOf(it.mode);
  return rank(wire.value) >= rank(connection.value) ? wire.value : connection.value;
});

/** Grows when a person does not want to wait for the next try. */
export const tries = signal(0);

export const isOffline = computed(() => connection.value.mode === 'offline');

/** Another build of the server answers than the one that sent these pages. */
export const isOutdated = signal(false);

/** Calls that wait for a person; null until they were read once. @type {import('../vendor/signals.js').Signal<import('./types.js').Waiting[] | null>} */
export const inbox = signal(null);

export const waitingCount = computed(() => inbox.value?.length ?? 0);

/** Changes of agents that wait for a person, in a workspace. */
export const queueCount = signal(0);

/** The workspaces of the person who is signed in, and the one that is shown. @type {import('../vendor/signals.js').Signal<{ all: import('./workspace-types.js').Workspace[], current: import('./workspace-types.js').Workspace | null }>} */
export const workspaces = signal({ all: [], current: null });

/** The role in the workspace that is shown decides what is offered; the server decides what is done. */
const RANKS = ['viewer', 'editor', 'admin', 'owner'];
/** @param {'viewer' | 'editor' | 'admin' | 'owner'} role */
export function hasRole(role) {
  const { current } = workspaces.value;
  return current !== null && current.state === 'active' && RANKS.indexOf(current.role ?? 'viewer') >= RANKS.indexOf(role);
}

/** How far the server's clock is from this one. */
let offset = 0;

/** The server's time, to the second. */
export const now = signal(Date.now());

/** @param {number} serverNow */
export function setClock(serverNow) {
  offset = serverNow - Date.now();
  now.value = serverNow;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + offset;
}, 1000);

/** What a page shows in the title. */
export const pageTitle = signal('');

let saidAt = 0;
let sayLater = 0;

/**
 * Tells people who listen to the page about a change of state: at most once in five seconds, the last one counts.
 * @param {string} text
 */
export function say(text) {
  clearTimeout(sayLater);
  const put = () => {
    saidAt = Date.now();
    const place = document.getElementById('said');
    if (place) place.textContent = text;
  };
  sayLater = setTimeout(put, Math.max(0, saidAt + 5000 - Date.now()));
}
