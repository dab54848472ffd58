// Two versions of a note side by side, and the way back to either.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { useLoaded, useTitle } from '../hooks.js';
import { go, notePath } from '../router.js';
import { hasRole } from '../state.js';
import { readHistory, readVersion } from '../note-acts.js';
import { goBackTo } from '../note-undo.js';
import { storeOf } from '../note-store.js';
import { actorName } from '../workspace.js';
import { DiffView } from './diff.js';
import { Failed, Loading } from './states.js';
import { historyPath } from './note-about.js';
import { Icon } from './icon.js';
import { shortTime } from './note-list.js';

/** @typedef {import('../workspace-types.js').Event} Event */

/** @param {string | undefined} text */
function pairOf(text) {
  const found = /^(\d+)\.\.(\d+)$/.exec(text ?? '');
  return found ? [Number(found[1]), Number(found[2])] : null;
}

/** @param {{ noteId: string, range: string | undefined }} props */
export function NoteHistory({ noteId, range }) {
  const store = storeOf(noteId);
  useEffect(() => store.use(), [store]);
  useTitle(`History of ${store.mine.value.title || 'a note'}`);
  const latest = store.note.value?.version ?? 0;
  const pair = pairOf(range) ?? (latest > 1 ? [latest - 1, latest] : null);
  return html`<article class="nv" aria-label="History"><div class="bar nv-bar"><a class="btn quiet" href=${notePath(noteId)}><${Icon} name="back" />Back to the note</a><h1 class="cut u">${store.mine.value.title}</h1></div>
    <div class="doc wide">${store.status.value === 'failed' ? html`<${Failed} what="This note cannot be shown." error=${store.error.value} onRetry=${() => void store.load()} />`
      : pair ? html`<${Compared} store=${store} from=${pair[0]} to=${pair[1]} />` : html`<p class="dim">There is only one version.</p>`}</div></article>
    <aside class="about" aria-label="Versions"><${AllVersions} noteId=${noteId} latest=${latest} pair=${pair} /></aside>`;
}

/** @param {{ store: import('../note-store.js').NoteStore, from: number, to: number }} props */
function Compared({ store, from, to }) {
  const { data, error, reload } = useLoaded(() => Promise.all([readVersion(store.noteId, from), readVersion(store.noteId, to)]), [store.noteId, from, to]);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  if (error) return html`<${Failed} what="These versions cannot be read." error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} rows=${6} />`;
  const [before, after] = data;
  const latest = store.note.value?.version ?? 0;
  const canWrite = hasRole('editor') && store.note.value?.deleted_at === null && store.status.value !== 'choice';
  const back = (/** @type {number} */ version) => void goBackTo(store, version).then(() => go(notePath(store.noteId)), setProblem);
  const button = (/** @type {number} */ version) => canWrite && version !== latest && html`<button class="btn" onClick=${() => back(version)}>Go back to version ${version}</button>`;
  const isSame = before.markdown === after.markdown;
  return html`<div class="row wrap"><span class="grow small mid">Version ${from} to ${to}, ${shortTime(after.updated_at)}</span>${button(from)}${button(to)}</div>
    ${problem && html`<${Failed} what="The note was not changed." error=${problem} />`}
    <${Fields} before=${before} after=${after} />
    ${isSame ? html`<p class="dim">The text is the same.</p>` : html`<${DiffView} path=${after.title} before=${before.markdown} after=${after.markdown} />`}`;
}

/** @param {{ before: import('../workspace-types.js').Note, after: import('../workspace-types.js').Note }} props */
function Fields({ before, after }) {
  const rows = [['Title', before.title, after.title], ['Keywords', before.keywords.join(', '), after.keywords.join(', ')], ['Kind', before.note_kind, after.note_kind]].filter(([, a, b]) => a !== b);
  if (rows.length === 0) return null;
  return html`<dl class="changed">${rows.map(([name, a, b]) => html`<div key=${name}><dt class="label">${name}</dt><dd><del class="u">${a || 'none'}</del> <span aria-hidden="true">→</span> <ins class="u">${b || 'none'}</ins></dd></div>`)}</dl>`;
}

/** @param {{ noteId: string, latest: number, pair: number[] | null }} props */
function AllVersions({ noteId, latest, pair }) {
  const [more, setMore] = useState(/** @type {{ versions: Event[], next: number | null } | null} */ (null));
  const { data, error, reload } = useLoaded(() => readHistory(noteId, 0), [noteId]);
  useEffect(reload, [latest]);
  const next = more ? more.next : data?.next_offset;
  const load = () => void readHistory(noteId, next ?? 0).then((it) => setMore({ versions: [...(more?.versions ?? []), ...it.versions], next: it.next_offset }), () => {});
  const all = [...(data?.versions ?? []), ...(more?.versions ?? [])].filter((it) => it.version !== null);
  const row = (/** @type {Event} */ it) => {
    const version = /** @type {number} */ (it.version);
    const isHere = pair?.[1] === version;
    return html`<li key=${it.event_id}><a class="row" href=${version > 1 ? historyPath(noteId, version - 1, version) : historyPath(noteId, 1, Math.max(2, latest))} aria-current=${isHere ? 'true' : undefined}><b>${version}</b> ${actorName(it)}</a><span class="s">${shortTime(it.timestamp)}${version < latest ? html` <a href=${historyPath(noteId, version, latest)}>to now</a>` : ''}</span></li>`;
  };
  return html`<div><h2>Versions, ${latest}</h2>${error && html`<${Failed} what="The versions cannot be read." error=${error} onRetry=${reload} />`}<ul>${all.map(row)}</ul>${next !== null && next !== undefined && html`<button class="btn" onClick=${load}>Show older</button>`}</div>`;
}
