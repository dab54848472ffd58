// Hands work that takes long to a worker, so that the page answers meanwhile.
import { useEffect, useMemo, useState } from '../vendor/hooks.js';

/** @typedef {'diffLines' | 'findCopies' | 'verifyReceipt'} Task */

/** @type {Worker | null} */
let worker = null;
/** @type {Map<number, { settle: (result: any) => void, fail: (why: Error) => void }>} */
const asked = new Map();
let last = 0;

function begun() {
  if (worker) return worker;
  worker = new Worker('/src/worker.js', { type: 'module' });
  worker.onmessage = ({ data: { id, result, fault } }) => {
    const waiting = asked.get(id);
    asked.delete(id);
    if (fault === undefined) waiting?.settle(result);
    else waiting?.fail(new Error(fault));
  };
  worker.onerror = () => {
    for (const { fail } of asked.values()) fail(new Error('This browser could not start the worker of the page.'));
    asked.clear();
    worker = null;
  };
  return worker;
}

/** @param {Task} task @param {...any} given @returns {Promise<any>} */
export function aside(task, ...given) {
  return new Promise((settle, fail) => {
    last += 1;
    asked.set(last, { settle, fail });
    begun().postMessage({ id: last, task, given });
  });
}

/**
 * The result of a task: at once where it is short work, else when the worker has it; null until then.
 * @template T
 * @param {boolean} isShort @param {() => T} here @param {Task} task @param {any[]} given
 * @returns {T | null}
 */
export function useAside(isShort, here, task, given) {
  const result = useMemo(() => (isShort ? here() : null), given);
  const [found, setFound] = useState(/** @type {{ given: any[], result: T } | null} */ (null));
  useEffect(() => {
    if (isShort) return;
    let isGone = false;
    // Without a worker the page waits for it itself: late is better than never.
    void aside(task, ...given).catch(here).then((it) => !isGone && setFound({ given, result: it }));
    return () => void (isGone = true);
  }, given);
  if (isShort) return result;
  return found !== null && given.every((it, at) => it === found.given[at]) ? found.result : null;
}
