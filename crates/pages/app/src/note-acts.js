// What one does with notes besides writing: make, find by name, delete, restore, move, go back.
import { batch, signal } from '../vendor/signals.js';
import { api, newKey } from './api.js';
import { drawnAtOnce } from './html.js';
import { go, notePath, route } from './router.js';
import { hasRole } from './state.js';
import { storeOf } from './note-store.js';
import { dropNote, list, putNote } from './notes-list.js';
import { workspaceId } from './workspace.js';

/** @typedef {import('./workspace-types.js').Note} Note */
/** @typedef {import('./workspace-types.js').NoteSummary} NoteSummary */
/** @typedef {import('./workspace-types.js').Hit} Hit */

/**
 * Where one writes: in the title or in the text, and between which letters.
 * @typedef {{ isText: boolean, from: number, to: number }} Place
 */

/** The note that was just made, and where in it one was writing already. @type {{ id: string, place: Place | null }} */
export const justMade = { id: '', place: null };

/**
 * A note that the server does not have yet, with what was written into it meanwhile. `from` is the page that it is shown on.
 * @typedef {{ title: string, markdown: string, from: string, error: unknown, send: () => Promise<void> }} Making
 */

/** @type {import('../vendor/signals.js').Signal<Making | null>} */
export const making = signal(null);

/** @param {Partial<Making>} part */
export const writeInto = (part) => void (making.value = making.value && { ...making.value, ...part });

/** Makes a note. One writes in it from this moment on, also while the server is asked. @param {{ title?: string, keywords?: string[], folder?: string }} [given] */
export function makeNote(given = {}) {
  if (making.value) return;
  const { folder, ...fields } = given;
  const body = { workspace_id: workspaceId(), markdown: '', ...fields, ...(folder ? { metadata: { folder } } : {}) };
  const key = newKey();
  const send = async () => {
    writeInto({ error: null });
    try {
      const note = await api('POST', '/api/notes', body, undefined, { key });
      await takeUp({ ...note, ...(folder ? { folder } : {}) });
    } catch (error) {
      writeInto({ error });
    }
  };
  justMade.place = null;
  making.value = { title: given.title ?? '', markdown: '', from: route.value.path, error: null, send };
  void send();
}

/** The note is there: what was written meanwhile is its first change. @param {Note} note */
async function takeUp(note) {
  putNote(note);
  const store = storeOf(note.note_id, note);
  await store.opened;
  drawnAtOnce(() => batch(() => {
    const { title, markdown, from } = /** @type {Making} */ (making.value);
    making.value = null;
    if (title.trim() !== '' || markdown !== '') store.write({ ...(title.trim() === '' ? {} : { title }), markdown });
    if (route.value.path !== from) return;
    justMade.id = note.note_id;
    go(notePath(note.note_id) + location.search);
  }));
}

/** @param {string} text */
const folded = (text) => text.normalize('NFC').trim().toLowerCase();

/** The note that a link names: by its id, its title, or a title that differs only in case. @param {string} name @returns {Promise<string | null>} */
export async function findByName(name) {
  const { notes } = list.value;
  const here = notes.find((it) => it.note_id === name) ?? notes.find((it) => it.title === name) ?? notes.find((it) => folded(it.title) === folded(name));
  if (here) return here.note_id;
  const found = await search(name, 20).catch(() => []);
  return found.find((it) => folded(it.title) === folded(name))?.note_id ?? null;
}

/** @param {string} query @param {number} limit @param {AbortSignal} [signal] @returns {Promise<Hit[]>} */
export async function search(query, limit, signal) {
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return [];
  // The last word is still being written: it is the beginning of one.
  const asked = `${words.join(' ')}*`.slice(0, 500);
  const { results } = await api('GET', `/api/search?workspace_id=${workspaceId()}&limit=${limit}&q=${encodeURIComponent(asked)}`, undefined, signal);
  return results;
}

/** Opens the note that a link names; makes one that is missing, as editors of linked notes do. @param {string} name */
export async function openNamed(name) {
  const title = name.split('#')[0].trim() || name;
  const id = await findByName(title);
  if (id) go(notePath(id) + location.search);
  else if (hasRole('editor')) makeNote({ title });
  return id !== null || hasRole('editor');
}

/** Titles for what follows `[[`. @param {string} query @param {string} ownId */
export async function suggestTitles(query, ownId) {
  const asked = folded(query);
  const known = list.value.notes.filter((it) => it.note_id !== ownId && !/[[\]|]/.test(it.title));
  const begins = known.filter((it) => folded(it.title).startsWith(asked));
  const holds = known.filter((it) => !folded(it.title).startsWith(asked) && folded(it.title).includes(asked));
  const here = [...begins, ...holds].slice(0, 8).map((it) => ({ title: it.title, hint: it.folder ?? undefined }));
  if (here.length > 0 || asked === '' || list.value.next === null) return withNew(here, query);
  const found = await search(query, 8).catch(() => []);
  return withNew(found.map((it) => ({ title: it.title })), query);
}

/** @param {{ title: string, hint?: string }[]} found @param {string} query */
function withNew(found, query) {
  const title = query.trim();
  const isKnown = found.some((it) => folded(it.title) === folded(title));
  return title === '' || isKnown ? found : [...found, { title, hint: 'new note' }];
}

/** @param {Note} note */
export async function deleteNote(note) {
  await api('DELETE', `/api/notes/${note.note_id}?base_version=${note.version}`);
  dropNote(note.note_id);
}

/** @param {string} noteId @returns {Promise<Note>} */
export async function restoreNote(noteId) {
  const note = await api('POST', `/api/notes/${noteId}/undelete`, {});
  putNote(note);
  return note;
}

/** @param {Note} note @param {string} folder @returns {Promise<Note>} */
export const moveNote = (note, folder) => folder === ''
  ? api('DELETE', `/api/notes/${note.note_id}/metadata/folder?base_version=${note.version}`).then(() => api('GET', `/api/notes/${note.note_id}`))
  : api('PUT', `/api/notes/${note.note_id}/metadata/folder?base_version=${note.version}`, { value: folder });

/** @param {string} noteId @param {number} version @returns {Promise<Note>} */
export const readVersion = (noteId, version) => api('GET', `/api/notes/${noteId}/history/${version}`);

/** @param {string} noteId @param {number} offset @returns {Promise<{ versions: import('./workspace-types.js').Event[], next_offset: number | null }>} */
export const readHistory = (noteId, offset) => api('GET', `/api/notes/${noteId}/history?limit=30&offset=${offset}`);
