// What a receipt must say of itself: the rules of `bonded verify`, each with the words for when it holds and when not.
import { blake3 } from './blake3.js';
import { canonical } from './canonical.js';

/** @typedef {{ name: string, holds: (it: any) => boolean, good: (it: any) => string, bad: string }} Rule */

const encoder = new TextEncoder();

/** A path is a text, or bytes where it is none. @param {any} path */
const bytesOf = (path) => (typeof path === 'string' ? encoder.encode(path) : Uint8Array.from(path?.bytes ?? []));

/** @param {Uint8Array} a @param {Uint8Array} b */
function compareBytes(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** Every change, sorted by the bytes of its path. @param {any} receipt @returns {any[]} */
export function changesOf(receipt) {
  const { deltaO = [], deltaPi = [], deltaLambda = [], deltaQ = [] } = receipt.deltas ?? {};
  const all = [...deltaO, ...deltaPi, ...deltaLambda, ...deltaQ].map((it) => ({ it, path: bytesOf(it.path) }));
  return all.sort((a, b) => compareBytes(a.path, b.path)).map(({ it }) => it);
}

const isDirectory = (/** @type {any} */ node) => node == null || node.kind === 'directory';
const isOfDirectory = (/** @type {any} */ change) => isDirectory(change.before) && isDirectory(change.after);
const isFile = (/** @type {any} */ node) => node?.kind === 'file';
const isOfFile = (/** @type {any} */ change) => isFile(change.before) && isFile(change.after);

/** How many files came, went or changed, and how many changes there are with directories of their own. @param {any[]} changes */
export function footprint(changes) {
  const paths = changes.map((it) => String(it.path));
  const files = changes.filter((it) => !isOfDirectory(it));
  const isImplied = (/** @type {any} */ it) => (it.before == null || it.after == null) && paths.some((path) => path.startsWith(`${it.path}/`));
  const alone = changes.filter((it) => isOfDirectory(it) && !isImplied(it));
  return { files: files.length, size: files.length + alone.length };
}

/** @param {any} change */
function artifactOf({ path, before, after }) {
  const kind = before == null ? 'created' : after == null ? 'deleted' : 'modified';
  if (isFile(after)) return { path, kind, hash: after.content, bytes: after.bytes };
  if (after?.kind === 'link') return { path, kind, hash: blake3(Uint8Array.from(after.target)), bytes: after.target.length };
  return { path, kind };
}

const same = (/** @type {any} */ a, /** @type {any} */ b) => canonical(a ?? null) === canonical(b ?? null);
const without = (/** @type {any} */ list) => (list ?? []).map((/** @type {any} */ it) => Object.fromEntries(Object.entries(it).filter(([, value]) => value != null)));

/** What is denied was not admitted; what was tested or published was. @param {any} it */
function admissionOf(it) {
  if (it.status !== 'success' && it.status !== 'denied' && it.tests == null) return null;
  return { admitted: it.status !== 'denied', ...(it.denial_reason == null ? {} : { reason: it.denial_reason }) };
}

const LIMITS = { max_files: 10, max_tool_ops: 50, max_delta_size: 100, timeout_ms: 300_000 };
const limitsOf = (/** @type {any} */ it) => ({ ...LIMITS, ...it.work_item?.constraints });
const earlier = (/** @type {any} */ it) => it.earlier_attempts ?? [];
// What sealing itself took may stand in the time of an item.
const SEALING_MS = 10_000;

/** @type {Rule[]} */
const OF_ALL = [
  { name: 'Content hash', holds: (it) => it.content_hash === blake3(canonical({ before: it.before_hash, changes: changesOf(it) })), good: () => 'follows from the state before and the changes', bad: 'is not that of the changes' },
  { name: 'Admission', holds: (it) => same(it.admission, admissionOf(it)), good: (it) => (it.admission == null ? 'it did not come to that' : it.admission.admitted ? 'its changes were admitted' : 'its changes were denied'), bad: 'is not that of the outcome' },
  { name: 'Admission', holds: (it) => it.denial_reason == null || it.status === 'denied', good: () => '', bad: 'it is not denied, and yet has a reason for that' },
  { name: 'Admission', holds: (it) => it.error == null || it.status !== 'denied', good: () => '', bad: 'it is denied with an error' },
  { name: 'Files', holds: (it) => same(without(it.artifacts), changesOf(it).filter((change) => !isOfDirectory(change)).map(artifactOf)), good: (it) => `${footprint(changesOf(it)).files} changed, each with its hash, as the changes say`, bad: 'the list of files is not that of the changes' },
  { name: 'Calls', holds: (it) => (it.tool_trace ?? []).length === it.metrics?.tool_ops_count, good: (it) => `${it.metrics?.tool_ops_count} in the trace, as counted`, bad: 'the trace and the count differ' },
  { name: 'Times', holds: (it) => it.run == null || it.run.started_at <= it.run.ended_at, good: () => 'nothing ended before it started', bad: 'its run ended before it started' },
  { name: 'Times', holds: (it) => (it.tool_trace ?? []).every((/** @type {any} */ call) => call.ended_at == null || call.started_at <= call.ended_at), good: () => '', bad: 'a call ended before it started' },
  { name: 'Tests', holds: (it) => it.work_item?.test_command == null || it.tests == null || it.tests.command === it.work_item.test_command, good: (it) => (it.tests == null ? 'none were run' : it.tests.exit_code === 0 ? 'those that the item asks for were run and passed' : 'those that the item asks for were run'), bad: 'they are not those that the item asks for' },
  { name: 'Tests', holds: (it) => same([it.tests?.counts?.passed, it.tests?.counts?.failed], [it.metrics?.tests_passed, it.metrics?.tests_failed]), good: () => '', bad: 'the metrics are not those of the tests' },
  { name: 'Attempts', holds: (it) => earlier(it).length <= (it.work_item?.retries ?? 0) && earlier(it).every((/** @type {any} */ one) => one.status === 'failure' || one.status === 'timeout'), good: (it) => (earlier(it).length === 0 ? 'the first one' : `number ${earlier(it).length + 1}, as often as allowed`), bad: 'it was retried more often than allowed, or for no reason' },
  { name: 'Changes by others', holds: (it) => it.tree_changed_outside || !it.changed_meanwhile, good: (it) => (it.tree_changed_outside ? 'another process changed the tree, which it says' : 'it says that there were none'), bad: 'the tree changed meanwhile, and yet not by another process' },
  { name: 'Place in the chain', holds: (it) => (it.previous_receipt_hash == null) === (it.chain_index === 0), good: (it) => (it.chain_index === 0 ? 'the first receipt of its tree' : `receipt ${it.chain_index + 1} of its tree, bound to the one before`), bad: 'only the first receipt of a chain has no receipt before it' },
];

/** @type {Rule[]} */
const OF_SUCCESS = [
  { name: 'Counts', holds: (it) => same([it.metrics?.files_touched, it.metrics?.delta_size], Object.values(footprint(changesOf(it)))), good: () => 'files and changes are as counted', bad: 'the counts are not those of the changes' },
  { name: 'Limits', holds: (it) => it.metrics.files_touched <= limitsOf(it).max_files && it.metrics.tool_ops_count <= limitsOf(it).max_tool_ops && it.metrics.delta_size <= limitsOf(it).max_delta_size, good: () => 'within those of files, calls, changes and time', bad: 'it is a success beyond its limits' },
  { name: 'Limits', holds: (it) => it.changed_meanwhile === true || it.metrics.execution_time_ms <= limitsOf(it).timeout_ms + SEALING_MS, good: () => '', bad: 'it is a success and took longer than allowed' },
  { name: 'End', holds: (it) => it.error == null && it.denial_reason == null, good: () => 'the run was done, without an error', bad: 'it is a success with an error' },
  { name: 'End', holds: (it) => it.run == null || it.run.termination === 'done', good: () => '', bad: 'it is a success of a run that was not done' },
  { name: 'Tests', holds: (it) => it.work_item?.test_command == null || it.tests != null, good: () => '', bad: 'it is a success and its tests were not run' },
  { name: 'Tests', holds: (it) => it.tests == null || isPassed(it.tests, it.work_item?.tests_expected), good: () => '', bad: 'it is a success and its tests did not pass' },
  { name: 'Merged files', holds: (it) => (it.merged ?? []).every((/** @type {any} */ one) => isOfFile(one) && changesOf(it).some((own) => same(own.path, one.path) && isOfFile(own))), good: (it) => ((it.merged ?? []).length === 0 ? 'there are none' : `${it.merged.length}, each of which it changed itself`), bad: 'what was merged is not what the item changed' },
];

/** @type {Rule[]} */
const OF_OTHERS = [
  { name: 'Tree', holds: (it) => changesOf(it).length === 0 && (it.merged ?? []).length === 0 && it.before_hash === it.after_hash && it.tree_before === it.tree_after, good: () => 'nothing was published', bad: 'it is not a success, and yet the tree changed' },
];

/** @param {any} tests @param {number | undefined} expected */
const isPassed = (tests, expected) => tests.exit_code === 0 && (expected == null || (tests.counts != null && tests.counts.passed >= expected && tests.counts.failed === 0));

/** Whether a rule holds; a field that is missing or of another kind breaks it. @param {Rule} rule @param {any} receipt */
function isKept(rule, receipt) {
  try {
    return rule.holds(receipt);
  } catch {
    return false;
  }
}

/** One check for each name, with what is wrong where something is. @param {any} receipt @returns {import('./receipt.js').Check[]} */
export function itemChecks(receipt) {
  const rules = [...OF_ALL, ...(receipt.status === 'success' ? OF_SUCCESS : OF_OTHERS)];
  return [...new Set(rules.map((it) => it.name))].map((name) => {
    const own = rules.filter((it) => it.name === name);
    const broken = own.find((it) => !isKept(it, receipt));
    return { name, is: broken ? 'bad' : 'good', text: broken ? broken.bad : own[0].good(receipt) };
  });
}
