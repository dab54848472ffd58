// What a person opened stays open in this tab, also when the page is left and reloaded.
import { useState } from '../vendor/hooks.js';
import { keepHere, keptHere } from './storage.js';

// Enough for what one opens in a day; the oldest are forgotten first.
const KEPT_MAX = 500;

/** @returns {Record<string, any>} */
function read() {
  try {
    return JSON.parse(keptHere('folds') ?? '{}');
  } catch {
    return {};
  }
}

/** @param {string} key @param {any} value */
function write(key, value) {
  const { [key]: _before, ...others } = read();
  const all = Object.entries({ ...others, [key]: value }).slice(-KEPT_MAX);
  keepHere('folds', JSON.stringify(Object.fromEntries(all)));
}

/**
 * A state that the tab keeps, by the name of what is folded; without a name it goes with the page.
 * @template T
 * @param {string | undefined} name @param {T} first
 * @returns {[T, (value: T) => void]}
 */
export function useFold(name, first) {
  const kept = (/** @type {string | undefined} */ key) => (key === undefined ? first : (read()[key] ?? first));
  const [state, setState] = useState(() => ({ name, value: kept(name) }));
  // The same component may come to show another text.
  const value = state.name === name ? state.value : kept(name);
  const set = (/** @type {T} */ next) => {
    setState({ name, value: next });
    if (name !== undefined) write(name, next);
  };
  return [value, set];
}
