// The order of the list: what needs a person, what runs, then day by day.
import { dayName } from './time.js';

/** @typedef {import('../types.js').Row} Row */

/** @param {Row} run */
export const groupOf = (run) => (run.status === 'awaiting_review' ? 'wait' : run.status === 'running' || run.status === 'awaiting_client' ? 'run' : 'rest');

/**
 * @param {Row[]} rows newest first @param {number} now
 * @returns {{ heading: string, runs: Row[] }[]}
 */
export function groupsOf(rows, now) {
  const found = [
    { heading: 'Needs you', runs: rows.filter((it) => groupOf(it) === 'wait') },
    { heading: 'Running', runs: rows.filter((it) => groupOf(it) === 'run') },
  ];
  for (const run of rows.filter((it) => groupOf(it) === 'rest')) {
    // A log that cannot be read does not say when it began.
    const heading = run.startedAt === 0 ? 'Start not known' : dayName(run.startedAt, now);
    const last = found.at(-1);
    if (last && found.length > 2 && last.heading === heading) last.runs.push(run);
    else found.push({ heading, runs: [run] });
  }
  return found.filter((it) => it.runs.length > 0);
}

/**
 * How many rows stand in another group by now than where they are shown.
 * @param {Row[]} rows @param {({ heading: string } | { run: Row })[]} items
 */
export function isMoved(rows, items) {
  const before = new Map(items.flatMap((it) => ('run' in it ? [[it.run.runId, groupOf(it.run)]] : [])));
  return rows.filter((it) => before.has(it.runId) && before.get(it.runId) !== groupOf(it)).length;
}
