// Checks a receipt from its file alone: form, hashes, signature, and most of what a receipt says of itself. `bonded
// verify` also checks merged files, earlier attempts, the admission, and the counts of tests.
import { blake3 } from './blake3.js';

/** @typedef {{ name: string, is: 'good' | 'bad' | 'unknown', text: string }} Check */
/** @typedef {{ kind: 'item' | 'level' | 'unknown', receipt: any, checks: Check[], isGood: boolean, keyId: string }} Verdict */

/** JSON in its one form: keys sorted by their UTF-16 units, no white space (RFC 8785). @param {any} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${fields.join(',')}}`;
}

const same = (/** @type {any} */ a, /** @type {any} */ b) => canonical(a ?? null) === canonical(b ?? null);

/** @param {string} name @param {boolean} is @param {string} good @param {string} bad @returns {Check} */
const check = (name, is, good, bad) => ({ name, is: is ? 'good' : 'bad', text: is ? good : bad });

/** @param {any} receipt @returns {any[]} every change, sorted by the bytes of its path */
function changesOf(receipt) {
  const { deltaO = [], deltaPi = [], deltaLambda = [], deltaQ = [] } = receipt.deltas ?? {};
  const bytes = new TextEncoder();
  const all = [...deltaO, ...deltaPi, ...deltaLambda, ...deltaQ].map((it) => ({ it, path: bytes.encode(String(it.path)) }));
  return all.sort((a, b) => compareBytes(a.path, b.path)).map(({ it }) => it);
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function compareBytes(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

const isDirectory = (/** @type {any} */ node) => node == null || node.kind === 'directory' || node.kind === 'dir';
const isOfDirectory = (/** @type {any} */ change) => isDirectory(change.before) && isDirectory(change.after);

/** Paths at which a file came, went or changed, and what is counted of directories. @param {any[]} changes */
function footprint(changes) {
  const paths = changes.map((it) => String(it.path));
  const files = changes.filter((it) => !isOfDirectory(it));
  const isImplied = (/** @type {any} */ it) => (it.before == null || it.after == null) && paths.some((path) => path.startsWith(`${it.path}/`));
  const alone = changes.filter((it) => isOfDirectory(it) && !isImplied(it));
  return { files: files.length, size: files.length + alone.length };
}

/** The artifacts that follow from the changes. @param {any[]} changes @param {any[]} artifacts */
function hasItsArtifacts(changes, artifacts) {
  const expected = changes.filter((it) => !isOfDirectory(it));
  if (expected.length !== artifacts.length) return false;
  return expected.every((change, at) => {
    const artifact = artifacts[at];
    const kind = change.before == null || (isDirectory(change.before) && !isDirectory(change.after)) ? 'created' : change.after == null || isDirectory(change.after) ? 'deleted' : 'modified';
    return artifact.path === change.path && artifact.kind === kind && (change.after?.content === undefined || artifact.hash === change.after.content);
  });
}

/** @param {any} receipt */
function withoutSeal(receipt) {
  const { receipt_hash: _hash, signed: _signed, ...others } = receipt;
  return others;
}

/** @param {string} text @param {any} receipt @returns {Check[]} */
function sealChecks(text, receipt) {
  const computed = blake3(canonical(withoutSeal(receipt)));
  return [
    check('Form', canonical(receipt) === text.replace(/\n$/, ''), 'canonical JSON, nothing was reformatted', 'not canonical JSON: it was changed or reformatted after it was sealed'),
    check('Hash', receipt.receipt_hash === computed, `BLAKE3 over all fields is ${computed.slice(0, 16)}…, as written`, `its fields have ${computed.slice(0, 16)}…, the receipt says ${String(receipt.receipt_hash).slice(0, 16)}…: it was changed`),
  ];
}

/** @param {any} it @returns {Check[]} */
function itemChecks(it) {
  const changes = changesOf(it);
  const { files, size } = footprint(changes);
  const isSuccess = it.status === 'success';
  const metrics = it.metrics ?? {};
  const content = blake3(canonical({ before: it.before_hash, changes }));
  const checks = [
    check('Content hash', it.content_hash === content, 'follows from the state before and the changes', 'is not that of the changes'),
    check('Files', hasItsArtifacts(changes, it.artifacts ?? []), `${files} changed, each with its hash, as the changes say`, 'the list of files is not that of the changes'),
    check('Calls', (it.tool_trace ?? []).length === metrics.tool_ops_count, `${metrics.tool_ops_count} in the trace, as counted`, 'the trace and the count differ'),
    check('Times', timesHold(it), 'nothing ended before it started', 'something ended before it started'),
    check('Place in the chain', (it.previous_receipt_hash == null) === (it.chain_index === 0), it.chain_index === 0 ? 'the first receipt of its tree' : `receipt ${it.chain_index + 1} of its tree, bound to the one before`, 'the place and the link to the receipt before contradict each other'),
  ];
  return [...checks, ...(isSuccess ? successChecks(it, files, size) : [check('Tree', nothingChanged(it, changes), 'nothing was published', `it is ${it.status}, and yet the tree changed`)])];
}

/** @param {any} it */
function timesHold(it) {
  const run = it.run;
  return (!run || run.started_at <= run.ended_at) && (it.tool_trace ?? []).every((/** @type {any} */ call) => call.ended_at == null || call.started_at <= call.ended_at);
}

/** @param {any} it @param {any[]} changes */
const nothingChanged = (it, changes) => changes.length === 0 && (it.merged ?? []).length === 0 && it.before_hash === it.after_hash && it.tree_before === it.tree_after;

// What sealing itself took may stand in the time of an item.
const SEALING_MS = 10_000;

/** @param {any} it @param {number} files @param {number} size @returns {Check[]} */
function successChecks(it, files, size) {
  const { metrics = {}, work_item: item = {} } = it;
  const limits = item.constraints ?? {};
  const isCounted = metrics.files_touched === files && metrics.delta_size === size;
  const isWithin = files <= limits.max_files && metrics.tool_ops_count <= limits.max_tool_ops && size <= limits.max_delta_size && (it.changed_meanwhile || metrics.execution_time_ms <= limits.timeout_ms + SEALING_MS);
  const tests = it.tests;
  const counts = tests?.counts;
  const isTested = item.test_command == null ? true : tests != null && tests.command === item.test_command && tests.exit_code === 0 && (item.tests_expected == null || (counts && counts.passed >= item.tests_expected && counts.failed === 0));
  return [
    check('Counts', isCounted, 'files and changes are as counted', 'the counts are not those of the changes'),
    check('Limits', isWithin, 'within those of files, calls, changes and time', 'it is a success beyond its limits'),
    check('Tests', Boolean(isTested), item.test_command == null ? 'the item asks for none' : 'those that the item asks for were run and passed', 'those that the item asks for were not run, or did not pass'),
    check('End', it.error == null && it.denial_reason == null && (!it.run || it.run.termination === 'done'), 'the run was done, without an error', 'it is a success with an error, or of a run that was not done'),
  ];
}

/** @param {any} it @returns {Check[]} */
function levelChecks(it) {
  const root = merkleRoot((it.items ?? []).map((/** @type {any} */ item) => item.receipt_hash));
  return [check('Merkle root', it.merkle_root === root, `stands for the receipts of ${it.items?.length} items`, 'is not that of its items')];
}

/** @param {string[]} hashes @returns {string} */
export function merkleRoot(hashes) {
  if (hashes.length === 0) return blake3('');
  let row = hashes;
  while (row.length > 1) {
    const above = [];
    for (let i = 0; i < row.length; i += 2) above.push(i + 1 < row.length ? merkleNode(row[i], row[i + 1]) : row[i]);
    row = above;
  }
  return row[0];
}

/** @param {string} left @param {string} right */
function merkleNode(left, right) {
  const head = new TextEncoder().encode('bonded merkle node 1\0');
  return blake3(new Uint8Array([...head, ...unhex(left), ...unhex(right)]));
}

/** @param {string} hex */
const unhex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (it) => Number.parseInt(it, 16));

/** @param {string} text */
const unbase64 = (text) => Uint8Array.from(atob(text), (it) => it.charCodeAt(0));

/** The bytes that were signed: the statement in DSSE's pre-authentication encoding. @param {any} receipt */
function signedBytes(receipt) {
  const { signed: _signed, ...predicate } = receipt;
  const statement = canonical({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'tree', digest: { blake3: receipt.tree_after } }],
    predicateType: 'urn:bonded:work-receipt:v1',
    predicate,
  });
  const type = 'application/vnd.in-toto+json';
  const length = new TextEncoder().encode(statement).length;
  return new TextEncoder().encode(`DSSEv1 ${type.length} ${type} ${length} ${statement}`);
}

/** @param {any} receipt @returns {Promise<Check>} */
async function signatureCheck(receipt) {
  const { public_key: pem, signatures } = receipt.signed ?? {};
  if (typeof pem !== 'string' || !Array.isArray(signatures)) return check('Signature', false, '', 'the receipt is not signed');
  let key;
  try {
    const der = unbase64(pem.replace(/-----[^-]+-----/g, '').replace(/\s/g, ''));
    key = await crypto.subtle.importKey('spki', der, { name: 'Ed25519' }, false, ['verify']);
  } catch {
    return { name: 'Signature', is: 'unknown', text: 'this browser cannot check Ed25519 signatures, or the key is not one' };
  }
  const bytes = signedBytes(receipt);
  for (const { sig } of signatures) {
    try {
      if (await crypto.subtle.verify('Ed25519', key, unbase64(sig), bytes)) return check('Signature', true, 'Ed25519, good for the key that is in the file', '');
    } catch {
      // A signature that cannot be read is not a good one; the next may be.
    }
  }
  return check('Signature', false, '', 'no signature on it is good');
}

/** @param {string} text the file @returns {Promise<Verdict>} */
export async function verifyReceipt(text) {
  let receipt;
  try {
    receipt = JSON.parse(text);
  } catch {
    return failed('The file is not JSON.');
  }
  if (receipt === null || typeof receipt !== 'object' || typeof receipt.receipt_hash !== 'string') return failed('This is not a receipt: it has no receipt_hash.');
  if (receipt.format > 1) return failed(`It has format ${receipt.format}; these pages read format 1.`);
  const kind = receipt.merkle_root !== undefined ? 'level' : 'item';
  const checks = sealChecks(text, receipt);
  try {
    checks.push(...(kind === 'level' ? levelChecks(receipt) : itemChecks(receipt)));
  } catch {
    checks.push(check('Contents', false, '', 'a field is missing or of another kind'));
  }
  if (kind === 'item') checks.push(await signatureCheck(receipt));
  return { kind, receipt, checks, isGood: checks.every((it) => it.is === 'good'), keyId: String(receipt.signed?.signatures?.[0]?.keyid ?? '') };
}

/** @param {string} why @returns {Verdict} */
const failed = (why) => ({ kind: 'unknown', receipt: null, checks: [check('File', false, '', why)], isGood: false, keyId: '' });

/**
 * Whether receipts of one tree follow each other, in the order of their places.
 * @param {any[]} receipts
 * @returns {Check[]}
 */
export function chainChecks(receipts) {
  const sorted = receipts.toSorted((a, b) => a.chain_index - b.chain_index);
  return sorted.slice(1).map((it, at) => {
    const before = sorted[at];
    const isLinked = it.previous_receipt_hash === before.receipt_hash && it.chain_index === before.chain_index + 1 && it.sealed_at > before.sealed_at;
    const isTree = it.tree_before === before.tree_after || it.tree_changed_outside;
    return check(`Receipt ${it.chain_index + 1} after ${before.chain_index + 1}`, isLinked && isTree, it.tree_changed_outside ? 'bound to it; the tree was changed by someone else in between, which it says' : 'bound to it, and later', isLinked ? 'the tree is another one, and it does not say so' : 'it does not follow it: one is missing, exchanged or older');
  });
}

/** Whether the receipts of a level's items are those that it names. @param {any} level @param {any[]} items @returns {Check[]} */
export function levelItemChecks(level, items) {
  return items.filter((it) => it.plan_id === level.plan_id && it.level === level.level).map((it) => {
    const named = level.items.find((/** @type {any} */ item) => item.receipt_id === it.receipt_id);
    return check(`Item ${it.work_item?.id}`, named?.receipt_hash === it.receipt_hash && same(named?.status, it.status), 'is the one that the level names', 'is not the one that the level names');
  });
}
