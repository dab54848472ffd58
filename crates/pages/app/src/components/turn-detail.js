// One turn in full: what happened, what the model saw, and the entries of the log.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { useFold } from '../folds.js';
import { count, counted, money } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { cutOf, words } from '../lib/calls.js';
import { runPath } from '../router.js';
import { Icon } from './icon.js';
import { CallView } from './call.js';
import { JsonView } from './json.js';
import { LongText } from './longtext.js';
import { safe } from './untrusted.js';
import { SawView } from '../pages/saw.js';
import { EntryList } from '../pages/log.js';
import { Loading } from './states.js';

/** @typedef {import('../lib/fold.js').Turn} Turn */

// With more calls than this only those near the selected one are shown in full.
const OPEN_MAX = 4;
const SHOWN_MAX = 20;

/** @param {any} props */
export function TurnDetail({ store, run, turns, selected, pick, place, isUntrusted }) {
  const turn = /** @type {Turn | undefined} */ (store.log.turns.get(selected.turn));
  const at = turns.findIndex((/** @type {Turn} */ it) => it.turn === selected.turn);
  const [before, after] = [turns[at - 1], turns[at + 1]];
  return html`<section class="card det" aria-label=${`Turn ${selected.turn}`}>
    <h2><a class="btn quiet icon only-m" href=${runPath(store.id)} aria-label="Back to the turns"><${Icon} name="back" /></a>Turn ${count(selected.turn)} <span class="dim small">of ${count(Math.max(run.turns, selected.turn))}</span><span class="grow"></span>${turn && html`<span class="dim tiny hide-m">${usageWords(turn)}</span>`}
      <button class="btn quiet icon" aria-label="Previous turn" disabled=${!before} onClick=${() => pick(before.turn)}><${Icon} name="up" /></button><button class="btn quiet icon" aria-label="Next turn" disabled=${!after} onClick=${() => pick(after.turn)}><${Icon} name="dn" /></button></h2>
    <${Tabs} turn=${turn} tab=${place.tab} onTab=${(/** @type {string} */ tab) => pick(selected.turn, { tab, call: selected.call })} />
    <div role="tabpanel" id="panel" aria-labelledby=${`tab-${place.tab}`} tabindex="0">
      ${place.tab === 'saw' ? html`<${SawView} store=${store} turn=${selected.turn} />`
        : !turn ? html`<section><${Loading} /></section>`
        : place.tab === 'entries' ? html`<${EntryList} store=${store} from=${turn.first} to=${turn.last} />`
        : html`<${Happened} key=${selected.turn} store=${store} turn=${turn} selected=${selected} isUntrusted=${isUntrusted} subs=${run.children ?? []} />`}</div></section>`;
}

/** @param {Turn} turn */
function usageWords({ usage, cost }) {
  if (usage.input + usage.output === 0) return '';
  const cached = usage.cached > 0 ? `, ${count(usage.cached)} of them cached` : '';
  return `${count(usage.input)} in${cached}, ${count(usage.output)} out${cost > 0 ? `, ${money(cost / 1e12)}` : ''}`;
}

/** @param {{ turn: Turn | undefined, tab: string, onTab: (tab: string) => void }} props */
function Tabs({ turn, tab, onTab }) {
  const tabs = [['happened', 'What happened'], ['saw', 'What the model saw'], ['entries', turn ? `Entries ${count(turn.first)} to ${count(turn.last)}` : 'Entries']];
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const [next] = tabs[(tabs.findIndex(([key]) => key === tab) + by + tabs.length) % tabs.length];
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return html`<div class="tabsx" role="tablist" aria-label="Views of this turn" onKeyDown=${onKey}>${tabs.map(([key, name]) => html`<button key=${key} id=${`tab-${key}`} role="tab" aria-selected=${String(tab === key)} aria-controls="panel" tabindex=${tab === key ? 0 : -1} onClick=${() => onTab(key)}>${name}</button>`)}</div>`;
}

/** @param {{ store: import('../run-store.js').RunStore, turn: Turn, selected: { call: number | null }, isUntrusted: (tool: string) => boolean, subs: import('../types.js').Child[] }} props */
function Happened({ store, turn, selected, isUntrusted, subs }) {
  const place = { runId: store.id, seq: decisionSeq(store, turn) };
  return html`<${Attempts} turn=${turn} />${turn.marks.map((it) => html`<${MarkView} key=${it.seq} mark=${it} />`)}
    ${isSaid(turn.reasoning) && html`<${Thought} place=${place} text=${turn.reasoning} />`}
    ${isSaid(turn.text) && html`<section><span class="label">The model said</span><${LongText} place=${place} text=${turn.text} isProse=${true} /></section>`}
    ${turn.decidedAt === null && turn.attempts.every((it) => it.failure === null) && html`<section class="dim">The model has not answered yet.</section>`}
    <${Calls} store=${store} turn=${turn} selected=${selected} isUntrusted=${isUntrusted} subs=${subs} />`;
}

/** @param {{ place: { runId: string, seq: number }, text: any }} props */
function Thought({ place, text }) {
  const [isOpen, setOpen] = useFold(`thought ${place.runId} ${place.seq}`, false);
  const onToggle = (/** @type {Event} */ event) => setOpen(/** @type {HTMLDetailsElement} */ (event.currentTarget).open);
  return html`<section><details open=${isOpen} onToggle=${onToggle}><summary class="label">The model thought</summary>${isOpen && html`<${LongText} place=${place} text=${text} isProse=${true} label="Thoughts" />`}</details></section>`;
}

const isSaid = (/** @type {any} */ text) => text !== '' && (typeof text === 'string' || cutOf(text) !== null);

/** @param {import('../run-store.js').RunStore} store @param {Turn} turn */
function decisionSeq(store, turn) {
  for (let seq = turn.first; seq <= turn.last; seq += 1) if (store.log.entries.get(seq)?.kind === 'decision_made') return seq;
  return turn.first;
}

/** @param {{ store: import('../run-store.js').RunStore, turn: Turn, selected: { call: number | null }, isUntrusted: (tool: string) => boolean, subs: import('../types.js').Child[] }} props */
function Calls({ store, turn, selected, isUntrusted, subs }) {
  const calls = turn.calls.filter(Boolean);
  const [opened, setOpened] = useFold(`calls ${store.id} ${turn.turn}`, /** @type {Record<number, boolean>} */ ({}));
  const [from, setFrom] = useState(0);
  const isFew = calls.length <= OPEN_MAX;
  useEffect(() => {
    if (selected.call === null) return;
    setFrom(Math.max(0, Math.min(selected.call - 5, calls.length - SHOWN_MAX)));
    const shown = document.getElementById(`call-${selected.call}`);
    // At the first call the whole turn is in view already.
    if (selected.call > 0) shown?.scrollIntoView({ block: 'nearest' });
  }, [selected.call, turn.turn]);
  const isOpen = (/** @type {number} */ index) => opened[index] ?? (isFew || index === (selected.call ?? 0));
  const shown = calls.slice(from, from + SHOWN_MAX);
  const toggle = (/** @type {number} */ index) => setOpened({ ...opened, [index]: !isOpen(index) });
  return html`${from > 0 && html`<section><button class="btn quiet" onClick=${() => setFrom(Math.max(0, from - SHOWN_MAX))}>Show ${counted(Math.min(from, SHOWN_MAX), 'call')} before</button></section>`}
    ${shown.map((call) => html`<${CallView} key=${call.index} call=${call} runId=${store.id} isTainted=${call.finishedSeq !== null && isUntrusted(call.tool)} isOpen=${isOpen(call.index)} onToggle=${isFew ? undefined : () => toggle(call.index)} subs=${subs.filter((it) => it.turn === turn.turn && it.call === call.index)} />`)}
    ${calls.length > from + SHOWN_MAX && html`<section><button class="btn quiet" onClick=${() => setFrom(from + SHOWN_MAX)}>Show ${counted(Math.min(SHOWN_MAX, calls.length - from - SHOWN_MAX), 'call')} after, of ${count(calls.length)}</button></section>`}`;
}

/** @param {{ turn: Turn }} props */
function Attempts({ turn }) {
  const failed = turn.attempts.filter((it) => it.failure);
  if (failed.length === 0) return null;
  return html`<section><ol class="steps">${failed.map((it) => html`<li key=${it.seq}><${Icon} name="retry" tone="bad" /><span class="dim">attempt ${it.attempt}</span><span class="u">${words(it.failure.class)}${it.failure.status ? ` ${it.failure.status}` : ''}${it.failure.message ? `: ${''}` : ''}${safe(String(it.failure.message ?? ''))}${it.failure.retry_after_ms ? html` <span class="dim">(asked to wait ${duration(it.failure.retry_after_ms)})</span>` : ''}${it.failure.billable ? html` <span class="dim">(may have been billed)</span>` : ''}</span></li>`)}</ol></section>`;
}

/** What is not a call: shortened contexts, and kinds that this page does not know. @param {{ mark: import('../lib/fold.js').Mark }} props */
function MarkView({ mark }) {
  const { kind, data } = mark;
  if (kind === 'context_compacted') return html`<section><div class="note limit"><${Icon} name="guard" /><div><b>Context shortened</b> from about ${count(data.before)} to ${count(data.after)} tokens: ${counted(data.messages?.length ?? 0, 'old output')} taken out. The log still has all of it.</div></div></section>`;
  if (kind === 'context_guarded') return html`<section><div class="note limit"><${Icon} name="guard" /><div><b>Context full.</b> The model was asked for its final answer.</div></div></section>`;
  return html`<section><span class="label">${words(kind)}</span><${JsonView} value=${data} /></section>`;
}
