// The outline of a run: a row for each thing that happened, and one for what is not here yet.
import { hasFailure, standing } from './fold.js';

/** @typedef {import('./fold.js').Turn} Turn */
/** @typedef {import('./fold.js').Call} Call */
/**
 * @typedef {{ type: 'turn', turn: Turn } | { type: 'attempt', turn: Turn, attempt: import('./fold.js').Attempt }
 *   | { type: 'mark', turn: Turn, mark: import('./fold.js').Mark } | { type: 'call', turn: Turn, call: Call }
 *   | { type: 'child', turn: Turn, child: import('../types.js').Child } | { type: 'gap', from: number, to: number }} OutlineRow
 */

/** Marks that are worth a row of their own; approvals and resumes are shown where they belong. */
const QUIET = new Set(['target_learned']);

/** @param {Turn} turn @param {import('../types.js').Child[]} children @param {boolean} onlyFailures @returns {OutlineRow[]} */
function rowsOfTurn(turn, children, onlyFailures) {
  /** @type {OutlineRow[]} */
  const rows = [];
  for (const attempt of turn.attempts) if (attempt.failure) rows.push({ type: 'attempt', turn, attempt });
  if (!onlyFailures) for (const mark of turn.marks) if (!QUIET.has(mark.kind)) rows.push({ type: 'mark', turn, mark });
  for (const call of turn.calls) {
    if (!call || (onlyFailures && !['failed', 'refused', 'denied'].includes(standing(call)))) continue;
    rows.push({ type: 'call', turn, call });
    for (const child of children) if (child.turn === turn.turn && child.call === call.index) rows.push({ type: 'child', turn, child });
  }
  return rows;
}

/**
 * @param {Turn[]} turns in order @param {number} length entries of the whole log @param {(seq: number) => boolean} isHere
 * @param {import('../types.js').Child[]} children @param {boolean} onlyFailures
 * @returns {OutlineRow[]}
 */
export function outlineOf(turns, length, isHere, children, onlyFailures) {
  /** @type {OutlineRow[]} */
  const rows = [];
  let last = 1;
  for (const turn of turns) {
    if (turn.first > last + 1 && !isHere(last + 1)) rows.push({ type: 'gap', from: last + 1, to: turn.first - 1 });
    last = Math.max(last, turn.last);
    if (onlyFailures && !hasFailure(turn)) continue;
    rows.push({ type: 'turn', turn }, ...rowsOfTurn(turn, children, onlyFailures));
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
    case 'gap': return `g${row.from}`;
  }
}
