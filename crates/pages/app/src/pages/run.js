// A run: what was asked, where it stands, what it cost, and all that happened.
import { cls, html } from '../html.js';
import { useEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { go, route, runPath } from '../router.js';
import { now, say } from '../state.js';
import { useCss, useTitle } from '../hooks.js';
import { useFold } from '../folds.js';
import { RunStore } from '../run-store.js';
import { useKeys } from '../components/keys.js';
import { Icon } from '../components/icon.js';
import { Failed, Loading } from '../components/states.js';
import { Timeline } from '../components/timeline.js';
import { Outline, entriesWord } from '../components/outline.js';
import { RunHead, RunResult, goalOf } from '../components/run-head.js';
import { Budgets } from '../components/budgets.js';
import { TurnDetail } from '../components/turn-detail.js';
import { Now } from '../components/run-now.js';
import { LogView } from './log.js';
import { hasFailure, untrustedTools } from '../lib/fold.js';
import { outlineOf } from '../lib/outline.js';
import { plain } from '../lib/hidden.js';
import { stateOf } from '../lib/status.js';
import { count } from '../lib/numbers.js';

/** @typedef {import('../lib/fold.js').Turn} Turn */

/** The place that an address names. @param {string[]} parts @param {URLSearchParams} query */
function placeOf(parts, query) {
  const [, id, third, fourth, , sixth] = parts;
  const isSaw = third === 'saw';
  const turn = third === 't' || isSaw ? Number(fourth) : NaN;
  const call = parts[4] === 'c' ? Number(sixth) : NaN;
  return {
    id, isLog: third === 'log',
    turn: Number.isInteger(turn) && turn > 0 ? turn : null,
    call: Number.isInteger(call) ? call : null,
    tab: isSaw ? 'saw' : query.get('tab') === 'entries' ? 'entries' : 'happened',
    asOf: query.get('asof') === '1' && turn > 0 ? turn : null,
  };
}

export default function RunPage() {
  useCss('/css/run.css');
  const place = placeOf(route.value.parts, route.value.query);
  const store = useMemo(() => new RunStore(place.id), [place.id]);
  useEffect(() => store.open(), [store]);
  const run = store.run.value;
  useTitle(run ? `${plain(goalOf(run)).slice(0, 60)} · run ${place.id}` : `Run ${place.id}`);
  const neighbours = useNeighbours();
  return html`<div class="bar"><a class="btn quiet icon" href="/runs" aria-label="Back to the runs"><${Icon} name="back" /></a><span class="dim small">Runs</span><span class="dim">/</span><span class="mono small cut u">${place.id}</span>
      <button class="btn quiet icon" aria-label="Copy the id" onClick=${() => void navigator.clipboard?.writeText(place.id).then(() => say('The id is copied'))}><${Icon} name="copy" /></button><span class="grow"></span>
      <span class="dim small keys-inline">previous, next run <button class="btn quiet icon" aria-label="Previous run" onClick=${() => void neighbours(-1)}><kbd>[</kbd></button><button class="btn quiet icon" aria-label="Next run" onClick=${() => void neighbours(1)}><kbd>]</kbd></button></span></div>
    ${store.error.value && html`<div class="page"><${Failed} what="The run cannot be read." error=${store.error.value} onRetry=${() => void store.begin()} /></div>`}
    ${run ? html`<${Loaded} store=${store} place=${place} />` : !store.error.value && html`<div class="page"><h1 class="sr">Run ${place.id}</h1><${Loading} rows=${8} /></div>`}`;
}

/** Goes to the run before or after in the list. */
function useNeighbours() {
  const move = async (/** @type {number} */ by) => {
    const { runs } = await api('GET', '/api/runs?limit=200');
    // Keys come faster than pages are drawn: the address says which run this is.
    const id = route.value.parts[1];
    const at = runs.findIndex((/** @type {any} */ it) => it.runId === id);
    const next = at < 0 ? null : runs[at + by];
    if (next) go(runPath(next.runId));
  };
  useKeys('Run', [
    { key: '[', does: 'Previous run (newer)', run: () => void move(-1) },
    { key: ']', does: 'Next run (older)', run: () => void move(1) },
  ]);
  return move;
}

/** @typedef {ReturnType<typeof placeOf>} Place */

/** @param {{ store: RunStore, place: Place }} props */
function Loaded({ store, place }) {
  const run = /** @type {import('../types.js').Run} */ (store.run.value);
  const version = store.version.value;
  const turns = useMemo(() => store.log.inOrder(), [version]);
  const isOpen = run.status === 'running';
  const isUntrusted = useMemo(() => untrustedTools(store.log.started?.config), [store.log.started]);
  const [isFollowing, setFollowing] = useState(place.turn === null);
  const selected = selectionOf(place, turns, run, isOpen && isFollowing);
  useEffect(() => {
    if (selected.turn && !store.log.turns.has(selected.turn)) void store.needTurn(selected.turn).catch(() => {});
  }, [selected.turn, run.chain.entries > 0]);
  const pick = usePick(store.id, place, () => setFollowing(false));
  useEffect(() => say(stateOf(run.status, run.termination?.kind).word), [run.status]);
  useRunKeys({ turns, selected, pick, place, isFollowing, setFollowing, id: store.id });
  const model = { store, run, turns, selected, pick, place, isOpen, isUntrusted, isFollowing, setFollowing };
  if (place.isLog) return html`<${RunHead} ...${model} /><${LogView} store=${store} />`;
  return html`<${RunHead} ...${model} />${place.asOf === null && html`<${RunResult} run=${run} />`}<${Budgets} store=${store} turns=${turns} asOf=${place.asOf} />
    <${Strip} ...${model} /><div class=${cls('two', place.asOf === null && (place.turn === null ? 'is-outline' : 'is-detail'))}><${Turns} ...${model} /><${TurnDetail} ...${model} /></div>`;
}

/** The turn that is shown: the one of the address, the last of a run that is followed, else where it ended badly. @param {Place} place @param {Turn[]} turns @param {import('../types.js').Run} run @param {boolean} isFollowed */
function selectionOf(place, turns, run, isFollowed) {
  const last = turns.at(-1)?.turn ?? 1;
  if (isFollowed) return { turn: last, call: null };
  if (place.turn !== null) return { turn: place.turn, call: place.call };
  const isGood = run.status === 'succeeded' || run.status === 'interrupted';
  return { turn: isGood ? (turns[0]?.turn ?? 1) : last, call: null };
}

/** @param {string} id @param {Place} place @param {() => void} before */
function usePick(id, place, before) {
  return (/** @type {number} */ turn, /** @type {{ call?: number | null, tab?: string, asOf?: boolean }} */ how = {}) => {
    before();
    const tab = how.tab ?? place.tab;
    const asOf = how.asOf ?? place.asOf !== null;
    const query = new URLSearchParams({ ...(tab === 'entries' ? { tab } : {}), ...(asOf ? { asof: '1' } : {}) }).toString();
    const path = tab === 'saw' ? `saw/${turn}` : `t/${turn}${how.call != null ? `/c/${how.call}` : ''}`;
    go(`${runPath(id)}/${path}${query ? `?${query}` : ''}`, { isReplaced: true });
  };
}

/** @param {{ turns: Turn[], selected: { turn: number, call: number | null }, pick: ReturnType<typeof usePick>, place: Place, isFollowing: boolean, setFollowing: (is: boolean) => void, id: string }} props */
function useRunKeys({ turns, selected, pick, isFollowing, setFollowing, id }) {
  const at = turns.findIndex((it) => it.turn === selected.turn);
  const turnBy = (/** @type {number} */ by) => turns[at + by] && pick(turns[at + by].turn);
  const callBy = (/** @type {number} */ by) => {
    const calls = turns[at]?.calls.filter(Boolean) ?? [];
    const next = selected.call === null ? (by > 0 ? 0 : calls.length - 1) : selected.call + by;
    if (calls[next]) pick(selected.turn, { call: next });
  };
  const nextFailure = () => {
    const next = turns.slice(at + 1).find(hasFailure) ?? turns.find(hasFailure);
    const call = next?.calls.find((it) => it && (it.outcome && it.outcome !== 'ok' || it.refused || it.review?.verdict === 'denied'));
    if (next) pick(next.turn, { call: call?.index ?? null });
  };
  useKeys('Run', [
    { key: 'j', does: 'Next turn', run: () => turnBy(1) },
    { key: 'k', does: 'Previous turn', run: () => turnBy(-1) },
    { key: 'l', does: 'Next call', run: () => callBy(1) },
    { key: 'h', does: 'Previous call', run: () => callBy(-1) },
    { key: 'e', does: 'Next failure', run: nextFailure },
    { key: 'f', does: 'Follow the run', run: () => setFollowing(!isFollowing) },
    { key: '1', does: 'What happened', run: () => pick(selected.turn, { tab: 'happened' }) },
    { key: '2', does: 'What the model saw', run: () => pick(selected.turn, { tab: 'saw' }) },
    { key: '3', does: 'Entries of the turn', run: () => pick(selected.turn, { tab: 'entries' }) },
    { key: '4', does: 'The whole log', run: () => go(`${runPath(id)}/log`) },
  ]);
}

/** @param {any} props */
function Strip({ store, run, turns, selected, pick, place, isOpen, isUntrusted, isFollowing, setFollowing }) {
  const agents = useMemo(() => (run.children ?? []).map((/** @type {import('../types.js').Child} */ it) => ({ ...it, turns: store.agents.get(it.runId)?.inOrder() ?? [] })), [run.children, store.version.value]);
  const last = turns.at(-1)?.turn ?? 1;
  const isPart = !store.isWhole && store.log.entries.size < store.length;
  return html`<section class="card strip" aria-labelledby="timeline-title">
    <header><h2 id="timeline-title">Timeline</h2><span class="dim tiny hide-m">${isPart ? `${entriesWord(store.log.entries.size)} of ${count(store.length)} are shown; the rest is read where you look` : 'run time; waiting for a person is folded'}</span><span class="grow"></span>
      ${isOpen && html`<button class="btn" aria-pressed=${String(isFollowing)} onClick=${() => setFollowing(!isFollowing)}><${Icon} name="run" tone=${isFollowing ? 'run' : 'off'} />Follow <kbd>f</kbd></button>`}</header>
    <${Timeline} turns=${turns} agents=${agents} resumed=${store.log.resumed} now=${isOpen || run.status === 'awaiting_review' ? now.value : 0} isOpen=${isOpen} isUntrusted=${isUntrusted} selected=${selected.turn} asOf=${place.asOf} last=${Math.max(last, run.turns)} onSelect=${(/** @type {number} */ turn, /** @type {number} */ call) => pick(turn, { call })} />
    <${Slider} last=${Math.max(last, run.turns)} place=${place} pick=${pick} /></section>`;
}

/** Goes back to how the run stood before a turn. @param {{ last: number, place: Place, pick: ReturnType<typeof usePick> }} props */
function Slider({ last, place, pick }) {
  const asOf = place.asOf;
  const back = (/** @type {number} */ by) => last >= 2 && pick(Math.min(last, Math.max(1, (asOf ?? last + 1) + by)), { asOf: true });
  useKeys('Run', [
    { key: '<', does: 'Back to before a turn', run: () => back(-1) },
    { key: '>', does: 'On to a later turn', run: () => back(1) },
    { key: '=', does: 'Back to now', run: () => pick(place.turn ?? last, { asOf: false }) },
  ]);
  if (last < 2) return null;
  const label = asOf === null ? 'as it stands now' : `as it stood before turn ${asOf}`;
  const onInput = (/** @type {InputEvent} */ event) => pick(Number(/** @type {HTMLInputElement} */ (event.target).value), { asOf: true });
  const stops = last <= 60 ? Array.from({ length: last }, (_, at) => at) : [];
  return html`<div class="slide"><label class="label" for="as-of">Go back to</label>
    <span class="rail"><svg aria-hidden="true">${stops.map((at) => html`<circle key=${at} class="stop" cx=${`${(at / (last - 1)) * 100}%`} cy="10" r="3.5" />`)}</svg>
    <input id="as-of" type="range" aria-label="Go back to before a turn" min="1" max=${last} value=${asOf ?? last} aria-valuetext=${label} onInput=${onInput} class=${asOf === null ? 'is-now' : ''} /></span>
    <span class="nowrap small">${label}${asOf !== null && html` <button class="link" onClick=${() => pick(place.turn ?? last, { asOf: false })}>Back to now</button>`}</span></div>`;
}

/** @param {any} props */
function Turns({ store, run, turns, selected, place, isOpen, isUntrusted, isFollowing, setFollowing }) {
  const [onlyFailures, setOnly] = useFold(`failures ${store.id}`, false);
  useKeys('Run', [{ key: 'o', does: 'Only failures in the outline', run: () => setOnly(!onlyFailures) }]);
  const version = store.version.value;
  const [opened, setOpened] = useFold(`agents ${store.id}`, /** @type {string[]} */ ([]));
  const toggle = (/** @type {string} */ id) => setOpened(opened.includes(id) ? opened.filter((it) => it !== id) : [...opened, id]);
  const turnsOf = (/** @type {string} */ id) => (opened.includes(id) ? (store.agents.get(id)?.inOrder() ?? []) : null);
  const rows = useMemo(() => outlineOf(turns, store.length, (seq) => store.log.entries.has(seq), { children: run.children ?? [], turnsOf }, onlyFailures), [turns, version, onlyFailures, run.children, opened]);
  const at = useMemo(() => rows.findIndex((it) => (it.type === 'call' && it.turn.turn === selected.turn && it.call.index === selected.call) || (selected.call === null && it.type === 'turn' && it.turn.turn === selected.turn)), [rows, selected.turn, selected.call]);
  const isShown = useRef('');
  const [scrollTo, setScrollTo] = useState(/** @type {{ at: number } | null} */ (null));
  useEffect(() => {
    // New entries do not move the list; a new selection does, and so does following.
    const shown = `${selected.turn}.${selected.call}.${at >= 0}`;
    if (isOpen && isFollowing) setScrollTo({ at: rows.length - 1 });
    else if (at >= 0 && shown !== isShown.current) setScrollTo({ at });
    isShown.current = shown;
  }, [at, selected.turn, selected.call, rows.length]);
  const onNear = (/** @type {{ from: number, to: number }} */ gap, /** @type {number} */ part) => {
    const seq = gap.from + Math.floor((gap.to - gap.from) * part);
    void store.need(seq, seq).catch(() => {});
  };
  const onWheel = (/** @type {WheelEvent} */ event) => event.deltaY < 0 && isOpen && isFollowing && setFollowing(false);
  return html`<section class="card out" aria-labelledby="turns-title" onWheel=${onWheel}>
    <h2 id="turns-title">Turns<span class="grow"></span><a class="tiny dim" href=${`${runPath(store.id)}/log`}>${entriesWord(store.length)}</a><button class="chip tiny-chip" aria-pressed=${String(onlyFailures)} onClick=${() => setOnly(!onlyFailures)}>Failures only</button></h2>
    ${rows.length === 0 ? html`<p class="pad dim small">${onlyFailures ? 'Nothing failed.' : 'No turn yet.'}</p>` : html`<${Outline} rows=${rows} runId=${store.id} selected=${selected} asOf=${place.asOf} isUntrusted=${isUntrusted} onNear=${onNear} scrollTo=${scrollTo} onToggle=${toggle} />`}
    <${Now} store=${store} turns=${turns} /></section>`;
}
