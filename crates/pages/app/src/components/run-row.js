// A run in the list.
import { cls, html } from '../html.js';
import { runPath } from '../router.js';
import { now } from '../state.js';
import { stateOf } from '../lib/status.js';
import { count, limitMoney, money } from '../lib/numbers.js';
import { clock, duration, span } from '../lib/time.js';
import { plain } from '../lib/hidden.js';
import { Icon, StateBadge } from './icon.js';
import { LimitBar } from './gauge.js';
import { Line } from './untrusted.js';

/** @typedef {import('../types.js').Row} Row */

/** @param {Row} run */
function wordOf(run) {
  if (run.status === 'awaiting_review' && run.waiting) return `Waiting, ${span(now.value - run.waiting.since)}`;
  if (run.status === 'running') return `Turn ${count(Math.max(1, run.turns))}`;
  return stateOf(run.status, run.termination?.kind).word;
}

/** @param {{ run: Row }} props */
const Cost = ({ run }) => {
  if (run.costUsd === null) return html`<span class="v c5"><span class="dim">no price</span></span>`;
  const most = run.limits.costUsd;
  return html`<span class="v c5">${money(run.costUsd)} <small>${most === null ? 'no limit' : `of ${limitMoney(most)}`}</small>
    ${most !== null && html`<${LimitBar} spent=${run.costUsd} most=${most} />`}</span>`;
};

/** @param {Row} run */
const isOpen = (run) => ['running', 'awaiting_review', 'awaiting_client'].includes(run.status);

/** @param {Row} run */
const activityOf = (run) => run.activity ?? run.termination?.reason ?? '';

/** @param {{ run: Row, isSelected: boolean, onToggle: () => void, onFocus: () => void }} props */
export function RunRow({ run, isSelected, onToggle, onFocus }) {
  return html`<div class=${cls('r', isSelected && 'on')} onFocusIn=${onFocus}>
    <span class="c0"><input type="checkbox" checked=${isSelected} onChange=${onToggle} aria-label=${`Select run ${run.runId} to compare`} /></span>
    <span class="c1"><${StateBadge} status=${run.status} ended=${run.termination?.kind} word=${wordOf(run)} /></span>
    <span class="c2"><a class="goal cut" data-run=${run.runId} href=${runPath(run.runId)} title=${plain(run.goal).slice(0, 500)}><${Line} text=${run.goal.slice(0, 400)} /></a>
      <span class="sub cut">${run.untrusted && html`<${Icon} name="taint" tone="taint" /><span class="sr">untrusted data, </span>`}<span class="mono">${run.runId.slice(0, 24)}</span>
        <span>${run.agent ?? 'built-in'}</span><span class="cut"><${Line} text=${activityOf(run).slice(0, 300)} /></span></span></span>
    <span class="v c3"><span class="sr">turns </span>${count(run.turns)}</span>
    <span class="v c4"><span class="sr">tokens </span>${run.tokens === null ? html`<span class="dim">–</span>` : count(run.tokens)}</span>
    <${Cost} run=${run} />
    <span class="v c6">${run.startedAt === 0 ? '–' : html`${clock(run.startedAt)}<small>${isOpen(run) ? `${span(now.value - run.startedAt)} ago` : duration(run.updatedAt - run.startedAt)}</small>`}</span>
  </div>`;
}
