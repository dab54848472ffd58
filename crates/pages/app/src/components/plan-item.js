// An item of a plan: how far it came, what it used, what it changed, its tests, and its receipt, checked here.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { aside } from '../aside.js';
import { saveAs } from '../download.js';
import { go, itemPath, runPath } from '../router.js';
import { useLoaded } from '../hooks.js';
import { cutOf, textOf } from '../lib/calls.js';
import { isOver, itemState } from '../lib/plan.js';
import { bytes, count, counted } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { Badge, Icon } from './icon.js';
import { Checks } from './checks.js';
import { DiffView } from './diff.js';
import { Gauge } from './gauge.js';
import { useKeys } from './keys.js';
import { LongText, PagedText } from './longtext.js';
import { Failed, Loading } from './states.js';
import { safe } from './untrusted.js';

/** @typedef {import('../types.js').WholeItem} WholeItem */
/** @typedef {import('./longtext.js').Place} Place */

const apiPath = (/** @type {string} */ plan, /** @type {string} */ item) => `/api/plans/${encodeURIComponent(plan)}/items/${encodeURIComponent(item)}`;

/** @param {{ planId: string, id: string, version: number }} props `version` rises when something changed */
export function ItemView({ planId, id, version }) {
  const path = apiPath(planId, id);
  const item = useLoaded(() => /** @type {Promise<WholeItem>} */ (api('GET', path)), [path]);
  useEffect(() => item.reload(), [version]);
  if (item.error && !item.data) return html`<${Failed} what="The item cannot be read." error=${item.error} onRetry=${item.reload} />`;
  if (!item.data) return html`<${Loading} rows=${6} />`;
  return html`<${Shown} key=${path} item=${item.data} planId=${planId} place=${{ runId: `${planId} ${id}`, seq: 0, path: `${path}/text` }} />`;
}

/** @param {{ item: WholeItem, planId: string, place: Place }} props */
function Shown({ item, planId, place }) {
  const state = itemState(item.state);
  const run = item.runIds.at(-1);
  useKeys('Item', [
    ...(run ? [{ key: 'o', does: 'Open its run', run: () => go(runPath(run)) }] : []),
    ...(item.receipt ? [{ key: 'D', does: 'Download the receipt', run: () => saveReceipt(item) }] : []),
    { key: 'b', does: 'Back to the plan', run: () => go(itemPath(planId)) },
  ]);
  return html`<div class="work2"><article class="card item" aria-labelledby="item-title">
      <header><div class="row wrap"><h2 id="item-title" class="big u">${safe(item.id)}</h2><${Badge} tone=${state.tone} icon=${state.icon}>${state.word}<//><span class="grow"></span>${item.runIds.map((id, at) => html`<a key=${id} class="btn" href=${runPath(id)}>${item.runIds.length === 1 ? 'Open its run' : `Run ${at + 1}`}</a>`)}</div>
        <p class="mid u pre">${safe(item.description)}</p><${Stages} stages=${item.stages} /><${Outcome} item=${item} tone=${state.tone} icon=${state.icon} /></header>
      <section><span class="label">Limits used</span><${Limits} limits=${item.limits} /></section>
      ${item.attempts.length > 0 && html`<section><span class="label">Earlier attempts</span><${Attempts} attempts=${item.attempts} /></section>`}
      <${Changes} item=${item} place=${place} /><${Tests} item=${item} place=${place} /></article>
    <${Receipt} item=${item} /></div>`;
}

/** @type {Record<string, string>} */
const STAGES = { run: 'ran', admission: 'admission', tests: 'tests', publish: 'publish', receipt: 'receipt' };

/** @param {{ stages: import('../types.js').Stage[] }} props */
const Stages = ({ stages }) => html`<ol class="path" aria-label="Stages">${stages.map((it, at) => html`<li key=${it.name} class=${it.state}>${at > 0 && html`<${Icon} name="chev" />`}<span>${STAGES[it.name] ?? it.name}${it.ms === undefined ? '' : `, ${duration(it.ms)}`}<span class="sr">, ${it.state === 'none' ? 'not reached' : it.state}</span></span></li>`)}</ol>`;

/** What became of it, in one sentence. @param {{ item: WholeItem, tone: string, icon: string }} props */
function Outcome({ item, tone, icon }) {
  if (item.published) return html`<div class="note ok"><${Icon} name="ok" /><div><b>Published.</b> ${item.changes.length === 0 ? 'It changed nothing.' : `${counted(item.changes.length, 'path')} of your tree changed, all at once.`}</div></div>`;
  if (item.state === 'waiting') return html`<div class="note wait"><${Icon} name="wait" /><div><b>A call waits for you.</b> <span class="u">${safe(item.why ?? '')}</span> <a href="/inbox">Decide in the inbox</a></div></div>`;
  if (!isOver(item.state)) return item.why ? html`<div class="note wait"><${Icon} name="wait" /><div class="u">${safe(item.why)}</div></div>` : null;
  return html`<div class=${`note ${tone}`}><${Icon} name=${icon} /><div><b>Nothing of this was published.</b> Your tree is byte for byte what it was. <span class="u">${safe(item.why ?? '')}</span></div></div>`;
}

/** @param {{ limits: WholeItem['limits'] }} props */
function Limits({ limits }) {
  /** @type {[string, import('../types.js').Used, (n: number) => string][]} */
  const rows = [['Files', limits.files, count], ['Calls', limits.toolOps, count], ['Changes', limits.delta, count], ['Time', limits.timeMs, duration]];
  return html`<dl class="gauges">${rows.map(([name, { max, used }, written]) => html`<${Gauge} key=${name} name=${name} limit=${`limit ${written(max)}`} value=${used === null ? '–' : used > max ? `${written(used)}, over by ${written(used - max)}` : written(used)} spent=${used ?? 0} most=${max} />`)}</dl>`;
}

/** @param {{ attempts: WholeItem['attempts'] }} props */
const Attempts = ({ attempts }) => html`<ol class="steps">${attempts.map((it, at) => html`<li key=${at}><${Icon} name="retry" tone="bad" /><span class="dim">attempt ${at + 1}</span><span class="u">${safe(it.error ?? it.status)}, ${duration(it.ms)}${it.runId && html` <a href=${runPath(it.runId)}>its run</a>`}</span></li>`)}</ol>`;

/** @param {{ item: WholeItem, place: Place }} props */
function Changes({ item, place }) {
  if (item.changes.length === 0) return null;
  const title = `${item.published ? 'What it changed' : isOver(item.state) ? 'What it would have changed' : 'What it changed so far'}, ${counted(item.changes.length, 'path')}`;
  return html`<section><span class="label">${title}</span>${item.changes.map((it, at) => html`<${Change} key=${it.path} change=${it} isKept=${item.published} place=${{ ...place, seq: at }} />`)}
    ${(item.changesLeft ?? 0) > 0 && html`<p class="small mid">and ${counted(item.changesLeft ?? 0, 'more path')}; the receipt names them all</p>`}</section>`;
}

/** What is not shown as lines. @param {{ path: string, kind: string, why: string, children?: any }} props */
const NoLines = ({ path, kind, why, children }) => html`<div class="diff"><header><${Icon} name="file" /><span class="mono u cut">${safe(path)}</span><span class="st off">${kind}</span><span class="grow"></span><span class="tiny dim">${why}</span></header>${children}</div>`;

/** @param {{ change: import('../types.js').ItemChange, isKept: boolean, place: Place }} props */
function Change({ change, isKept, place }) {
  const { path, kind, binary, before, after } = change;
  // The copy that an item worked in is gone when its plan has ended.
  if (binary) return html`<${NoLines} path=${path} kind=${kind} why=${`${isKept ? 'binary' : 'content not kept'}${change.bytes === null ? '' : `, ${bytes(change.bytes)}`}`} />`;
  if (before === null && after === null) return html`<${NoLines} path=${path} kind=${kind} why="directory" />`;
  const cut = cutOf(after) ?? cutOf(before);
  if (cut) return html`<${NoLines} path=${path} kind=${kind} why="too long to compare here"><${PagedText} place=${place} cut=${cut} /><//>`;
  return html`<${DiffView} path=${kind === 'deleted' ? `${path}, deleted` : path} before=${textOf(before)} after=${textOf(after)} isNew=${kind === 'created'} name=${`${place.runId} ${path}`} />`;
}

/** @param {{ item: WholeItem, place: Place }} props */
function Tests({ item, place }) {
  const { tests } = item;
  if (!tests) return item.testCommand ? html`<section><span class="label">Tests, not run</span><pre class="code u">${safe(item.testCommand)}</pre></section>` : null;
  const isGood = tests.exitCode === 0;
  const counts = tests.passed === null ? '' : `, ${counted(tests.passed, 'test')} passed, ${count(tests.failed ?? 0)} failed`;
  return html`<section><div class="row wrap"><span class="label">Tests</span><${Badge} tone=${isGood ? 'ok' : 'bad'} icon=${isGood ? 'ok' : 'bad'}>${tests.exitCode === null ? 'ended by a signal' : `exit ${tests.exitCode}`}${counts}<//><span class="tiny dim">${duration(tests.ms)}</span></div>
    <pre class="code u">${safe(tests.command)}</pre>${textOf(tests.output) !== '' && html`<${LongText} place=${{ ...place, seq: -1 }} text=${tests.output} label="Output of the tests" />`}</section>`;
}

/** @param {WholeItem} item */
const saveReceipt = (item) => item.receipt && saveAs(new Blob([item.receipt], { type: 'application/json' }), 'RECEIPT.json');

/** @param {{ item: WholeItem }} props */
function Receipt({ item }) {
  const [verdict, setVerdict] = useState(/** @type {import('../lib/receipt.js').Verdict | null} */ (null));
  useEffect(() => {
    let isGone = false;
    if (item.receipt) void aside('verifyReceipt', item.receipt).then((it) => !isGone && setVerdict(it), () => {});
    return () => void (isGone = true);
  }, [item.receipt]);
  if (!item.receipt) return html`<aside class="card rc" aria-label="Receipt"><h2><${Icon} name="chain" />Receipt</h2><section class="mid small">${isOver(item.state) ? 'There is none: the item never began.' : 'It is written when the item has ended.'}</section></aside>`;
  const badge = !verdict ? html`<span class="tiny dim" role="status">Checking…</span>` : verdict.isGood ? html`<${Badge} tone="ok" icon="ok">Verified here<//>` : html`<${Badge} tone="bad" icon="bad">A check failed<//>`;
  return html`<aside class="card rc" aria-label="Receipt"><h2><${Icon} name="chain" />Receipt<span class="grow"></span>${badge}</h2>
    <section><p class="small mid">Checked in this browser from the file alone; the server was not asked.</p>${verdict && html`<${Checks} checks=${verdict.checks} />`}
      ${verdict?.keyId && html`<p class="tiny dim">Signed by the key <span class="mono break">${verdict.keyId}</span>. Compare it with the one that you expect.</p>`}</section>
    <section><button class="btn" onClick=${() => saveReceipt(item)}>RECEIPT.json <kbd>D</kbd></button>${item.receiptPath && html`<p class="tiny dim mono break">bonded verify ${safe(item.receiptPath)}</p>`}</section></aside>`;
}
