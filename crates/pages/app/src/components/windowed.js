// A list that draws only what is near the view. It scrolls with the page or in a box of its own.
import { html } from '../html.js';
import { useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';

/** How far beyond the view rows are drawn. */
const BEYOND = 400;

/**
 * @template T
 * @typedef {{ rows: T[], height: (row: T) => number, keyOf: (row: T) => string | number, render: (row: T, at: number) => any,
 *   keep?: number, scrollTo?: { at: number, isExact?: boolean } | null, onRange?: (from: number, to: number, part: number) => void,
 *   label?: string, class?: string, box?: string }} Props
 */

/** @param {number[]} tops @param {number} y the last row that begins at or before y */
function rowAt(tops, y) {
  let [low, high] = [0, tops.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** @param {any[]} rows @param {(row: any) => number} height */
function topsOf(rows, height) {
  const tops = new Array(rows.length + 1);
  tops[0] = 0;
  for (let at = 0; at < rows.length; at += 1) tops[at + 1] = tops[at] + height(rows[at]);
  return tops;
}

/**
 * @template T
 * @param {Props<T>} props
 */
export function Windowed({ rows, height, keyOf, render, keep, scrollTo, onRange, label, class: name, box }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const outer = useRef(/** @type {HTMLElement | null} */ (null));
  const [range, setRange] = useState([0, 30]);
  const tops = useMemo(() => topsOf(rows, height), [rows, height]);
  const look = () => {
    if (!list.current || rows.length === 0) return;
    const own = list.current.getBoundingClientRect();
    const view = box && outer.current ? outer.current.getBoundingClientRect() : { top: 0, bottom: innerHeight };
    const from = rowAt(tops, view.top - own.top - BEYOND);
    const to = rowAt(tops, view.bottom - own.top + BEYOND) + 1;
    setRange((it) => (it[0] === from && it[1] === to ? it : [from, to]));
    const first = rowAt(tops, view.top - own.top);
    // How far the first row is scrolled through tells where one is in a row that is very tall.
    const part = Math.max(0, (view.top - own.top - tops[first]) / Math.max(1, tops[first + 1] - tops[first]));
    onRange?.(first, rowAt(tops, view.bottom - own.top) + 1, Math.min(1, part));
  };
  const latest = useRef(look);
  latest.current = look;
  useLayoutEffect(() => {
    const seen = () => latest.current();
    document.addEventListener('scroll', seen, { capture: true, passive: true });
    addEventListener('resize', seen);
    return () => {
      document.removeEventListener('scroll', seen, { capture: true });
      removeEventListener('resize', seen);
    };
  }, []);
  useLayoutEffect(() => latest.current(), [tops]);
  useLayoutEffect(() => {
    if (scrollTo) showRow(box ? outer.current : null, list.current, tops, scrollTo.at, scrollTo.isExact);
  }, [scrollTo]);
  const shown = drawn(range, rows.length, keep);
  const cell = useCells(tops, render, (at) => html`<li key=${keyOf(rows[at])} style=${{ position: 'absolute', top: `${tops[at]}px`, left: 0, right: 0, height: `${tops[at + 1] - tops[at]}px` }}>${render(rows[at], at)}</li>`);
  return html`<div ref=${outer} class=${box ?? ''}><ul ref=${list} class=${name ?? ''} aria-label=${label} role="list" style=${{ height: `${tops[rows.length]}px`, position: 'relative' }}>
    ${shown.map(cell)}
  </ul></div>`;
}

/**
 * Rows that were drawn before are handed out again as they were, so that scrolling draws the new ones alone. For that a list
 * gives the same `render` as long as its rows look the same.
 * @param {number[]} tops @param {unknown} render @param {(at: number) => any} draw
 */
function useCells(tops, render, draw) {
  const known = useRef(/** @type {{ tops: unknown, render: unknown, cells: Map<number, any> }} */ ({ tops: null, render: null, cells: new Map() }));
  if (known.current.tops !== tops || known.current.render !== render) known.current = { tops, render, cells: new Map() };
  const { cells } = known.current;
  return (/** @type {number} */ at) => {
    const cell = cells.get(at) ?? draw(at);
    cells.set(at, cell);
    return cell;
  };
}

/** The rows to draw; the one with the focus is always among them. @param {number[]} range @param {number} length @param {number | undefined} keep */
function drawn([from, to], length, keep) {
  const shown = [];
  const end = Math.min(to, length);
  if (keep !== undefined && keep >= 0 && keep < from && keep < length) shown.push(keep);
  for (let at = from; at < end; at += 1) shown.push(at);
  if (keep !== undefined && keep >= end && keep < length) shown.push(keep);
  return shown;
}

/**
 * @param {HTMLElement | null} box @param {HTMLElement | null} list @param {number[]} tops @param {number} at
 * @param {boolean} [isExact] to the top of the view, else only as far as needed
 */
function showRow(box, list, tops, at, isExact) {
  if (!list || at < 0 || at + 1 >= tops.length) return;
  const own = list.getBoundingClientRect();
  // What sticks to the top of the page must not cover the row.
  const view = box ? box.getBoundingClientRect() : { top: 100, bottom: innerHeight - 70 };
  const above = own.top + tops[at] - view.top;
  const below = own.top + tops[at + 1] - view.bottom;
  const by = isExact || above < 0 ? above : below > 0 ? below : 0;
  if (by !== 0) (box ?? document.scrollingElement ?? document.body).scrollBy({ top: by, behavior: 'instant' });
}
