// A change as lines, with the words that changed marked and what is hidden written out.
import { html } from '../html.js';
import { useMemo, useState } from '../../vendor/hooks.js';
import { useAside } from '../aside.js';
import { useFold } from '../folds.js';
import { diffLines, folded } from '../lib/diff.js';
import { counted } from '../lib/numbers.js';
import { Icon } from './icon.js';
import { safe } from './untrusted.js';

// More rows than this are drawn when they are asked for: a whole file would be thousands of cells.
const ROWS_MAX = 200;
// Longer texts are compared beside the page.
const SHORT_MAX = 20_000;

/** @typedef {import('../lib/diff.js').Line} DiffLine */
/** @typedef {(text: string, offset: number) => any} Shown */

/** @typedef {{ path: string, before: string, after: string, isNew?: boolean, isPart?: boolean, around?: number, name?: string, mark?: (text: string, at: number) => any }} Props */

/** `name` is what the tab knows its folds by. @param {Props} props */
export function DiffView(props) {
  const { path, before, after, isPart } = props;
  const diff = useAside(before.length + after.length < SHORT_MAX, () => diffLines(before, after), 'diffLines', [before, after]);
  if (!diff) return html`<div class=${isPart ? 'diff part' : 'diff'}><header><${Icon} name="file" /><span class="mono u cut">${safe(path)}</span><span class="grow"></span><span class="tiny dim" role="status">Comparing…</span></header></div>`;
  return html`<${Compared} ...${props} diff=${diff} />`;
}

/** @param {Props & { diff: import('../lib/diff.js').Diff }} props */
function Compared({ path, after, isNew, isPart, around = 3, name, mark, diff }) {
  const [open, setOpen] = useFold(name && `diff ${name}`, /** @type {number[]} */ ([]));
  const [most, setMost] = useState(ROWS_MAX);
  const rows = useMemo(() => withOpened(folded(diff.lines, around), diff.lines, open), [diff, open]);
  const offsets = useMemo(() => (mark ? offsetsOf(after) : []), [after, mark]);
  return html`<div class=${isPart ? 'diff part' : 'diff'}><header><${Icon} name="file" /><span class="mono u cut">${safe(path)}</span>${isNew && html`<span class="st off">new file</span>`}<span class="grow"></span><span class="tiny"><span class="c-ok">+${diff.added}</span>${diff.removed > 0 && html` <span class="c-bad">−${diff.removed}</span>`}</span></header>
    <table aria-label=${`Changes of ${path}: ${diff.added} lines added, ${diff.removed} removed`}><tbody>
      ${rows.slice(0, most).map((row) => 'fold' in row
        ? html`<tr key=${`f${row.from}`} class="x"><td class="n"></td><td class="n"></td><td class="s"></td><td><button class="link" onClick=${() => setOpen([...open, row.from])}>${counted(row.fold, 'line')} the same</button></td></tr>`
        : html`<${Row} key=${`${row.kind}${row.before}.${row.after}`} line=${row} mark=${mark && row.kind === 'add' && row.after ? (/** @type {string} */ text) => mark(text, offsets[/** @type {number} */ (row.after) - 1]) : undefined} />`)}
      ${rows.length > most && html`<tr class="x"><td class="n"></td><td class="n"></td><td class="s"></td><td><button class="link" onClick=${() => setMost(most + ROWS_MAX)}>Show ${counted(Math.min(ROWS_MAX, rows.length - most), 'more line')} of ${rows.length - most}</button></td></tr>`}
    </tbody></table></div>`;
}

/** Where each line of a text begins. @param {string} text */
function offsetsOf(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** @param {(DiffLine | { fold: number, from: number })[]} rows @param {DiffLine[]} lines @param {number[]} open */
const withOpened = (rows, lines, open) => rows.flatMap((row) => ('fold' in row && open.includes(row.from) ? lines.slice(row.from, row.from + row.fold) : [row]));

/** @type {Record<string, [string, string, string]>} */
const KINDS = { add: ['a', '+', 'added'], del: ['d', '−', 'removed'], same: ['', '', ''] };

/** @param {{ line: DiffLine, mark?: (text: string) => any }} props */
function Row({ line, mark }) {
  const [name, sign, word] = KINDS[line.kind];
  const text = mark ? mark(line.text) : line.words ? line.words.map((it, at) => (it.isMarked && it.text.length > 0 ? marked(line.kind, it.text, at) : safe(it.text))) : safe(line.text);
  return html`<tr class=${name}><td class="n">${line.before}</td><td class="n">${line.after}</td><td class="s">${sign}${word && html`<span class="sr">${word}</span>`}</td><td class="u">${text}</td></tr>`;
}

/** @param {string} kind @param {string} text @param {number} at */
const marked = (kind, text, at) => (kind === 'add' ? html`<ins key=${at}>${safe(text)}</ins>` : html`<del key=${at}>${safe(text)}</del>`);
