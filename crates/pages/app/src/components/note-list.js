// The list of notes: search as one types, keywords, folders, and what others just made.
import { html, cls } from '../html.js';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { hasRole, me, now } from '../state.js';
import { route, setQuery } from '../router.js';
import { allDrafts } from '../drafts.js';
import { fresh, folders, keywords, list, readList, readMore, showFresh, changedBy } from '../notes-list.js';
import { makeNote, search } from '../note-acts.js';
import { actorName } from '../workspace.js';
import { counted } from '../lib/numbers.js';
import { clock, dayName } from '../lib/time.js';
import { Icon } from './icon.js';
import { Empty, Failed, Loading } from './states.js';
import { Windowed } from './windowed.js';

/** @typedef {import('../workspace-types.js').NoteSummary} NoteSummary */
/** @typedef {{ note: NoteSummary, snippet?: string }} Row */

const CHIPS = 6;

/** @param {string} iso */
export function shortTime(iso) {
  const ms = Date.parse(iso);
  const day = dayName(ms, now.value);
  const isToday = new Date(ms).toDateString() === new Date(now.value).toDateString();
  return isToday ? clock(ms) : day === 'Yesterday' ? `yesterday ${clock(ms)}` : new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** @param {{ selected: string, onChosen: () => void }} props */
export function NoteList({ selected, onChosen }) {
  const query = route.value.query;
  const [q, keyword, folder] = [query.get('q') ?? '', query.get('keyword') ?? '', query.get('folder') ?? ''];
  const { found, error, isBusy } = useSearch(q);
  const drafts = useDrafts(selected);
  const rows = useMemo(() => rowsOf(found, keyword, folder), [found, keyword, folder, list.value]);
  const make = () => {
    makeNote({ ...(keyword ? { keywords: [keyword] } : {}), ...(folder ? { folder } : {}) });
    onChosen();
  };
  const height = useCallback((/** @type {Row} */ it) => (it.snippet ? 84 : 60), []);
  const at = rows.findIndex((it) => it.note.note_id === selected);
  return html`<div class="nl">
    <div class="nl-top"><div class="row"><h2 class="grow">Notes</h2>${hasRole('editor') && html`<button class="btn icon" aria-label="New note" title="New note (n)" onClick=${make}><${Icon} name="plus" /></button>`}</div>
      <${SearchField} q=${q} isBusy=${isBusy} /><${Filters} keyword=${keyword} folder=${folder} /></div>
    ${fresh.value.length > 0 && !q && html`<button class="nl-new" onClick=${showFresh}>${counted(fresh.value.length, 'new note')}</button>`}
    ${Boolean(error ?? list.value.error) && html`<div class="pad"><${Failed} what="The list cannot be read." error=${error ?? list.value.error} onRetry=${() => void readList()} /></div>`}
    ${rows.length > 0
      ? html`<${Windowed} rows=${rows} height=${height} keyOf=${keyOf} keep=${at} box="nl-box" label="Notes" onRange=${onRange}
          render=${(/** @type {Row} */ it) => html`<${NoteRow} row=${it} isHere=${it.note.note_id === selected} hasDraft=${drafts.has(it.note.note_id)} onChosen=${onChosen} />`} />`
      : html`<div class="pad">${!list.value.isRead || isBusy ? html`<${Loading} />` : html`<${Nothing} isFiltered=${Boolean(q || keyword || folder)} onMake=${make} />`}</div>`}</div>`;
}

const keyOf = (/** @type {Row} */ it) => it.note.note_id;

/** Reads on where the end is near. @param {number} _from @param {number} to */
function onRange(_from, to) {
  if (list.value.next !== null && to > list.value.notes.length - 50) void readMore();
}

/** @param {import('../workspace-types.js').Hit[] | null} found @param {string} keyword @param {string} folder @returns {Row[]} */
function rowsOf(found, keyword, folder) {
  const notes = list.value.notes;
  const byId = found && new Map(notes.map((it) => [it.note_id, it]));
  const all = found ? found.map((it) => ({ note: byId?.get(it.note_id) ?? asNote(it), snippet: it.snippet })) : notes.map((note) => ({ note }));
  return all.filter(({ note }) => (!keyword || note.keywords.includes(keyword)) && (!folder || note.folder === folder || note.folder?.startsWith(`${folder}/`)));
}

/** @param {import('../workspace-types.js').Hit} hit @returns {NoteSummary} */
const asNote = (hit) => ({ note_id: hit.note_id, workspace_id: '', title: hit.title, note_kind: hit.note_kind, keywords: [], version: 0, created_at: hit.updated_at, updated_at: hit.updated_at, deleted_at: null });

/** Searches 150 ms after the last letter; what was found stays until the next answer is here. @param {string} q */
function useSearch(q) {
  const [state, setState] = useState(/** @type {{ found: import('../workspace-types.js').Hit[] | null, error: unknown, isBusy: boolean }} */ ({ found: null, error: null, isBusy: false }));
  useLayoutEffect(() => {
    if (q.trim() === '') return setState({ found: null, error: null, isBusy: false });
    const abort = new AbortController();
    setState((it) => ({ ...it, isBusy: true }));
    const later = setTimeout(() => {
      search(q, 100, abort.signal).then(
        (found) => setState({ found, error: null, isBusy: false }),
        (error) => !abort.signal.aborted && setState((it) => ({ found: it.found ?? [], error, isBusy: false })),
      );
    }, 150);
    return () => {
      clearTimeout(later);
      abort.abort();
    };
  }, [q]);
  return state;
}

/** Notes with something that is not saved. @param {string} selected */
function useDrafts(selected) {
  const [ids, setIds] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => {
    const read = () => void allDrafts(me.value?.id ?? '').then((all) => setIds((before) => {
      const next = new Set(all.map((it) => it.noteId));
      return next.size === before.size && [...next].every((it) => before.has(it)) ? before : next;
    }));
    read();
    const every = setInterval(read, 3000);
    return () => clearInterval(every);
  }, [selected]);
  return ids;
}

/** @param {{ q: string, isBusy: boolean }} props */
function SearchField({ q, isBusy }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  // Who pressed Enter before the answer wants the first of what is found, and not of what is still shown.
  const isWanted = useRef(false);
  useLayoutEffect(() => {
    if (!isBusy && isWanted.current) openFirst();
  }, [isBusy]);
  const openFirst = () => {
    isWanted.current = false;
    /** @type {HTMLElement | null} */ (document.querySelector('.nl-row'))?.click();
  };
  const n = list.value.notes.length;
  const onInput = () => {
    isWanted.current = false;
    setQuery({ q: field.current?.value ?? '' });
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') {
      if (q) setQuery({ q: null });
      else field.current?.blur();
    }
    if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      if (event.key === 'ArrowDown') /** @type {HTMLElement | null} */ (document.querySelector('.nl-row'))?.focus();
      else if (isBusy) isWanted.current = true;
      else openFirst();
    }
  };
  return html`<label class="field"><${Icon} name="search" /><span class="sr">Search notes</span><input ref=${field} id="note-search" type="search" placeholder=${n > 0 ? `Search ${list.value.next === null ? counted(n, 'note') : `more than ${counted(n, 'note')}`}` : 'Search notes'} value=${q} maxlength="200" onInput=${onInput} onKeyDown=${onKey} /><kbd>/</kbd></label>`;
}

/** @param {{ keyword: string, folder: string }} props */
function Filters({ keyword, folder }) {
  const [isAll, setAll] = useState(false);
  const all = keywords.value;
  const shown = isAll ? all.slice(0, 100) : all.slice(0, CHIPS);
  if (keyword && !shown.some((it) => it.keyword === keyword)) shown.unshift({ keyword, count: 0 });
  const chip = (/** @type {{ keyword: string, count: number }} */ it) => html`<button key=${it.keyword} class="chip" aria-pressed=${String(it.keyword === keyword)} onClick=${() => setQuery({ keyword: it.keyword === keyword ? null : it.keyword })}><span class="cut u">${it.keyword}</span>${it.count > 0 && html` <b>${it.count}</b>`}</button>`;
  return html`${folders.value.length > 0 && html`<label class="field"><${Icon} name="file" /><span class="sr">Folder</span><select value=${folder} onChange=${(/** @type {Event} */ event) => setQuery({ folder: /** @type {HTMLSelectElement} */ (event.target).value })}><option value="">All folders</option>${folders.value.map((it) => html`<option key=${it} value=${it}>${it}</option>`)}</select></label>`}
    ${shown.length > 0 && html`<div class="nl-kw" role="group" aria-label="Keywords">${shown.map(chip)}${all.length > CHIPS && html`<button class="chip" aria-expanded=${String(isAll)} onClick=${() => setAll(!isAll)}>${isAll ? 'fewer' : 'more'}</button>`}</div>`}`;
}

/** @param {{ isFiltered: boolean, onMake: () => void }} props */
function Nothing({ isFiltered, onMake }) {
  if (isFiltered) return html`<${Empty} title="No note fits"><button class="btn" onClick=${() => setQuery({ q: null, keyword: null, folder: null })}>Clear the search</button><//>`;
  return html`<${Empty} title="There are no notes yet"><p class="small mid">Write one here, or bring your own: <code>bonded import DIR</code>.</p>${hasRole('editor') && html`<button class="btn" onClick=${onMake}><${Icon} name="plus" />New note</button>`}<//>`;
}

/** @param {{ row: Row, isHere: boolean, hasDraft: boolean, onChosen: () => void }} props */
function NoteRow({ row, isHere, hasDraft, onChosen }) {
  const { note, snippet } = row;
  const by = changedBy.get(note.note_id)?.by;
  return html`<a class=${cls('nl-row', isHere && 'here')} href=${`/notes/${note.note_id}${location.search}`} aria-current=${isHere ? 'true' : undefined} onClick=${onChosen}>
    <span class="row"><span class="t cut grow u">${note.title}</span>${hasDraft && html`<${Icon} name="wait" tone="wait" />`}</span>
    ${snippet ? html`<span class="s two u"><${Snippet} text=${snippet} /></span>` : html`<span class="s cut">${hasDraft ? 'not saved, your draft is kept' : `changed ${shortTime(note.updated_at)}${by ? ` by ${actorName(by)}` : ''}`}</span>`}</a>`;
}

/** What was found is marked by the server with tags: they are taken for what they mean, everything else is text. @param {{ text: string }} props */
const Snippet = ({ text }) => text.split(/<mark>(.*?)<\/mark>/s).map((it, at) => (at % 2 === 1 ? html`<b key=${at}>${it}</b>` : html`<span key=${at}>${it}</span>`));
