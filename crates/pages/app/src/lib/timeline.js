// The timeline: where bars stand, in percent of the time that the run took. What a person needed, and the time in which
// no process was there, is folded: it is not the run's time.
import { hasFailure, standing, taintedSince } from './fold.js';

/** @typedef {import('./fold.js').Turn} Turn */
/** @typedef {import('./fold.js').Resumed} Resumed */
/** @typedef {{ x: number, w: number, kind: 'model' | 'fail' | 'pause' | 'live', text?: string, title: string }} ModelBar */
/** @typedef {{ x: number, w: number, lane: number, kind: 'read' | 'write' | 'live' | 'deny' | 'bad', name: string, title: string, turn: number, call: number }} CallBar */
/**
 * @typedef {{ total: number, turns: { turn: number, x: number, w: number }[], model: ModelBar[], calls: CallBar[],
 *   people: { x: number, text: string, isOpen: boolean }[], gaps: { x: number, text: string }[],
 *   shortened: { x: number, text: string }[], taint: number | null, lanes: number, hidden: number, agents: AgentLane[] }} Timeline
 * @typedef {import('../types.js').Child & { turns: Turn[] }} Agent an agent that was called, and what is here of its turns
 * @typedef {{ runId: string, name: string, bars: { x: number, w: number, kind: string, title: string }[] }} AgentLane
 */

export const LANES_MAX = 12;
// A bar is a few elements, and a page has room for three thousand.
export const BARS_MAX = 250;

/**
 * Time without the spans that do not count.
 * @param {[number, number][]} folds
 */
function folding(folds) {
  const sorted = folds.filter(([from, to]) => to > from).sort((a, b) => a[0] - b[0]);
  /** @type {[number, number][]} */
  const joined = [];
  for (const [from, to] of sorted) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return (/** @type {number} */ at) => {
    let gone = 0;
    for (const [from, to] of joined) {
      if (at <= from) break;
      gone += Math.min(at, to) - from;
    }
    return at - gone;
  };
}

/** @param {Turn[]} turns @param {Resumed[]} resumed @param {number} now @returns {[number, number][]} */
function foldsOf(turns, resumed, now) {
  /** @type {[number, number][]} */
  const folds = resumed.map((it) => [it.before, it.at]);
  for (const turn of turns) {
    for (const call of turn.calls) if (call?.review) folds.push([call.review.asked, call.review.decided ?? now]);
  }
  return folds;
}

/**
 * @param {Turn[]} turns in order @param {Resumed[]} resumed
 * @param {{ now: number, isOpen: boolean, isUntrusted: (tool: string) => boolean, duration: (ms: number) => string, agents?: Agent[] }} with_
 * @returns {Timeline}
 */
export function timelineOf(turns, resumed, { now, isOpen, isUntrusted, duration, agents = [] }) {
  const time = folding(foldsOf(turns, resumed, now));
  const begin = time(turns[0]?.startedAt ?? now);
  const isWaiting = turns.at(-1)?.calls.some((it) => it && standing(it) === 'waiting') ?? false;
  const end = isOpen && !isWaiting ? now : (turns.at(-1)?.endedAt ?? now);
  const total = Math.max(1, time(end) - begin);
  const x = (/** @type {number} */ at) => Math.min(100, Math.max(0, ((time(at) - begin) / total) * 100));
  const scale = { x, now, isOpen, duration };
  const starts = turns.map((it) => x(it.startedAt));
  const taint = taintedSince(turns, isUntrusted);
  const { calls, lanes, hidden } = callBars(turns, scale);
  return {
    total,
    turns: turns.map((it, at) => ({ turn: it.turn, x: starts[at], w: (starts[at + 1] ?? 100) - starts[at] })),
    model: turns.flatMap((it) => modelBars(it, scale)),
    calls, lanes, hidden,
    people: peopleMarks(turns, scale),
    gaps: resumed.filter((it) => it.isCrash).map((it) => ({ x: x(it.at), text: `resumed after ${duration(it.at - it.before)}` })),
    shortened: turns.flatMap((it) => it.marks.filter((mark) => mark.kind.startsWith('context_')).map((mark) => ({ x: x(mark.at), text: shortenedText(mark) }))),
    taint: taint ? x(taint.at) : null,
    agents: agents.filter((it) => it.turns.length > 0).slice(0, LANES_MAX).map((it) => agentLane(it, scale)),
  };
}

/** @param {import('./fold.js').Mark} mark */
function shortenedText({ kind, data }) {
  if (kind === 'context_compacted' && data.before) return `context shortened by ${Math.round((1 - data.after / data.before) * 100)} %`;
  return kind === 'context_summarised' ? 'context summarised' : 'context full';
}

/** @typedef {{ x: (at: number) => number, now: number, isOpen: boolean, duration: (ms: number) => string }} Scale */

/** @param {Turn} turn @param {Scale} scale @returns {ModelBar[]} */
function modelBars(turn, { x, now, isOpen, duration }) {
  return turn.attempts.flatMap((attempt, at) => {
    const isLive = attempt.endedAt === null && isOpen;
    const end = attempt.endedAt ?? (isOpen ? now : attempt.at);
    const [from, to] = [x(attempt.at), x(end)];
    const what = attempt.failure ? `failed: ${attempt.failure.class}` : isLive ? 'is answering' : 'answered';
    /** @type {ModelBar[]} */
    const bars = [{ x: from, w: to - from, kind: attempt.failure ? 'fail' : isLive ? 'live' : 'model', title: `Turn ${turn.turn}, attempt ${attempt.attempt}: ${what}, ${duration(end - attempt.at)}` }];
    const next = turn.attempts[at + 1];
    const until = next?.at ?? (attempt.failure?.retry_after_ms && isOpen ? end + attempt.failure.retry_after_ms : null);
    if (attempt.failure && until && until > end) {
      const why = attempt.failure.status ?? attempt.failure.class;
      bars.push({ x: to, w: x(until) - to, kind: 'pause', text: `${why}, waits ${duration(until - end)}`, title: `pause before the next attempt, ${duration(until - end)}` });
    }
    return bars;
  });
}

// An agent is one lane: more bars in it could not be told apart.
const AGENT_BARS_MAX = 40;

/** @param {Agent} agent @param {Scale} scale @returns {AgentLane} */
function agentLane({ runId, tool, turns }, scale) {
  const name = tool.replace(/^agent__/, '');
  const model = turns.flatMap((it) => modelBars(it, scale)).filter((it) => it.kind !== 'pause');
  const bars = [...model, ...callBars(turns, scale).calls].map(({ x, w, kind, title }) => ({ x, w, kind, title: `${name}: ${title}` }));
  if (bars.length <= AGENT_BARS_MAX) return { runId, name, bars };
  const [from, to] = [scale.x(turns[0].startedAt), scale.x(turns.at(-1)?.endedAt ?? turns[0].startedAt)];
  return { runId, name, bars: [{ x: from, w: to - from, kind: 'model', title: `${name}: ${turns.length} turns` }] };
}

/** @param {Turn[]} turns @param {Scale} scale */
function callBars(turns, { x, now, isOpen, duration }) {
  /** @type {CallBar[]} */
  const calls = [];
  let [lanes, hidden] = [0, 0];
  for (const turn of turns) {
    let lane = 0;
    for (const call of turn.calls) {
      if (!call) continue;
      const how = standing(call);
      const from = call.invokedAt ?? call.review?.decided ?? call.review?.asked ?? turn.decidedAt ?? turn.endedAt;
      const to = call.finishedAt ?? (how === 'running' && isOpen ? now : from);
      if (lane >= LANES_MAX) {
        hidden += 1;
        continue;
      }
      const kind = how === 'denied' || how === 'refused' ? 'deny' : how === 'failed' ? 'bad' : how === 'running' ? 'live' : call.effect === 'read' ? 'read' : 'write';
      const shown = how === 'ok' ? '' : `, ${how}`;
      calls.push({ x: x(from), w: x(to) - x(from), lane, kind, name: `${call.tool}${shown}`, title: `Turn ${turn.turn}: ${call.tool}${shown}, ${duration(call.latencyMs ?? to - from)}`, turn: turn.turn, call: call.index });
      lane += 1;
      lanes = Math.max(lanes, lane);
    }
  }
  return { calls, lanes, hidden };
}

/** @param {Turn[]} turns @param {Scale} scale */
function peopleMarks(turns, { x, now, duration }) {
  return turns.flatMap((turn) => turn.calls.flatMap((call) => {
    if (!call?.review) return [];
    const { asked, decided } = call.review;
    return [{ x: x(asked), text: duration((decided ?? now) - asked), isOpen: decided === null }];
  }));
}

/** How many bars a run would need. @param {Turn[]} turns */
export const barCount = (turns) => turns.reduce((sum, it) => sum + it.attempts.length + it.calls.length, 0);

/**
 * One column a turn, or a few turns, where there are too many bars: how long the model and the calls took. What is not
 * here yet stays empty.
 * @param {Turn[]} turns @param {number} last the number of the last turn @param {number} most columns
 */
export function columnsOf(turns, last, most) {
  const size = Math.max(1, Math.ceil(last / most));
  const columns = Array.from({ length: Math.ceil(last / size) }, (_, at) => ({
    from: at * size + 1, to: Math.min(last, (at + 1) * size), model: 0, calls: 0, n: 0, isBad: false,
  }));
  for (const turn of turns) {
    const column = columns[Math.floor((turn.turn - 1) / size)];
    if (!column) continue;
    column.n += 1;
    column.model += Math.max(0, (turn.decidedAt ?? turn.endedAt) - turn.startedAt);
    column.calls += turn.calls.reduce((ms, call) => ms + (call?.latencyMs ?? 0), 0);
    column.isBad ||= hasFailure(turn);
  }
  return columns.map((it) => ({ ...it, model: it.model / Math.max(1, it.n), calls: it.calls / Math.max(1, it.n) }));
}

/** The same in words. @param {Turn[]} turns @param {AgentLane[]} agents @param {(ms: number) => string} duration */
export function timelineWords(turns, agents, duration) {
  const first = turns.slice(0, 30).map((turn) => {
    const model = turn.decidedAt ? `model ${duration(turn.decidedAt - (turn.attempts.at(-1)?.at ?? turn.startedAt))}` : 'model answering';
    const failed = turn.attempts.filter((it) => it.failure).map((it) => `${it.failure.class}, `).join('');
    const calls = turn.calls.filter(Boolean).map((it) => `${it.tool} ${standing(it)}`).join(', ');
    return `Turn ${turn.turn}: ${failed}${model}${calls ? `, then ${calls}` : ''}.`;
  });
  const rest = turns.length > 30 ? ` And ${turns.length - 30} more turns.` : '';
  const called = agents.length > 0 ? ` Agents that it called: ${agents.map((it) => it.name).join(', ')}.` : '';
  return `${turns.length} turns. ${first.join(' ')}${rest}${called}`;
}
