// One note: its title, keywords and text, whether it is saved, and what can be done with it.
import { html } from '../html.js';
import { useEffect, useLayoutEffect, useRef, useState } from '../../vendor/hooks.js';
import { useTitle } from '../hooks.js';
import { go } from '../router.js';
import { hasRole, workspaces } from '../state.js';
import { keep, kept } from '../storage.js';
import { chooseWorkspace } from '../choice.js';
import { storeOf } from '../note-store.js';
import { deleteNote, justMade, openNamed, restoreNote, suggestTitles } from '../note-acts.js';
import { keywords as knownKeywords, putNote } from '../notes-list.js';
import { counted } from '../lib/numbers.js';
import { countHidden } from '../lib/hidden.js';
import { toggleTaskInLine } from '../lib/md-keys.js';
import { Badge, Icon } from './icon.js';
import { Dialog } from './dialog.js';
import { ConflictView, openChoices } from './conflict.js';
import { Editor } from './editor.js';
import { Failed, Loading } from './states.js';
import { Markdown } from './markdown.js';
import { NoteAbout } from './note-about.js';
import { saveAs } from '../download.js';
import { useKeys } from './keys.js';

/** @typedef {import('../note-store.js').NoteStore} NoteStore */

/** @param {{ noteId: string, onMenu: (() => void) | null, isMenu: boolean, onFail: (error: unknown) => void }} props */
export function NoteView({ noteId, onMenu, isMenu, onFail }) {
  const store = storeOf(noteId);
  const [isPreview, setPreview] = useState(kept('note-view') === 'preview' && justMade.id !== noteId);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => store.use(), [store]);
  const note = store.note.value;
  useTitle(store.mine.value.title || 'Note');
  useEffect(() => {
    // A note of another workspace brings its workspace with it.
    if (note && note.workspace_id !== workspaces.value.current?.workspace_id) chooseWorkspace(note.workspace_id);
    if (note) putNote(note);
  }, [note]);
  const canWrite = hasRole('editor') && note?.deleted_at === null;
  const toggle = () => {
    setPreview(!isPreview);
    keep('note-view', isPreview ? 'source' : 'preview');
  };
  useNoteKeys(store, toggle);
  const open = (/** @type {string} */ title) => void openNamed(title).then((is) => !is && onFail(new Error(`There is no note “${title}”, and your role here cannot make one.`)), onFail);
  const remove = () => {
    setAsking(false);
    if (note) void deleteNote(note).then(() => go(`/notes?deleted=${noteId}`), onFail);
  };
  return html`<article class="nv" aria-label="Note"><${Bar} store=${store} isPreview=${isPreview} onToggle=${toggle} onMenu=${onMenu} isMenu=${isMenu} canWrite=${canWrite} onDelete=${() => setAsking(true)} />
    <${Body} store=${store} isPreview=${isPreview || (note !== null && !canWrite)} canWrite=${canWrite} onOpen=${open} onFail=${onFail} /></article>
    <${NoteAbout} store=${store} canWrite=${canWrite} />
    ${isAsking && html`<${Dialog} title="Delete this note?" onClose=${() => setAsking(false)}><p>“${store.mine.value.title}” disappears from lists and searches. It can be restored, and its versions stay.</p><div class="row"><button class="btn solid" onClick=${remove}>Delete</button><button class="btn" onClick=${() => setAsking(false)}>Keep it</button></div><//>`}`;
}

/** @param {NoteStore} store @param {() => void} onToggle */
function useNoteKeys(store, onToggle) {
  useKeys('Note', [
    { key: 'Ctrl S', does: 'Save now', run: () => {} }, { key: 'Ctrl E', does: 'Preview or source', run: () => {} },
    { key: 'Ctrl B', does: 'Bold', run: () => {} }, { key: 'Ctrl I', does: 'Italic', run: () => {} },
    { key: 'Ctrl Enter', does: 'Task: done or not', run: () => {} }, { key: 'Alt Enter', does: 'Open the link at the cursor', run: () => {} },
    { key: 'e', does: 'Edit the text', run: () => /** @type {HTMLElement | null} */ (document.querySelector('.ed-field'))?.focus() },
  ]);
  const latest = useRef(onToggle);
  latest.current = onToggle;
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      if (event.key === 's') store.saveNow();
      else if (event.key === 'e') latest.current();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [store]);
}

/** @param {{ store: NoteStore, isPreview: boolean, onToggle: () => void, onMenu: (() => void) | null, isMenu: boolean, canWrite: boolean, onDelete: () => void }} props */
function Bar({ store, isPreview, onToggle, onMenu, isMenu, canWrite, onDelete }) {
  const isUnsaved = !['saved', 'loading', 'failed', 'choice'].includes(store.status.value);
  return html`<div class="bar nv-bar">${onMenu && html`<button class="btn quiet" aria-label="Notes" aria-expanded=${String(isMenu)} aria-controls="note-menu" onClick=${onMenu}><${Icon} name="notes" /><span class="hide-m">Notes</span></button>`}
    <${SaveState} store=${store} /><span class="grow"></span>
    ${isUnsaved && canWrite && html`<button class="btn" onClick=${() => store.saveNow()}>Save <kbd>Ctrl S</kbd></button>`}
    ${canWrite && store.status.value !== 'choice' && html`<button class="btn quiet" aria-pressed=${String(isPreview)} onClick=${onToggle}>${isPreview ? 'Source' : 'Preview'}</button>`}
    <${More} store=${store} canWrite=${canWrite} onDelete=${onDelete} /></div>`;
}

/** @param {{ store: NoteStore }} props */
function SaveState({ store }) {
  const is = store.status.value;
  const lost = !store.isKept.value && !['saved', 'loading', 'failed'].includes(is);
  const n = openChoices(store);
  return html`<span class="row wrap save" role="status" data-version=${is === 'saved' ? store.note.value?.version : undefined}>
    ${is === 'saved' && html`<${Badge} tone="ok" icon="ok">Saved<//>`}
    ${(is === 'typing' || is === 'saving') && html`<${Badge} tone="run" icon="run">${is === 'saving' ? 'Saving' : 'Not saved yet'}<//>`}
    ${is === 'unsent' && html`<${Badge} tone="wait" icon="off">Not saved, the server does not answer<//>`}
    ${is === 'choice' && html`<${Badge} tone="wait" icon="wait">Not saved, ${n === 0 ? 'every choice made' : `${counted(n, 'choice')} open`}<//>`}
    ${is === 'refused' && html`<${Badge} tone="bad" icon="bad">Not saved<//>`}
    ${lost && html`<span class="small c-bad">This browser’s storage is full: what is not saved is on this page only. Keep it open.</span>`}</span>`;
}

/** @param {{ store: NoteStore, canWrite: boolean, onDelete: () => void }} props */
function More({ store, canWrite, onDelete }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!isOpen) return undefined;
    const onDown = (/** @type {Event} */ event) => !box.current?.contains(/** @type {Node} */ (event.target)) && setOpen(false);
    addEventListener('pointerdown', onDown);
    return () => removeEventListener('pointerdown', onDown);
  }, [isOpen]);
  const then = (/** @type {() => void} */ act) => () => {
    setOpen(false);
    act();
  };
  const download = () => saveAs(new Blob([store.mine.value.markdown], { type: 'text/markdown' }), `${store.mine.value.title.replace(/[\\/:*?"<>|]/g, '-') || 'note'}.md`);
  const copy = () => void navigator.clipboard.writeText(`[[${store.mine.value.title}]]`).catch(() => {});
  return html`<div class="menu" ref=${box} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && setOpen(false)}><button class="btn icon" aria-label="More" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}><${Icon} name="more" /></button>
    ${isOpen && html`<div class="menu-list"><a href=${`/notes/${store.noteId}/history`} onClick=${then(() => {})}><${Icon} name="history" />History</a><button onClick=${then(copy)}><${Icon} name="copy" />Copy a link to it</button><button onClick=${then(download)}><${Icon} name="dn" />Download as Markdown</button>
      ${canWrite && html`<button onClick=${then(onDelete)}><${Icon} name="x" />Delete</button>`}</div>`}</div>`;
}

/** @param {{ store: NoteStore, isPreview: boolean, canWrite: boolean, onOpen: (title: string) => void, onFail: (error: unknown) => void }} props */
function Body({ store, isPreview, canWrite, onOpen, onFail }) {
  const is = store.status.value;
  if (is === 'loading') return html`<div class="doc"><${Loading} rows=${6} /></div>`;
  if (is === 'failed') return html`<div class="doc"><h1 class="sr">Note</h1><${Failed} what="This note cannot be shown." error=${store.error.value} onRetry=${() => void store.load()} /></div>`;
  const { title, markdown } = store.mine.value;
  const hidden = countHidden(markdown);
  return html`<div class="doc"><h1 class="sr">${title}</h1>
    ${store.note.value?.deleted_at && html`<div class="note wait"><${Icon} name="x" /><div class="grow">This note is deleted.</div>${hasRole('editor') && html`<button class="btn" onClick=${() => void restoreNote(store.noteId).then((it) => store.take(it, 'You'), onFail)}>Restore</button>`}</div>`}
    ${is === 'refused' && html`<${Failed} what="It was not saved." error=${store.error.value} onRetry=${() => store.saveNow()} />`}
    ${is === 'choice' ? html`<${ConflictView} store=${store} />` : html`
      <${TitleField} key=${store.noteId} store=${store} canWrite=${canWrite} /><${Keywords} store=${store} canWrite=${canWrite} />
      ${hidden > 0 && !isPreview && html`<p class="tiny c-taint hidden-note">${counted(hidden, 'character')} in this text cannot be seen. The preview writes ${hidden === 1 ? 'it' : 'them'} out.</p>`}
      ${isPreview
        ? html`<${Markdown} text=${markdown} onOpen=${onOpen} onTick=${canWrite ? (/** @type {number} */ line) => store.write({ markdown: toggleTaskInLine(store.mine.value.markdown, line) }) : undefined} />${markdown.trim() === '' && html`<p class="dim">This note is empty.</p>`}`
        : html`<${Editor} key=${store.noteId} store=${store} isReadOnly=${!canWrite} suggest=${(/** @type {string} */ query) => suggestTitles(query, store.noteId)} onOpen=${onOpen} />`}`}</div>`;
}

/** @param {{ store: NoteStore, canWrite: boolean }} props */
function TitleField({ store, canWrite }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => {
    if (justMade.id !== store.noteId) return;
    const { place } = justMade;
    Object.assign(justMade, { id: '', place: null });
    const target = place?.isText ? /** @type {HTMLTextAreaElement | null} */ (document.querySelector('.ed-field')) : field.current;
    target?.focus();
    if (place) target?.setSelectionRange(place.from, place.to);
    else field.current?.select();
  }, []);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing || (event.key !== 'Enter' && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    /** @type {HTMLElement | null} */ (document.querySelector('.ed-field'))?.focus();
  };
  const { title } = store.mine.value;
  return html`<input ref=${field} class="title-field u" aria-label="Title" value=${title} readonly=${!canWrite} maxlength="500" aria-invalid=${title.trim() === '' ? 'true' : undefined} aria-describedby=${title.trim() === '' ? 'title-hint' : undefined}
      onInput=${() => store.write({ title: field.current?.value ?? '' })} onKeyDown=${onKey} />${title.trim() === '' && html`<p class="tiny c-bad" id="title-hint">A note needs a title; the one before stays until you write another.</p>`}`;
}

/** @param {{ store: NoteStore, canWrite: boolean }} props */
function Keywords({ store, canWrite }) {
  const { keywords } = store.mine.value;
  const add = (/** @type {HTMLInputElement} */ field) => {
    const fresh = field.value.split(',').map((it) => it.trim()).filter((it) => it !== '' && !keywords.includes(it));
    field.value = '';
    if (fresh.length > 0) store.write({ keywords: [...keywords, ...new Set(fresh)] });
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (event.key === 'Enter' || event.key === ',') {
      event.preventDefault();
      add(field);
    } else if (event.key === 'Backspace' && field.value === '' && keywords.length > 0) {
      store.write({ keywords: keywords.slice(0, -1) });
    }
  };
  if (!canWrite && keywords.length === 0) return null;
  return html`<div class="kws" role="group" aria-label="Keywords">${keywords.map((it) => html`<span key=${it} class="chip static"><a class="u" href=${`/notes?keyword=${encodeURIComponent(it)}`}>${it}</a>${canWrite && html`<button class="chip-x" aria-label=${`Remove the keyword ${it}`} onClick=${() => store.write({ keywords: keywords.filter((k) => k !== it) })}><${Icon} name="x" /></button>`}</span>`)}
    ${canWrite && html`<input class="kw-field" aria-label="Add a keyword" placeholder="add a keyword" list="known-keywords" maxlength="100" onKeyDown=${onKey} onBlur=${(/** @type {Event} */ event) => add(/** @type {HTMLInputElement} */ (event.target))} /><datalist id="known-keywords">${knownKeywords.value.slice(0, 100).map((it) => html`<option key=${it.keyword} value=${it.keyword} />`)}</datalist>`}</div>`;
}
