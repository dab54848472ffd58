// What takes long, beside the page: differences of long texts, copies in long outputs, and the checks of receipts.
import { findCopies } from './lib/copied.js';
import { diffLines } from './lib/diff.js';
import { verifyReceipt } from './lib/receipt.js';

/** @type {Record<string, (...given: any[]) => any>} */
const TASKS = { diffLines, findCopies, verifyReceipt };

addEventListener('message', async ({ data: { id, task, given } }) => {
  try {
    postMessage({ id, result: await TASKS[task](...given) });
  } catch (error) {
    postMessage({ id, fault: String(error) });
  }
});
