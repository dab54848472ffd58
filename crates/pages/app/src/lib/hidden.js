// Characters that would hide something or steer what is shown. They are found here and written out elsewhere.

/**
 * A piece of a text: as it is, or a character that is written out.
 * @typedef {{ text: string } | { mark: string, times: number }} Piece
 */

// Everything in Unicode that has no ink of its own, looks like another space, reorders its neighbours or drives a
// terminal. A tab and a line break are what they seem to be.
const HIDDEN =
  /\u001b\[[0-9;:?<=>]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\n]{0,200}(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

/** Names that say more than a number. @type {Record<number, string>} */
const NAMES = { 0x0d: 'CR', 0x1b: 'ESC', 0x07: 'BEL', 0x08: 'BS', 0x7f: 'DEL', 0xa0: 'NBSP' };

/** @param {string} found */
function nameOf(found) {
  const point = found.codePointAt(0) ?? 0;
  if (point === 0x1b && found.length > 1) return `ESC${[...found.slice(1)].map(shown).join('')}`;
  return NAMES[point] ?? `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

const shown = (/** @type {string} */ letter) =>
  letter < ' ' || letter === '\u007f' ? `U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}` : letter;

// A picture may be followed by the selector that asks for its coloured form: that is how everybody writes it.
const isEmojiForm = (/** @type {string} */ text, /** @type {number} */ at) =>
  text[at] === '\ufe0f' && /[\p{Extended_Pictographic}\d#*]$/u.test(text.slice(Math.max(0, at - 2), at));

/**
 * Splits a text into what is shown as it is and what is written out. Equal neighbours become one piece, so that a
 * million of them are one.
 * @param {string} text
 * @returns {Piece[]}
 */
export function pieces(text) {
  /** @type {Piece[]} */
  const found = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (isEmojiForm(text, match.index)) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index) });
    const mark = nameOf(match[0]);
    const last = found.at(-1);
    if (last && 'mark' in last && last.mark === mark) last.times += 1;
    else found.push({ mark, times: 1 });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

const ANY = new RegExp(HIDDEN.source, 'u');

/** Whether a text may hold something to write out; quick, since every text on the page is asked. @param {string} text */
export const mayHide = (text) => ANY.test(text);

/** How many characters of a text are written out. @param {string} text */
export function countHidden(text) {
  let n = 0;
  for (const match of text.matchAll(HIDDEN)) if (!isEmojiForm(text, match.index)) n += 1;
  return n;
}

/** The same on one line, for places that hold plain text only (titles, labels). @param {string} text */
export const plain = (text) =>
  pieces(text.replace(/\s*\n\s*/g, ' ')).map((it) => ('text' in it ? it.text : `⟨${it.mark}⟩`)).join('');
