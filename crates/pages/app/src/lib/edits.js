// How one text became another, as replacements: to keep a cursor where it was, and to send only what changed.
import { kept } from './diff.js';

/** @typedef {{ from: number, to: number, put: string }} Edit in places of the text before */

const PIECES_MAX = 4000;

/**
 * @param {string} before @param {string} after
 * @returns {Edit[]} in order, apart from each other
 */
export function editsBetween(before, after) {
  if (before === after) return [];
  const lines = (/** @type {string} */ text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  return pieceEdits(lines(before), lines(after), 0).flatMap((it) => finer(before.slice(it.from, it.to), it));
}

/** Replaced lines, by their words. @param {string} old @param {Edit} edit */
function finer(old, edit) {
  const words = (/** @type {string} */ text) => text.match(/[\p{L}\p{N}_]+|./gsu) ?? [];
  if (old === '' || edit.put === '' || old.length + edit.put.length > PIECES_MAX) return [edit];
  return pieceEdits(words(old), words(edit.put), edit.from);
}

/** @param {string[]} a @param {string[]} b @param {number} at where the first piece begins */
function pieceEdits(a, b, at) {
  /** @type {Edit[]} */
  const edits = [];
  let [i, j] = [0, 0];
  const length = (/** @type {string[]} */ pieces) => pieces.reduce((sum, it) => sum + it.length, 0);
  const until = (/** @type {number} */ x, /** @type {number} */ y) => {
    const [gone, put] = [length(a.slice(i, x)), b.slice(j, y).join('')];
    if (gone > 0 || put !== '') edits.push({ from: at, to: at + gone, put });
    at += gone;
    [i, j] = [x, y];
  };
  for (const [x, y] of kept(a, b)) {
    until(x, y);
    at += a[x].length;
    [i, j] = [x + 1, y + 1];
  }
  until(a.length, b.length);
  return edits;
}

/**
 * Where a place of the text before is in the text after. What was put at the very place comes behind it.
 * @param {Edit[]} edits @param {number} place
 */
export function placeAfter(edits, place) {
  let shift = 0;
  for (const { from, to, put } of edits) {
    if (place <= from) break;
    if (place < to) return from + shift + Math.min(put.length, place - from);
    shift += put.length - (to - from);
  }
  return place + shift;
}

/** @param {string} text @param {Edit[]} edits */
export function withEdits(text, edits) {
  let out = '';
  let at = 0;
  for (const { from, to, put } of edits) {
    out += text.slice(at, from) + put;
    at = to;
  }
  return out + text.slice(at);
}

/** Characters as the server counts them. @param {string} text */
const characters = (text) => {
  let n = 0;
  for (const _ of text) n += 1;
  return n;
};

/**
 * A change as the server takes it: retain, insert and delete, counted in characters.
 * @param {string} before @param {string} after
 * @returns {({ retain: number } | { insert: string } | { delete: number })[]}
 */
export function patchOf(before, after) {
  let head = 0;
  const most = Math.min(before.length, after.length);
  while (head < most && before[head] === after[head]) head += 1;
  // Never between the halves of one character.
  if (head > 0 && isHigh(before, head - 1)) head -= 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (tail > 0 && isLow(before, before.length - tail)) tail -= 1;
  const gone = characters(before.slice(head, before.length - tail));
  const put = after.slice(head, after.length - tail);
  const ops = [];
  if (head > 0) ops.push({ retain: characters(before.slice(0, head)) });
  if (gone > 0) ops.push({ delete: gone });
  if (put !== '') ops.push({ insert: put });
  return ops;
}

/** @param {string} text @param {number} at */
const isHigh = (text, at) => text.charCodeAt(at) >= 0xd800 && text.charCodeAt(at) <= 0xdbff;
/** @param {string} text @param {number} at */
const isLow = (text, at) => text.charCodeAt(at) >= 0xdc00 && text.charCodeAt(at) <= 0xdfff;
