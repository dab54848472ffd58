// Every view is an address. Links of this app change the address without loading the page again.
import { signal } from '../vendor/signals.js';

/** @typedef {{ path: string, parts: string[], query: URLSearchParams, hash: string }} Route */

/** @returns {Route} */
const read = () => ({
  path: location.pathname,
  parts: location.pathname.split('/').filter(Boolean).map(decode),
  query: new URLSearchParams(location.search),
  hash: location.hash.slice(1),
});

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal(read());

addEventListener('popstate', () => (route.value = read()));

/** A part that may take a step over: true where it did. @type {(to: string) => boolean} */
let takeOver = () => false;

/** @param {(to: string) => boolean} take */
export const onLeave = (take) => void (takeOver = take);

/** @param {string} to @param {{ isReplaced?: boolean }} [how] */
export function go(to, how = {}) {
  if (!how.isReplaced && takeOver(to)) return;
  if (how.isReplaced) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  route.value = read();
}

/** Changes keys of the query; null takes one away. @param {Record<string, string | null>} changes */
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ''), { isReplaced: true });
}

/** @param {string} id */
export const runPath = (id) => `/runs/${encodeURIComponent(id)}`;
/** @param {string} id */
export const notePath = (id) => `/notes/${encodeURIComponent(id)}`;
/** @param {string} id */
export const rulePath = (id) => `/rules/${encodeURIComponent(id)}`;

/** @param {string} plan @param {string | null} [item] */
export const itemPath = (plan, item) => `/work/${encodeURIComponent(plan)}${item ? `/${encodeURIComponent(item)}` : ''}`;

addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!isPlain || event.defaultPrevented || !(event.target instanceof Element)) return;
  const link = event.target.closest('a[href^="/"]');
  if (!link || link.hasAttribute('download')) return;
  event.preventDefault();
  go(/** @type {string} */ (link.getAttribute('href')));
});
