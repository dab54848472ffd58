// What was written and not yet saved, in the browser's database: it survives conflicts, lost connections and restarts.
import { newKey } from './api.js';
import { keepHere, keptHere } from './storage.js';

/**
 * @typedef {{ version: number, title: string, markdown: string, raw: string, keywords: string[] }} Base
 * @typedef {{ title: string, markdown: string, keywords: string[] }} Mine
 * @typedef {{ key: string, user: string, noteId: string, tab: string, base: Base, mine: Mine,
 *   sending: { key: string, body: any } | null, choices: [string, import('./lib/merge3.js').Choice][], at: number }} Draft
 */

/** @type {Promise<IDBDatabase> | null} */
let opening = null;

function open() {
  opening ??= new Promise((done, fail) => {
    const request = indexedDB.open('bonded', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('drafts', { keyPath: 'key' }).createIndex('note', ['user', 'noteId']);
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  // A browser that had no room may have some later.
  opening.catch(() => (opening = null));
  return opening;
}

/**
 * @template T
 * @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T>}
 */
async function inStore(mode, ask) {
  const db = await open();
  return new Promise((done, fail) => {
    const transaction = db.transaction('drafts', mode);
    const request = ask(transaction.objectStore('drafts'));
    transaction.oncomplete = () => done(request.result);
    transaction.onerror = transaction.onabort = () => fail(transaction.error ?? request.error);
  });
}

/** @param {Draft} draft @returns {Promise<boolean>} whether it is kept */
export const putDraft = (draft) => inStore('readwrite', (store) => store.put(draft)).then(() => true, () => false);

/** @param {string} key @returns {Promise<boolean>} */
export const dropDraft = (key) => inStore('readwrite', (store) => store.delete(key)).then(() => true, () => false);

/** Every draft of a person. @param {string} user @returns {Promise<Draft[]>} */
export const allDrafts = (user) =>
  inStore('readonly', (store) => store.index('note').getAll(IDBKeyRange.bound([user], [user, []]))).catch(() => []);

/** @param {string} user @param {string} noteId @returns {Promise<Draft[]>} */
const draftsOf = (user, noteId) => inStore('readonly', (store) => store.index('note').getAll([user, noteId])).catch(() => []);

/** This tab, also after it was loaded again. A copy of a tab is another one. @type {Promise<string> | null} */
let naming = null;

export const tabId = () => (naming ??= nameTab());

async function nameTab() {
  const before = keptHere('tab');
  if (before && (await holdName(before))) return before;
  const fresh = newKey();
  keepHere('tab', fresh);
  await holdName(fresh);
  return fresh;
}

/** Holds the name as long as the tab lives; false where another tab has it. @param {string} name @returns {Promise<boolean>} */
const holdName = (name) => new Promise((done) => {
  if (!navigator.locks) return done(true);
  void navigator.locks.request(`bonded.tab.${name}`, { ifAvailable: true }, (lock) => {
    done(lock !== null);
    return lock === null ? undefined : new Promise(() => {});
  });
  return undefined;
});

const STRAY_MS = 60_000;

/** The tabs that live. @returns {Promise<(draft: Draft) => boolean>} */
async function living() {
  if (!navigator.locks) return (draft) => Date.now() - draft.at < STRAY_MS;
  const { held = [] } = await navigator.locks.query();
  const alive = new Set(held.map((it) => it.name));
  return (draft) => alive.has(`bonded.tab.${draft.tab}`);
}

/** The draft to continue: this tab's, else the newest of a tab that is gone. @param {string} user @param {string} noteId */
export async function draftFor(user, noteId) {
  const found = await draftsOf(user, noteId);
  if (found.length === 0) return null;
  const [tab, lives] = [await tabId(), await living()];
  const own = found.find((it) => it.tab === tab);
  return own ?? found.filter((it) => !lives(it)).toSorted((a, b) => b.at - a.at)[0] ?? null;
}
