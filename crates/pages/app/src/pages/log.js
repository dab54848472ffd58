// The log itself: every entry, with its place in the chain.
import { html } from '../html.js';
import { useEffect, useMemo, useState } from '../../vendor/hooks.js';
import { go, route, runPath } from '../router.js';
import { rem } from '../hooks.js';
import { count } from '../lib/numbers.js';
import { clockSeconds, dateAndClock } from '../lib/time.js';
import { cutsOf, words } from '../lib/calls.js';
import { Icon } from '../components/icon.js';
import { JsonView } from '../components/json.js';
import { useKeys } from '../components/keys.js';
import { PagedText } from '../components/longtext.js';
import { Windowed } from '../components/windowed.js';
import { Line } from '../components/untrusted.js';

/** @typedef {import('../types.js').Entry} Entry */
/** @typedef {import('../run-store.js').RunStore} RunStore */

/** What an entry is about, from its own data. @param {Entry} entry */
function about({ data }) {
  const parts = [data.tool, data.outcome, data.class, data.termination?.kind, data.attempt && `attempt ${data.attempt}`, typeof data.answer?.text === 'string' ? data.answer.text : ''];
  return parts.filter(Boolean).join(' · ').slice(0, 200);
}

/** @param {{ entry: Entry | undefined, seq: number, href: string, isCurrent: boolean }} props */
const LogRow = ({ entry, seq, href, isCurrent }) => html`<a class="lr" href=${href} aria-current=${isCurrent ? 'true' : undefined}><span class="num dim">${count(seq)}</span>
  ${entry ? html`<span class="dim">${clockSeconds(entry.at)}</span><span class="dim">${entry.turn > 0 ? `turn ${entry.turn}` : ''}</span><b class="cut">${words(entry.kind)}</b><span class="cut dim"><${Line} text=${about(entry)} /></span><span class="mono dim hide-m">${entry.hash?.slice(0, 8) ?? ''}</span>` : html`<span class="sk s"></span>`}</a>`;

/** The whole log, windowed. @param {{ store: RunStore }} props */
export function LogView({ store }) {
  const wanted = Number(/^e(\d+)$/.exec(route.value.hash)?.[1] ?? 0);
  const { length } = store;
  const rows = useMemo(() => Array.from({ length }, (_, at) => at + 1), [length]);
  const height = useMemo(() => {
    const own = rem(2.125);
    return () => own;
  }, []);
  const [scrollTo, setScrollTo] = useState(/** @type {{ at: number, isExact?: boolean } | null} */ (null));
  useEffect(() => {
    if (wanted > 0) void store.need(wanted, wanted).then(() => setScrollTo({ at: wanted - 1 }));
  }, [wanted, length > 0]);
  void store.version.value;
  const base = `${runPath(store.id)}/log`;
  const move = (/** @type {number} */ by) => wanted + by >= 1 && wanted + by <= length && go(`${base}#e${wanted + by}`, { isReplaced: true });
  useKeys('Log', [
    { key: 'n', does: 'Next entry', run: () => move(1) },
    { key: 'p', does: 'Previous entry', run: () => move(-1) },
    { key: 't', does: 'Back to the turns', run: () => go(runPath(store.id)) },
  ]);
  const onRange = (/** @type {number} */ from, /** @type {number} */ to) => void store.need(from, to + 20).catch(() => {});
  const entry = store.log.entries.get(wanted);
  return html`<div class=${wanted > 0 ? 'two log is-detail' : 'two log is-outline'}><section class="card out" aria-label="Entries"><h2>Log<span class="grow"></span><a class="tiny dim" href=${runPath(store.id)}>Back to the turns</a></h2>
      <${Windowed} rows=${rows} height=${height} keyOf=${(/** @type {number} */ seq) => seq} render=${(/** @type {number} */ seq) => html`<${LogRow} entry=${store.log.entries.get(seq)} seq=${seq} href=${`${base}#e${seq}`} isCurrent=${seq === wanted} />`} onRange=${onRange} scrollTo=${scrollTo} label="Entries" box="outline-box" /></section>
    <section class="card det" aria-label="Entry"><h2><a class="btn quiet icon only-m" href=${base} aria-label="Back to the log"><${Icon} name="back" /></a>${entry ? `Entry ${count(entry.seq)}` : 'Choose an entry'}</h2>${entry && html`<${EntryView} store=${store} entry=${entry} />`}</section></div>`;
}

/** @param {{ store: RunStore, entry: Entry }} props */
function EntryView({ store, entry }) {
  const cuts = useMemo(() => cutsOf(entry.data), [entry]);
  return html`<section><table class="kv"><tbody><tr><th scope="row">kind</th><td>${entry.kind}</td></tr><tr><th scope="row">turn</th><td>${entry.turn}</td></tr><tr><th scope="row">written</th><td>${dateAndClock(entry.at)}</td></tr>
      <tr><th scope="row">hash</th><td class="mono break">${entry.hash}</td></tr><tr><th scope="row">previous</th><td class="mono break">${entry.prev}</td></tr></tbody></table></section>
    <section><span class="label">Data</span><${JsonView} key=${entry.seq} value=${entry.data} /></section>
    ${cuts.map((cut) => html`<section key=${cut.at}><span class="label">${cut.at}</span><${PagedText} place=${{ runId: store.id, seq: entry.seq }} cut=${cut} /></section>`)}`;
}

/** The entries of a turn. @param {{ store: RunStore, from: number, to: number }} props */
export function EntryList({ store, from, to }) {
  const [open, setOpen] = useState(0);
  const [most, setMost] = useState(100);
  const seqs = Array.from({ length: Math.min(most, to - from + 1) }, (_, at) => from + at);
  return html`<ul class="entries">${seqs.map((seq) => {
    const entry = store.log.entries.get(seq);
    return entry && html`<li key=${seq}><button class="lr" aria-expanded=${String(open === seq)} onClick=${() => setOpen(open === seq ? 0 : seq)}><span class="num dim">${count(seq)}</span><span class="dim">${clockSeconds(entry.at)}</span><b class="cut">${words(entry.kind)}</b><span class="cut dim"><${Line} text=${about(entry)} /></span><span class="mono dim hide-m">${entry.hash?.slice(0, 8) ?? ''}</span></button>${open === seq && html`<${EntryView} store=${store} entry=${entry} />`}</li>`;
  })}</ul>${to - from + 1 > most && html`<section><button class="btn quiet" onClick=${() => setMost(most + 100)}>Show 100 more</button></section>`}`;
}
