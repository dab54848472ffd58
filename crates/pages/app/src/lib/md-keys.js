// What keys do in the source of a note, as in other editors of Markdown. Nothing here touches the page.
import { ITEM } from './markdown.js';

/** What is put in place of `from` to `to`, and what is selected afterwards. @typedef {{ from: number, to: number, put: string, select: [number, number] }} Put */

/** @param {string} text @param {number} at */
export function lineAt(text, at) {
  const from = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at);
  const to = end < 0 ? text.length : end;
  return { from, to, line: text.slice(from, to) };
}

/** Enter: a list and a quotation continue; an empty item ends the list. @param {string} text @param {number} start @param {number} end @returns {Put | null} */
export function onEnter(text, start, end) {
  const { from, line } = lineAt(text, start);
  const found = ITEM.exec(line) ?? /^(\s{0,3})(>)(\s?)/.exec(line);
  if (!found || start - from < found[0].length) return null;
  if (line.trim() === found[0].trim() && end === start) return { from, to: start, put: '', select: [from, from] };
  const sign = /^\d/.test(found[2]) ? `${parseInt(found[2], 10) + 1}${found[2].at(-1)}` : found[2];
  const put = `\n${found[1]}${sign}${found[3]}${found[4] === undefined ? '' : '[ ] '}`;
  return { from: start, to: end, put, select: [start + put.length, start + put.length] };
}

/** Tab in a list: the items go deeper, or back. Elsewhere Tab leaves the field. @param {string} text @param {number} start @param {number} end @param {boolean} isBack @returns {Put | null} */
export function onTab(text, start, end, isBack) {
  const from = lineAt(text, start).from;
  const to = lineAt(text, end).to;
  const lines = text.slice(from, to).split('\n');
  if (!lines.some((it) => ITEM.test(it))) return null;
  const moved = lines.map((it) => (isBack ? it.replace(/^( {1,2}|\t)/, '') : `  ${it}`));
  const put = moved.join('\n');
  const shift = moved[0].length - lines[0].length;
  return { from, to, put, select: [Math.max(from, start + shift), Math.max(from, end + put.length - (to - from))] };
}

/** A task: done, not done; another line becomes a task. @param {string} text @param {number} start @returns {Put} */
export function toggleTask(text, start) {
  const { from, to, line } = lineAt(text, start);
  const put = toggledTask(line);
  const shift = put.length - line.length;
  return { from, to, put, select: [Math.max(from, start + shift), Math.max(from, start + shift)] };
}

/** @param {string} line */
function toggledTask(line) {
  const found = ITEM.exec(line);
  if (!found) return line.replace(/^(\s*)/, '$1- [ ] ');
  if (found[4] === undefined) return `${found[0]}[ ] ${line.slice(found[0].length)}`;
  const at = line.indexOf('[');
  return `${line.slice(0, at + 1)}${found[4] === ' ' ? 'x' : ' '}${line.slice(at + 2)}`;
}

/** The task in a line of the text, ticked or not. @param {string} text @param {number} number */
export function toggleTaskInLine(text, number) {
  return text.split('\n').map((it, at) => (at === number ? toggledTask(it) : it)).join('\n');
}

/** Bold and italic: put around, or taken away again. @param {string} text @param {number} start @param {number} end @param {string} mark @returns {Put} */
export function wrap(text, start, end, mark) {
  const n = mark.length;
  if (text.slice(start - n, start) === mark && text.slice(end, end + n) === mark) {
    return { from: start - n, to: end + n, put: text.slice(start, end), select: [start - n, end - n] };
  }
  return { from: start, to: end, put: mark + text.slice(start, end) + mark, select: [start + n, end + n] };
}

/** The link that is being written before the cursor. @param {string} text @param {number} at */
export function openLink(text, at) {
  const before = text.slice(lineAt(text, at).from, at);
  const found = /\[\[([^[\]|]*)$/.exec(before);
  return found ? { from: at - found[1].length, query: found[1] } : null;
}

/** The link that the cursor is in. @param {string} text @param {number} at */
export function linkAround(text, at) {
  const { from, line } = lineAt(text, at);
  for (const found of line.matchAll(/\[\[([^[\]|\n]+)(?:\|[^[\]\n]+)?\]\]/g)) {
    if (at - from >= found.index && at - from <= found.index + found[0].length) return found[1].trim();
  }
  return null;
}
