// The notes of the workspace, without their texts: read in pages, then kept up by what happens.
import { computed, signal } from '../vendor/signals.js';
import { api } from './api.js';
import { hear } from './socket.js';
import { isMine, workspaceId } from './workspace.js';

/** @typedef {import('./workspace-types.js').NoteSummary} NoteSummary */

const PAGE = 200;
// More are read when a person scrolls to the end: a list of everything is no longer something to read.
const FIRST_MOST = 1000;

/** @type {import('../vendor/signals.js').Signal<{ workspace: string, notes: NoteSummary[], next: number | null, isRead: boolean, error: unknown }>} */
export const list = signal({ workspace: '', notes: [], next: 0, isRead: false, error: null });

/** Notes of others that were made meanwhile: they wait until asked for. @type {import('../vendor/signals.js').Signal<NoteSummary[]>} */
export const fresh = signal([]);

/** Who changed a note last, as far as it was seen. @type {Map<string, { by: import('./workspace-types.js').Event }>} */
export const changedBy = new Map();

/** Counts of keywords, from the server where it has them. @type {import('../vendor/signals.js').Signal<{ keyword: string, count: number }[] | null>} */
const counted = signal(null);

export const keywords = computed(() => counted.value ?? countHere(list.value.notes));
export const folders = computed(() => [...new Set(list.value.notes.map((it) => it.folder).filter(Boolean))].toSorted());

/** @param {NoteSummary[]} notes */
function countHere(notes) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const note of notes) for (const it of note.keywords) counts.set(it, (counts.get(it) ?? 0) + 1);
  return [...counts].map(([keyword, count]) => ({ keyword, count })).toSorted((a, b) => b.count - a.count);
}

let turn = 0;

/** Reads the list anew; what is shown stays until the new one is here. */
export async function readList() {
  const own = ++turn;
  const workspace = workspaceId();
  if (!workspace) return;
  void readKeywords(workspace);
  /** @type {NoteSummary[]} */
  let notes = [];
  let next = /** @type {number | null} */ (0);
  try {
    while (next !== null && notes.length < FIRST_MOST) {
      const page = await readPage(workspace, next);
      if (own !== turn) return;
      notes = [...notes, ...page.notes];
      next = page.next_offset;
      // The first page at once; the others replace a longer list only when they are all here.
      if (list.value.notes.length <= notes.length || list.value.workspace !== workspace) list.value = { workspace, notes, next, isRead: true, error: null };
    }
    list.value = { workspace, notes, next, isRead: true, error: null };
    fresh.value = [];
  } catch (error) {
    if (own === turn) list.value = { ...list.value, error };
  }
}

/** @param {string} workspace @param {number} offset */
const readPage = (workspace, offset) => api('GET', `/api/notes?workspace_id=${workspace}&limit=${PAGE}&offset=${offset}`);

export async function readMore() {
  const { workspace, notes, next } = list.value;
  if (next === null) return;
  const own = turn;
  list.value = { ...list.value, next: null };
  const page = await readPage(workspace, next);
  if (own !== turn) return;
  const here = new Set(notes.map((it) => it.note_id));
  list.value = { ...list.value, notes: [...notes, ...page.notes.filter((/** @type {NoteSummary} */ it) => !here.has(it.note_id))], next: page.next_offset };
}

/** @param {string} workspace */
async function readKeywords(workspace) {
  const found = await api('GET', `/api/keywords?workspace_id=${workspace}`).catch(() => null);
  counted.value = found?.keywords ?? null;
}

/** A note as it is now; the place in the list stays. @param {NoteSummary} note */
export function putNote(note) {
  const { notes } = list.value;
  if (note.workspace_id !== list.value.workspace) return;
  const isHere = notes.some((it) => it.note_id === note.note_id);
  const next = isHere ? notes.map((it) => (it.note_id === note.note_id ? { ...it, ...note } : it)) : [note, ...notes];
  list.value = { ...list.value, notes: next };
}

/** @param {string} noteId */
export function dropNote(noteId) {
  list.value = { ...list.value, notes: list.value.notes.filter((it) => it.note_id !== noteId) };
}

export function showFresh() {
  list.value = { ...list.value, notes: [...fresh.value, ...list.value.notes] };
  fresh.value = [];
}

/** @param {import('./workspace-types.js').Event} event */
function heard(event) {
  if (!event.note_id || !event.event_type.startsWith('note.')) return;
  changedBy.set(event.note_id, { by: event });
  if (event.event_type === 'note.deleted') return dropNote(event.note_id);
  const known = list.value.notes.find((it) => it.note_id === event.note_id);
  const change = { version: event.version ?? 0, updated_at: event.timestamp, ...pick(event.payload ?? {}) };
  if (known) {
    if ((event.version ?? 0) >= known.version) putNote({ ...known, ...change });
  } else if (event.event_type === 'note.created') {
    const made = /** @type {NoteSummary} */ ({ note_id: event.note_id, workspace_id: event.workspace_id, title: '', keywords: [], note_kind: 'note', created_at: event.timestamp, deleted_at: null, ...change });
    if (isMine(event)) putNote(made);
    else if (!fresh.value.some((it) => it.note_id === made.note_id)) fresh.value = [made, ...fresh.value];
  }
}

/** @param {any} payload */
function pick(payload) {
  /** @type {Partial<NoteSummary>} */
  const out = {};
  for (const key of /** @type {const} */ (['title', 'keywords', 'note_kind'])) if (payload[key] !== undefined && payload[key] !== null) out[key] = payload[key];
  return out;
}

let isWatching = false;

export function watchList() {
  if (isWatching) return;
  isWatching = true;
  hear({ event: heard, refresh: () => void readList() });
}
