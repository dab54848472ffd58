// What waits for a person: the whole call, where its words came from, what it can touch, and two answers.
import { cls, html } from '../html.js';
import { useEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { readInbox } from '../inbox-watch.js';
import { go, route, runPath } from '../router.js';
import { inbox, isOffline, now, say, user } from '../state.js';
import { keep, keepHere, kept, keptHere } from '../storage.js';
import { useCss, useTitle } from '../hooks.js';
import { useKeys } from '../components/keys.js';
import { Badge, Icon } from '../components/icon.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { DiffView } from '../components/diff.js';
import { JsonView } from '../components/json.js';
import { Lately } from '../components/lately.js';
import { FoldedText } from '../components/longtext.js';
import { CopySources, CopyWarning, useCopies, withCopies } from '../components/copied.js';
import { Line, safe } from '../components/untrusted.js';
import { countHidden } from '../lib/hidden.js';
import { gist, isSameJson, parsed } from '../lib/calls.js';
import { bytes, counted } from '../lib/numbers.js';
import { clock, duration, span } from '../lib/time.js';

/** @typedef {import('../types.js').Waiting} Waiting */
/** @typedef {{ call: Waiting, verdict: 'approved' | 'denied' | 'gone', by: string, at: number, hint?: string }} Decided */

export default function Inbox() {
  useCss('/css/inbox.css');
  useTitle('Inbox');
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const read = () => void readInbox().then(() => setError(null), setError);
  useEffect(read, []);
  const [decided, setDecided] = useState(/** @type {Record<string, Decided>} */ ({}));
  const shown = useShown(decided, setDecided);
  const open = shown.filter((it) => !decided[it.digest]);
  const wanted = route.value.parts[1] === 'call' ? route.value.parts[2] : null;
  const [current, setCurrent] = useState(/** @type {string | null} */ (wanted));
  const at = Math.max(0, open.findIndex((it) => it.digest === current));
  const onDecided = (/** @type {Decided} */ it) => setDecided((before) => ({ ...before, [it.call.digest]: it }));
  const move = (/** @type {number} */ by) => open[at + by] && show(open[at + by].digest);
  const show = (/** @type {string} */ digest) => {
    setCurrent(digest);
    go(`/inbox/call/${digest}`, { isReplaced: true });
    document.getElementById(`card-${digest}`)?.scrollIntoView({ block: 'start' });
  };
  useEffect(() => {
    if (wanted) document.getElementById(`card-${wanted}`)?.scrollIntoView({ block: 'start' });
  }, [shown.length > 0]);
  useKeys('Inbox', [
    { key: 'j', does: 'Next call', run: () => move(1) },
    { key: 'k', does: 'Previous call', run: () => move(-1) },
    { key: 'a', does: 'Go to Approve; Enter confirms', run: () => focusIn(open[at], '.approve') },
    { key: 'd', does: 'Go to Deny; Enter confirms', run: () => focusIn(open[at], '.deny') },
    { key: 'r', does: 'Write the reason; Ctrl Enter denies', run: () => focusIn(open[at], '.why') },
    { key: 'o', does: 'Open the run', run: () => open[at] && go(`${runPath(open[at].runId)}/t/${open[at].turn}/c/${open[at].call}`) },
  ]);
  const oldest = open.length > 0 ? Math.min(...open.map((it) => it.since)) : 0;
  return html`<div class="bar"><h1>Inbox</h1><span class="dim small">${open.length > 0 ? `${open.length} waiting, oldest ${span(now.value - oldest)}` : ''}</span><span class="grow"></span><${Notify} /></div>
    ${error && html`<div class="page"><${Failed} what="The inbox cannot be read." error=${error} onRetry=${read} /></div>`}
    ${inbox.value === null ? !error && html`<div class="page"><${Loading} /></div>`
      : shown.length === 0 ? html`<div class="page"><${Empty} title="Nothing waits for you"><p class="mid">Calls that need an approval appear here. Ask for them with a policy, such as:</p><pre class="code">bonded run --ask 'run' --ask 'write' "tidy up"</pre><p class="mid small">Or with <code>--after-untrusted ask</code>: then every call that changes something is asked about once untrusted data is in the run.</p><//><${Lately} /></div>`
      : html`<div class="ib"><nav class="items" aria-label="Waiting"><h2 class="itg">Calls waiting, ${open.length}</h2>${shown.map((it) => html`<${Item} key=${it.digest} call=${it} decided=${decided[it.digest]} isCurrent=${open[at]?.digest === it.digest} onShow=${show} />`)}</nav>
        <div class="view">${shown.map((it, n) => decided[it.digest] ? html`<${Done} key=${it.digest} decided=${decided[it.digest]} />` : html`<${Card} key=${it.digest} call=${it} place=${`${n + 1} of ${shown.length}`} onDecided=${onDecided} onFocus=${() => setCurrent(it.digest)} />`)}<${Lately} /></div></div>`}`;
}

/**
 * Cards stay where they are. One that another person decided shrinks to a line as well.
 * @param {Record<string, Decided>} decided @param {(update: (before: Record<string, Decided>) => Record<string, Decided>) => void} setDecided
 * @returns {Waiting[]}
 */
function useShown(decided, setDecided) {
  const seen = useRef(/** @type {Map<string, Waiting>} */ (new Map()));
  const calls = inbox.value;
  for (const call of calls ?? []) if (!seen.current.has(call.digest)) seen.current.set(call.digest, call);
  useEffect(() => {
    if (calls === null) return;
    const here = new Set(calls.map((it) => it.digest));
    const gone = [...seen.current.values()].filter((it) => !here.has(it.digest) && !decided[it.digest]);
    if (gone.length > 0) setDecided((before) => ({ ...before, ...Object.fromEntries(gone.map((call) => [call.digest, before[call.digest] ?? { call, verdict: 'gone', by: '', at: now.peek() }])) }));
  }, [calls]);
  return [...seen.current.values()];
}

/** @param {Waiting | undefined} call @param {string} what */
function focusIn(call, what) {
  const found = call && document.querySelector(`#card-${CSS.escape(call.digest)} ${what}`);
  if (found instanceof HTMLElement) found.focus();
}

/** @param {{ call: Waiting, decided?: Decided, isCurrent: boolean, onShow: (digest: string) => void }} props */
function Item({ call, decided, isCurrent, onShow }) {
  const onClick = (/** @type {Event} */ event) => {
    event.preventDefault();
    onShow(call.digest);
  };
  return html`<a class="it" href=${`/inbox/call/${call.digest}`} aria-current=${isCurrent ? 'true' : undefined} onClick=${onClick}>
    <span class="row">${decided ? html`<${Badge} tone="off" icon=${decided.verdict === 'denied' ? 'deny' : 'ok'}>${decided.verdict === 'gone' ? 'decided' : decided.verdict}<//>` : html`<${Badge} tone="wait" icon="wait">${span(now.value - call.since)}<//>`}${call.untrusted && html`<${Badge} tone="taint" icon="taint">Untrusted<//>`}</span>
    <span class="t cut">${call.tool} <${Line} text=${gist(call.arguments)} /></span><span class="s cut"><${Line} text=${`${call.runId}, turn ${call.turn}: ${call.goal}`} /></span></a>`;
}

/** @param {{ decided: Decided }} props */
function Done({ decided }) {
  const { call, verdict, by, at, hint } = decided;
  const word = verdict === 'approved' ? 'Approved' : verdict === 'denied' ? 'Denied' : 'Decided elsewhere';
  return html`<div class="card ask done" role="status"><${Icon} name=${verdict === 'denied' ? 'deny' : 'ok'} tone=${verdict === 'denied' ? 'bad' : 'ok'} /><span class="cut"><b>${word}</b>${by && ` by ${by}`} at ${clock(at)}: <span class="mono">${call.tool} <${Line} text=${gist(call.arguments)} /></span>${hint && html`<br /><span class="c-wait">${hint}</span>`}</span><span class="grow"></span><a class="small nowrap" href=${`${runPath(call.runId)}/t/${call.turn}/c/${call.call}`}>Open the run</a></div>`;
}

/** @param {Waiting} call */
function question(call) {
  if (call.command) return 'Run this command?';
  if (call.change?.path) return `${call.change.isNew ? 'Create' : 'Change'} ${call.change.path}?`;
  return `Call ${call.tool}?`;
}

/** What the browser looks through: the command, the new text, or the arguments. @param {Waiting} call */
function subjectOf(call) {
  const { command, change } = call;
  if (command) return [command.command, ...(command.args ?? []).map(quoted)].join(' ');
  return change?.after ?? call.arguments;
}

/** An argument as a shell would need it, so that one with spaces is not taken for two. @param {string} text */
const quoted = (text) => (/^[\w./=:,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** @param {{ call: Waiting, place: string, onDecided: (it: Decided) => void, onFocus: () => void }} props */
function Card({ call, place, onDecided, onFocus }) {
  const text = subjectOf(call);
  const found = useCopies(call, text);
  const hidden = useMemo(() => countHidden(call.change ? newText(call) : text) + countHidden(call.command?.stdin ?? ''), [text]);
  const what = call.command ? 'command' : call.change ? 'change' : 'call';
  return html`<article class="card ask" id=${`card-${call.digest}`} aria-labelledby=${`q-${call.digest}`} onFocusIn=${onFocus}>
    <header><div class="row wrap small"><${Badge} tone="wait" icon="wait">Waiting for you, ${span(now.value - call.since)}<//>${call.untrusted && html`<${Badge} tone="taint" icon="taint">Untrusted data in the run<//>`}<a class="mono" href=${`${runPath(call.runId)}/t/${call.turn}/c/${call.call}`}>${call.runId}</a><span class="dim">turn ${call.turn}, call ${call.call}</span>${call.rootId !== call.runId && html`<span class="dim">called by <a class="mono" href=${runPath(call.rootId)}>${call.rootId}</a></span>`}<span class="grow hide-m"></span><span class="dim hide-m">${place}</span></div>
      <h2 class="q u" id=${`q-${call.digest}`}>${safe(question(call))}</h2><p class="small mid cut"><${Line} text=${call.goal} /></p></header>
    <section><${Subject} call=${call} found=${found} hidden=${hidden} />
      ${hidden > 0 && html`<div class="note bad"><${Icon} name="bad" /><div><b>It contains ${counted(hidden, 'hidden character')}</b> that most programs do not show, or that change how the text beside them is shown. They are written out above.</div></div>`}
      <${CopyWarning} call=${call} found=${found} what=${what} /></section>
    <${CopySources} call=${call} found=${found} />
    <section><span class="label">What can happen if it runs</span><${Facts} call=${call} />${call.change?.fault && html`<div class="note bad"><${Icon} name="bad" /><div><b>This call will fail:</b> ${safe(call.change.fault)}</div></div>`}${call.change?.isGuarded && html`<div class="note wait"><${Icon} name="wait" /><div>This file configures programs that run later.</div></div>`}${call.note && html`<div class="note wait"><${Icon} name="wait" /><div class="u">${safe(call.note)}</div></div>`}<p class="small mid u">Asked because ${safe(call.why)}. Nothing runs and no time is counted until you decide.</p></section>
    ${call.reply && html`<section><span class="label">What the agent said before</span><${FoldedText} text=${call.reply} isProse=${true} name=${`said ${call.digest}`} /></section>`}
    <${Answer} call=${call} isRisky=${call.untrusted || hidden > 0 || found.copies.length > 0} onDecided=${onDecided} /></article>`;
}

/** Of a change only what is new can hide something new. @param {Waiting} call */
function newText(call) {
  const before = new Set((call.change?.before ?? '').split('\n'));
  return (call.change?.after ?? '').split('\n').filter((it) => !before.has(it)).join('\n') + (call.change?.path ?? '');
}

/** @param {{ call: Waiting, found: ReturnType<typeof useCopies>, hidden: number }} props */
function Subject({ call, found, hidden }) {
  const text = subjectOf(call);
  const lines = text.split('\n').length;
  if (call.change && call.change.after !== null) {
    return html`<${DiffView} path=${call.change.path} before=${call.change.before ?? ''} after=${call.change.after} isNew=${call.change.isNew} name=${call.digest} mark=${found.copies.length > 0 ? (/** @type {string} */ line, /** @type {number} */ at) => withCopies(line, found.copies, at) : undefined} /><${AsJson} call=${call} />`;
  }
  if (call.command) {
    return html`<pre class="code cmd u" tabindex="0" aria-label=${`Command, complete, ${text.length} characters`}>${withCopies(text, found.copies)}</pre>
      ${call.command.stdin != null && html`<span class="label">Its input</span><${FoldedText} text=${call.command.stdin} label="Input of the command" />`}
      <div class="row wrap tiny dim"><span>complete: ${counted(lines, 'line')}, ${counted(text.length, 'character')}, ${hidden === 0 ? 'no hidden characters' : counted(hidden, 'hidden character')}</span><span class="mono u">${safe(call.command.directory)}</span></div><${AsJson} call=${call} />`;
  }
  const value = parsed(call.arguments);
  return html`${value && typeof value === 'object' ? html`<${JsonView} value=${value} raw=${call.arguments} />` : html`<pre class="code cmd u">${withCopies(text, found.copies)}</pre>`}`;
}

/** The arguments as they would be executed and, where they differ, as the model wrote them. @param {{ call: Waiting }} props */
function AsJson({ call }) {
  const isRepaired = !isSameJson(call.written, call.arguments);
  return html`<details class="tiny"><summary>Arguments as JSON${isRepaired ? ', repaired' : ''}</summary><pre class="code u">${safe(call.arguments)}</pre>${isRepaired && html`<p class="label">As the model wrote them</p><pre class="code u">${safe(call.written)}</pre>`}</details>`;
}

/** @param {{ call: Waiting }} props */
function Facts({ call }) {
  const box = call.sandbox ?? { level: 'none: it can do what you can' };
  const list = (/** @type {unknown} */ it) => (Array.isArray(it) ? it.join(', ') : String(it ?? ''));
  const isNetKnown = box.network !== undefined;
  return html`<dl class="facts">
    <div><dt><${Icon} name="box" />Sandbox</dt><dd>${typeof box === 'string' ? box : (box.level ?? 'none')}</dd></div>
    ${isNetKnown && html`<div><dt><${Icon} name="net" />Network</dt><dd><b>${box.network ? 'on' : 'off'}</b></dd></div>`}
    ${box.writes && html`<div><dt><${Icon} name="file" />May write</dt><dd class="mono u">${safe(list(box.writes))}${box.protects ? `, not ${list(box.protects)}` : ''}</dd></div>`}
    <div><dt><${Icon} name="guard" />Effect</dt><dd>${call.effect === 'read' ? 'reads' : 'changes something'}</dd></div>
    <div><dt><${Icon} name="clock" />At most</dt><dd>${call.limits.timeMs ? duration(call.limits.timeMs) : 'no time limit'}${call.limits.outputBytes ? `, ${bytes(call.limits.outputBytes)} shown` : ''}</dd></div></dl>`;
}

/** @param {{ call: Waiting, isRisky: boolean, onDecided: (it: Decided) => void }} props */
function Answer({ call, isRisky, onDecided }) {
  const draft = `why.${call.digest}`;
  const [reason, setReason] = useState(keptHere(draft) ?? '');
  const [isKept, setKept] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {any} */ (null));
  const onInput = (/** @type {any} */ event) => {
    setReason(event.target.value);
    setKept(keepHere(draft, event.target.value));
  };
  const decide = async (/** @type {'approve' | 'deny'} */ what, /** @type {any} */ more = {}) => {
    setBusy(true);
    setError(null);
    try {
      const done = await api('POST', `/api${runPath(call.runId)}/${what}`, { turn: call.turn, call: call.call, digest: call.digest, ...more });
      keepHere(draft, null);
      onDecided({ call, verdict: what === 'approve' ? 'approved' : 'denied', by: user.value, at: now.peek(), hint: done?.hint ?? '' });
      say(what === 'approve' ? 'Approved' : 'Denied');
      void readInbox().catch(() => {});
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const deny = () => void decide('deny', { reason });
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) deny();
    if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur();
  };
  const isOff = isBusy || isOffline.value;
  if (call.may && !call.may.includes('approve')) return html`<section class="go"><p class="small mid">Only people who may change this workspace decide calls.</p></section>`;
  const id = `why-${call.digest}`;
  return html`<section class="go"><label class="sr" for=${id}>Reason, told to the model if you deny</label>
    <textarea class="why textarea" id=${id} placeholder="Reason, told to the model if you deny" value=${reason} onInput=${onInput} onKeyDown=${onKey}></textarea>
    ${!isKept && html`<p class="tiny c-bad">This browser's storage is full: the reason is lost if you leave this page.</p>`}
    <div class="acts"><button class=${cls('btn big deny', isRisky && 'solid')} disabled=${isOff} onClick=${deny}><${Icon} name="deny" />${reason ? 'Deny and tell the model' : 'Deny'} <kbd>d</kbd></button>
      <button class=${cls('btn big approve', !isRisky && 'solid')} disabled=${isOff} onClick=${() => void decide('approve')}>Approve once <kbd>a</kbd></button>
</div>
    ${isOffline.value && html`<p class="tiny dim">Not connected: a decision needs the server.</p>`}
    ${error && (error.status === 409 ? html`<${Failed} what="Changed since you looked." error=${error} onRetry=${() => void readInbox()} />` : html`<${Failed} what="That did not work." error=${error} />`)}
    <p class="tiny dim">${`Recorded${user.value ? ` as ${user.value}` : ''}, for this call with these arguments only.`}</p></section>`;
}

function Notify() {
  const [state, setState] = useState(kept('notify') === 'on' && 'Notification' in window && Notification.permission === 'granted');
  const toggle = async () => {
    if (!('Notification' in window)) return;
    const isOn = !state && (await Notification.requestPermission()) === 'granted';
    keep('notify', isOn ? 'on' : null);
    setState(isOn);
  };
  useKeys('Inbox', [{ key: 'N', does: 'Notify me, or not', run: () => void toggle() }]);
  if (!('Notification' in window)) return null;
  return html`<button class="btn quiet notify" aria-pressed=${String(state)} onClick=${() => void toggle()}><${Icon} name="bell" />Notify me: ${state ? 'on' : 'off'}</button>`;
}
