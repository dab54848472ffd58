// What a rule did: its runs, and of a run its loops with their instructions, refusals and what they left in the memory.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { useLoaded } from '../hooks.js';
import { notePath, rulePath, runPath } from '../router.js';
import { hasRole, site } from '../state.js';
import { readRuns } from '../rules-store.js';
import { hear } from '../socket.js';
import { counted } from '../lib/numbers.js';
import { valueText } from '../lib/conditions.js';
import { duration } from '../lib/time.js';
import { Badge, Icon } from './icon.js';
import { Empty, Failed, Loading } from './states.js';
import { FoldedText } from './longtext.js';
import { shortTime } from './note-list.js';

/** @typedef {import('../workspace-types.js').RuleRun} RuleRun */

/** @type {Record<string, [string, string, string]>} */
const STATES = { queued: ['off', 'clock', 'waits'], running: ['run', 'run', 'running'], succeeded: ['ok', 'ok', 'done'], failed: ['bad', 'bad', 'failed'], cancelled: ['off', 'slash', 'cancelled'] };

/** @param {{ status: string, code?: string | null }} props */
export function RunState({ status, code }) {
  const [tone, icon, word] = STATES[status] ?? ['off', 'off', status];
  return html`<${Badge} tone=${tone} icon=${icon}>${word}${code ? html`, <span class="mono">${code}</span>` : ''}<//>`;
}

/** @param {{ ruleId: string, runId: string | undefined }} props */
export function RuleRuns({ ruleId, runId }) {
  const { data, error, reload } = useLoaded(() => readRuns(ruleId, 0), [ruleId]);
  const [more, setMore] = useState(/** @type {{ runs: RuleRun[], next: number | null } | null} */ (null));
  useEffect(() => hear({ refresh: reload, automation: reload }), []);
  if (error) return html`<${Failed} what="The runs cannot be read." error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  const runs = [...data.runs, ...(more?.runs ?? [])];
  const next = more ? more.next : data.next_offset;
  if (runs.length === 0) return html`<${Empty} title="This rule has not run yet"><p class="small mid">It runs when its trigger fires, or with “Launch once”.</p><//>`;
  const load = () => void readRuns(ruleId, next ?? 0).then((it) => setMore({ runs: [...(more?.runs ?? []), ...it.runs], next: it.next_offset }), () => {});
  return html`<ol class="rruns" role="list">${runs.map((it) => html`<li key=${it.run_id} class="card"><a class="rrun" href=${runId === it.run_id ? `${rulePath(ruleId)}/runs` : `${rulePath(ruleId)}/runs/${it.run_id}`} aria-expanded=${String(runId === it.run_id)}><${RunState} status=${it.status} code=${it.error_code} /><span class="grow small">${shortTime(it.queued_at)}${it.finished_at && it.started_at ? `, took ${duration(Date.parse(it.finished_at) - Date.parse(it.started_at))}` : ''}</span>${it.audit && html`<span class="small dim">${counted(it.audit.loop_count, 'loop')}, ${counted(it.audit.operation_count, 'instruction')}</span>`}<${Icon} name="chev" /></a>
    ${runId === it.run_id && html`<${RunDetail} run=${it} onChanged=${reload} />`}</li>`)}</ol>${next !== null && html`<button class="btn" onClick=${load}>Show older runs</button>`}`;
}

/** @param {{ run: RuleRun, onChanged: () => void }} props */
function RunDetail({ run, onChanged }) {
  const { data, error, reload } = useLoaded(() => api('GET', `/api/automation/runs/${run.run_id}/loops?limit=200`), [run.run_id]);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  useEffect(reload, [run.status]);
  useEffect(() => hear({ automation: (it) => it.run_id === run.run_id && reload() }), []);
  const cancel = () => void api('POST', `/api/automation/runs/${run.run_id}/cancel`, {}).then(onChanged, setProblem);
  const isOpen = run.status === 'queued' || run.status === 'running';
  return html`<div class="rrun-in"><div class="row wrap">${site.value?.has.includes('runs') && hasRole('editor') && html`<a class="btn" href=${runPath(run.run_id)}>Show the whole run</a>`}${isOpen && hasRole('editor') && html`<button class="btn" onClick=${cancel}>Cancel it</button>`}<span class="tiny dim mono">${run.run_id}</span></div>
    ${problem && html`<${Failed} what="It was not cancelled." error=${problem} />`}
    ${run.request && html`<div class="small"><span class="label">Launched with the request</span><${FoldedText} text=${run.request} isProse=${true} /></div>`}
    ${run.result_json && html`<${Result} result=${run.result_json} />`}
    ${error ? html`<${Audit} audit=${run.audit} />` : !data ? html`<${Loading} />` : data.loops.length === 0 ? html`<${Audit} audit=${run.audit} />` : data.loops.map((/** @type {any} */ it) => html`<${Loop} key=${it.loop} loop=${it} />`)}</div>`;
}

/** @param {{ result: any }} props */
function Result({ result }) {
  const message = result.message ?? result.answer ?? result.reason;
  return typeof message === 'string' ? html`<p class="prose small u">${message}</p>` : html`<details><summary class="small">Result</summary><pre class="code">${JSON.stringify(result, null, 2)}</pre></details>`;
}

/** @param {{ audit: any }} props */
function Audit({ audit }) {
  if (!audit || audit.operations.length === 0) return html`<p class="small dim">It left nothing to show.</p>`;
  return html`<${Instructions} list=${audit.operations} />${audit.operations_left_out > 0 && html`<p class="small dim">${counted(audit.operations_left_out, 'more instruction')} are in the log of the run.</p>`}`;
}

/** @type {Record<string, [string, string]>} */
const OUTCOMES = { waiting: ['clock', 'off'], done: ['ok', 'ok'], proposed: ['wait', 'wait'], refused: ['deny', 'limit'], failed: ['bad', 'bad'] };

/** @param {{ list: any[] }} props */
function Instructions({ list }) {
  return html`<ul class="instr">${list.map((it, at) => {
    const [icon, tone] = OUTCOMES[it.outcome] ?? ['off', 'off'];
    return html`<li key=${at}><${Icon} name=${icon} tone=${tone} /><span><span class="mono small">${it.instruction}</span> ${it.about && html`<span class="u small">${it.about}</span>`} <span class="tiny dim">${it.outcome}${it.code ? `, ${it.code}` : ''}</span>${it.note_id && html` <a class="tiny" href=${notePath(it.note_id)}>note</a>`}${it.message && html`<span class="s u">${it.message}</span>`}</span></li>`;
  })}</ul>`;
}

/** @param {{ loop: any }} props */
function Loop({ loop }) {
  const change = loop.memory_change ?? { set: {}, removed: [] };
  const [isMemory, setMemory] = useState(false);
  const set = Object.entries(change.set ?? {});
  return html`<section class="loop" aria-label=${`Loop ${loop.loop}`}><header class="row wrap"><b>Loop ${loop.loop}</b>${(loop.states ?? []).map((/** @type {string} */ it) => html`<span key=${it} class="st off">${it}</span>`)}<span class="tiny dim">${shortTime(loop.started_at)}${loop.ended_at ? `, ${duration(Date.parse(loop.ended_at) - Date.parse(loop.started_at))}` : ''}</span></header>
    ${loop.failure && html`<div class="note bad"><${Icon} name="bad" /><div class="u">${valueText(loop.failure)}</div></div>`}
    ${loop.think && html`<details><summary class="small">What it thought</summary><${FoldedText} text=${loop.think} isProse=${true} /></details>`}
    ${(loop.instructions ?? []).length > 0 ? html`<${Instructions} list=${loop.instructions} />` : html`<p class="small dim">no instruction</p>`}
    ${(set.length > 0 || change.removed?.length > 0) && html`<div class="small"><span class="label">Memory</span><ul class="mem">${set.map(([key, value]) => html`<li key=${key} class="u"><span class="c-ok">set</span> <span class="mono">${key}</span> ${valueText(value).slice(0, 400)}</li>`)}${(change.removed ?? []).map((/** @type {string} */ key) => html`<li key=${key}><span class="c-bad">removed</span> <span class="mono">${key}</span></li>`)}</ul></div>`}
    ${loop.memory && html`<button class="link tiny" aria-expanded=${String(isMemory)} onClick=${() => setMemory(!isMemory)}>Memory after this loop</button>${isMemory && html`<pre class="code">${JSON.stringify(loop.memory, null, 2)}</pre>`}`}</section>`;
}
