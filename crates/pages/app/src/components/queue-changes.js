// Changes that agents propose: each as a difference, with apply, edit then apply, and reject with a reason.
import { html, cls } from '../html.js';
import { useEffect, useRef, useState } from '../../vendor/hooks.js';
import { api, ApiError } from '../api.js';
import { useLoaded } from '../hooks.js';
import { notePath, rulePath } from '../router.js';
import { hasRole, say, user } from '../state.js';
import { rules } from '../rules-store.js';
import { hear } from '../socket.js';
import { readQueueCount, workspaceId } from '../workspace.js';
import { counted } from '../lib/numbers.js';
import { DiffView } from './diff.js';
import { Empty, Failed, Loading } from './states.js';
import { FoldedText } from './longtext.js';
import { Icon } from './icon.js';
import { useFocus } from './focus.js';
import { useKeys } from './keys.js';
import { shortTime } from './note-list.js';

/** @typedef {import('../workspace-types.js').Operation} Operation */
/** @typedef {{ decision: 'apply' | 'reject', reject_reason?: string, edited?: { title?: string, markdown?: string, keywords?: string[] } }} Decision */

const readPending = () => api('GET', `/api/automation/operations?workspace_id=${workspaceId()}&limit=200`);

export function Changes() {
  const { data, error, reload } = useLoaded(readPending, [workspaceId()]);
  // What was decided here shrinks to a line and stays until the page is left: nothing moves under the pointer.
  const [done, setDone] = useState(/** @type {Map<string, { operation: Operation, word: string }>} */ (new Map()));
  const order = useRef(/** @type {string[]} */ ([]));
  const known = useRef(/** @type {Map<string, Operation>} */ (new Map()));
  useEffect(() => {
    let later = 0;
    const soon = () => {
      clearTimeout(later);
      later = setTimeout(reload, 250);
    };
    return hear({ refresh: soon, automation: soon, event: soon });
  }, []);
  /** @type {Operation[]} */
  const pending = data?.operations ?? [];
  const here = new Set(pending.map((it) => it.operation_id));
  for (const it of pending) {
    if (!known.current.has(it.operation_id)) order.current.push(it.operation_id);
    known.current.set(it.operation_id, it);
  }
  const shown = order.current.map((id) => /** @type {Operation} */ (known.current.get(id)));
  const decided = (/** @type {Operation[]} */ list, /** @type {string} */ word) => {
    setDone((before) => new Map([...before, ...list.map((it) => /** @type {const} */ ([it.operation_id, { operation: it, word: `${word} by ${user.value || 'you'}` }]))]));
    say(`${counted(list.length, 'change')} ${word}`);
    reload();
    void readQueueCount();
  };
  useKeys('Changes', [{ key: 'j', does: 'Next change', run: () => step(1) }, { key: 'k', does: 'Previous change', run: () => step(-1) }, { key: 'a', does: 'To Apply', run: () => press('.apply') }, { key: 'e', does: 'Edit, then apply', run: () => press('.edit', true) }, { key: 'd', does: 'To Reject', run: () => press('.reject') }]);
  if (error instanceof ApiError && error.status === 404) return html`<${Empty} title="This server has no queue for reviews"><p class="small mid">Its version is older than these pages.</p><//>`;
  if (error && !data) return html`<${Failed} what="The changes cannot be read." error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} rows=${6} />`;
  if (shown.length === 0) return html`<${Empty} title="No change waits for you"><p class="small mid">Rules whose changes are reviewed first put them here.</p><//>`;
  return html`${error && html`<${Failed} what="The list is as of before." error=${error} onRetry=${reload} />`}${byRun(shown).map(([runId, list]) => html`<${RunGroup} key=${runId} list=${list} isOpen=${(/** @type {Operation} */ it) => here.has(it.operation_id) && !done.has(it.operation_id)} wordOf=${(/** @type {Operation} */ it) => done.get(it.operation_id)?.word ?? 'decided by another person'} onDecided=${decided} />`)}
    ${data.next_offset !== null && html`<p class="small dim">More wait behind these ${pending.length}.</p>`}`;
}

/** @param {Operation[]} list @returns {[string, Operation[]][]} */
function byRun(list) {
  /** @type {Map<string, Operation[]>} */
  const groups = new Map();
  for (const it of list) groups.set(it.run_id, [...(groups.get(it.run_id) ?? []), it]);
  return [...groups];
}

/** @param {number} by */
function step(by) {
  const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.change')]);
  const at = cards.findIndex((it) => it.contains(document.activeElement));
  cards[Math.min(cards.length - 1, Math.max(0, at + by))]?.focus();
}

/** A letter brings the focus to a button, and Enter presses it: nothing is decided by one key. @param {string} name @param {boolean} [isPressed] */
function press(name, isPressed) {
  const card = document.activeElement?.closest('.change') ?? document.querySelector('.change');
  const button = /** @type {HTMLElement | null} */ (card?.querySelector(name) ?? null);
  button?.focus();
  if (isPressed) button?.click();
}

/** @param {string} runId @param {Operation[]} list @param {(operation: Operation) => Decision} decisionOf */
const review = (runId, list, decisionOf) => api('POST', `/api/automation/runs/${runId}/review`, { decisions: list.map((it) => ({ operation_id: it.operation_id, digest: it.digest, ...decisionOf(it) })) });

/** @param {{ list: Operation[], isOpen: (it: Operation) => boolean, wordOf: (it: Operation) => string, onDecided: (list: Operation[], word: string) => void }} props */
function RunGroup({ list, isOpen, wordOf, onDecided }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const open = list.filter(isOpen);
  const rule = rules.value.rules?.find((it) => it.rule_id === list[0].rule_id);
  const fitting = open.filter((it) => !it.is_outdated);
  const all = (/** @type {Operation[]} */ some, /** @type {Decision} */ decision, /** @type {string} */ word) => {
    setError(null);
    review(list[0].run_id, some, () => decision).then(() => onDecided(some, word), setError);
  };
  return html`<section class="run-group" aria-label=${`Changes of ${rule?.name ?? 'a run'}`}><header class="row wrap"><h2>${list[0].rule_id ? html`<a href=${`${rulePath(list[0].rule_id)}/runs/${list[0].run_id}`}>${rule?.name || 'A rule'}</a>` : 'A run'}</h2><span class="small dim">${shortTime(list[0].proposed_at)}, ${counted(open.length, 'change')} left</span><span class="grow"></span>
      ${hasRole('editor') && fitting.length > 1 && html`<button class="btn" onClick=${() => all(fitting, { decision: 'apply' }, 'applied')}>Apply all ${fitting.length}</button>`}${hasRole('editor') && open.length > 1 && html`<button class="btn quiet" onClick=${() => all(open, { decision: 'reject' }, 'rejected')}>Reject all</button>`}</header>
    ${error && html`<${Failed} what=${whatFailed(error)} error=${error} />`}
    ${list.map((it) => (isOpen(it) ? html`<${Change} key=${it.operation_id} operation=${it} onDecided=${onDecided} />` : html`<p key=${it.operation_id} class="decided small"><${Icon} name="ok" tone="ok" /><span class="u">${titleOf(it)}</span> ${wordOf(it)}</p>`))}</section>`;
}

/** @param {unknown} error */
const whatFailed = (error) => (error instanceof ApiError && ['OTHER_OPERATION', 'VERSION_CONFLICT'].includes(error.code) ? 'It changed since you looked: nothing was decided.' : 'It was not decided.');

/** @param {Operation} it */
const titleOf = (it) => it.after?.title ?? it.before?.title ?? it.kind.replace('_', ' ');

/** @type {Record<string, string>} */
const KINDS = { create_note: 'New note', update_note: 'Change', record_issue: 'Issue' };

/** @param {{ operation: Operation, onDecided: (list: Operation[], word: string) => void }} props */
function Change({ operation: it, onDecided }) {
  const [mode, setMode] = useState(/** @type {'' | 'edit' | 'reject'} */ (''));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isBusy, setBusy] = useState(false);
  const decide = (/** @type {Decision} */ decision, /** @type {string} */ word) => {
    setBusy(true);
    setError(null);
    review(it.run_id, [it], () => decision).then(() => onDecided([it], word), setError).finally(() => setBusy(false));
  };
  return html`<article class=${cls('card change', it.is_outdated && 'old')} tabindex="-1" aria-label=${`${KINDS[it.kind] ?? it.kind}: ${titleOf(it)}`}>
    <header class="row wrap"><span class="st off">${KINDS[it.kind] ?? it.kind}</span>${it.note_id ? html`<a class="u" href=${notePath(it.note_id)}><b>${titleOf(it)}</b></a>` : html`<b class="u">${titleOf(it)}</b>`}${it.base_version !== null && html`<span class="tiny dim">for version ${it.base_version}</span>`}</header>
    ${it.is_outdated && html`<div class="note wait"><${Icon} name="wait" /><div>The note has changed since, so this cannot be applied any more. Take what you want of it into the note, and reject it.</div></div>`}
    <${Shown} operation=${it} />
    ${error && html`<${Failed} what=${whatFailed(error)} error=${error} />`}
    ${hasRole('editor') && (mode === 'edit' ? html`<${EditForm} operation=${it} isBusy=${isBusy} onCancel=${() => setMode('')} onApply=${(/** @type {any} */ edited) => decide({ decision: 'apply', edited }, 'edited and applied')} />`
      : mode === 'reject' ? html`<${RejectForm} isBusy=${isBusy} onCancel=${() => setMode('')} onReject=${(/** @type {string} */ reason) => decide({ decision: 'reject', ...(reason ? { reject_reason: reason } : {}) }, 'rejected')} />`
      : html`<div class="row wrap"><button class="btn solid apply" disabled=${isBusy || it.is_outdated} onClick=${() => decide({ decision: 'apply' }, 'applied')}>Apply</button>${it.kind !== 'record_issue' && it.after && !it.is_outdated && html`<button class="btn edit" disabled=${isBusy} onClick=${() => setMode('edit')}>Edit, then apply</button>`}<button class="btn reject" disabled=${isBusy} onClick=${() => setMode('reject')}>Reject</button></div>`)}</article>`;
}

/** @param {{ operation: Operation }} props */
function Shown({ operation: it }) {
  if (!it.after) return html`<${FoldedText} text=${it.diff} />`;
  const words = (/** @type {string[] | undefined} */ list) => (list ?? []).join(', ');
  const rows = [['Title', it.before?.title ?? '', it.after.title ?? ''], ['Keywords', words(it.before?.keywords), words(it.after.keywords)], ['Kind', it.before?.note_kind ?? '', it.after.note_kind ?? ''], ['Metadata', metaText(it.before?.metadata), metaText(it.after.metadata)]].filter(([, a, b]) => a !== b);
  return html`${rows.length > 0 && html`<dl class="changed">${rows.map(([name, a, b]) => html`<div key=${name}><dt class="label">${name}</dt><dd>${it.before && html`<del class="u">${a || 'none'}</del> <span aria-hidden="true">→</span> `}<ins class="u">${b || 'none'}</ins></dd></div>`)}</dl>`}
    ${(it.before?.markdown ?? '') !== (it.after.markdown ?? '') && html`<${DiffView} path=${titleOf(it)} before=${it.before?.markdown ?? ''} after=${it.after.markdown ?? ''} isNew=${!it.before} />`}`;
}

/** @param {Record<string, any> | undefined} metadata */
const metaText = (metadata) => (metadata && Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : '');

/** @param {{ operation: Operation, isBusy: boolean, onApply: (edited: any) => void, onCancel: () => void }} props */
function EditForm({ operation: it, isBusy, onApply, onCancel }) {
  const field = useFocus();
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const title = String(form.get('title') ?? '').trim();
    const markdown = String(form.get('markdown') ?? '').replace(/\r\n?/g, '\n');
    onApply({ ...(title !== (it.after?.title ?? '') ? { title } : {}), ...(markdown !== (it.after?.markdown ?? '') ? { markdown } : {}) });
  };
  return html`<form class="edit-form" onSubmit=${onSubmit}><label class="lab">Title<span class="field"><input name="title" defaultValue=${it.after?.title ?? ''} required /></span></label><label class="lab">Text<textarea class="textarea mono edit-text" name="markdown" ref=${field} defaultValue=${it.after?.markdown ?? ''}></textarea></label>
    <div class="row wrap"><button class="btn solid" disabled=${isBusy}>Apply what you wrote</button><button type="button" class="btn" onClick=${onCancel}>Cancel</button></div></form>`;
}

/** @param {{ isBusy: boolean, onReject: (reason: string) => void, onCancel: () => void }} props */
function RejectForm({ isBusy, onReject, onCancel }) {
  const field = useFocus();
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    onReject(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('reason') ?? '').trim());
  };
  return html`<form class="edit-form" onSubmit=${onSubmit}><label class="lab">Reason, for the agent and for others<textarea class="textarea" name="reason" maxlength="2000" ref=${field}></textarea></label><div class="row wrap"><button class="btn solid" disabled=${isBusy}>Reject</button><button type="button" class="btn" onClick=${onCancel}>Cancel</button></div></form>`;
}
