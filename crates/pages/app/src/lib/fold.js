// What happened in a run, derived from its entries and from nothing else. Entries may come in any order and in parts:
// a turn knows what is known of it.

/** @typedef {import('../types.js').Entry} Entry */

/**
 * @typedef {{ seq: number, at: number, attempt: number, target: number, reserved: any, endedAt: number | null,
 *   failure: any | null, isSummary: boolean }} Attempt
 * @typedef {{ asked: number, why: string, decided: number | null, verdict: 'approved' | 'denied' | null,
 *   reason: string, by: string }} Review
 * @typedef {{ index: number, id: string, tool: string, arguments: any, seq: number, refused: any | null,
 *   effect: string, invokedAt: number | null, invokedSeq: number | null, finishedAt: number | null,
 *   finishedSeq: number | null, outcome: string | null, output: any, latencyMs: number | null, cutFromBytes: number | null,
 *   sandbox: string, marked: any, skipped: string | null, repaired: any | null, review: Review | null,
 *   progress: string[], dropped: any | null, images: any, withheld: any }} Call
 * @typedef {{ seq: number, at: number, kind: string, data: any }} Mark
 * @typedef {{ at: number, before: number, isCrash: boolean, turn: number }} Resumed
 * @typedef {{ turn: number, first: number, last: number, startedAt: number, endedAt: number, attempts: Attempt[],
 *   text: any, reasoning: any, usage: { input: number, output: number, cached: number }, cost: number,
 *   decidedAt: number | null, calls: Call[], marks: Mark[], reviews: Map<number, Review>, isSummed: boolean }} Turn
 */

/** @param {number} turn @param {Entry} entry @returns {Turn} */
const newTurn = (turn, entry) => ({
  turn, first: entry.seq, last: entry.seq, startedAt: entry.at, endedAt: entry.at, attempts: [], text: '', reasoning: '',
  usage: { input: 0, output: 0, cached: 0 }, cost: 0, decidedAt: null, calls: [], marks: [], reviews: new Map(),
  isSummed: false,
});

/** @param {number} index @param {string} tool @param {number} seq @returns {Call} */
const newCall = (index, tool, seq) => ({
  index, id: '', tool, arguments: '', seq, refused: null, effect: '', invokedAt: null, invokedSeq: null, finishedAt: null,
  finishedSeq: null, outcome: null, output: null, latencyMs: null, cutFromBytes: null, sandbox: '', marked: null,
  skipped: null, repaired: null, review: null, progress: [], dropped: null, images: null, withheld: null,
});

/** A log that is partly here. */
export class RunLog {
  constructor() {
    /** @type {Map<number, Entry>} */
    this.entries = new Map();
    /** @type {Map<number, Turn>} */
    this.turns = new Map();
    /** @type {any} */
    this.started = null;
    /** The last end that is here, unless another goal follows it. @type {any} */
    this.ended = null;
    /** Where the last goal that is here was given, after the first. */
    this.goalSeq = 0;
    /** Moments at which a process took the run up again. @type {Resumed[]} */
    this.resumed = [];
    this.lastSeq = 0;
  }

  /** @param {Entry[]} entries @returns {boolean} whether anything was new */
  add(entries) {
    let isNew = false;
    for (const entry of entries) {
      if (this.entries.has(entry.seq)) continue;
      isNew = true;
      this.entries.set(entry.seq, entry);
      this.lastSeq = Math.max(this.lastSeq, entry.seq);
      this.#fold(entry);
    }
    return isNew;
  }

  /** Forgets entries and the turns that they belong to; what is near again is fetched again. @param {number} from @param {number} to */
  forget(from, to) {
    for (let seq = from; seq <= to; seq += 1) this.entries.delete(seq);
    for (const turn of this.turns.values()) {
      if (turn.first <= to && turn.last >= from) this.turns.delete(turn.turn);
    }
  }

  /** @returns {Turn[]} */
  inOrder() {
    return [...this.turns.values()].sort((a, b) => a.turn - b.turn);
  }

  /** @param {Entry} entry */
  #fold(entry) {
    const { kind, data } = entry;
    if (kind === 'run_started') this.started = data;
    if (kind === 'run_resumed') {
      const last = this.entries.get(entry.seq - 1);
      // Right after a verdict a process takes the run up because of it; that is not a crash.
      this.resumed.push({ at: entry.at, before: last?.at ?? entry.at, isCrash: last?.kind !== 'call_reviewed', turn: entry.turn });
    }
    if (kind === 'run_ended' && entry.seq > Math.max(this.goalSeq, this.ended?.seq ?? 0)) this.ended = { ...data, at: entry.at, seq: entry.seq };
    if (kind === 'goal_given') this.goalSeq = Math.max(this.goalSeq, entry.seq);
    if (this.ended?.seq < this.goalSeq) this.ended = null;
    if (entry.turn > 0) this.#foldTurn(entry);
  }

  /** @param {Entry} entry */
  #foldTurn(entry) {
    let turn = this.turns.get(entry.turn);
    if (!turn) {
      turn = newTurn(entry.turn, entry);
      this.turns.set(entry.turn, turn);
    }
    turn.first = Math.min(turn.first, entry.seq);
    turn.last = Math.max(turn.last, entry.seq);
    turn.startedAt = Math.min(turn.startedAt, entry.at);
    turn.endedAt = Math.max(turn.endedAt, entry.at);
    const fold = FOLDS[entry.kind];
    if (fold) fold(turn, entry, this.started);
    else if (!SILENT.has(entry.kind)) turn.marks.push({ seq: entry.seq, at: entry.at, kind: entry.kind, data: entry.data });
  }
}

const SILENT = new Set(['run_started', 'run_ended', 'run_resumed']);

/** @param {Turn} turn @param {number} index @param {string} tool @param {number} seq */
function callOf(turn, index, tool, seq) {
  turn.calls[index] ??= newCall(index, tool, seq);
  const call = turn.calls[index];
  call.review ??= turn.reviews.get(index) ?? null;
  return call;
}

/** What a reply cost, in picodollars: as the provider says, else by the price of its target. @param {any} answer @param {any} price */
function costOf(answer, price) {
  if (typeof answer?.cost === 'number') return answer.cost;
  const { input = 0, output = 0, cached = 0 } = answer?.usage ?? {};
  if (!price) return 0;
  return (input - cached) * (price.input ?? 0) + cached * (price.cached ?? price.input ?? 0) + output * (price.output ?? 0);
}

/** @param {Turn} turn @param {any} answer @param {any} started */
function addUsage(turn, answer, started) {
  const usage = answer?.usage ?? {};
  turn.usage.input += usage.input ?? 0;
  turn.usage.output += usage.output ?? 0;
  turn.usage.cached += usage.cached ?? 0;
  const target = turn.attempts.at(-1)?.target ?? 0;
  turn.cost += costOf(answer, started?.config?.targets?.[target]?.price);
}

/** @param {Turn} turn @param {number} at @param {any} failure */
function endAttempt(turn, at, failure) {
  const open = turn.attempts.find((it) => it.endedAt === null);
  if (open) {
    open.endedAt = at;
    open.failure = failure;
  }
}

/** @type {Record<string, (turn: Turn, entry: Entry, started: any) => void>} */
const FOLDS = {
  attempt_started(turn, { seq, at, data }) {
    turn.attempts.push({
      seq, at, attempt: data.attempt ?? 1, target: data.target ?? 0, reserved: data.reserved ?? null, endedAt: null,
      failure: null, isSummary: data.summary !== undefined,
    });
  },
  attempt_failed(turn, { seq, at, data }) {
    endAttempt(turn, at, { ...data, seq });
  },
  decision_made(turn, { seq, at, data }, started) {
    endAttempt(turn, at, null);
    addUsage(turn, data.answer, started);
    turn.text = data.answer?.text ?? '';
    turn.reasoning = data.answer?.reasoning ?? '';
    turn.decidedAt = at;
    (data.calls ?? []).forEach((/** @type {any} */ it, /** @type {number} */ index) => {
      const call = callOf(turn, index, it.tool, seq);
      Object.assign(call, { id: it.id ?? '', tool: it.tool, arguments: it.arguments ?? '', refused: it.refused ?? null, seq });
    });
  },
  reply_rejected(turn, { seq, at, data }, started) {
    endAttempt(turn, at, { class: 'rejected', message: String(data.reason?.code ?? data.reason ?? ''), seq });
    addUsage(turn, data.answer, started);
  },
  context_summarised(turn, { seq, at, kind, data }, started) {
    endAttempt(turn, at, null);
    addUsage(turn, data.answer, started);
    turn.isSummed = true;
    turn.marks.push({ seq, at, kind, data });
  },
  tool_invoked(turn, { seq, at, data }) {
    const call = callOf(turn, data.call ?? 0, data.tool, seq);
    Object.assign(call, { invokedAt: at, invokedSeq: seq, effect: data.effect ?? '', sandbox: call.sandbox || data.sandbox || '' });
  },
  tool_finished(turn, { seq, at, data }) {
    const call = callOf(turn, data.call ?? 0, data.tool, seq);
    Object.assign(call, {
      finishedAt: at, finishedSeq: seq, outcome: data.outcome ?? 'ok', output: data.output ?? '',
      latencyMs: data.latency_ms ?? null, cutFromBytes: data.cut_from_bytes ?? null, sandbox: data.sandbox ?? call.sandbox,
      marked: data.marked ?? null, dropped: data.dropped ?? null,
      images: data.images ?? null, withheld: data.images_withheld ?? null,
    });
  },
  review_asked(turn, { seq, at, data }) {
    const review = { asked: at, why: data.why ?? '', decided: null, verdict: null, reason: '', by: '' };
    const index = data.call ?? 0;
    turn.reviews.set(index, review);
    callOf(turn, index, data.tool, seq).review = review;
  },
  call_reviewed(turn, { seq, at, data }) {
    const call = callOf(turn, data.call ?? 0, data.tool, seq);
    call.review ??= { asked: at, why: '', decided: null, verdict: null, reason: '', by: '' };
    const denied = data.verdict?.denied;
    Object.assign(call.review, { decided: at, verdict: denied ? 'denied' : 'approved', reason: denied?.reason ?? '', by: data.by ?? '' });
  },
  call_skipped(turn, { seq, data }) {
    callOf(turn, data.call ?? 0, data.tool, seq).skipped = data.reason ?? 'after_the_end';
  },
  call_repaired(turn, { seq, data }) {
    callOf(turn, data.call ?? 0, data.tool, seq).repaired = data;
  },
  progress_reported(turn, { seq, data }) {
    const said = typeof data.progress === 'string' ? data.progress : JSON.stringify(data.progress ?? '');
    callOf(turn, data.call ?? 0, '', seq).progress.push(said);
  },
};

/** @typedef {{ turns: number, tokens: number, input: number, output: number, cached: number, costUsd: number, waitedMs: number, attempts: number }} Totals */

/**
 * Sums over turns, those before one of them or all.
 * @param {Turn[]} turns @returns {Totals}
 */
export function totals(turns) {
  const sum = { turns: turns.length, tokens: 0, input: 0, output: 0, cached: 0, costUsd: 0, waitedMs: 0, attempts: 0 };
  for (const turn of turns) {
    sum.input += turn.usage.input;
    sum.output += turn.usage.output;
    sum.cached += turn.usage.cached;
    sum.tokens += turn.usage.input + turn.usage.output;
    sum.costUsd += turn.cost / 1e12;
    sum.attempts += turn.attempts.length;
    for (const call of turn.calls) {
      if (call?.review?.decided) sum.waitedMs += call.review.decided - call.review.asked;
    }
  }
  return sum;
}

/** Whether a tool's output is untrusted in this run, by its policy. @param {any} config @returns {(tool: string) => boolean} */
export function untrustedTools(config) {
  /** @type {string[]} */
  const patterns = config?.policy?.untrusted ?? [];
  const rules = patterns.map((it) => new RegExp(`^${it.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`));
  return (tool) => rules.some((rule) => rule.test(tool));
}

/** The first call that brought untrusted data in. @param {Turn[]} turns @param {(tool: string) => boolean} isUntrusted */
export function taintedSince(turns, isUntrusted) {
  for (const turn of turns) {
    const call = turn.calls.find((it) => it && it.finishedAt !== null && (it.marked || isUntrusted(it.tool)));
    if (call) return { turn: turn.turn, call: call.index, at: call.finishedAt ?? turn.endedAt };
  }
  return null;
}

/** How a call stands. @param {Call} call @returns {'ok' | 'failed' | 'refused' | 'denied' | 'skipped' | 'waiting' | 'running' | 'planned'} */
export function standing(call) {
  if (call.review?.verdict === 'denied') return 'denied';
  if (call.refused) return 'refused';
  if (call.skipped) return 'skipped';
  if (call.outcome) return call.outcome === 'ok' ? 'ok' : 'failed';
  if (call.review && !call.review.decided) return 'waiting';
  return call.invokedAt === null ? 'planned' : 'running';
}

/** Whether anything in a turn went wrong. @param {Turn} turn */
export const hasFailure = (turn) =>
  turn.attempts.some((it) => it.failure) || turn.marks.some((it) => it.kind === 'turn_failed') ||
  turn.calls.some((it) => it && ['failed', 'refused', 'denied'].includes(standing(it)));
