// The timeline of a run: SVG in percent, so that it needs neither measuring nor styles.
import { cls, html } from '../html.js';
import { useMemo } from '../../vendor/hooks.js';
import { BARS_MAX, LANES_MAX, barCount, columnsOf, timelineOf, timelineWords } from '../lib/timeline.js';
import { duration } from '../lib/time.js';
import { go, runPath } from '../router.js';

/** @typedef {import('../lib/timeline.js').Timeline} Timeline */
/** @typedef {{ turns: import('../lib/fold.js').Turn[], agents: import('../lib/timeline.js').Agent[], resumed: import('../lib/fold.js').Resumed[], now: number, isOpen: boolean, isUntrusted: (tool: string) => boolean, selected: number, asOf: number | null, last: number, onSelect: (turn: number, call?: number) => void }} Props */

const MODEL_Y = 22;
const CALLS_Y = 56;
const LANE = 18;
/** About how wide a letter is, in percent of the plot. */
const LETTER = 0.68;

/** @param {Props} props */
export function Timeline(props) {
  const { turns, agents, resumed, now, isOpen, isUntrusted } = props;
  const isLarge = barCount(turns) > BARS_MAX;
  // A run that has ended stands still at its last moment.
  const moment = now || (turns.at(-1)?.endedAt ?? 0);
  const line = useMemo(() => (isLarge ? null : timelineOf(turns, resumed, { now: moment, isOpen, isUntrusted, duration, agents })), [turns, agents, moment, isLarge, isUntrusted]);
  if (turns.length === 0) return html`<p class="pad dim small">Nothing has happened yet.</p>`;
  return line ? html`<${Bars} ...${props} line=${line} />` : html`<${Columns} ...${props} />`;
}

/** @param {Props & { line: Timeline }} props */
function Bars({ turns, line, selected, asOf, onSelect }) {
  const lanes = Math.max(1, line.lanes);
  const agentsY = CALLS_Y + lanes * LANE + 6;
  const peopleY = agentsY + line.agents.length * LANE + (line.agents.length > 0 ? 6 : 0);
  const height = peopleY + 36;
  const chosen = line.turns.find((it) => it.turn === selected);
  const later = asOf === null ? undefined : line.turns.find((it) => it.turn === asOf);
  return html`<div class="tl" role="region" aria-label="Timeline chart" tabindex="0">
    <svg class="lanes" aria-hidden="true" height=${height} width="68"><text y=${MODEL_Y + 11}>Model</text><text y=${CALLS_Y + 10}>Calls</text>${line.agents.map((it, lane) => html`<text key=${it.runId} y=${agentsY + lane * LANE + 10}>${it.name.length > 10 ? `${it.name.slice(0, 9)}…` : it.name}<title>${it.name}</title></text>`)}${line.people.length > 0 && html`<text y=${peopleY + 12}>People</text>`}</svg>
    <svg class="plot" role="img" height=${height} aria-label=${timelineWords(turns, line.agents, duration)}>
      ${chosen && html`<rect class="sel" x=${pc(chosen.x)} y="0" width=${pc(Math.max(0.4, chosen.w))} height=${height} />`}
      <${Grid} line=${line} selected=${selected} height=${height} onSelect=${onSelect} />
      <${ModelLane} line=${line} />
      ${line.calls.map((bar) => html`<${CallMark} key=${`${bar.turn}.${bar.call}`} bar=${bar} onSelect=${onSelect} />`)}
      <${CallNames} line=${line} selected=${selected} />
      <${Agents} line=${line} y=${agentsY} />
      <${Marks} line=${line} peopleY=${peopleY} />
      <${People} line=${line} y=${peopleY} />
      <${Scale} total=${line.total} y=${height - 2} />
      ${later && html`<rect class="later" x=${pc(later.x)} y="0" width=${pc(100 - later.x)} height=${height} />`}
      ${line.hidden > 0 && html`<text x="100%" y=${CALLS_Y + LANES_MAX * LANE} text-anchor="end">+${line.hidden} calls in turns of more than ${LANES_MAX}</text>`}
    </svg></div><${Legend} line=${line} />`;
}

const pc = (/** @type {number} */ n) => `${Number(n.toFixed(3))}%`;

/** Whether a label beside this mark stays clear of the next. @param {{ x: number }[]} marks @param {number} at @param {number} room in percent */
const roomy = (marks, at, room) => marks[at].x > 88 ? (marks[at - 1]?.x ?? -99) < marks[at].x - room : (marks[at + 1]?.x ?? 199) > marks[at].x + room;

/** @param {{ line: Timeline, selected: number, height: number, onSelect: (turn: number) => void }} props */
function Grid({ line, selected, height, onSelect }) {
  return line.turns.map(({ turn, x, w }, at) => html`<g key=${turn}>
    <line class="turn" x1=${pc(x)} x2=${pc(x)} y1="0" y2=${height - 14} />
    <rect class="hit" x=${pc(x)} width=${pc(Math.max(0.3, w))} y="0" height=${height - 14} onClick=${() => onSelect(turn)}><title>Turn ${turn}</title></rect>
    ${(turn === selected || (w > 1.6 && roomy(line.turns, at, 1.6))) && html`<text class=${cls('tn', turn === selected && 'on')} x=${pc(x)} y="12" dx=${x > 95 ? -2 : 4} text-anchor=${x > 95 ? 'end' : 'start'}>${turn === selected && (w > 6 || turn === line.turns.at(-1)?.turn) ? `Turn ${turn}` : turn}</text>`}</g>`);
}

/** Bars are three pixels wide at least: what took no time still happened. @param {{ line: Timeline }} props */
function ModelLane({ line }) {
  return line.model.map((bar, at) => {
    if (bar.kind === 'pause') {
      return html`<g key=${at}><rect class="back" x=${pc(bar.x)} y=${MODEL_Y + 4} width=${pc(bar.w)} height="6"><title>${bar.title}</title></rect>${bar.w > 9 && html`<text class="w" x=${pc(bar.x + bar.w / 2)} text-anchor="middle" y="48">${bar.text}</text>`}</g>`;
    }
    if (bar.w < 0.4) return html`<svg key=${at} x=${pc(bar.x)} y=${MODEL_Y} overflow="visible"><rect class=${bar.kind} width=${bar.kind === 'fail' ? 8 : 3} height="14" rx="2"><title>${bar.title}</title></rect></svg>`;
    return html`<rect key=${at} class=${bar.kind} x=${pc(bar.x)} y=${MODEL_Y} width=${pc(bar.w)} height="14" rx="3"><title>${bar.title}</title></rect>`;
  });
}

/** @param {{ bar: import('../lib/timeline.js').CallBar, onSelect: (turn: number, call?: number) => void }} props */
function CallMark({ bar, onSelect }) {
  const y = CALLS_Y + bar.lane * LANE;
  const pick = () => onSelect(bar.turn, bar.call);
  if (bar.kind === 'deny') return html`<svg x=${pc(bar.x)} y=${y} overflow="visible" onClick=${pick}><path class="deny" d="M-4 2l8 9M4 2l-8 9"><title>${bar.title}</title></path></svg>`;
  if (bar.w < 0.5) return html`<svg x=${pc(bar.x)} y=${y} overflow="visible" onClick=${pick}><rect class=${bar.kind} width="4" height="13" rx="2"><title>${bar.title}</title></rect></svg>`;
  return html`<rect class=${bar.kind} x=${pc(bar.x)} y=${y} width=${pc(bar.w)} height="13" rx="3" onClick=${pick}><title>${bar.title}</title></rect>`;
}

/** Names of calls stand left of their bars, where there is room for them. @param {{ line: Timeline, selected: number }} props */
function CallNames({ line, selected }) {
  /** @type {number[]} */
  const taken = [];
  return line.calls.map((bar) => {
    const width = bar.name.length * LETTER + 1;
    const isRoom = bar.x - width > (taken[bar.lane] ?? -0.5);
    taken[bar.lane] = Math.max(taken[bar.lane] ?? 0, bar.x + Math.max(bar.w, 0.6));
    return isRoom && html`<text key=${`${bar.turn}.${bar.call}`} class=${bar.turn === selected ? 'on' : ''} x=${pc(bar.x)} dx="-8" y=${CALLS_Y + bar.lane * LANE + 10} text-anchor="end">${bar.name}</text>`;
  });
}

/** A lane for each agent that was called. It leads to the agent's run; for the keyboard the outline has the link. @param {{ line: Timeline, y: number }} props */
function Agents({ line, y }) {
  return line.agents.map(({ runId, name, bars }, lane) => {
    const top = y + lane * LANE;
    const from = Math.min(...bars.map((it) => it.x));
    const to = Math.max(...bars.map((it) => it.x + it.w));
    return html`<g key=${runId} class="lane" onClick=${() => go(runPath(runId))}><rect class="agent" x=${pc(from)} y=${top} width=${pc(Math.max(0.6, to - from))} height="13" rx="3"><title>${name}, run ${runId}</title></rect>
      ${bars.map((it, at) => html`<rect key=${at} class=${it.kind} x=${pc(it.x)} y=${top + 3} width=${pc(Math.max(0.15, it.w))} height="7"><title>${it.title}</title></rect>`)}</g>`;
  });
}

const labelWidth = (/** @type {string} */ text) => text.length * LETTER + 2;

/** A label stands on the side that has room for it. Where there is not enough, the person who is still awaited matters more. @param {{ line: Timeline, y: number }} props */
function People({ line, y }) {
  let taken = -2;
  return line.people.map((it, at) => {
    const width = labelWidth(it.text);
    const next = line.people[at + 1] ?? { x: 100 + width, text: '', isOpen: false };
    const isRight = it.x + width < Math.min(next.x - 1, 101) && !(next.isOpen && next.x - labelWidth(next.text) < it.x + width);
    const isLeft = !isRight && it.x - width > taken;
    taken = it.x + (isRight ? width : 1);
    return html`<g key=${at}><rect class="person" x=${pc(it.x)} y=${y} width="16" height="16" rx="3" transform="translate(-8 0)"><title>${it.isOpen ? `has waited ${it.text} for a person` : `waited ${it.text} for a person`}</title></rect>
      ${(isRight || isLeft) && html`<text class="w" x=${pc(it.x)} y=${y + 12} dx=${isRight ? 12 : -12} text-anchor=${isRight ? 'start' : 'end'}>${it.text}</text>`}</g>`;
  });
}

/** @param {{ line: Timeline, peopleY: number }} props */
function Marks({ line, peopleY }) {
  return html`
    ${line.taint !== null && html`<line class="t" x1=${pc(line.taint)} x2=${pc(line.taint)} y1="16" y2=${peopleY + 8} /><text class="tt" x=${pc(line.taint)} dx=${line.taint > 13 ? -6 : 6} y="48" text-anchor=${line.taint > 13 ? 'end' : 'start'}>untrusted from here</text>`}
    ${line.gaps.map((it, at) => html`<svg key=${`g${at}`} x=${pc(it.x)} y="4" overflow="visible"><path class="gap" d="M-3 0v34M2 0v34" /><title>${it.text}</title></svg>`)}
    ${line.shortened.map((it, at) => html`<svg key=${`s${at}`} x=${pc(it.x)} y="38" overflow="visible"><path class="funnel" d="M-7 0H7L2 6v5h-4V6z"><title>${it.text}</title></path></svg>`)}`;
}

/** @param {{ total: number, y: number }} props */
const Scale = ({ total, y }) => html`<text x="0" y=${y}>0 s</text><text x="50%" y=${y} text-anchor="middle">${duration(total / 2)}</text><text x="100%" y=${y} text-anchor="end">${duration(total)}</text>`;

/** @type {{ kind: string, name: string, has: (line: Timeline) => boolean, mark: any }[]} */
const LEGEND = [
  { kind: 'model', name: 'model', has: () => true, mark: html`<rect class="model" width="18" height="10" y="1" rx="3" />` },
  { kind: 'read', name: 'reads', has: (it) => it.calls.some((bar) => bar.kind === 'read'), mark: html`<rect class="read" x="6" width="5" height="10" y="1" rx="2" />` },
  { kind: 'write', name: 'changes something', has: (it) => it.calls.some((bar) => bar.kind === 'write'), mark: html`<rect class="write" width="18" height="10" y="1" rx="3" />` },
  { kind: 'bad', name: 'failed call', has: (it) => it.calls.some((bar) => bar.kind === 'bad'), mark: html`<rect class="bad" x="6" width="5" height="10" y="1" rx="2" />` },
  { kind: 'fail', name: 'failed attempt', has: (it) => it.model.some((bar) => bar.kind === 'fail'), mark: html`<rect class="fail" x="1" width="10" height="10" y="1" rx="2" />` },
  { kind: 'back', name: 'retry pause', has: (it) => it.model.some((bar) => bar.kind === 'pause'), mark: html`<rect class="back" width="18" height="6" y="3" />` },
  { kind: 'person', name: 'waits for a person', has: (it) => it.people.length > 0, mark: html`<rect class="person" width="18" height="12" />` },
  { kind: 't', name: 'untrusted', has: (it) => it.taint !== null, mark: html`<line class="t" x1="9" x2="9" y1="0" y2="12" />` },
  { kind: 'funnel', name: 'context shortened', has: (it) => it.shortened.length > 0, mark: html`<path class="funnel" d="M2 1h14L11 7v4H7V7z" />` },
  { kind: 'gap', name: 'process ended, resumed', has: (it) => it.gaps.length > 0, mark: html`<path class="gap" d="M6 0v12M11 0v12" />` },
];

/** @param {{ line: Timeline }} props */
const Legend = ({ line }) => html`<ul class="leg" aria-label="Legend">${LEGEND.filter((it) => it.has(line)).map((it) => html`<li key=${it.kind}><svg class="plot-key" aria-hidden="true">${it.mark}</svg>${it.name}</li>`)}</ul>`;

/** Too many bars to tell apart: a column for each turn, in a handful of paths. @param {Props} props */
function Columns({ turns, last, selected, onSelect }) {
  const columns = useMemo(() => columnsOf(turns, last, 600), [turns, last]);
  const most = Math.max(1, ...columns.map((it) => it.model + it.calls));
  const bar = (/** @type {number} */ at, /** @type {number} */ from, /** @type {number} */ to) => `M${at} ${100 - (from / most) * 100}h.8V${100 - (to / most) * 100}h-.8z`;
  const path = (/** @type {(it: typeof columns[number], at: number) => string} */ of) => columns.map(of).join('');
  const pick = (/** @type {MouseEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const column = columns[Math.floor(((event.clientX - box.left) / box.width) * columns.length)];
    if (column) onSelect(column.from);
  };
  const at = columns.findIndex((it) => it.from <= selected && selected <= it.to);
  const per = columns[0].to - columns[0].from + 1;
  const label = `${last} turns, ${per === 1 ? 'a column each' : `${per} turns a column`}; the height is the time of the model and of the calls.`;
  return html`<div class="tl cols-only"><svg class="plot columns" role="img" aria-label=${label} viewBox=${`0 0 ${columns.length} 100`} preserveAspectRatio="none" height="110" onClick=${pick}>
      ${at >= 0 && html`<rect class="sel" x=${at} width="1" height="100" />`}
      <path class="model" d=${path((it, i) => bar(i, 0, it.model))} /><path class="write" d=${path((it, i) => bar(i, it.model, it.model + it.calls))} />
      <path class="bad" d=${path((it, i) => (it.isBad ? `M${i} 96h.8v4h-.8z` : ''))} /></svg></div>
    <p class="leg tiny">${label} Red at the foot: something failed.</p>`;
}
