// Two runs compared: equal turns are folded, the first difference is where it opens, totals come last.
import { cls, html } from '../html.js';
import { useEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { go, route, runPath } from '../router.js';
import { useCss, useLoaded, useNarrow, useTitle } from '../hooks.js';
import { RunLog, standing } from '../lib/fold.js';
import { comparedTurns, differingWords, totalsOf } from '../lib/compare.js';
import { gist, textOf } from '../lib/calls.js';
import { count, counted, money } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { useKeys } from '../components/keys.js';
import { Icon, StateBadge } from '../components/icon.js';
import { Failed, Loading } from '../components/states.js';
import { FoldedText } from '../components/longtext.js';
import { Line, safe } from '../components/untrusted.js';

/** @typedef {import('../types.js').Run} Run */
/** @typedef {import('../lib/fold.js').Turn} Turn */
/** @typedef {{ run: Run, turns: Turn[], isWhole: boolean }} Side */

// Two logs of this size are compared in the browser without a noticeable pause.
const PAGES_MAX = 10;
const SHOWN_MAX = 40;

/** @param {string} id @returns {Promise<Side>} */
async function readSide(id) {
  const path = `/api${runPath(id)}`;
  const run = await api('GET', path);
  const log = new RunLog();
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { entries, more } = await api('GET', `${path}/entries?after=${log.lastSeq}&limit=1000`);
    log.add(entries);
    if (!more) return { run, turns: log.inOrder(), isWhole: true };
  }
  // The last turn may be cut in the middle; it would differ for no reason.
  return { run, turns: log.inOrder().slice(0, -1), isWhole: false };
}

export default function ComparePage() {
  useCss('/css/compare.css');
  const [, a, , b] = route.value.parts;
  useTitle(`${a} and ${b} compared`);
  const sides = useLoaded(() => Promise.all([readSide(a), readSide(b)]), [a, b]);
  const swap = () => go(`${runPath(b)}/vs/${encodeURIComponent(a)}`);
  useKeys('Compare', [{ key: 'w', does: 'Swap the sides', run: swap }]);
  return html`<div class="bar"><a class="btn quiet icon" href=${runPath(a)} aria-label="Back to run A"><${Icon} name="back" /></a><h1>Compare</h1><span class="dim small mono cut u">${safe(a)} / ${safe(b)}</span><span class="grow"></span><button class="btn" onClick=${swap}>Swap <kbd>w</kbd></button></div>
    <div class="page">${sides.error ? html`<${Failed} what="The runs cannot be compared." error=${sides.error} onRetry=${sides.reload} />` : sides.data ? html`<${Compared} a=${sides.data[0]} b=${sides.data[1]} />` : html`<${Loading} rows=${8} />`}</div>`;
}

/** @param {{ a: Side, b: Side }} props */
function Compared({ a, b }) {
  const parts = useMemo(() => comparedTurns(a.turns, b.turns), [a, b]);
  const isNarrow = useNarrow();
  const [side, setSide] = useState('a');
  const [most, setMost] = useState(SHOWN_MAX);
  const first = useRef(/** @type {HTMLElement | null} */ (null));
  const firstAt = parts.findIndex((it) => it.kind === 'differ');
  useEffect(() => first.current?.scrollIntoView({ block: 'nearest' }), []);
  useKeys('Compare', [
    { key: 'e', does: 'To the first difference', run: () => first.current?.scrollIntoView({ block: 'start' }) },
    ...(isNarrow ? [{ key: 's', does: 'Switch between A and B', run: () => setSide(side === 'a' ? 'b' : 'a') }] : []),
  ]);
  return html`<div class=${cls('card cmp', isNarrow && `only-${side}`)}>
    <div class="hd"><${Head} name="A" run=${a.run} /><${Head} name="B" run=${b.run} /></div>
    ${isNarrow && html`<div class="eq" role="group" aria-label="Side"><button class="chip" aria-pressed=${String(side === 'a')} onClick=${() => setSide('a')}>A</button><button class="chip" aria-pressed=${String(side === 'b')} onClick=${() => setSide('b')}>B</button></div>`}
    ${firstAt < 0 && html`<div class="eq"><${Icon} name="ok" tone="ok" />Every turn is equal.</div>`}
    ${parts.slice(0, most).map((part, at) => part.kind === 'equal' ? html`<${Equal} key=${`e${part.from}`} part=${part} turns=${a.turns} a=${a.run.runId} />` : html`<${Differ} key=${`d${part.turn}`} part=${part} isFirst=${at === firstAt} place=${at === firstAt ? first : undefined} aId=${a.run.runId} bId=${b.run.runId} />`)}
    ${parts.length > most && html`<div class="eq"><button class="btn" onClick=${() => setMost(most + SHOWN_MAX)}>Show ${counted(Math.min(SHOWN_MAX, parts.length - most), 'more part')}</button></div>`}
    ${(!a.isWhole || !b.isWhole) && html`<div class="eq"><${Icon} name="limit" tone="limit" />Only the first ${count(PAGES_MAX * 1000)} entries of a run are compared here.</div>`}
    <${Totals} a=${totalsOf(a.run, a.turns)} b=${totalsOf(b.run, b.turns)} /></div>`;
}

/** @param {{ name: string, run: Run }} props */
const Head = ({ name, run }) => html`<div><span class="row wrap"><b>${name}</b><a class="mono u" href=${runPath(run.runId)}>${safe(run.runId)}</a><${StateBadge} status=${run.status} ended=${run.termination?.kind} /></span><span class="small dim u">${run.from?.kind === 'fork' ? `fork of ${run.from.runId ?? 'another run'}${run.from.turn ? ` before turn ${run.from.turn}` : ''}, ` : ''}${run.model}</span><span class="small cut"><${Line} text=${run.goal.slice(0, 300)} /></span></div>`;

/** @param {{ part: { from: number, to: number }, turns: Turn[], a: string }} props */
function Equal({ part, turns, a }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? turns.filter((it) => it.turn >= part.from && it.turn <= part.to).slice(0, 50) : [];
  return html`<button class="eq" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? 'down' : 'chev'} />${part.from === part.to ? `Turn ${part.from} is equal` : `Turns ${part.from} to ${part.to} are equal`}</button>
    ${shown.map((turn) => html`<div key=${turn.turn} class="eq-turn small"><a href=${`${runPath(a)}/t/${turn.turn}`}>Turn ${turn.turn}</a> <span class="u"><${Line} text=${textOf(turn.text).slice(0, 300)} /></span> <span class="mono dim">${turn.calls.filter(Boolean).map((it) => it.tool).join(', ')}</span></div>`)}`;
}

/** @param {{ part: { turn: number, a: Turn | null, b: Turn | null, where: string }, isFirst: boolean, place?: any, aId: string, bId: string }} props */
function Differ({ part, isFirst, place, aId, bId }) {
  const said = part.a && part.b ? differingWords(textOf(part.a.text), textOf(part.b.text)) : null;
  return html`<div class=${cls('eq df', !isFirst && 'later')} ref=${place}><${Icon} name="compare" />${isFirst ? 'First difference: ' : ''}turn ${part.turn}, ${part.where}</div>
    <div class="cc2"><${TurnSide} turn=${part.a} other=${part.b} said=${said?.a} which="a" path=${`${runPath(aId)}/t/${part.turn}`} /><${TurnSide} turn=${part.b} other=${part.a} said=${said?.b} which="b" path=${`${runPath(bId)}/t/${part.turn}`} /></div>`;
}

/** @param {{ words: { text: string, isMarked: boolean }[], which: string }} props */
const Words = ({ words, which }) => words.map((it, at) => !it.isMarked ? safe(it.text) : which === 'a' ? html`<del key=${at}>${safe(it.text)}</del>` : html`<ins key=${at}>${safe(it.text)}</ins>`);

/** @param {{ turn: Turn | null, other: Turn | null, said?: { text: string, isMarked: boolean }[], which: string, path: string }} props */
function TurnSide({ turn, other, said, which, path }) {
  if (!turn) return html`<div class=${`side-${which}`}><span class="dim">This run has no such turn.</span></div>`;
  return html`<div class=${`side-${which}`}><a class="label" href=${path}>Turn ${turn.turn} of ${which.toUpperCase()}</a>
    ${said ? html`<p class="u pre"><${Words} words=${said} which=${which} /></p>` : html`<${FoldedText} text=${textOf(turn.text)} isProse=${true} />`}
    ${turn.calls.filter(Boolean).slice(0, 12).map((call) => html`<${CallSide} key=${call.index} call=${call} other=${other?.calls[call.index] ?? null} which=${which} />`)}
    ${turn.calls.length > 12 && html`<span class="dim small">and ${turn.calls.length - 12} more calls</span>`}</div>`;
}

/** @param {{ call: import('../lib/fold.js').Call, other: import('../lib/fold.js').Call | null, which: string }} props */
function CallSide({ call, other, which }) {
  const own = `${call.tool} ${gist(call.arguments)}`;
  const words = other ? differingWords(...(which === 'a' ? /** @type {[string, string]} */ ([own, `${other.tool} ${gist(other.arguments)}`]) : /** @type {[string, string]} */ ([`${other.tool} ${gist(other.arguments)}`, own])))[which === 'a' ? 'a' : 'b'] : [{ text: own, isMarked: true }];
  const how = standing(call);
  const isSame = other && textOf(other.output) === textOf(call.output) && standing(other) === how;
  return html`<pre class="code u"><${Words} words=${words} which=${which} /></pre>
    <span class=${`small c-${TONES[how] ?? 'off'}`}><${Icon} name=${how === 'ok' ? 'ok' : how === 'denied' ? 'deny' : how === 'failed' ? 'bad' : 'off'} /> ${how === 'planned' ? 'not started' : how}${call.review?.verdict === 'denied' ? ` by ${call.review.by}` : ''}${isSame ? ', the same output' : ''}</span>
    ${!isSame && call.output && html`<${FoldedText} text=${textOf(call.output).slice(0, 4096)} />`}`;
}

/** @type {Record<string, string>} */
const TONES = { ok: 'ok', failed: 'bad', denied: 'bad', refused: 'bad', waiting: 'wait', running: 'run' };

/** @typedef {ReturnType<typeof totalsOf>} Sums */

/** @type {[string, (it: Sums) => number, (n: number) => string][]} */
const TOTALS = [
  ['Turns', (it) => it.turns, count], ['Calls', (it) => it.calls, count], ['Tokens', (it) => it.tokens, count],
  ['Cost', (it) => it.costUsd, money], ['Run time', (it) => it.timeMs, duration], ['Waited for a person', (it) => it.waitedMs, duration],
];

/** @param {{ a: Sums, b: Sums }} props */
function Totals({ a, b }) {
  const delta = (/** @type {number} */ by, /** @type {(n: number) => string} */ written) => (by === 0 ? '=' : `${by > 0 ? '+' : '−'}${written(Math.abs(by))}`);
  return html`<table class="tot"><thead><tr><th scope="col">Totals</th><th scope="col">A</th><th scope="col">B</th><th scope="col">B to A</th></tr></thead><tbody>${TOTALS.map(([name, of, written]) => html`<tr key=${name}><th scope="row">${name}</th><td>${written(of(a))}</td><td>${written(of(b))}</td><td>${delta(of(b) - of(a), written)}</td></tr>`)}</tbody></table>`;
}
