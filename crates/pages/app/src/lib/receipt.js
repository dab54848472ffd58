// Checks receipts from their files alone, as `bonded verify` does: form, hash, signature, what each says of itself, and
// what they say of each other.
import { blake3 } from './blake3.js';
import { canonical } from './canonical.js';
import { itemChecks } from './receipt-rules.js';

/** @typedef {{ name: string, is: 'good' | 'bad' | 'unknown', text: string }} Check */
/** @typedef {{ kind: 'item' | 'level' | 'unknown', receipt: any, checks: Check[], isGood: boolean, keyId: string }} Verdict */

const same = (/** @type {any} */ a, /** @type {any} */ b) => canonical(a ?? null) === canonical(b ?? null);

/** @param {string} name @param {boolean} is @param {string} good @param {string} bad @returns {Check} */
const check = (name, is, good, bad) => ({ name, is: is ? 'good' : 'bad', text: is ? good : bad });

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

/** The document of a key as the file holds it. @param {string} pem */
const documentOf = (pem) => unbase64(pem.replace(/-----[^-]+-----/g, '').replace(/\s/g, ''));

/** What a key is known by: SHA-256 of its document. What the file says of that proves nothing. @param {any} receipt */
async function keyIdOf(receipt) {
  try {
    const digest = await crypto.subtle.digest('SHA-256', documentOf(receipt.signed.public_key));
    return [...new Uint8Array(digest)].map((it) => it.toString(16).padStart(2, '0')).join('');
  } catch {
    return '';
  }
}

/** @param {any} receipt @returns {Promise<Check>} */
async function signatureCheck(receipt) {
  const { public_key: pem, signatures } = receipt.signed ?? {};
  if (typeof pem !== 'string' || !Array.isArray(signatures)) return check('Signature', false, '', 'the receipt is not signed');
  let key;
  try {
    key = await crypto.subtle.importKey('spki', documentOf(pem), { name: 'Ed25519' }, false, ['verify']);
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
  return { kind, receipt, checks, isGood: checks.every((it) => it.is === 'good'), keyId: kind === 'item' ? await keyIdOf(receipt) : '' };
}

/** @param {string} why @returns {Verdict} */
const failed = (why) => ({ kind: 'unknown', receipt: null, checks: [check('File', false, '', why)], isGood: false, keyId: '' });

/** Why a receipt does not follow another one. @param {any} before @param {any} it @returns {string[]} */
function linkFaults(before, it) {
  const isAsLeft = before.tree_after === it.tree_before;
  const isSaid = (!isAsLeft || it.changed_meanwhile === true) === (it.tree_changed_outside === true);
  return [
    it.previous_receipt_hash === before.receipt_hash ? '' : 'it is bound to another receipt',
    it.chain_index === before.chain_index + 1 ? '' : 'a receipt between them is missing',
    it.sealed_at > before.sealed_at ? '' : 'it is not later',
    isSaid ? '' : 'the tree changed in between, and what it says of that is not true',
  ].filter(Boolean);
}

/**
 * Whether receipts of one tree follow each other, in the order of their places.
 * @param {any[]} receipts
 * @returns {Check[]}
 */
export function chainChecks(receipts) {
  const sorted = receipts.toSorted((a, b) => a.chain_index - b.chain_index);
  return sorted.slice(1).map((it, at) => {
    const faults = linkFaults(sorted[at], it);
    return check(`Receipt ${it.chain_index + 1} after ${sorted[at].chain_index + 1}`, faults.length === 0, it.tree_changed_outside ? 'bound to it; another process changed the tree in between, which it says' : 'bound to it, and later', faults.join('; '));
  });
}

/** Whether the receipts of a level's items are those that it names. @param {any} level @param {any[]} items @returns {Check[]} */
export function levelItemChecks(level, items) {
  const own = items.filter((it) => it.plan_id === level.plan_id && it.level === level.level);
  const checks = own.map((it) => {
    const named = level.items.find((/** @type {any} */ item) => item.receipt_id === it.receipt_id);
    const isNamed = same(named, { id: it.work_item?.id, status: it.status, receipt_id: it.receipt_id, receipt_hash: it.receipt_hash });
    return check(`Item ${it.work_item?.id}`, isNamed, 'is the one that the level names', 'is not the one that the level names');
  });
  if (own.length < level.items.length) return checks;
  const last = own.toSorted((a, b) => a.chain_index - b.chain_index).at(-1);
  return [...checks, check('Tree of the level', last === undefined || last.tree_after === level.tree_after, 'is what its last item left', 'is not what its last item left')];
}
