// The head of a run: its goal, its state, and what can be done with it.
import { html } from '../html.js';
import { useEffect, useRef, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { downloadLog } from '../download.js';
import { go, itemPath, runPath } from '../router.js';
import { isOffline, say } from '../state.js';
import { taintedSince } from '../lib/fold.js';
import { isEnded, stateOf } from '../lib/status.js';
import { count } from '../lib/numbers.js';
import { clockSeconds, dateAndClock } from '../lib/time.js';
import { entriesWord } from './outline.js';
import { Badge, Icon, StateBadge } from './icon.js';
import { Dialog } from './dialog.js';
import { Failed } from './states.js';
import { ImageList } from './images.js';
import { useKeys } from './keys.js';
import { FoldedText } from './longtext.js';
import { safe } from './untrusted.js';

/** @typedef {import('../types.js').Run} Run */

/** A row holds the beginning of a goal only. @param {Run} run */
export const goalOf = (run) => run.wholeGoal ?? run.goal;

/** The call of a run that waits. @param {Run} run */
const pendingOf = (run) => run.pending ?? (run.waiting?.digest ? run.waiting : null);

/** @param {any} sandbox */
export function sandboxWords(sandbox) {
  if (!sandbox) return 'no sandbox';
  if (typeof sandbox === 'string') return sandbox;
  const net = sandbox.network === undefined ? '' : sandbox.network ? ', network on' : ', no network';
  return `${sandbox.level ?? 'sandbox'}${net}`;
}

/** @param {{ run: Run }} props */
function Origin({ run }) {
  const from = run.from;
  if (run.plan) return html`<span>item <a href=${itemPath(run.plan, run.item)}>${run.item ?? ''}</a> of plan <span class="mono">${run.plan}</span></span>`;
  if (run.parent) return html`<span>called by <a class="mono" href=${runPath(run.parent)}>${run.parent}</a></span>`;
  if (!from) return null;
  if (from.runId) return html`<span>${from.kind === 'fork' ? 'fork of' : 'called by'} <a class="mono" href=${runPath(from.runId)}>${from.runId}</a></span>`;
  return html`<span>started by ${from.kind} ${safe(String(from.rule ?? from.plan ?? ''))}</span>`;
}

/** @param {{ store: import('../run-store.js').RunStore, run: Run, turns: import('../lib/fold.js').Turn[], selected: { turn: number }, isUntrusted: (tool: string) => boolean, place: any }} props */
export function RunHead({ store, run, turns, selected, isUntrusted }) {
  const state = stateOf(run.status, run.termination?.kind);
  const taint = taintedSince(turns, isUntrusted);
  const goal = goalOf(run);
  const pending = pendingOf(run);
  const children = run.children ?? [];
  const word = run.status === 'running' ? `Running, turn ${count(Math.max(1, run.turns))}` : run.status === 'awaiting_review' ? 'Waiting for you' : state.word;
  return html`<div class="head">
    <div class="top"><div class="grow"><h1 class="u">${safe(goal.slice(0, 600))}${goal.length > 600 ? ' …' : ''}</h1></div><${Actions} store=${store} run=${run} turn=${selected.turn} /></div>
    ${goal.length > 600 && html`<details><summary>The whole goal</summary><${FoldedText} text=${goal} isProse=${true} /></details>`}
    <${ImageList} images=${store.log.started?.images} />
    <div class="meta"><${StateBadge} status=${run.status} ended=${run.termination?.kind} word=${word} />
      ${(run.untrusted || taint) && html`<${Badge} tone="taint" icon="taint">Untrusted data${taint ? ` since turn ${taint.turn}` : ''}<//>`}
      <span>${run.agent ?? 'built-in agent'}</span><span class="mono">${run.models?.join(', ') || run.model || ''}</span><span class="mono u">${safe(run.directory ?? '')}</span>
      <span title=${dateAndClock(run.startedAt)}>started ${clockSeconds(run.startedAt)}</span><${Origin} run=${run} />
      <span class="row"><${Icon} name="box" /> ${sandboxWords(run.sandbox)}</span>
      <a class="row plain" href=${`${runPath(run.runId)}/log`}><${Icon} name="chain" /> ${entriesWord(store.length)}</a>
      ${run.status === 'awaiting_review' && html`<a class="btn solid" href=${pending ? `/inbox/call/${pending.digest}` : '/inbox'}><${Icon} name="wait" />Decide</a>`}</div>
    ${children.length > 0 && html`<div class="meta"><span>agents it called:</span>${children.slice(0, 20).map((it) => html`<a key=${it.runId} class="mono" href=${runPath(it.runId)}>${it.runId}</a>`)}${children.length > 20 && html`<span>and ${children.length - 20} more</span>`}</div>`}
  </div>`;
}

/** What became of it comes first. @param {{ run: Run }} props */
export function RunResult({ run }) {
  if (run.status === 'damaged') return html`<div class="result note bad"><${Icon} name="bad" /><div><b>The log is damaged.</b> What can be read of it is shown. <code>bonded verify ${run.runId}</code> says where it breaks.</div></div>`;
  if (!isEnded(run.status)) return null;
  const state = stateOf(run.status, run.termination?.kind);
  if (run.answer !== null) return html`<div class="result note ok"><${Icon} name="ok" /><div class="grow"><b>Answer</b><${FoldedText} text=${run.answer} isProse=${true} /></div></div>`;
  return html`<div class=${`result note ${state.tone === 'off' ? 'off' : state.tone}`}><${Icon} name=${state.icon} /><div class="grow"><b>${state.word}</b><${FoldedText} text=${run.termination?.reason ?? ''} isProse=${true} />
    ${run.lastText && html`<p class="small mid">Last message of the model: <span class="u">${safe(run.lastText.slice(0, 2000))}</span></p>`}</div></div>`;
}

/** @param {{ store: import('../run-store.js').RunStore, run: Run, turn: number }} props */
function Actions({ store, run, turn }) {
  const [asked, setAsked] = useState(/** @type {string | null} */ (null));
  const [outcome, setOutcome] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const post = async (/** @type {string} */ what, /** @type {any} */ body, /** @type {(got: any) => void} */ then) => {
    setError(null);
    try {
      then(await api('POST', `${store.path}/${what}`, body));
    } catch (failure) {
      setError(failure);
    }
    void store.readRun();
  };
  const check = (/** @type {string} */ what) => {
    setOutcome({ what, isBusy: true });
    void post(what, {}, (got) => setOutcome({ what, ...got }));
  };
  const download = () => void downloadLog(store.path, store.id).then(() => say('The log is downloaded'), setError);
  const resume = () => void post('resume', {}, () => say('The run is resumed'));
  const may = (/** @type {string} */ what) => run.may?.includes(what) ?? true;
  const isOpen = ['running', 'awaiting_review', 'awaiting_client'].includes(run.status) && may('cancel');
  const isResumable = run.status === 'interrupted' && may('resume');
  const isOff = isOffline.value;
  useKeys('Run', [
    ...(may('fork') ? [{ key: 'F', does: `Fork from turn ${turn}`, run: () => setAsked('fork') }] : []),
    ...(isOpen ? [{ key: 'C', does: 'Cancel the run', run: () => setAsked('cancel') }] : []),
    ...(isResumable ? [{ key: 'R', does: 'Resume the run', run: resume }] : []),
    { key: 'V', does: 'Verify the log', run: () => check('verify') },
    { key: 'P', does: 'Replay the run', run: () => check('replay') },
    { key: 'D', does: 'Download the log', run: download },
    { key: 'c', does: 'Compare with another run', run: () => setAsked('compare') },
  ]);
  return html`<div class="row acts">
    ${may('fork') && html`<button class="btn" disabled=${isOff} title=${isOff ? 'needs the server' : ''} onClick=${() => setAsked('fork')}><${Icon} name="fork" />Fork from turn ${count(turn)}</button>`}
    ${isOpen && html`<button class="btn" disabled=${isOff} onClick=${() => setAsked('cancel')}><${Icon} name="slash" />Cancel run</button>`}
    ${isResumable && html`<button class="btn solid" disabled=${isOff} onClick=${resume}><${Icon} name="play" />Resume</button>`}
    <${Menu} onVerify=${() => check('verify')} onReplay=${() => check('replay')} onCompare=${() => setAsked('compare')} onDownload=${download} isOff=${isOff} />
    ${error && html`<${Dialog} title="That did not work" onClose=${() => setError(null)}><${Failed} what="The server said no, or nothing." error=${error} /><button class="btn" onClick=${() => setError(null)}>Close</button><//>`}
    ${outcome && !error && html`<${Checked} outcome=${outcome} runId=${run.runId} onClose=${() => setOutcome(null)} />`}
    ${asked === 'fork' && html`<${Fork} turn=${turn} onClose=${() => setAsked(null)} onDo=${() => { setAsked(null); void post('fork', { turn }, (got) => go(runPath(got.runId))); }} />`}
    ${asked === 'cancel' && html`<${Cancel} onClose=${() => setAsked(null)} onDo=${(/** @type {string} */ reason) => { setAsked(null); void post('cancel', { reason }, () => say('The run is cancelled')); }} />`}
    ${asked === 'compare' && html`<${Compare} runId=${run.runId} onClose=${() => setAsked(null)} />`}
  </div>`;
}

/** @param {{ onVerify: () => void, onReplay: () => void, onCompare: () => void, onDownload: () => void, isOff: boolean }} props */
function Menu({ onVerify, onReplay, onCompare, onDownload, isOff }) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!isOpen) return;
    const close = (/** @type {Event} */ event) => {
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !ref.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, [isOpen]);
  const item = (/** @type {string} */ icon, /** @type {string} */ name, /** @type {() => void} */ run, off = isOff) => html`<button role="menuitem" disabled=${off} onClick=${() => { setOpen(false); run(); }}><${Icon} name=${icon} />${name}</button>`;
  return html`<div class="menu" ref=${ref}><button class="btn icon" aria-haspopup="menu" aria-expanded=${String(isOpen)} aria-label="More: compare, verify, replay, download" onClick=${() => setOpen(!isOpen)}><${Icon} name="more" /></button>
    ${isOpen && html`<div class="menu-list" role="menu">${item('compare', 'Compare with another run', onCompare)}${item('chain', 'Verify the log', onVerify)}${item('retry', 'Replay offline', onReplay)}${item('dn', 'Download the log', onDownload)}</div>`}</div>`;
}

/** @param {{ outcome: any, runId: string, onClose: () => void }} props */
function Checked({ outcome, runId, onClose }) {
  const { what, isBusy } = outcome;
  const title = what === 'verify' ? 'Verify the log' : 'Replay';
  const isGood = what === 'verify' ? outcome.whole : outcome.equal;
  const text = what === 'verify'
    ? (isGood ? `The log is intact: ${entriesWord(outcome.entries)}.` : 'The log is damaged.')
    : (isGood ? `The replay matches: ${count(outcome.steps)} steps, ${entriesWord(outcome.entries)}.` : 'The replay differs.');
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${isBusy ? html`<p role="status"><${Icon} name="run" tone="run" /> Working…</p>` : html`<div class=${`note ${isGood ? 'ok' : 'bad'}`} role="status"><${Icon} name=${isGood ? 'ok' : 'bad'} /><div><b>${text}</b> ${safe(outcome.message ?? differenceWords(outcome.difference))}</div></div>
      ${outcome.head && html`<p class="small">Head: <span class="mono break">${outcome.head}</span></p><p class="small dim">Note the head elsewhere: <code>bonded verify ${runId} --head HASH</code> then also shows that nothing was cut from the end.</p>`}`}
    <div class="row"><button class="btn" onClick=${onClose}>Close</button></div><//>`;
}

/** @param {any} difference */
function differenceWords(difference) {
  if (!difference) return '';
  if (typeof difference === 'string') return difference;
  const { seq, turn, recorded, computed } = difference;
  return `Entry ${seq}, turn ${turn}: recorded ${recorded ?? 'nothing'}, computed ${computed ?? 'nothing'}.`;
}

/** @param {{ turn: number, onClose: () => void, onDo: () => void }} props */
const Fork = ({ turn, onClose, onDo }) => html`<${Dialog} title=${`Fork from turn ${turn}?`} onClose=${onClose}>
  <p class="mid">A new run begins as this one stood before turn ${turn}. Files are not reset: its tools find the directory as it is. The new run waits until you resume it.</p>
  <div class="row"><button class="btn solid" onClick=${onDo}>Fork</button><button class="btn" onClick=${onClose}>Not now</button></div><//>`;

/** @param {{ onClose: () => void, onDo: (reason: string) => void }} props */
function Cancel({ onClose, onDo }) {
  const [reason, setReason] = useState('');
  return html`<${Dialog} title="Cancel this run?" onClose=${onClose}>
    <p class="mid">It ends after the step that is under way. A cancelled run cannot be resumed; it can be forked.</p>
    <label class="field-label" for="cancel-why">Reason, kept in the log</label><textarea id="cancel-why" class="textarea" value=${reason} onInput=${(/** @type {any} */ event) => setReason(event.target.value)}></textarea>
    <div class="row"><button class="btn solid" onClick=${() => onDo(reason)}>Cancel the run</button><button class="btn" onClick=${onClose}>Keep it running</button></div><//>`;
}

/** @param {{ runId: string, onClose: () => void }} props */
function Compare({ runId, onClose }) {
  const [other, setOther] = useState('');
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
    go(`${runPath(runId)}/vs/${encodeURIComponent(other.trim())}`);
  };
  return html`<${Dialog} title="Compare with another run" onClose=${onClose}><form class="dialog-form" onSubmit=${onSubmit}>
    <label class="field-label" for="other">Id of the other run</label><div class="field"><input id="other" required value=${other} onInput=${(/** @type {any} */ event) => setOther(event.target.value)} /></div>
    <div class="row"><button class="btn solid">Compare</button><button type="button" class="btn" onClick=${onClose}>Close</button></div></form><//>`;
}
