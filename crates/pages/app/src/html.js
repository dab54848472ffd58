// The one place that binds templates to the renderer. Whatever text is put into a template, here it is made safe to show:
// a page cannot forget to.
import { h, options } from '../vendor/preact.js';
import htm from '../vendor/htm.js';
import { mayHide, pieces, plain } from './lib/hidden.js';

// A text made of nothing but hidden characters must not become a page of elements.
const CHIPS_MAX = 300;

/**
 * A text for any element: what would hide or steer is written out as a chip.
 * @param {string} text
 */
export function safe(text) {
  if (!mayHide(text)) return text;
  let chips = 0;
  return pieces(text).map((it, at) => {
    if ('text' in it) return it.text;
    const written = it.times > 1 ? `${it.mark} ×${it.times}` : it.mark;
    chips += 1;
    return chips > CHIPS_MAX ? `⟨${written}⟩` : h('span', { key: at, class: 'cc' }, written);
  });
}

/** Elements that hold text only. */
const TEXT_ONLY = new Set(['text', 'title', 'option', 'textarea']);
/** Attributes that are read to people or shown by the browser. */
const SHOWN = ['title', 'aria-label', 'aria-valuetext'];

/** @param {any} type @param {any} child @returns {any} */
function guardedChild(type, child) {
  if (typeof child === 'string') return TEXT_ONLY.has(type) && mayHide(child) ? plain(child) : safe(child);
  return Array.isArray(child) ? child.map((it) => guardedChild(type, it)) : child;
}

/** @param {any} type @param {any} props */
function guardedProps(type, props) {
  if (typeof type !== 'string' || !props) return props;
  for (const name of SHOWN) if (typeof props[name] === 'string' && mayHide(props[name])) props[name] = plain(props[name]);
  return props;
}

/** @param {any} type @param {any} props @param {any[]} children */
const guarded = (type, props, ...children) => h(type, guardedProps(type, props), ...children.map((it) => guardedChild(type, it)));

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(guarded);

/** What a person does, as against what happens: the next key or click must find what this one brought about. */
const ACTS = new Set(['click', 'keydown', 'keyup', 'input', 'change', 'submit', 'cancel', 'popstate']);

// One batch of changes a frame, and one for each thing that a person does. A hidden tab has no frames, but its title and
// notifications must still follow.
options.debounceRendering = (flush) => {
  const once = () => {
    if (waiting !== once) return;
    waiting = null;
    flush();
  };
  waiting = once;
  if (ACTS.has(globalThis.event?.type ?? '')) {
    queueMicrotask(once);
    return;
  }
  requestAnimationFrame(once);
  setTimeout(once, 100);
};

/** The batch that waits for its frame. @type {(() => void) | null} */
let waiting = null;

// Who acts, acts on the page as it is by now. A field that was written in is newer than what the page knows of it, so that
// a batch must wait until the page was told.
for (const type of ACTS) addEventListener(type, () => waiting?.(), { capture: !['input', 'change'].includes(type) });

/**
 * Draws what a change asks for in this moment: for those who act on what is drawn, such as moving the focus there.
 * @param {() => void} change
 */
export function drawnAtOnce(change) {
  const later = options.debounceRendering;
  options.debounceRendering = (flush) => flush();
  try {
    change();
  } finally {
    options.debounceRendering = later;
  }
}

/**
 * Class names, without those that do not hold.
 * @param {...(string | false | null | undefined)} names
 */
export const cls = (...names) => names.filter(Boolean).join(' ');
