// What a run has spent of what it may spend, now or as it stood before a turn.
import { html } from '../html.js';
import { now } from '../state.js';
import { totals } from '../lib/fold.js';
import { count, limitMoney, money } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { Gauge } from './gauge.js';

/** @typedef {import('../lib/fold.js').Turn} Turn */

/** @param {import('../types.js').Run} run @param {Turn[]} turns @param {boolean} isThen */
function spentOf(run, turns, isThen) {
  const sum = totals(turns);
  if (isThen) return { ...sum, heldTokens: 0, heldUsd: 0, timeMs: turns.reduce((ms, it) => ms + it.endedAt - it.startedAt, 0) - sum.waitedMs };
  const held = run.held;
  return {
    ...sum, turns: run.turns, tokens: run.tokens ?? sum.tokens, costUsd: run.costUsd ?? 0,
    heldTokens: held ? held.inputTokens + held.outputTokens : 0, heldUsd: held?.costUsd ?? 0, timeMs: run.elapsedMs,
  };
}

/** @param {{ store: import('../run-store.js').RunStore, turns: Turn[], asOf: number | null }} props */
export function Budgets({ store, turns, asOf }) {
  const run = /** @type {import('../types.js').Run} */ (store.run.value);
  const shown = asOf === null ? turns : turns.filter((it) => it.turn < asOf);
  const spent = spentOf(run, shown, asOf !== null);
  const { limits } = run;
  const perTurn = store.log.started?.config?.limits?.attempts_per_turn_max ?? null;
  const tries = shown.at(-1)?.attempts.length ?? 0;
  const isFree = run.costUsd === null;
  // While it runs, its clock is ours; what was waited is not counted.
  const timeMs = run.status === 'running' && asOf === null ? Math.max(spent.timeMs, now.value - run.startedAt - spent.waitedMs) : spent.timeMs;
  return html`<dl class="card budget gauges" aria-label=${asOf === null ? 'Budgets' : `Budgets before turn ${asOf}`}>
    <${Gauge} name="Turns" limit=${limits.turns !== null ? `limit ${count(limits.turns)}` : undefined} value=${count(spent.turns)} spent=${spent.turns} most=${limits.turns} />
    <${Gauge} name="Tokens" limit=${limits.tokens !== null ? `limit ${count(limits.tokens)}` : undefined} value=${count(spent.tokens)} more=${spent.heldTokens > 0 && `+ ${count(spent.heldTokens)} held`} spent=${spent.tokens} held=${spent.heldTokens} most=${limits.tokens} />
    <${Gauge} name="Cost" limit=${limits.costUsd !== null ? `limit ${limitMoney(limits.costUsd)}` : undefined} value=${isFree ? 'no price' : money(spent.costUsd)} more=${spent.heldUsd > 0 && `+ ${money(spent.heldUsd)} held`} spent=${spent.costUsd} held=${spent.heldUsd} most=${isFree ? null : limits.costUsd} />
    <${Gauge} name="Run time" limit=${limits.timeMs !== null ? `limit ${duration(limits.timeMs)}` : undefined} value=${duration(timeMs)} more=${spent.waitedMs > 0 && `+ ${duration(spent.waitedMs)} waited`} spent=${timeMs} most=${limits.timeMs} />
    <${Gauge} name="Attempts" limit=${perTurn !== null ? `${count(perTurn)} a turn` : undefined} value=${count(tries)} spent=${tries} most=${perTurn} />
  </dl>`;
}
