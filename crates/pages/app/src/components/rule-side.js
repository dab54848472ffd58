// Beside the form: when the rule fires next, what it would do now, and the same rule as JSON.
import { html } from '../html.js';
import { useEffect, useRef, useState } from '../../vendor/hooks.js';
import { api, ApiError } from '../api.js';
import { now } from '../state.js';
import { list, readList } from '../notes-list.js';
import { lineOf } from '../lib/json-at.js';
import { parsedOr, valueText } from '../lib/conditions.js';
import { span } from '../lib/time.js';
import { workspaceId } from '../workspace.js';
import { Icon } from './icon.js';
import { Failed } from './states.js';

/** @typedef {import('../workspace-types.js').Firing} Firing */
/** @typedef {import('../workspace-types.js').Fault} Fault */

/** The date and clock that are written in a moment with its zone. @param {string} local */
function localText(local) {
  const found = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)/.exec(local);
  if (!found) return local;
  const [, year, month, day, clock] = found;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return `${date.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })}, ${clock}`;
}

/** @param {{ firings: Firing[] }} props */
export function Firings({ firings }) {
  return html`<section class="card" aria-label="Next firings"><h2>Next ${firings.length === 1 ? 'firing' : `${firings.length} firings`}</h2>
    <ol class="fire">${firings.map((it, at) => html`<li key=${it.at}><span>${localText(it.local)}</span><span class="dim">in ${span(Date.parse(it.at) - now.value)}</span>${at === 0 && html`<span class="z">${it.timezone}; ${it.at.slice(11, 16)} UTC</span>`}${it.clock_change && html`<span class="z c-limit">${it.clock_change}</span>`}</li>`)}</ol></section>`;
}

/** @param {{ draft: any }} props */
export function DryRun({ draft }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [noteId, setNote] = useState('');
  const [body, setBody] = useState('{}');
  useEffect(() => {
    if (list.value.workspace !== workspaceId()) void readList();
  }, []);
  const isHook = draft.trigger === 'webhook';
  const subject = isHook ? { body: parsedOr(body, null) } : noteId ? { note_id: noteId } : {};
  const run = () => {
    setError(null);
    api('POST', '/api/automation/rules/dry-run', { rule: { workspace_id: workspaceId(), ...draft }, ...subject }).then(setFound, (refused) => {
      setFound(null);
      setError(refused);
    });
  };
  const notes = list.value.notes.slice(0, 200);
  return html`<section class="card" aria-label="Dry run"><div class="row"><h2 class="grow">Dry run</h2><span class="st off">no effect</span></div>
    ${isHook ? html`<label class="lab">Body that is sent<textarea class="textarea mono small" value=${body} onInput=${(/** @type {Event} */ event) => setBody(/** @type {HTMLTextAreaElement} */ (event.target).value)}></textarea></label>`
      : html`<label class="lab">As if this note had just changed<span class="field"><select value=${noteId} onChange=${(/** @type {Event} */ event) => setNote(/** @type {HTMLSelectElement} */ (event.target).value)}><option value="">choose a note</option>${notes.map((it) => html`<option key=${it.note_id} value=${it.note_id}>${it.title}</option>`)}</select></span></label>`}
    <button type="button" class="btn" disabled=${isHook ? parsedOr(body, null) === null : noteId === ''} onClick=${run}>Try it</button>
    ${error && html`<${Failed} what=${error instanceof ApiError && error.code === 'RULE_INVALID' ? 'The rule has mistakes: correct them first.' : 'It could not be tried.'} error=${error} />`}
    ${found && html`<${Outcome} found=${found} />`}</section>`;
}

/** @param {{ found: any }} props */
function Outcome({ found }) {
  const row = (/** @type {boolean} */ holds, /** @type {any} */ text, /** @type {any} */ detail, /** @type {string} */ key, /** @type {number} */ depth = 0) => html`<li key=${key} class=${`d${Math.min(4, depth)}`}><${Icon} name=${holds ? 'ok' : 'bad'} tone=${holds ? 'ok' : 'bad'} /><span><span class="sr">${holds ? 'holds: ' : 'does not hold: '}</span>${text}${detail && html`<span class="s u">${detail}</span>`}</span></li>`;
  return html`<ol class="tr" role="list">${row(found.trigger.holds, found.trigger.why, null, 'trigger')}
    ${found.conditions.map((/** @type {any} */ it) => row(it.holds, conditionText(it), it.kind === 'compare' ? (it.is_there ? `is ${valueText(it.found).slice(0, 300)}` : 'is not there') : null, it.at, depthOf(it.at)))}
    <li><${Icon} name=${found.fires ? 'play' : 'off'} tone=${found.fires ? 'ok' : 'off'} /><span>${found.fires ? found.would : 'It would not run.'}</span></li></ol>`;
}

const depthOf = (/** @type {string} */ at) => at.split('/').filter((it) => ['all', 'any', 'not'].includes(it)).length;

/** @param {any} it */
function conditionText(it) {
  if (it.kind === 'all') return 'all of these';
  if (it.kind === 'any') return 'one of these';
  if (it.kind === 'not') return 'not';
  return html`<span class="mono small">${it.field} ${it.op} ${valueText(it.value)}</span>`;
}

/** The same object as text. What cannot be read yet stays in the field and is said. @param {{ draft: any, faults: Fault[], onChange: (draft: any) => void }} props */
export function AsJson({ draft, faults, onChange }) {
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const text = JSON.stringify(draft, null, 2);
  const isBroken = typed !== null && parsedOr(typed, null) === null;
  const onInput = () => {
    const next = field.current?.value ?? '';
    const value = parsedOr(next, null);
    setTyped(next);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) onChange(value);
  };
  // What was typed is shown as long as it means the same as the form.
  const shown = typed !== null && (isBroken || JSON.stringify(parsedOr(typed, null)) === JSON.stringify(draft)) ? typed : text;
  const marked = new Set(faults.map((it) => lineOf(draft, it.at)));
  return html`<section class="card" aria-label="As JSON"><div class="row"><h2 class="grow">As JSON</h2><button type="button" class="btn quiet" aria-pressed=${String(isOpen)} onClick=${() => { setTyped(null); setOpen(!isOpen); }}>${isOpen ? 'Done' : 'Edit'}</button></div>
    ${faults.map((it) => html`<p key=${it.at + it.message} class="tiny c-bad mono">${it.at || '/'}</p>`)}
    ${isOpen
      ? html`<textarea ref=${field} class="textarea mono small json-field" spellcheck="false" aria-label="The rule as JSON" aria-invalid=${isBroken ? 'true' : undefined} value=${shown} onInput=${onInput}></textarea>${isBroken && html`<p class="fault">This is no JSON yet; the form keeps the last text that was.</p>`}`
      : html`<pre class="code json-view" tabindex="0" aria-label="The rule as JSON">${text.split('\n').map((line, at) => (marked.has(at) ? html`<span key=${at} class="hl">${line}</span>` : html`<span key=${at}>${line}</span>`))}</pre>`}</section>`;
}
