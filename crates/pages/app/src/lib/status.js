// The state of a run: shape, word and colour together.

/** @typedef {{ tone: string, icon: string, word: string }} State */

/** @type {Record<string, State>} */
const ENDED = {
  done: { tone: 'ok', icon: 'ok', word: 'Done' },
  blocked: { tone: 'bad', icon: 'bad', word: 'Blocked' },
  denied: { tone: 'bad', icon: 'deny', word: 'Denied' },
  cancelled: { tone: 'off', icon: 'slash', word: 'Cancelled' },
  fatal: { tone: 'bad', icon: 'bad', word: 'Failed' },
  no_progress: { tone: 'bad', icon: 'bad', word: 'No progress' },
  timed_out: { tone: 'limit', icon: 'limit', word: 'Out of time' },
  turns_exhausted: { tone: 'limit', icon: 'limit', word: 'Out of turns' },
  budget_exhausted: { tone: 'limit', icon: 'limit', word: 'Out of budget' },
};

/** @type {Record<string, State>} */
const BY_STATUS = {
  succeeded: ENDED.done,
  failed: ENDED.fatal,
  timed_out: ENDED.timed_out,
  cancelled: ENDED.cancelled,
  denied: ENDED.denied,
  queued: { tone: 'off', icon: 'off', word: 'Queued' },
  running: { tone: 'run', icon: 'run', word: 'Running' },
  interrupted: { tone: 'off', icon: 'off', word: 'Interrupted' },
  awaiting_review: { tone: 'wait', icon: 'wait', word: 'Waiting' },
  awaiting_client: { tone: 'wait', icon: 'wait', word: 'At its client' },
  damaged: { tone: 'bad', icon: 'bad', word: 'Log damaged' },
};

/** @param {string} status @param {string} [ended] @returns {State} */
export function stateOf(status, ended) {
  if (status === 'damaged') return BY_STATUS.damaged;
  return (ended && ENDED[ended]) || BY_STATUS[status] || { tone: 'off', icon: 'off', word: status };
}

/** @param {string} status */
export const isEnded = (status) => ['succeeded', 'failed', 'timed_out', 'cancelled', 'denied'].includes(status);

/** @type {{ key: string, word: string, icon: string, tone: string }[]} */
export const FILTERS = [
  { key: '', word: 'All', icon: '', tone: '' },
  { key: 'waiting', word: 'Waiting', icon: 'wait', tone: 'wait' },
  { key: 'running', word: 'Running', icon: 'run', tone: 'run' },
  { key: 'interrupted', word: 'Interrupted', icon: 'off', tone: 'off' },
  { key: 'failed', word: 'Failed', icon: 'bad', tone: 'bad' },
  { key: 'limit', word: 'Hit a limit', icon: 'limit', tone: 'limit' },
  { key: 'done', word: 'Done', icon: 'ok', tone: 'ok' },
  { key: 'cancelled', word: 'Cancelled', icon: 'slash', tone: 'off' },
];
