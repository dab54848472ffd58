// Notes: the list, the note that is open, and what is known about it. On a narrow screen the list is a menu.
import { html, cls, drawnAtOnce } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { useCss, useTitle } from '../hooks.js';
import { go, route } from '../router.js';
import { hasRole, workspaces } from '../state.js';
import { list, readList, watchList } from '../notes-list.js';
import { makeNote, making, openNamed, restoreNote } from '../note-acts.js';
import { Failed } from '../components/states.js';
import { Icon } from '../components/icon.js';
import { NoteHistory } from '../components/note-history.js';
import { NoteList } from '../components/note-list.js';
import { NoteView } from '../components/note-view.js';
import { NewNote } from '../components/new-note.js';
import { useKeys } from '../components/keys.js';

const compact = matchMedia('(max-width: 1280px)');

function useCompact() {
  const [is, set] = useState(compact.matches);
  useEffect(() => {
    const changed = () => set(compact.matches);
    compact.addEventListener('change', changed);
    return () => compact.removeEventListener('change', changed);
  }, []);
  return is;
}

export default function Notes() {
  useCss('/css/notes.css');
  const [, noteId = '', view, range] = route.value.parts;
  const isCompact = useCompact();
  const [isMenu, setMenu] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const workspace = workspaces.value.current?.workspace_id;
  watchList();
  useEffect(() => {
    if (workspace && list.value.workspace !== workspace) void readList();
  }, [workspace]);
  // A note that was chosen is what one wants to see.
  useEffect(() => {
    setMenu(false);
    setError(null);
  }, [noteId]);
  useOpenByName(setError);
  useNotesKeys(() => setMenu(true));
  const isMaking = making.value?.from === route.value.path;
  const isOpen = isMaking || noteId !== '';
  const hasList = !isCompact || !isOpen || isMenu;
  return html`<div class=${cls('notes', isCompact && 'compact', isOpen && 'open')}>
    ${hasList && html`<div class=${cls('notes-list', isCompact && isOpen && 'drawer')} id="note-menu" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && setMenu(false)}>
      <${NoteList} selected=${isMaking ? '' : noteId} onChosen=${() => setMenu(false)} /></div>`}
    ${isCompact && isOpen && isMenu && html`<button class="drawer-shade" aria-label="Close the list" tabindex="-1" onClick=${() => setMenu(false)}></button>`}
    ${error && html`<div class="notes-error"><${Failed} what="That did not work." error=${error} /><button class="btn" onClick=${() => setError(null)}>Close</button></div>`}
    ${isMaking ? html`<${NewNote} key="new" />` : noteId
      ? view === 'history' ? html`<${NoteHistory} key=${noteId} noteId=${noteId} range=${range} />` : html`<${NoteView} key=${noteId} noteId=${noteId} onMenu=${isCompact ? () => setMenu(!isMenu) : null} isMenu=${isMenu} onFail=${setError} />`
      : html`<${NoneChosen} onFail=${setError} />`}</div>`;
}

/** @param {{ onFail: (error: unknown) => void }} props */
function NoneChosen({ onFail }) {
  useTitle('Notes');
  const deleted = route.value.query.get('deleted');
  const restore = () => deleted && void restoreNote(deleted).then((it) => go(`/notes/${it.note_id}`), onFail);
  return html`<div class="none-chosen"><h1 class="sr">Notes</h1>${deleted && hasRole('editor')
    ? html`<div class="note ok"><${Icon} name="ok" /><div class="grow">The note is deleted.</div><button class="btn" onClick=${restore}>Undo</button></div>`
    : html`<p class="dim hide-compact">Choose a note, or make one with <kbd>n</kbd>.</p>`}</div>`;
}

/** An address may name a note by its title, as links in other tabs do. @param {(error: unknown) => void} onFail */
function useOpenByName(onFail) {
  const name = route.value.query.get('open');
  const isRead = list.value.isRead;
  useEffect(() => {
    if (!name || !isRead) return;
    history.replaceState(null, '', '/notes');
    void openNamed(name).catch(onFail);
  }, [name, isRead]);
}

/** @param {() => void} onMenu */
function useNotesKeys(onMenu) {
  const find = () => {
    // Who types on at once types into the search, and not the keys of this page.
    drawnAtOnce(onMenu);
    document.getElementById('note-search')?.focus();
  };
  const make = () => hasRole('editor') && makeNote();
  useKeys('Notes', [
    { key: 'n', does: 'New note', run: make }, { key: '/', does: 'Search', run: find }, { key: 'Ctrl K', does: 'Search, also while typing', run: () => {} },
    { key: 'j', does: 'Next note', run: () => step(1) }, { key: 'k', does: 'Previous note', run: () => step(-1) },
  ]);
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      find();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** @param {number} by */
function step(by) {
  const { notes } = list.value;
  const at = notes.findIndex((it) => it.note_id === route.value.parts[1]);
  const next = notes[at < 0 ? 0 : at + by];
  if (next) go(`/notes/${next.note_id}${location.search}`);
}
