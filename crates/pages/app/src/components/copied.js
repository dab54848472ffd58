// Where the words of a call came from: the browser looks for them in the untrusted outputs of its run.
import { html } from '../html.js';
import { useEffect, useMemo, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { useAside } from '../aside.js';
import { runPath } from '../router.js';
import { findCopies, textsOf } from '../lib/copied.js';
import { counted } from '../lib/numbers.js';
import { Icon } from './icon.js';
import { safe } from './untrusted.js';

/** @typedef {import('../types.js').Waiting} Waiting */
/** @typedef {import('../types.js').Source} Source */

// Beyond this the search would take too long to wait for; it is said where it ends.
const BYTES_MAX = 4 * 1024 * 1024;

// The server sends the beginning of the newest outputs with the call; a shorter text is all of it.
const SENT_MAX = 32_000;

// More than this is searched beside the page.
const SHORT_MAX = 50_000;

/** Reads an output whole, page by page. @param {string} runId @param {Source} source @param {number} most */
async function readOutput(runId, { seq, text: sent }, most) {
  if (sent !== undefined && new TextEncoder().encode(sent).length < SENT_MAX) return { text: sent, isWhole: true };
  let [text, from] = ['', /** @type {number | null} */ (0)];
  while (from !== null && text.length < most) {
    const page = await api('GET', `/api${runPath(runId)}/entries/${seq}/text?at=/output&from=${from}`);
    text += page.text;
    from = page.next;
  }
  return { text, isWhole: from === null };
}

/**
 * The parts of a text that were copied, and whether all outputs could be searched.
 * @param {Waiting} call @param {string} text
 */
export function useCopies(call, text) {
  const [outputs, setOutputs] = useState(/** @type {{ source: Source, text: string }[] | null} */ (null));
  const [isPart, setPart] = useState(false);
  useEffect(() => {
    let isGone = false;
    const read = async () => {
      const found = [];
      let left = BYTES_MAX;
      // The newest first: what a call copies was mostly read just before.
      for (const source of call.sources.toSorted((a, b) => b.seq - a.seq)) {
        if (left <= 0) break;
        const { text: output, isWhole } = await readOutput(call.runId, source, left);
        left -= output.length;
        if (!isWhole) setPart(true);
        found.push(...textsOf(output).map((it) => ({ source, text: it })));
      }
      if (left <= 0 || (call.sourcesLeft ?? 0) > 0) setPart(true);
      if (!isGone) setOutputs(found);
    };
    if (call.sources.length === 0) setOutputs([]);
    else read().catch(() => !isGone && (setPart(true), setOutputs([])));
    return () => void (isGone = true);
  }, [call.digest]);
  const texts = useMemo(() => (outputs ?? []).map((it) => it.text), [outputs]);
  const size = texts.reduce((sum, it) => sum + it.length, text.length);
  const copies = useAside(size < SHORT_MAX, () => findCopies(text, texts, call.goal), 'findCopies', [text, texts, call.goal]);
  return { isReady: outputs !== null && copies !== null, isPart, copies: copies ?? [], outputs: outputs ?? [] };
}

/** A text with its copied parts underlined. @param {string} text @param {import('../lib/copied.js').Copy[]} copies @param {number} [offset] where the text begins in the whole */
export function withCopies(text, copies, offset = 0) {
  const parts = [];
  let at = 0;
  for (const copy of copies) {
    const [from, to] = [Math.max(0, copy.from - offset), Math.min(text.length, copy.to - offset)];
    if (to <= at || from >= text.length) continue;
    parts.push(safe(text.slice(at, from)), html`<mark>${safe(text.slice(from, to))}</mark>`);
    at = to;
  }
  parts.push(safe(text.slice(at)));
  return parts;
}

/** @param {{ call: Waiting, found: ReturnType<typeof useCopies>, what: string }} props */
export function CopyWarning({ call, found, what }) {
  const { copies, outputs, isPart, isReady } = found;
  if (!isReady) return html`<p class="tiny dim">Looking for copied text in ${counted(call.sources.length, 'untrusted output')}…</p>`;
  const letters = copies.reduce((sum, it) => sum + it.to - it.from, 0);
  return html`
    ${copies.length > 0 && html`<div class="note taint"><${Icon} name="taint" /><div><b>${counted(letters, 'character')} of this ${what} ${letters === 1 ? 'was' : 'were'} copied from untrusted data.</b> They appear, letter for letter, in what ${outputs[copies[0].source].source.tool} brought in turn ${outputs[copies[0].source].source.turn}, and nowhere in the goal.</div></div>`}
    ${isPart && html`<div class="note wait"><${Icon} name="wait" /><div>Not all untrusted outputs could be searched: ${copies.length === 0 ? 'copied text may be there all the same.' : 'there may be more.'}</div></div>`}`;
}

/** @param {{ call: Waiting, found: ReturnType<typeof useCopies> }} props */
export function CopySources({ call, found }) {
  const { copies, outputs } = found;
  if (copies.length === 0) return null;
  return html`<section><span class="label">Where that text came from</span>${copies.slice(0, 5).map((copy, at) => html`<${Origin} key=${at} call=${call} source=${outputs[copy.source].source} text=${outputs[copy.source].text} copy=${copy} />`)}</section>`;
}

/** @param {{ call: Waiting, source: Source, text: string, copy: import('../lib/copied.js').Copy }} props */
function Origin({ call, source, text, copy }) {
  const length = copy.to - copy.from;
  const from = lineStart(text, copy.at, 2);
  const to = lineEnd(text, copy.at + length, 2);
  return html`<div class="orig"><div class="orig-head"><${Icon} name="taint" /><a href=${`${runPath(call.runId)}/t/${source.turn}/c/${source.call}`}>untrusted: ${source.tool}, turn ${source.turn}, call ${source.call}</a></div>
    <div class="orig-body"><pre class="out-text u">${from > 0 ? '… ' : ''}${safe(text.slice(from, copy.at))}<mark>${safe(text.slice(copy.at, copy.at + length))}</mark>${safe(text.slice(copy.at + length, to))}${to < text.length ? ' …' : ''}</pre></div></div>`;
}

/** @param {string} text @param {number} at @param {number} lines */
function lineStart(text, at, lines) {
  let from = at;
  for (let i = 0; i <= lines && from > 0; i += 1) from = Math.max(0, text.lastIndexOf('\n', from - 1));
  return Math.max(0, Math.max(from, at - 400) + (text[Math.max(from, at - 400)] === '\n' ? 1 : 0));
}

/** @param {string} text @param {number} at @param {number} lines */
function lineEnd(text, at, lines) {
  let to = at;
  for (let i = 0; i <= lines && to < text.length; i += 1) {
    const next = text.indexOf('\n', to + 1);
    to = next < 0 ? text.length : next;
  }
  return Math.min(to, at + 400);
}
