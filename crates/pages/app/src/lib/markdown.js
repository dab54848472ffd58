// Markdown as a tree, to be drawn with elements of our own. HTML stays text, images are named and never loaded.

/**
 * @typedef {{ kind: 'text' | 'code', text: string }
 *   | { kind: 'strong' | 'em' | 'del' | 'mark', spans: Span[] }
 *   | { kind: 'link', to: string, spans: Span[] }
 *   | { kind: 'image', to: string, text: string }
 *   | { kind: 'wiki', to: string, text: string }} Span
 * @typedef {{ line: number, check: boolean | null, blocks: Block[] }} Item
 * @typedef {{ kind: 'heading', level: number, text: string, line: number }
 *   | { kind: 'text', text: string, line: number }
 *   | { kind: 'code', text: string, lang: string, line: number }
 *   | { kind: 'quote', blocks: Block[], line: number }
 *   | { kind: 'list', isOrdered: boolean, start: number, items: Item[], line: number }
 *   | { kind: 'table', head: string[], rows: string[][], line: number }
 *   | { kind: 'rule', line: number }} Block
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
export const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?:\[([ xX])\](?=\s|$)\s?)?/;
const DEPTH_MAX = 12;

/** @param {string} text @returns {Block[]} */
export const blocksOf = (text) => parse(text.split('\n'), 0, 0);

/** @param {string[]} lines @param {number} first the number of the first line @param {number} depth @returns {Block[]} */
function parse(lines, first, depth) {
  /** @type {Block[]} */
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === '') {
      at += 1;
      continue;
    }
    const [block, next] = depth > DEPTH_MAX ? paragraph(lines, at, first) : blockAt(lines, at, first, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** @param {string[]} lines @param {number} at @param {number} first @param {number} depth @returns {[Block, number]} */
function blockAt(lines, at, first, depth) {
  const line = lines[at];
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', level: heading[1].length, text: heading[2], line: first + at }, at + 1];
  if (RULE.test(line)) return [{ kind: 'rule', line: first + at }, at + 1];
  if (FENCE.test(line)) return fenced(lines, at, first);
  if (QUOTE.test(line)) return quoted(lines, at, first, depth);
  if (ITEM.test(line)) return listed(lines, at, first, depth);
  if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/.test(lines[at + 1] ?? '')) return table(lines, at, first);
  return paragraph(lines, at, first);
}

/** @param {string} line */
const beginsBlock = (line) => line.trim() === '' || HEADING.test(line) || RULE.test(line) || FENCE.test(line) || QUOTE.test(line) || ITEM.test(line);

/** @param {string[]} lines @param {number} at @param {number} first @returns {[Block, number]} */
function paragraph(lines, at, first) {
  let end = at + 1;
  while (end < lines.length && !beginsBlock(lines[end])) end += 1;
  return [{ kind: 'text', text: lines.slice(at, end).join('\n'), line: first + at }, end];
}

/** @param {string[]} lines @param {number} at @param {number} first @returns {[Block, number]} */
function fenced(lines, at, first) {
  const [, mark, lang] = /** @type {RegExpExecArray} */ (FENCE.exec(lines[at]));
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && lines[end].trim().replaceAll(mark[0], '') === '')) end += 1;
  return [{ kind: 'code', text: lines.slice(at + 1, end).join('\n'), lang: lang.trim(), line: first + at }, end + 1];
}

/** @param {string[]} lines @param {number} at @param {number} first @param {number} depth @returns {[Block, number]} */
function quoted(lines, at, first, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((it) => it.replace(QUOTE, ''));
  return [{ kind: 'quote', blocks: parse(inner, first + at, depth + 1), line: first + at }, end];
}

/** @param {string[]} lines @param {number} at @param {number} first @param {number} depth @returns {[Block, number]} */
function listed(lines, at, first, depth) {
  const lead = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const isOrdered = /\d/.test(lead[2]);
  /** @type {Item[]} */
  const items = [];
  const indent = lead[1].length;
  let end = at;
  while (end < lines.length) {
    const found = ITEM.exec(lines[end]);
    if (!found || found[1].length > indent + 1 || found[1].length < indent || /\d/.test(found[2]) !== isOrdered || RULE.test(lines[end])) break;
    const from = end;
    end = itemEnd(lines, from, indent);
    const inner = lines.slice(from, end).map((it, n) => (n === 0 ? it.slice(found[0].length) : it.replace(new RegExp(`^\\s{0,${indent + 2 + (isOrdered ? 1 : 0)}}`), '')));
    items.push({ line: first + from, check: found[4] === undefined ? null : found[4] !== ' ', blocks: parse(inner, first + from, depth + 1) });
  }
  return [{ kind: 'list', isOrdered, start: isOrdered ? parseInt(lead[2], 10) : 1, items, line: first + at }, end];
}

/** Where an item ends: at the next one, or before text that does not belong to it. @param {string[]} lines @param {number} from @param {number} indent */
function itemEnd(lines, from, indent) {
  let end = from + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    if (line.trim() === '') {
      const next = lines[end + 1] ?? '';
      if (next.trim() === '' || next.length - next.trimStart().length <= indent) break;
      continue;
    }
    const own = line.length - line.trimStart().length;
    if (ITEM.test(line) ? own <= indent + 1 : own <= indent && beginsBlock(line)) break;
  }
  while (end > from + 1 && lines[end - 1].trim() === '') end -= 1;
  return end;
}

/** @param {string} line */
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((it) => it.trim());

/** @param {string[]} lines @param {number} at @param {number} first @returns {[Block, number]} */
function table(lines, at, first) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes('|')) end += 1;
  return [{ kind: 'table', head: cells(lines[at]), rows: lines.slice(at + 2, end).map(cells), line: first + at }, end];
}

// Longer texts are shown without marks in them: looking for pairs takes time in proportion to the square.
const SPANS_MAX = 6000;

const SPAN = new RegExp([
  '\\\\([\\\\`*_{}\\[\\]()#+.!~|>-])',
  '(`+)(?!`)(.+?)(?<!`)\\2(?!`)',
  '(!?)\\[\\[([^\\[\\]|\\n]+)(?:\\|([^\\[\\]\\n]+))?\\]\\]',
  '(!?)\\[([^\\[\\]]*)\\]\\(\\s*<?([^\\s()<>]*(?:\\([^\\s()]*\\)[^\\s()<>]*)*)>?(?:\\s+"[^"]*")?\\s*\\)',
  '<?(https?:\\/\\/[^\\s<>]*[^\\s<>.,;:!?"\')\\]])>?',
  '(\\*\\*|__)(?=\\S)([^\\n]+?)(?<=\\S)\\11',
  '(?<![\\p{L}\\p{N}])(\\*|_)(?=[^\\s*_])([^\\n]+?)(?<=[^\\s])\\13(?![\\p{L}\\p{N}])',
  '~~(?=\\S)([^\\n]+?)(?<=\\S)~~',
  '==(?=\\S)([^\\n]+?)(?<=\\S)==',
].join('|'), 'gu');

/** @param {string} text @param {number} [depth] @returns {Span[]} */
export function spansOf(text, depth = 0) {
  if (text.length > SPANS_MAX || depth > 6) return [{ kind: 'text', text }];
  /** @type {Span[]} */
  const spans = [];
  let at = 0;
  const put = (/** @type {string} */ plain) => plain !== '' && spans.push({ kind: 'text', text: plain });
  for (const found of text.matchAll(SPAN)) {
    put(text.slice(at, found.index));
    spans.push(spanOf(found, depth + 1));
    at = found.index + found[0].length;
  }
  put(text.slice(at));
  return spans;
}

/** @param {RegExpExecArray} found @param {number} depth @returns {Span} */
function spanOf(found, depth) {
  const [, escaped, , code, isEmbed, wiki, alias, isImage, label, to, bare, , strong, , em, gone, marked] = found;
  if (escaped) return { kind: 'text', text: escaped };
  if (code !== undefined) return { kind: 'code', text: code.trim() || code };
  if (wiki !== undefined) return { kind: 'wiki', to: wiki.trim(), text: (isEmbed ? '↪ ' : '') + (alias ?? wiki).trim() };
  if (to !== undefined) return isImage ? { kind: 'image', to, text: label } : linkTo(to, spansOf(label, depth));
  if (bare !== undefined) return linkTo(bare, [{ kind: 'text', text: bare }]);
  if (strong !== undefined) return { kind: 'strong', spans: spansOf(strong, depth) };
  if (em !== undefined) return { kind: 'em', spans: spansOf(em, depth) };
  return gone !== undefined ? { kind: 'del', spans: spansOf(gone, depth) } : { kind: 'mark', spans: spansOf(marked, depth) };
}

/** Only addresses that open a page or a letter are links. @param {string} to @param {Span[]} spans @returns {Span} */
const linkTo = (to, spans) => (/^(https?:\/\/|mailto:)/i.test(to) ? { kind: 'link', to, spans } : { kind: 'text', text: `[${spans.map((it) => ('text' in it ? it.text : '')).join('')}](${to})` });
