// The source of a note, lightly styled: the text stays as it is, only its parts have names.
import { ITEM } from './markdown.js';

/** @typedef {{ text: string, kind?: string }} Piece */

const INLINE = /(`[^`\n]+`)|(\[\[[^[\]\n]+\]\])|(\*\*[^*\n]+\*\*|__[^_\n]+__)|(\[[^[\]\n]*\]\([^()\s]*\))|(https?:\/\/[^\s<>]+)|(~~[^~\n]+~~)/g;
const KINDS = ['code', 'wiki', 'strong', 'link', 'link', 'gone'];

/**
 * The pieces of each line. Together they are the text.
 * @param {string} text
 * @returns {Piece[][]}
 */
export function styledLines(text) {
  let fence = '';
  return text.split('\n').map((line) => {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence) {
      if (mark && mark.startsWith(fence[0]) && mark.length >= fence.length && line.trim() === mark) fence = '';
      return [{ text: line, kind: 'code' }];
    }
    if (mark) {
      fence = mark;
      return [{ text: line, kind: 'code' }];
    }
    return styledLine(line);
  });
}

/** @param {string} line @returns {Piece[]} */
function styledLine(line) {
  const heading = /^ {0,3}#{1,6}\s/.exec(line);
  if (heading) return [{ text: heading[0], kind: 'sign' }, ...inline(line.slice(heading[0].length), 'heading')];
  const item = ITEM.exec(line);
  if (item) return [{ text: item[0], kind: /x/i.test(item[4] ?? '') ? 'done' : 'sign' }, ...inline(line.slice(item[0].length))];
  const quote = /^\s{0,3}>+\s?/.exec(line);
  if (quote) return [{ text: quote[0], kind: 'sign' }, ...inline(line.slice(quote[0].length), 'quote')];
  if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [{ text: line, kind: 'sign' }];
  return inline(line);
}

/** @param {string} text @param {string} [kind] of what has no name of its own @returns {Piece[]} */
function inline(text, kind) {
  /** @type {Piece[]} */
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), kind });
    pieces.push({ text: found[0], kind: KINDS[found.slice(1).findIndex((it) => it !== undefined)] });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), kind });
  return pieces;
}
