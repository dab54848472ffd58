// What is known about a note besides its text: what links to it, its versions, what is attached, where it lies.
import { html } from '../html.js';
import { useEffect, useRef, useState } from '../../vendor/hooks.js';
import { api, ApiError, send } from '../api.js';
import { useLoaded } from '../hooks.js';
import { notePath } from '../router.js';
import { folders, putNote } from '../notes-list.js';
import { moveNote, readHistory } from '../note-acts.js';
import { hear } from '../socket.js';
import { actorName } from '../workspace.js';
import { bytes } from '../lib/numbers.js';
import { undoVersion } from '../note-undo.js';
import { Failed } from './states.js';
import { Icon } from './icon.js';
import { saveAs } from '../download.js';
import { shortTime } from './note-list.js';

/** @typedef {import('../note-store.js').NoteStore} NoteStore */

/** @param {{ store: NoteStore, canWrite: boolean }} props */
export function NoteAbout({ store, canWrite }) {
  const note = store.note.value;
  if (!note) return null;
  return html`<aside class="about" aria-label="About this note">
    <${Versions} store=${store} canWrite=${canWrite} /><${Backlinks} noteId=${store.noteId} version=${note.version} />
    <${Attachments} noteId=${store.noteId} canWrite=${canWrite} /><${Place} store=${store} canWrite=${canWrite} />
    <div><h2>Details</h2><p class="s">created ${shortTime(note.created_at)}${note.note_kind === 'note' ? '' : `, kind ${note.note_kind}`}</p></div></aside>`;
}

const EVENTS = /** @type {Record<string, string>} */ ({ 'note.created': 'created', 'note.title_changed': 'renamed', 'note.deleted': 'deleted', 'note.undeleted': 'restored' });

/** @param {{ store: NoteStore, canWrite: boolean }} props */
function Versions({ store, canWrite }) {
  const version = store.note.value?.version ?? 0;
  const { data, error, reload } = useLoaded(() => readHistory(store.noteId, 0), [store.noteId]);
  const [problem, setProblem] = useState('');
  useEffect(reload, [version]);
  const shown = (data?.versions ?? []).slice(0, 6);
  const undo = (/** @type {number} */ it) => void undoVersion(store, it).then((is) => setProblem(is ? '' : `Version ${it} cannot be undone alone: the same place was changed since. Compare it in the history.`), (e) => setProblem(e.message));
  return html`<div><h2>Versions, ${version}</h2>${Boolean(error) && html`<${Failed} what="The versions cannot be read." error=${error} onRetry=${reload} />`}
    <ul>${shown.map((it) => html`<li key=${it.event_id}><a class="row" href=${it.version && it.version > 1 ? historyPath(store.noteId, it.version - 1, it.version) : `${notePath(store.noteId)}/history`}><b>${it.version}</b> ${actorName(it)}<span class="grow"></span>${it.version === store.base?.version && store.status.value !== 'saved' && html`<span class="st off">your base</span>`}</a>
      <span class="s">${EVENTS[it.event_type] ? `${EVENTS[it.event_type]} ` : ''}${shortTime(it.timestamp)}${canWrite && it.actor_type === 'agent' && (it.version ?? 0) > 1 ? html` <button class="link tiny" onClick=${() => undo(/** @type {number} */ (it.version))}>Undo</button>` : ''}</span></li>`)}</ul>
    ${problem && html`<p class="tiny c-bad" role="alert">${problem}</p>`}
    ${version > 1 && html`<a class="small" href=${`${notePath(store.noteId)}/history`}>History</a>`}</div>`;
}

/** @param {string} id @param {number} from @param {number} to */
export const historyPath = (id, from, to) => `${notePath(id)}/history/${from}..${to}`;

/** @param {{ noteId: string, version: number }} props */
function Backlinks({ noteId, version }) {
  const { data, reload } = useLoaded(() => api('GET', `/api/notes/${noteId}/backlinks`), [noteId]);
  useEffect(reload, [version]);
  useEffect(() => hear({ refresh: reload, event: (it) => it.event_type.startsWith('note.') && reload() }), []);
  const links = data?.backlinks ?? [];
  return html`<div><h2>Linked from${links.length > 0 ? `, ${links.length}` : ''}</h2>${links.length === 0
    ? html`<p class="s">no other note</p>`
    : html`<ul>${links.slice(0, 50).map((/** @type {import('../workspace-types.js').NoteSummary} */ it) => html`<li key=${it.note_id}><a class="cut u" href=${notePath(it.note_id)}>${it.title}</a></li>`)}</ul>`}</div>`;
}

/** @param {{ store: NoteStore, canWrite: boolean }} props */
function Place({ store, canWrite }) {
  const note = store.note.value;
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const folder = String(note?.metadata?.folder ?? '');
  if (!note || (!canWrite && !folder)) return null;
  const move = async (/** @type {string} */ to) => {
    const clean = to.split('/').map((it) => it.trim()).filter(Boolean).join('/');
    if (clean === folder) return;
    try {
      setError(null);
      const moved = await moveNote(store.note.value ?? note, clean);
      store.take(moved, 'You');
      putNote({ ...moved, folder: clean || null });
    } catch (refused) {
      setError(refused);
    }
  };
  return html`<div><h2>Folder</h2>${canWrite
    ? html`<div class="field"><input key=${folder} aria-label="Folder" list="folders" placeholder="none" value=${folder} onChange=${(/** @type {Event} */ event) => void move(/** @type {HTMLInputElement} */ (event.target).value)} /></div><datalist id="folders">${folders.value.map((it) => html`<option key=${it} value=${it} />`)}</datalist>`
    : html`<p class="s">${folder}</p>`}${error && html`<${Failed} what="It was not moved." error=${error} />`}</div>`;
}

/** @typedef {{ attachment_id: string, name: string, content_type: string, bytes: number, added_at: string, removed_at: string | null }} Attachment */

/** @param {{ noteId: string, canWrite: boolean }} props */
function Attachments({ noteId, canWrite }) {
  const { data, error, reload } = useLoaded(() => api('GET', `/api/notes/${noteId}/attachments`), [noteId]);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [isBusy, setBusy] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => hear({ refresh: reload, event: (it) => it.event_type.startsWith('attachment.') && reload() }), []);
  // A server without attachments has nothing to show here.
  if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return null;
  const did = async (/** @type {Promise<unknown>} */ doing) => {
    setBusy(true);
    setProblem(null);
    await doing.then(reload, setProblem);
    setBusy(false);
  };
  const add = (/** @type {FileList | null} */ files) => did((async () => {
    for (const file of files ?? []) await api('POST', `/api/notes/${noteId}/attachments?name=${encodeURIComponent(file.name)}`, undefined, undefined, { raw: file });
  })());
  const shown = (data?.attachments ?? []).filter((/** @type {Attachment} */ it) => it.removed_at === null);
  return html`<div onDragOver=${(/** @type {DragEvent} */ event) => canWrite && event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => { if (canWrite) { event.preventDefault(); void add(event.dataTransfer?.files ?? null); } }}><h2>Attachments${shown.length > 0 ? `, ${shown.length}` : ''}</h2>
    <ul>${shown.map((/** @type {Attachment} */ it) => html`<li key=${it.attachment_id}><span class="row"><button class="link cut u" onClick=${() => void download(it).catch(setProblem)}>${it.name}</button><span class="grow"></span>${canWrite && html`<button class="btn quiet icon small-btn" aria-label=${`Remove ${it.name}`} onClick=${() => void did(api('DELETE', `/api/attachments/${it.attachment_id}`))}><${Icon} name="x" /></button>`}</span><span class="s">${bytes(it.bytes)}, ${shortTime(it.added_at)}</span></li>`)}</ul>
    ${shown.length === 0 && html`<p class="s">${canWrite ? 'none; drop files here' : 'none'}</p>`}
    ${canWrite && html`<input ref=${input} class="sr" type="file" multiple tabindex="-1" aria-label="Files to attach" onChange=${() => void add(input.current?.files ?? null)} /><button class="btn" disabled=${isBusy} onClick=${() => input.current?.click()}>${isBusy ? 'Sending' : 'Attach files'}</button>`}
    ${problem && html`<${Failed} what="That did not work." error=${problem} />`}</div>`;
}

/** @param {Attachment} it */
async function download(it) {
  saveAs(await (await send('GET', `/api/attachments/${it.attachment_id}`)).blob(), it.name);
}

