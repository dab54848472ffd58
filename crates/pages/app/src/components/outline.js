// The outline: every call, failure and pause of a run, in order.
import { cls, html } from '../html.js';
import { useMemo, useRef } from '../../vendor/hooks.js';
import { runPath } from '../router.js';
import { rem, useNarrow } from '../hooks.js';
import { standing } from '../lib/fold.js';
import { changeOf, gist, words } from '../lib/calls.js';
import { diffLines } from '../lib/diff.js';
import { keyOfRow } from '../lib/outline.js';
import { count, counted } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { Icon } from './icon.js';
import { Line } from './untrusted.js';
import { Windowed } from './windowed.js';

/** @typedef {import('../lib/outline.js').OutlineRow} OutlineRow */
/** @typedef {{ rows: OutlineRow[], runId: string, selected: { turn: number, call: number | null }, asOf: number | null, isUntrusted: (tool: string) => boolean, onNear: (row: OutlineRow & { type: 'gap' }, part: number) => void, scrollTo: { at: number, isExact?: boolean } | null, onToggle: (runId: string) => void }} Props */

/** About how many pixels an entry takes in the outline, for what is not here yet. */
const PER_ENTRY = 0.9;

/** @param {Props} props */
export function Outline({ rows, runId, selected, asOf, isUntrusted, onNear, scrollTo, onToggle }) {
  const isNarrow = useNarrow();
  const height = useMemo(() => {
    const [head, item] = [rem(2.125), rem(isNarrow ? 2.5 : 1.75)];
    return (/** @type {OutlineRow} */ row) => row.type === 'turn' ? head : row.type === 'gap' ? Math.max(rem(2), (row.to - row.from + 1) * rem(PER_ENTRY)) : item;
  }, [isNarrow]);
  const toggle = useRef(onToggle);
  toggle.current = onToggle;
  const render = useMemo(() => (/** @type {OutlineRow} */ row) => html`<${Row} row=${row} runId=${runId} selected=${selected} isUntrusted=${isUntrusted} onToggle=${(/** @type {string} */ id) => toggle.current(id)} isLater=${asOf !== null && row.type !== 'gap' && row.turn.turn >= asOf} />`, [runId, selected.turn, selected.call, isUntrusted, asOf]);
  const onRange = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ part) => {
    for (let at = from; at <= to; at += 1) {
      const row = rows[at];
      if (row?.type === 'gap') onNear(row, at === from ? part : 0);
    }
  };
  return html`<${Windowed} rows=${rows} height=${height} keyOf=${keyOfRow} render=${render} onRange=${onRange} scrollTo=${scrollTo} label="Turns and calls" box="outline-box" />`;
}

/** @param {{ row: OutlineRow, runId: string, selected: { turn: number, call: number | null }, isUntrusted: (tool: string) => boolean, isLater: boolean, onToggle: (runId: string) => void }} props */
function Row({ row, runId, selected, isUntrusted, isLater, onToggle }) {
  if (row.type === 'gap') return html`<div class="gap-row dim tiny">entries ${count(row.from)} to ${count(row.to)}</div>`;
  const { turn } = row;
  const path = `${runPath(runId)}/t/${turn.turn}`;
  const isOfTurn = selected.turn === turn.turn;
  if (row.type === 'turn') {
    const tokens = turn.usage.input + turn.usage.output;
    return html`<a class=${cls('th', isLater && 'is-later')} href=${path} aria-current=${isOfTurn && selected.call === null ? 'true' : undefined}><span>Turn ${count(turn.turn)}</span><span class="grow"></span><span>${tokens > 0 ? `${count(tokens)} tokens` : ''}${turn.decidedAt ? `, ${duration(workMs(turn))}` : ''}</span></a>`;
  }
  if (row.type === 'attempt') {
    const { failure, attempt, endedAt } = row.attempt;
    const next = turn.attempts.find((it) => it.attempt === attempt + 1);
    return html`<a class=${cls('e', isLater && 'is-later')} href=${path}><${Icon} name="retry" tone="bad" /><span class="cut">attempt ${attempt}: ${words(failure.class)} ${failure.status ?? ''}</span><span class="d">${next && endedAt ? `then ${duration(next.at - endedAt)}` : ''}</span></a>`;
  }
  if (row.type === 'mark') return html`<a class=${cls('e', isLater && 'is-later')} href=${path}><${Icon} name="guard" tone=${row.mark.kind.startsWith('context') ? 'limit' : 'off'} /><span class="cut">${words(row.mark.kind)}</span><span class="d"></span></a>`;
  if (row.type === 'child') return html`<${ChildRow} child=${row.child} isOpen=${row.isOpen} onToggle=${onToggle} />`;
  if (row.type === 'inner') return html`<${InnerRow} row=${row} />`;
  return html`<${CallRow} turn=${turn} call=${row.call} path=${path} isCurrent=${isOfTurn && selected.call === row.call.index} isTainted=${isUntrusted(row.call.tool)} isLater=${isLater} />`;
}

/** The run of an agent that was called. @param {{ child: import('../types.js').Child, isOpen: boolean, onToggle: (runId: string) => void }} props */
const ChildRow = ({ child, isOpen, onToggle }) => html`<div class="e sub"><button class="link cut" aria-expanded=${String(isOpen)} aria-label=${`What ${child.tool} did`} onClick=${() => onToggle(child.runId)}><${Icon} name=${isOpen ? 'down' : 'chev'} /><${Icon} name="sub" /> ${child.tool.replace(/^agent__/, '')}</button><a class="d mono cut" href=${runPath(child.runId)} aria-label=${`Open run ${child.runId}`}>${child.runId}</a></div>`;

/** A turn of the agent, or a call. @param {{ row: import('../lib/outline.js').OutlineRow & { type: 'inner' } }} props */
function InnerRow({ row: { child, inside, call } }) {
  const path = `${runPath(child.runId)}/t/${inside.turn}`;
  if (!call) return html`<a class="e inner dim" href=${path}><span></span><span>Turn ${count(inside.turn)}</span><span class="d">${inside.decidedAt ? duration(workMs(inside)) : ''}</span></a>`;
  const how = standing(call);
  const [icon, tone] = SIGNS[how];
  return html`<a class="e inner" href=${`${path}/c/${call.index}`}><${Icon} name=${icon} tone=${tone} /><span class="cut">${call.tool} <span class="mono dim"><${Line} text=${gist(call.arguments)} /></span></span><span class="d">${how === 'ok' ? (call.latencyMs !== null ? duration(call.latencyMs) : '') : how}</span></a>`;
}

/** What a turn took, without waiting for people. @param {import('../lib/fold.js').Turn} turn */
const workMs = (turn) => turn.endedAt - turn.startedAt - turn.calls.reduce((ms, it) => ms + (it?.review?.decided ? it.review.decided - it.review.asked : 0), 0);

/** @type {Record<string, [string, string]>} */
const SIGNS = { ok: ['ok', 'ok'], failed: ['bad', 'bad'], refused: ['deny', 'bad'], denied: ['deny', 'bad'], skipped: ['slash', 'off'], waiting: ['wait', 'wait'], running: ['run', 'run'], planned: ['off', 'off'] };

/** @param {{ turn: import('../lib/fold.js').Turn, call: import('../lib/fold.js').Call, path: string, isCurrent: boolean, isTainted: boolean, isLater: boolean }} props */
function CallRow({ call, path, isCurrent, isTainted, isLater }) {
  const how = standing(call);
  const [icon, tone] = isTainted && how === 'ok' ? ['taint', 'taint'] : how === 'ok' && call.effect === 'read' ? ['chev', 'off'] : SIGNS[how];
  return html`<a class=${cls('e', isLater && 'is-later')} href=${`${path}/c/${call.index}`} aria-current=${isCurrent ? 'true' : undefined}><${Icon} name=${icon} tone=${tone} />
    <span class="cut">${call.tool} <span class="mono dim"><${Line} text=${gist(call.arguments)} /></span>${isTainted && html`<span class="sr">, untrusted</span>`}</span>
    <span class="d">${how === 'ok' ? html`<${Size} call=${call} />${call.latencyMs !== null ? duration(call.latencyMs) : ''}` : how}</span></a>`;
}

/** @param {{ call: import('../lib/fold.js').Call }} props */
function Size({ call }) {
  const change = useMemo(() => changeOf(call.tool, call.arguments), [call.arguments]);
  const sizes = useMemo(() => (change && change.before.length + change.after.length < 20_000 ? diffLines(change.before, change.after) : null), [change]);
  if (!sizes || !change) return null;
  return html`<span class="c-ok">+${sizes.added}</span>${change.isPart && html` <span class="c-bad">−${sizes.removed}</span>`} ${' '}`;
}

/** @param {number} n */
export const entriesWord = (n) => counted(n, 'entry', 'entries');
