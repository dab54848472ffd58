// The outline of a run: a row for each thing that happened, and one for what is not here yet.
import { hasFailure, standing } from './fold.js';

/** @typedef {import('./fold.js').Turn} Turn */
/** @typedef {import('./fold.js').Call} Call */
/**
 * @typedef {{ type: 'turn', turn: Turn } | { type: 'attempt', turn: Turn, attempt: import('./fold.js').Attempt }
 *   | { type: 'mark', turn: Turn, mark: import('./fold.js').Mark } | { type: 'call', turn: Turn, call: Call }
 *   | { type: 'child', turn: Turn, child: Child, isOpen: boolean } | { type: 'inner', turn: Turn, child: Child, inside: Turn, call: Call | null }
 *   | { type: 'gap', from: number, to: number }} OutlineRow
 * @typedef {import('../types.js').Child} Child
 * @typedef {{ children: Child[], turnsOf: (runId: string) => Turn[] | null }} Called the agents that were called, and what those did whose rows are open
 */

/** Marks that are worth a row of their own; approvals and resumes are shown where they belong. */
const QUIET = new Set(['target_learned']);

/** A row for the agent, and where it is open one for each of its turns and calls. @param {Turn} turn @param {Child} child @param {Turn[] | null} turns @returns {OutlineRow[]} */
function rowsOfChild(turn, child, turns) {
  const inner = (turns ?? []).flatMap((inside) => [null, ...inside.calls.filter(Boolean)].map((call) => ({ type: /** @type {const} */ ('inner'), turn, child, inside, call })));
  return [{ type: 'child', turn, child, isOpen: turns !== null }, ...inner];
}

/** @param {Turn} turn @param {Called} called @param {boolean} onlyFailures @returns {OutlineRow[]} */
function rowsOfTurn(turn, { children, turnsOf }, onlyFailures) {
  /** @type {OutlineRow[]} */
  const rows = [];
  for (const attempt of turn.attempts) if (attempt.failure) rows.push({ type: 'attempt', turn, attempt });
  if (!onlyFailures) for (const mark of turn.marks) if (!QUIET.has(mark.kind)) rows.push({ type: 'mark', turn, mark });
  for (const call of turn.calls) {
    if (!call || (onlyFailures && !['failed', 'refused', 'denied'].includes(standing(call)))) continue;
    rows.push({ type: 'call', turn, call });
    for (const child of children) if (child.turn === turn.turn && child.call === call.index) rows.push(...rowsOfChild(turn, child, turnsOf(child.runId)));
  }
  return rows;
}

/**
 * @param {Turn[]} turns in order @param {number} length entries of the whole log @param {(seq: number) => boolean} isHere
 * @param {Called} called @param {boolean} onlyFailures
 * @returns {OutlineRow[]}
 */
export function outlineOf(turns, length, isHere, called, onlyFailures) {
  /** @type {OutlineRow[]} */
  const rows = [];
  let last = 1;
  for (const turn of turns) {
    if (turn.first > last + 1 && !isHere(last + 1)) rows.push({ type: 'gap', from: last + 1, to: turn.first - 1 });
    last = Math.max(last, turn.last);
    if (onlyFailures && !hasFailure(turn)) continue;
    rows.push({ type: 'turn', turn }, ...rowsOfTurn(turn, called, onlyFailures));
  }
  if (last < length && !isHere(last + 1)) rows.push({ type: 'gap', from: last + 1, to: length });
  return rows;
}

/** @param {OutlineRow} row */
export function keyOfRow(row) {
  switch (row.type) {
    case 'turn': return `t${row.turn.turn}`;
    case 'attempt': return `a${row.attempt.seq}`;
    case 'mark': return `m${row.mark.seq}`;
    case 'call': return `c${row.turn.turn}.${row.call.index}`;
    case 'child': return `r${row.child.runId}`;
    case 'inner': return `i${row.child.runId}.${row.inside.turn}.${row.call?.index ?? ''}`;
    case 'gap': return `g${row.from}`;
  }
}
