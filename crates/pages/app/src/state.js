// What the whole app shares. Everything else belongs to a page and goes with it.
import { computed, signal } from '../vendor/signals.js';

/** @type {import('../vendor/signals.js').Signal<import('./types.js').Site | null>} */
export const site = signal(null);

/** Whether a session is there; `ended` where there was one. @type {import('../vendor/signals.js').Signal<'unknown' | 'in' | 'out' | 'ended'>} */
export const auth = signal('unknown');

export const user = signal('');

/** @type {import('../vendor/signals.js').Signal<{ mode: 'connecting' | 'live' | 'polling' | 'offline', since: number }>} */
export const connection = signal({ mode: 'connecting', since: Date.now() });

export const isOffline = computed(() => connection.value.mode === 'offline');

/** Another build of the server answers than the one that sent these pages. */
export const isOutdated = signal(false);

/** Calls that wait for a person; null until they were read once. @type {import('../vendor/signals.js').Signal<import('./types.js').Waiting[] | null>} */
export const inbox = signal(null);

export const waitingCount = computed(() => inbox.value?.length ?? 0);

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
