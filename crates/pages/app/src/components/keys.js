// Keys: every action has one, every key is listed under `?`, and letters are letters while somebody types.
import { useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { signal } from '../../vendor/signals.js';

/** @typedef {{ key: string, does: string, run: (event: KeyboardEvent) => void }} Key */
/** @typedef {{ title: string, keys: () => Key[] }} Layer */

/** @type {import('../../vendor/signals.js').Signal<Layer[]>} */
export const layers = signal([]);

/** The first key of a pair such as `g r`. */
let prefix = '';
let prefixLater = 0;

/**
 * Keys of a component, for as long as it is there.
 * @param {string} title @param {Key[]} keys
 */
export function useKeys(title, keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const layer = { title, keys: () => latest.current };
    layers.value = [...layers.value, layer];
    return () => void (layers.value = layers.value.filter((it) => it !== layer));
  }, []);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit', 'file', 'range'].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const pressed = prefix ? `${prefix} ${event.key}` : event.key;
  setPrefix('');
  const all = layers.value.toReversed().flatMap((layer) => layer.keys());
  const found = all.find((it) => it.key === pressed);
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (all.some((it) => it.key.startsWith(`${pressed} `))) {
    setPrefix(pressed);
  }
});

/** @param {string} key */
function setPrefix(key) {
  prefix = key;
  clearTimeout(prefixLater);
  if (key) prefixLater = setTimeout(() => (prefix = ''), 1500);
}
