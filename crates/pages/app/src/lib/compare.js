// Two runs side by side: turn by turn, what is equal and what is not.
import { standing, totals } from './fold.js';
import { kept } from './diff.js';

/** @typedef {import('./fold.js').Turn} Turn */
/** @typedef {{ kind: 'equal', from: number, to: number } | { kind: 'differ', turn: number, a: Turn | null, b: Turn | null, where: string }} Part */

/** What a turn said and did, without ids and times. @param {Turn} turn */
const replyOf = (turn) => JSON.stringify([turn.text, turn.calls.filter(Boolean).map((it) => [it.tool, it.arguments])]);
/** @param {Turn} turn */
const resultOf = (turn) => JSON.stringify(turn.calls.filter(Boolean).map((it) => [standing(it), it.output]));

/** @param {Turn | undefined} a @param {Turn | undefined} b */
function whereOf(a, b) {
  if (!a) return 'only in B';
  if (!b) return 'only in A';
  if (replyOf(a) !== replyOf(b)) return 'the reply';
  return resultOf(a) === resultOf(b) ? '' : 'what the calls returned';
}

/** @param {Turn[]} a @param {Turn[]} b @returns {Part[]} */
export function comparedTurns(a, b) {
  const [inA, inB] = [new Map(a.map((it) => [it.turn, it])), new Map(b.map((it) => [it.turn, it]))];
  const last = Math.max(a.at(-1)?.turn ?? 0, b.at(-1)?.turn ?? 0);
  /** @type {Part[]} */
  const parts = [];
  for (let turn = 1; turn <= last; turn += 1) {
    const where = whereOf(inA.get(turn), inB.get(turn));
    const before = parts.at(-1);
    if (where !== '') parts.push({ kind: 'differ', turn, a: inA.get(turn) ?? null, b: inB.get(turn) ?? null, where });
    else if (before?.kind === 'equal') before.to = turn;
    else parts.push({ kind: 'equal', from: turn, to: turn });
  }
  return parts;
}

/**
 * The words of two texts that are not in the other.
 * @param {string} a @param {string} b
 * @returns {{ a: { text: string, isMarked: boolean }[], b: { text: string, isMarked: boolean }[] }}
 */
export function differingWords(a, b) {
  const split = (/** @type {string} */ text) => text.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? [];
  const [left, right] = [split(a), split(b)];
  if (left.length + right.length > 4000) return { a: [{ text: a, isMarked: false }], b: [{ text: b, isMarked: false }] };
  const pairs = kept(left, right);
  return { a: marked(left, new Set(pairs.map(([i]) => i))), b: marked(right, new Set(pairs.map(([, j]) => j))) };
}

/** @param {string[]} words @param {Set<number>} same */
function marked(words, same) {
  /** @type {{ text: string, isMarked: boolean }[]} */
  const parts = [];
  words.forEach((text, at) => {
    const isMarked = !same.has(at);
    const last = parts.at(-1);
    if (last?.isMarked === isMarked) last.text += text;
    else parts.push({ text, isMarked });
  });
  return parts;
}

/** @param {import('../types.js').Run} run @param {Turn[]} turns */
export function totalsOf(run, turns) {
  const sum = totals(turns);
  return { turns: run.turns, tokens: run.tokens ?? sum.tokens, costUsd: run.costUsd ?? 0, calls: turns.reduce((n, it) => n + it.calls.filter(Boolean).length, 0), timeMs: run.elapsedMs, waitedMs: sum.waitedMs };
}
