// A rule as a form: when it fires, if its conditions hold, then what it does. Every field is a place in one JSON object.
import { html } from '../html.js';
import { withAt } from '../lib/json-at.js';
import { withMore } from '../lib/conditions.js';
import { Adders, Condition, FieldNames } from './rule-condition.js';
import { FaultText, faultsAt, Segments, SelectAt, Switch, TextAt } from './rule-fields.js';

/** @typedef {{ draft: any, onChange: (draft: any) => void, faults: import('../workspace-types.js').Fault[] }} Form */

/** @type {[string, string][]} */
const TRIGGERS = [
  ['automation_schedule.cron', 'Schedule'], ['workspace_event.note_changed', 'Changed'], ['workspace_event.note_created', 'Created'],
  ['workspace_event.note_deleted', 'Deleted'], ['webhook', 'Webhook'], ['manual', 'By hand'],
];

/** @type {Record<string, string>} */
const TRIGGER_NAMES = { 'workspace_event.note_changed': 'Note changed', 'workspace_event.note_created': 'Note created', 'workspace_event.note_deleted': 'Note deleted' };

/** @type {[string, string][]} */
const KINDS = [
  ['kjxlkj_agent', 'run the agent in loops'], ['run', 'run an agent file'], ['work', 'run a plan'], ['add_keyword', 'add a keyword to the note'],
  ['move', 'move the note to a folder'], ['notify', 'leave a notice'], ['webhook', 'call a web address'],
];

/** What a new action of a kind begins with. @type {Record<string, any>} */
const FRESH = {
  kjxlkj_agent: { mode: 'reviewed', request: '' }, run: { agent_file: '', goal: '' }, work: { plan: '', repo: '' }, add_keyword: { keyword: '' },
  move: { folder: '' }, notify: { title: '' }, webhook: { url: '' },
};

/** @param {{ form: Form }} props */
export function RuleForm({ form }) {
  const { draft, onChange, faults } = form;
  const set = (/** @type {string} */ at, /** @type {any} */ value) => onChange(withAt(draft, at, value));
  return html`<section><div class="f2"><${TextAt} form=${form} at="/name" label="Name" placeholder="File inbox notes" />
      <div class="lab"><span>State</span><span class="row"><${Switch} isOn=${draft.enabled !== false} label="Enabled" onToggle=${() => set('/enabled', draft.enabled === false)} /><span class="mid small">${draft.enabled === false ? 'disabled' : 'enabled'}</span></span></div></div></section>
    <${When} form=${form} /><section><div class="step"><span class="k">If</span>these conditions hold</div><${Condition} form=${form} at="/condition_json" /><${FieldNames} />
      <${Adders} onAdd=${(/** @type {any} */ it) => set('/condition_json', withMore(draft.condition_json ?? {}, it))} /></section>
    <${Then} form=${form} /><${Rest} faults=${faults} />`;
}

/** @param {{ form: Form }} props */
function When({ form }) {
  const { draft, onChange, faults } = form;
  const pick = (/** @type {string} */ trigger) => {
    const next = withAt(draft, '/trigger', trigger);
    if (trigger !== 'automation_schedule.cron') return onChange(withAt(next, '/schedule', undefined));
    return onChange(next.schedule ? next : withAt(next, '/schedule', { cron: '30 9 * * 1-5', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC' }));
  };
  return html`<section><div class="step"><span class="k">When</span>it fires</div>
    <${Segments} label="Trigger" names=${TRIGGER_NAMES} at="/trigger" value=${draft.trigger} options=${TRIGGERS} onPick=${pick} /><${FaultText} faults=${faultsAt(faults, '/trigger')} />
    ${draft.trigger === 'automation_schedule.cron' && html`<div class="f2"><${TextAt} form=${form} at="/schedule/cron" label="Cron" hint="minute, hour, day, month, weekday" isMono=${true} isKept=${true} /><${TextAt} form=${form} at="/schedule/timezone" label="Time zone" list=${zones()} placeholder="UTC" /></div>
      <div class="f2"><${SelectAt} form=${form} at="/schedule/catch_up" label="If the server was off" usual="once" options=${[['once', 'the latest missed time fires once'], ['skip', 'missed times do not fire'], ['all', 'each missed time fires, 100 at most']]} />
      <${SelectAt} form=${form} at="/schedule/overlap" label="If a run is still working" usual="skip" options=${[['skip', 'the next time is skipped'], ['queue', 'the next run waits for it']]} /></div>`}
    ${draft.trigger === 'webhook' && html`<p class="small mid">Fires when another program calls this rule’s address, with a signature. The secret for it is shown once, when the rule is saved.</p>`}</section>`;
}

/** @type {string[] | null} */
let allZones = null;
const zones = () => (allZones ??= ['UTC', ...Intl.supportedValuesOf('timeZone')]);

/** @param {{ form: Form }} props */
function Then({ form }) {
  const { draft, onChange, faults } = form;
  const kind = draft.action_json?.kind ?? '';
  const setKind = (/** @type {Event} */ event) => {
    const next = /** @type {HTMLSelectElement} */ (event.target).value;
    onChange(withAt(draft, '/action_json', { kind: next, ...FRESH[next] }));
  };
  const own = faults.filter((it) => it.at === '/action_json' || it.at === '/action_json/kind');
  return html`<section><div class="step"><span class="k">Then</span><label class="field grow-1"><span class="sr">Action</span><select data-at="/action_json/kind" value=${kind} onChange=${setKind}>${KINDS.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}${!KINDS.some(([key]) => key === kind) && html`<option value=${kind}>${kind || 'choose an action'}</option>`}</select></label></div><${FaultText} faults=${own} />
    <${Action} form=${form} kind=${kind} /></section>`;
}

/** @param {{ form: Form, kind: string }} props */
function Action({ form, kind }) {
  const text = (/** @type {string} */ key, /** @type {string} */ label, /** @type {any} */ more = {}) => html`<${TextAt} form=${form} at=${`/action_json/${key}`} label=${label} ...${more} />`;
  switch (kind) {
    case 'kjxlkj_agent': return html`<${Agent} form=${form} text=${text} />`;
    case 'run': return html`<div class="f2">${text('agent_file', 'Agent file', { isMono: true })}${text('dir', 'Directory for its tools', { isMono: true, placeholder: 'that of the agent file' })}</div>${text('goal', 'Goal', { isLong: true })}${text('timeout_ms', 'Time limit', { placeholder: '10m', isNumber: true })}`;
    case 'work': return html`<div class="f2">${text('plan', 'Plan', { isMono: true })}${text('repo', 'Repository', { isMono: true })}</div>${text('agent_file', 'Agent file', { isMono: true, placeholder: 'that of the plan' })}`;
    case 'add_keyword': return text('keyword', 'Keyword');
    case 'move': return text('folder', 'Folder', { placeholder: 'Projects/2026', isKept: true });
    case 'notify': return html`${text('title', 'Title')}${text('message', 'Message', { isLong: true })}`;
    case 'webhook': return text('url', 'Address', { isMono: true, placeholder: 'https://', hint: 'Only addresses that the server’s config.json lists (automation.allowed_webhooks). Requests are signed.' });
    default: return html`<p class="small mid">This action is edited as JSON.</p>`;
  }
}

/** @param {{ form: Form, text: (key: string, label: string, more?: any) => any }} props */
function Agent({ form, text }) {
  const mode = form.draft.action_json?.mode ?? '';
  const pick = (/** @type {string} */ next) => form.onChange(withAt(form.draft, '/action_json/mode', next === '' ? undefined : next));
  return html`${text('request', 'Request', { isLong: true, placeholder: 'File this note.' })}
    <div class="lab"><span>Its changes</span><${Segments} label="Its changes" at="/action_json/mode" value=${mode} options=${[['reviewed', 'Review first'], ['yolo', 'Apply at once'], ['', 'As configured']]} onPick=${pick} /><${FaultText} faults=${faultsAt(form.faults, '/action_json/mode')} /></div>
    <div class="f2 f3">${text('loop/max_iterations', 'Loops at most', { isNumber: true, placeholder: '100' })}${text('scope/max_notes_per_loop', 'New notes in a loop at most', { isNumber: true, placeholder: '10' })}${text('scope/max_edits_per_loop', 'Edits in a loop at most', { isNumber: true, placeholder: '20' })}</div>
    <details><summary class="small">Model and memory</summary><div class="f2 in-details">${text('provider/provider_kind', 'Provider', { placeholder: 'as configured' })}${text('provider/model', 'Model', { placeholder: 'as configured' })}${text('prompt_path', 'Prompt file', { isMono: true, placeholder: './data/agent-prompt.json' })}${text('memory/kv_store_path', 'Memory', { isMono: true, placeholder: './data/agent-kv-store.json' })}</div></details>`;
}

const SHOWN = ['/name', '/trigger', '/schedule/cron', '/schedule/timezone', '/schedule/catch_up', '/schedule/overlap', '/condition_json', '/action_json'];

/** Faults of places that the form has no field for. @param {{ faults: import('../workspace-types.js').Fault[] }} props */
function Rest({ faults }) {
  const others = faults.filter((it) => !SHOWN.some((at) => it.at === at || it.at.startsWith(`${at}/`)) || !document.querySelector(`[data-at="${CSS.escape(it.at)}"]`));
  const rest = others.filter((it) => !it.at.startsWith('/condition_json/') && !['/action_json', '/action_json/kind'].includes(it.at));
  if (rest.length === 0) return null;
  return html`<section>${rest.map((it) => html`<p key=${it.at + it.message} class="fault"><span class="mono">${it.at || '/'}</span> ${it.message}</p>`)}</section>`;
}
