// The list of runs. Rows change in place; what is new waits until it is asked for, so that nothing moves under the pointer.
import { drawnAtOnce, html } from '../html.js';
import { useEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { listen } from '../live.js';
import { go, route, runPath, setQuery } from '../router.js';
import { isOffline, now, say, site } from '../state.js';
import { rem, useNarrow, useTitle } from '../hooks.js';
import { useKeys } from '../components/keys.js';
import { Icon } from '../components/icon.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { Windowed } from '../components/windowed.js';
import { RunRow } from '../components/run-row.js';
import { FILTERS } from '../lib/status.js';
import { groupsOf, isMoved } from '../lib/groups.js';
import { count, counted } from '../lib/numbers.js';

/** @typedef {import('../types.js').Row} Row */
/** @typedef {{ heading: string } | { run: Row }} Item */

const PAGE = 100;

/** @typedef {{ q: string, state: string, agent: string, since: string, untrusted: string }} Asked */

// What the agent without a file is called here.
const BUILT_IN = 'built-in';

/** What the address asks for. @param {URLSearchParams} query @returns {Asked} */
function askedOf(query) {
  const of = (/** @type {string} */ key) => query.get(key) ?? '';
  return { q: of('q'), state: of('state'), agent: of('agent'), since: of('since'), untrusted: of('untrusted') };
}

/** @type {[string, string, number][]} */
const SPANS = [['', 'Any day', 0], ['today', 'Today', 0], ['7d', 'Last 7 days', 6], ['30d', 'Last 30 days', 29]];

/** The first moment of a span: days begin at midnight. @param {string} since */
function momentOf(since) {
  const span = SPANS.find(([key]) => key === since && key !== '');
  if (!span) return 0;
  const day = new Date(now.peek());
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - span[2]);
  return day.getTime();
}

/** @param {Asked} asked @param {string | number | null} before a place that the server named, or a moment */
function listPath({ q, state, agent, since, untrusted }, before) {
  const query = new URLSearchParams({ limit: String(PAGE) });
  const wanted = { q, state, agent: agent === BUILT_IN ? '' : agent, since: String(momentOf(since) || ''), untrusted: untrusted && 'true', before: String(before ?? '') };
  for (const [key, value] of Object.entries(wanted)) if (value) query.set(key, value);
  return `/api/runs?${query}`;
}

/** Servers that do not know a filter send more than was asked for. @param {Asked} asked */
const fits = ({ agent, since, untrusted }) => (/** @type {Row} */ run) =>
  (agent === '' || (run.agent ?? BUILT_IN) === agent) && run.startedAt >= momentOf(since) && (untrusted === '' || run.untrusted);

/** @typedef {{ rows: Row[], fresh: Row[], more: boolean, counts: import('../types.js').Counts, counted: number, agents?: string[], order: number }} Listed */

/**
 * The rows that are shown, in the order in which they were first seen, and those that wait to be shown.
 * @param {Asked} asked
 */
function useRuns(asked) {
  const [list, setList] = useState(/** @type {Listed | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const isBusy = useRef(false);
  const next = useRef(/** @type {string | number | null} */ (null));
  const get = async (/** @type {string | number | null} */ before) => {
    const got = await api('GET', listPath(asked, before));
    return { ...got, runs: got.runs.filter(fits(asked)), next: got.next ?? got.runs.at(-1)?.startedAt ?? null };
  };
  const read = async (/** @type {boolean} */ isAnew) => {
    try {
      const got = await get(null);
      setError(null);
      if (isAnew) next.current = got.next;
      setList((before) => (isAnew || !before ? { ...got, rows: got.runs, fresh: [], order: Date.now() } : merged(before, got)));
    } catch (failure) {
      setError(failure);
    }
  };
  const readMore = async () => {
    if (!list?.more || isBusy.current || next.current === null) return;
    isBusy.current = true;
    try {
      const got = await get(next.current);
      next.current = got.next;
      setList((before) => before && { ...before, rows: [...before.rows, ...without(got.runs, before.rows)], more: got.more, order: Date.now() });
    } catch (failure) {
      setError(failure);
    } finally {
      isBusy.current = false;
    }
  };
  // A filter may leave so little of a page that nobody can scroll to the next one.
  useEffect(() => {
    if (list?.more && list.rows.length < PAGE / 2) void readMore();
  }, [list?.order]);
  useEffect(() => {
    setList(null);
    void read(true);
    return listen({ changed: () => void read(false) });
  }, Object.values(asked));
  return { list, error, readMore, readAnew: () => void read(true) };
}

/** @param {Row[]} rows @param {Row[]} known */
function without(rows, known) {
  const ids = new Set(known.map((it) => it.runId));
  return rows.filter((it) => !ids.has(it.runId));
}

/** @param {any} before @param {any} got */
function merged(before, got) {
  const latest = new Map(got.runs.map((/** @type {Row} */ it) => [it.runId, it]));
  const rows = before.rows.map((/** @type {Row} */ it) => latest.get(it.runId) ?? it);
  const oldest = before.rows.at(-1)?.startedAt ?? 0;
  const fresh = without(got.runs, before.rows).filter((it) => it.startedAt >= oldest);
  if (rows.length === 0) return { ...got, rows: got.runs, fresh: [], order: Date.now() };
  return { ...before, rows, fresh, counts: got.counts, counted: got.counted };
}

export default function Runs() {
  useTitle('Runs');
  const asked = askedOf(route.value.query);
  const runs = useRuns(asked);
  return html`<div class="bar"><h1>Runs</h1><span class="dim small">${site.value?.kind === 'store' ? 'of this machine' : 'of this server'}</span></div>
    <div class="page runs">
      <div class="tools"><${Search} q=${asked.q} /><${Narrow} asked=${asked} list=${runs.list} /></div>
      <${Filters} state=${asked.state} counts=${runs.list?.counts} />
      ${runs.error && html`<${Failed} what="The list cannot be read." error=${runs.error} onRetry=${runs.readAnew} />`}
      ${runs.list ? html`<${List} runs=${runs} isFiltered=${Object.values(asked).some(Boolean)} />` : !runs.error && html`<div class="card pad"><${Loading} rows=${8} /></div>`}
    </div>`;
}

/** @param {{ q: string }} props */
function Search({ q }) {
  const ref = useRef(/** @type {HTMLInputElement | null} */ (null));
  const later = useRef(0);
  // What was typed last must not end up in the address of another page.
  useEffect(() => () => clearTimeout(later.current), []);
  useKeys('Runs', [{ key: '/', does: 'Search', run: () => ref.current?.focus() }]);
  const onInput = (/** @type {InputEvent} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.target);
    clearTimeout(later.current);
    later.current = setTimeout(() => setQuery({ q: value }), 200);
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && ref.current?.blur();
  return html`<label class="field"><${Icon} name="search" /><span class="sr">Search runs</span>
    <input ref=${ref} type="search" placeholder="Search goals, ids, agents, models" defaultValue=${q} onInput=${onInput} onKeyDown=${onKey} /><kbd>/</kbd></label>`;
}

/** Which agent, since when, and only where strangers had a say. @param {{ asked: Asked, list: Listed | null }} props */
function Narrow({ asked, list }) {
  const found = list?.agents ?? (list?.rows ?? []).map((it) => it.agent ?? BUILT_IN);
  const agents = [...new Set([...found, ...(asked.agent ? [asked.agent] : [])])].sort();
  const toggle = () => setQuery({ untrusted: asked.untrusted ? null : '1' });
  const choose = (/** @type {string} */ key) => (/** @type {any} */ event) => setQuery({ [key]: event.target.value });
  useKeys('Runs', [{ key: 'u', does: 'Only runs with untrusted data', run: toggle }]);
  return html`<select class="select" aria-label="Agent" value=${asked.agent} onChange=${choose('agent')}><option value="">Any agent</option>${agents.map((it) => html`<option key=${it} value=${it}>${it}</option>`)}</select>
    <select class="select" aria-label="Started" value=${asked.since} onChange=${choose('since')}>${SPANS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select>
    <button class="chip" aria-pressed=${String(asked.untrusted !== '')} onClick=${toggle}><${Icon} name="taint" tone="taint" />Untrusted</button>`;
}

/** @param {{ state: string, counts?: import('../types.js').Counts }} props */
function Filters({ state, counts }) {
  const chip = (/** @type {(typeof FILTERS)[number]} */ { key, word, icon, tone }) => {
    // A state that no run has is left out of the counts.
    const n = counts && (counts[/** @type {keyof import('../types.js').Counts} */ (key || 'all')] ?? 0);
    return html`<button key=${key} class="chip" aria-pressed=${String(state === key)} onClick=${() => setQuery({ state: key })}>
      ${icon && html`<${Icon} name=${icon} tone=${tone} />`}${word} ${n !== undefined && html`<b>${count(n)}</b>`}</button>`;
  };
  return html`<div class="filters scroll-x" role="group" aria-label="State">${FILTERS.map(chip)}</div>`;
}

/** @param {{ runs: ReturnType<typeof useRuns>, isFiltered: boolean }} props */
function List({ runs, isFiltered }) {
  const list = /** @type {NonNullable<ReturnType<typeof useRuns>['list']>} */ (runs.list);
  const isNarrow = useNarrow();
  const items = useMemo(() => itemsOf(list.rows), [list.order]);
  const latest = useMemo(() => new Map(list.rows.map((it) => [it.runId, it])), [list.rows]);
  const height = useMemo(() => (/** @type {Item} */ it) => rem('heading' in it ? 2.5 : isNarrow ? 7.125 : 3.875), [isNarrow]);
  const [selected, setSelected] = useState(/** @type {string[]} */ ([]));
  const cursor = useCursor(items);
  const moved = isMoved(list.rows, items);
  useListKeys({ items, cursor, selected, setSelected, runs });
  useEffect(() => say(`${counted(list.rows.length, 'run')} shown`), [list.order]);
  if (list.rows.length === 0) return html`<${NoRuns} isFiltered=${isFiltered} />`;
  const toggle = (/** @type {string} */ id) => setSelected((it) => toggled(it, id));
  const render = (/** @type {Item} */ it, /** @type {number} */ at) => 'heading' in it
    ? html`<h2 class="gh">${it.heading}</h2>`
    : html`<${RunRow} run=${latest.get(it.run.runId) ?? it.run} isSelected=${selected.includes(it.run.runId)}
        onToggle=${() => toggle(it.run.runId)} onFocus=${() => cursor.set(at)} />`;
  const onRange = (/** @type {number} */ _, /** @type {number} */ to) => to > items.length - 20 && void runs.readMore();
  return html`
    ${(list.fresh.length > 0 || moved > 0) && html`<button class="btn fresh" onClick=${runs.readAnew}><${Icon} name="up" />
      ${list.fresh.length > 0 ? counted(list.fresh.length, 'new run') : `${counted(moved, 'run')} changed`} <kbd>.</kbd></button>`}
    <div class="r cols" aria-hidden="true"><span></span><span>State</span><span>Goal</span><span class="v">Turns</span><span class="v">Tokens</span><span class="v">Cost</span><span class="v">Started</span></div>
    <${Windowed} rows=${items} height=${height} keyOf=${keyOf} render=${render} keep=${cursor.at} scrollTo=${cursor.scrollTo} onRange=${onRange} label="Runs" class="card list" />
    ${list.more ? html`<div class="pad"><${Loading} rows=${2} /></div>` : html`<p class="end dim tiny">${counted(list.rows.length, 'run')}, the oldest last</p>`}
    ${selected.length > 0 && html`<${Selected} ids=${selected} onClear=${() => setSelected([])} />`}
    <p class="keys" aria-hidden="true"><span><kbd>j</kbd> <kbd>k</kbd> move</span><span><kbd>Enter</kbd> open</span><span><kbd>x</kbd> select</span><span><kbd>c</kbd> compare two</span><span><kbd>/</kbd> search</span><span><kbd>.</kbd> show new</span></p>`;
}

const keyOf = (/** @type {Item} */ it) => ('heading' in it ? `h ${it.heading}` : it.run.runId);

/** @param {Row[]} rows @returns {Item[]} */
const itemsOf = (rows) => groupsOf(rows, now.peek()).flatMap(({ heading, runs }) => [{ heading }, ...runs.map((run) => ({ run }))]);

/** Two at most: a third takes the place of the first. @param {string[]} selected @param {string} id */
const toggled = (selected, id) => (selected.includes(id) ? selected.filter((it) => it !== id) : [...selected, id].slice(-2));

/** The row that keys act on; it has the focus. @param {Item[]} items */
function useCursor(items) {
  const [at, set] = useState(-1);
  const [scrollTo, setScrollTo] = useState(/** @type {{ at: number } | null} */ (null));
  const move = (/** @type {number} */ by) => {
    let next = at + by;
    while (items[next] && 'heading' in items[next]) next += by;
    const item = items[next];
    if (!item || 'heading' in item) return;
    drawnAtOnce(() => {
      set(next);
      setScrollTo({ at: next });
    });
    /** @type {HTMLElement | null} */ (document.querySelector(`[data-run="${CSS.escape(item.run.runId)}"]`))?.focus({ preventScroll: true });
  };
  return { at, set, move, scrollTo };
}

/** @param {{ items: Item[], cursor: ReturnType<typeof useCursor>, selected: string[], setSelected: (ids: string[]) => void, runs: ReturnType<typeof useRuns> }} props */
function useListKeys({ items, cursor, selected, setSelected, runs }) {
  const current = () => {
    const item = items[cursor.at];
    return item && 'run' in item ? item.run.runId : null;
  };
  const withCurrent = (/** @type {(id: string) => void} */ then) => () => {
    const id = current();
    if (id) then(id);
  };
  useKeys('Runs', [
    { key: 'j', does: 'Next run', run: () => cursor.move(1) },
    { key: 'k', does: 'Previous run', run: () => cursor.move(-1) },
    { key: 'x', does: 'Select or unselect', run: withCurrent((id) => setSelected(toggled(selected, id))) },
    { key: 'c', does: 'Compare the two that are selected', run: () => selected.length === 2 && go(comparePath(selected)) },
    { key: '.', does: 'Show new runs', run: runs.readAnew },
  ]);
}

/** @param {string[]} ids */
const comparePath = ([a, b]) => `${runPath(a)}/vs/${encodeURIComponent(b)}`;

/** @param {{ ids: string[], onClear: () => void }} props */
function Selected({ ids, onClear }) {
  return html`<div class="act" role="toolbar" aria-label="Selected runs"><span>${ids.length} selected</span>
    <button class="btn solid" disabled=${ids.length !== 2 || isOffline.value} onClick=${() => go(comparePath(ids))}><${Icon} name="compare" />${ids.length === 2 ? 'Compare' : 'Select one more'} <kbd>c</kbd></button>
    <button class="btn quiet icon" aria-label="Clear the selection" onClick=${onClear}><${Icon} name="x" /></button></div>`;
}

/** @param {{ isFiltered: boolean }} props */
function NoRuns({ isFiltered }) {
  if (isFiltered) {
    return html`<${Empty} title="No run matches">
      <p class="mid">Nothing was found with these filters.</p><button class="btn" onClick=${() => go('/runs')}>Clear the filters</button><//>`;
  }
  return html`<${Empty} title="No runs yet"><p class="mid">Start one in a terminal; it appears here at once.</p>
    <pre class="code">bonded run --model openai/gpt-5-mini "fix the failing test"</pre>
    <p class="mid small">Without a key: <code>bonded demo</code></p><//>`;
}
