// Text of any length. Nothing is cut without a way to all of it: a fold says how much it holds, and opens.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api, send } from '../api.js';
import { saveAs } from '../download.js';
import { useFold } from '../folds.js';
import { runPath } from '../router.js';
import { bytes, count, counted } from '../lib/numbers.js';
import { cutOf } from '../lib/calls.js';
import { Icon } from './icon.js';
import { Failed } from './states.js';
import { safe } from './untrusted.js';

const PAGE = 65_536;
const LINES_MAX = 40;
const HEAD = 24;
const TAIL = 8;

/** Where a text is: in an entry of a run, or at an address of its own. @typedef {{ runId: string, seq: number, path?: string }} Place */

/**
 * A text as a whole, where it fits on a page; `null` while it is fetched, the cut itself where it is longer.
 * @param {Place} place @param {any} text
 * @returns {string | null | { cut: import('../types.js').Cut }}
 */
export function useWhole(place, text) {
  const { runId, seq } = place;
  const cut = cutOf(text);
  const isShort = cut !== null && cut.bytes <= PAGE;
  const [whole, setWhole] = useState(/** @type {{ seq: number, at: string, text: string } | null} */ (null));
  useEffect(() => {
    if (!cut || !isShort) return;
    let isGone = false;
    readPage(place, cut.at, 0).then((it) => !isGone && setWhole({ seq, at: cut.at, text: it.text }), () => {});
    return () => void (isGone = true);
  }, [runId, seq, cut?.at]);
  if (!cut) return typeof text === 'string' ? text : JSON.stringify(text ?? '');
  if (!isShort) return { cut };
  return whole && whole.seq === seq && whole.at === cut.at ? whole.text : null;
}

/** @param {Place} place @param {string} at @param {number} from @returns {Promise<{ text: string, from: number, next: number | null, bytes: number }>} */
const readPage = (place, at, from) => api('GET', `${textPath(place, at)}&from=${from}`);

/** @param {Place} place @param {string} at */
const textPath = ({ runId, seq, path }, at) => `${path ?? `/api${runPath(runId)}/entries/${seq}/text`}?at=${encodeURIComponent(at)}`;

/** A text that is here; what a person or a model wrote is prose. The tab knows its fold by `name`. @param {{ text: string, label?: string, isProse?: boolean, name?: string }} props */
export function FoldedText({ text, label, isProse, name: fold }) {
  const name = isProse ? 'prose u' : 'out-text u';
  const [isOpen, setOpen] = useFold(fold && `text ${fold}`, false);
  const lines = text.split('\n');
  const isLong = lines.length > LINES_MAX || text.length > 8192;
  if (!isLong || isOpen) return html`<pre class=${name} aria-label=${label} tabindex=${label ? 0 : undefined}>${safe(text)}</pre>`;
  const isWide = lines.length <= LINES_MAX;
  const head = isWide ? text.slice(0, 4096) : lines.slice(0, HEAD).join('\n');
  const tail = isWide ? text.slice(-512) : lines.slice(-TAIL).join('\n');
  const folded = isWide ? counted(text.length - 4608, 'character') : counted(lines.length - HEAD - TAIL, 'line');
  return html`<pre class=${name} aria-label=${label} tabindex=${label ? 0 : undefined}>${safe(head.slice(0, 8192))}</pre><div class="foldb"><button class="btn quiet" onClick=${() => setOpen(true)}>Show ${folded} more</button></div><pre class=${name}>${safe(tail.slice(-4096))}</pre>`;
}

/** A text that is on the server, in pages of 64 KB. @param {{ place: Place, cut: import('../types.js').Cut }} props */
export function PagedText({ place, cut }) {
  const [page, setPage] = useState(/** @type {{ text: string, from: number, next: number | null } | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const show = (/** @type {number} */ from) => {
    setError(null);
    readPage(place, cut.at, from).then(setPage, setError);
  };
  const last = Math.max(0, cut.bytes - PAGE + 1024);
  const end = page ? (page.next ?? cut.bytes) : 0;
  return html`<div class="outp">
    <header><span class="dim">${bytes(cut.bytes)}</span><span class="grow"></span><${Find} place=${place} cut=${cut} onShow=${show} /><button class="btn" onClick=${() => void download(place, cut.at)}>Download</button></header>
    ${error && html`<${Failed} what="This part cannot be read." error=${error} />`}
    ${page
      ? html`<div class="foldb"><button class="btn quiet" onClick=${() => setPage(null)}>Fold</button><button class="btn quiet" disabled=${page.from === 0} onClick=${() => show(Math.max(0, page.from - PAGE))}>Previous 64 KB</button>
          <span>bytes ${count(page.from)} to ${count(end)} of ${count(cut.bytes)}</span><button class="btn quiet" disabled=${page.next === null} onClick=${() => show(page.next ?? 0)}>Next 64 KB</button><button class="btn quiet" disabled=${page.next === null} onClick=${() => show(last)}>Show the end</button></div>
          <pre class="out-text page-text u" tabindex="0" aria-label=${`Bytes ${page.from} to ${end}`}>${safe(page.text)}</pre>`
      : html`<pre class="out-text u" tabindex="0" aria-label="Beginning of the output">${safe(cut.head)}</pre>
          <div class="foldb"><span>${bytes(Math.max(0, cut.bytes - 5120))} folded</span><button class="btn quiet" onClick=${() => show(0)}>Show the first 64 KB</button><button class="btn quiet" onClick=${() => show(last)}>Show the end</button></div>
          <pre class="out-text u" tabindex="0" aria-label="End of the output">${safe(cut.tail)}</pre>`}</div>`;
}

/** @param {{ place: Place, cut: import('../types.js').Cut, onShow: (from: number) => void }} props */
function Find({ place, cut, onShow }) {
  const [found, setFound] = useState(/** @type {{ list: number[], at: number } | null} */ (null));
  const step = (/** @type {number[]} */ list, /** @type {number} */ at) => {
    setFound({ list, at });
    // A little before the place, so that it is seen in its surroundings.
    if (list.length > 0) onShow(Math.max(0, list[at] - 256));
  };
  const onSubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('find') ?? '');
    if (text === '') return setFound(null);
    const got = await api('GET', `${textPath(place, cut.at)}&find=${encodeURIComponent(text)}`);
    step(got.found, 0);
  };
  const by = (/** @type {number} */ n) => found && step(found.list, (found.at + n + found.list.length) % found.list.length);
  return html`<form class="row" role="search" onSubmit=${onSubmit}><label class="field small"><${Icon} name="search" /><input name="find" placeholder="Search in it" aria-label="Search in the output" /></label>
    ${found && html`<span class="small" role="status">${found.list.length === 0 ? 'not found' : `${found.at + 1} of ${found.list.length === 1000 ? '1,000 or more' : found.list.length}`}</span>`}
    ${found && found.list.length > 1 && html`<button type="button" class="btn quiet icon" aria-label="Previous place" onClick=${() => by(-1)}><${Icon} name="up" /></button><button type="button" class="btn quiet icon" aria-label="Next place" onClick=${() => by(1)}><${Icon} name="dn" /></button>`}</form>`;
}

/** A link could not carry the session, so the text is fetched and handed over. @param {Place} place @param {string} at */
async function download(place, at) {
  const response = await send('GET', `${textPath(place, at)}&download=1`);
  saveAs(await response.blob(), `${place.runId}-${place.seq}.txt`);
}

/** @param {{ place: Place, text: any, label?: string, isProse?: boolean }} props */
export function LongText({ place, text, label, isProse }) {
  const whole = useWhole(place, text);
  if (whole === null) return html`<pre class="out-text u">${safe(cutOf(text)?.head ?? '')}</pre>`;
  if (typeof whole === 'object') return html`<${PagedText} place=${place} cut=${whole.cut} />`;
  return html`<${FoldedText} text=${whole} label=${label} isProse=${isProse} name=${nameOf(place, cutOf(text)?.at ?? label ?? '')} />`;
}

/** What a tab knows the folds of a text by. @param {Place} place @param {string} part */
export const nameOf = ({ runId, seq }, part) => `${runId} ${seq} ${part}`;
