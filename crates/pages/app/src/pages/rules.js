// Rules: the list, and one of them as a form, its runs, and what it would do.
import { cls, drawnAtOnce, html } from '../html.js';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { api, ApiError } from '../api.js';
import { useCss, useTitle } from '../hooks.js';
import { go, route, rulePath } from '../router.js';
import { hasRole, now, workspaces } from '../state.js';
import { keepHere, keptHere } from '../storage.js';
import { checkRule, deleteRule, enableRule, launchRule, NEW_RULE, readRules, requestOf, rules, saveRule, watchRules, writable } from '../rules-store.js';
import { list, readList } from '../notes-list.js';
import { readHistory } from '../note-acts.js';
import { workspaceId } from '../workspace.js';
import { parsedOr } from '../lib/conditions.js';
import { counted } from '../lib/numbers.js';
import { span } from '../lib/time.js';
import { Badge, Icon } from '../components/icon.js';
import { Dialog } from '../components/dialog.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { AsJson, DryRun, Firings } from '../components/rule-side.js';
import { RuleForm } from '../components/rule-form.js';
import { RuleRuns, RunState } from '../components/rule-runs.js';
import { Secret } from '../components/secret.js';
import { Switch } from '../components/rule-fields.js';
import { shortTime } from '../components/note-list.js';
import { useKeys } from '../components/keys.js';

/** @typedef {import('../workspace-types.js').Rule} Rule */
/** @typedef {import('../workspace-types.js').Fault} Fault */

export default function Rules() {
  useCss('/css/rules.css');
  useTitle('Rules');
  const [, id = '', view = ''] = route.value.parts;
  watchRules();
  const workspace = workspaces.value.current?.workspace_id;
  useEffect(() => {
    if (workspace && rules.value.workspace !== workspace) void readRules();
  }, [workspace]);
  useKeys('Rules', [{ key: 'n', does: 'New rule', run: () => hasRole('admin') && go('/rules/new') }]);
  const all = rules.value.workspace === workspace ? rules.value.rules : null;
  const chosen = id === 'new' ? null : (all?.find((it) => it.rule_id === id) ?? null);
  const enabled = all?.filter((it) => it.enabled).length ?? 0;
  return html`<div class="bar"><h1>Rules</h1>${all && html`<span class="dim small">${counted(all.length, 'rule')}, ${enabled} enabled</span>`}<span class="grow"></span>${hasRole('admin') && html`<a class="btn" href="/rules/new"><${Icon} name="plus" />New rule</a>`}</div>
    ${rules.value.error && html`<div class="page"><${Failed} what="The rules cannot be read." error=${rules.value.error} onRetry=${() => void readRules()} /></div>`}
    <div class=${cls('rules', id && 'open')}><${RuleList} all=${all} selected=${id} />
      <div class="rule-view">${!id ? html`<${NoRule} all=${all} />` : id !== 'new' && !chosen ? (all ? html`<${Empty} title="There is no such rule" />` : html`<${Loading} />`)
        : html`<${RuleView} key=${id} rule=${chosen} view=${view} />`}</div></div>`;
}

/** @param {{ all: Rule[] | null }} props */
function NoRule({ all }) {
  if (!all) return html`<${Loading} />`;
  if (all.length > 0) return html`<p class="dim">Choose a rule.</p>`;
  return html`<${Empty} title="There are no rules yet"><p class="small mid">A rule watches the workspace: when something happens, and its conditions hold, it does something.</p>${hasRole('admin') ? html`<a class="btn" href="/rules/new"><${Icon} name="plus" />New rule</a>` : html`<p class="small mid">Admins of this workspace can write one.</p>`}<//>`;
}

/** @param {{ all: Rule[] | null, selected: string }} props */
function RuleList({ all, selected }) {
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const toggle = (/** @type {Rule} */ it) => void enableRule(it, !it.enabled).then(() => readRules(), setProblem);
  return html`<div class="rule-list">${problem && html`<${Failed} what="It was not changed." error=${problem} />`}<ul role="list">${(all ?? []).map((it) => html`<li key=${it.rule_id} class=${cls('rl', it.rule_id === selected && 'here')}><a href=${rulePath(it.rule_id)} aria-current=${it.rule_id === selected ? 'true' : undefined}><span class="t cut u">${it.name || 'Rule without a name'}</span><span class="s">${whenText(it)}</span>${it.last_run && html`<span class="s row"><${RunState} status=${it.last_run.status} code=${it.last_run.error_code} />${shortTime(it.last_run.queued_at)}</span>`}</a>
    ${hasRole('admin') && html`<${Switch} isOn=${it.enabled} label=${`${it.name || 'Rule'}, enabled`} onToggle=${() => toggle(it)} />`}</li>`)}</ul></div>`;
}

/** @type {Record<string, string>} */
const TRIGGER_TEXT = { 'workspace_event.note_changed': 'when a note changes', 'workspace_event.note_created': 'when a note is created', 'workspace_event.note_deleted': 'when a note is deleted', webhook: 'when its address is called', manual: 'by hand only' };

/** @param {Rule} rule */
function whenText(rule) {
  if (!rule.enabled) return 'disabled';
  if (rule.trigger !== 'automation_schedule.cron') return TRIGGER_TEXT[rule.trigger] ?? rule.trigger;
  const next = rule.next_firing_at ? `, next in ${span(Date.parse(rule.next_firing_at) - now.value)}` : '';
  return `${rule.schedule?.cron ?? 'schedule'} ${rule.schedule?.timezone ?? 'UTC'}${next}`;
}

/** @param {{ rule: Rule | null, view: string }} props */
function RuleView({ rule, view }) {
  useTitle(rule?.name || 'Rule');
  const path = rule ? rulePath(rule.rule_id) : '/rules/new';
  const tab = (/** @type {string} */ key, /** @type {string} */ text, /** @type {string} */ to) => html`<a class="tab" href=${to} aria-current=${view === key ? 'page' : undefined}>${text}</a>`;
  return html`<nav class="subtabs" aria-label="Rule"><a class="btn quiet m-only" href="/rules"><${Icon} name="back" />All rules</a>${tab('', rule ? 'Rule' : 'New rule', path)}${rule && tab('runs', 'History', `${path}/runs`)}</nav>
    ${view === 'runs' && rule ? html`<${RuleRuns} ruleId=${rule.rule_id} runId=${route.value.parts[3]} />` : html`<${RuleEditor} rule=${rule} />`}`;
}

/** A rule that is being written is kept in the tab. @param {Rule | null} rule */
function useDraft(rule) {
  const key = `rule.${rule?.rule_id ?? `new.${workspaceId()}`}`;
  const saved = useMemo(() => (rule ? writable(rule) : NEW_RULE), [rule?.version]);
  const [draft, setDraft] = useState(() => {
    const kept = parsedOr(keptHere(key) ?? '', null);
    return kept && kept.version === (rule?.version ?? 0) ? kept.draft : saved;
  });
  const isDirty = JSON.stringify(draft) !== JSON.stringify(saved);
  // With each letter: a tab that is loaded again at once has all of them.
  useLayoutEffect(() => void keepHere(key, isDirty ? JSON.stringify({ version: rule?.version ?? 0, draft }) : null), [draft, isDirty]);
  const version = useRef(rule?.version);
  useEffect(() => {
    // Another person saved it: what was not touched here follows.
    if (version.current !== rule?.version && !isDirty) setDraft(saved);
    version.current = rule?.version;
  }, [rule?.version]);
  return { draft, setDraft, isDirty, reset: () => setDraft(saved), forget: () => keepHere(key, null) };
}

/** Asks the server about the rule while it is written. @param {any} draft @param {boolean} isAllowed */
function useCheck(draft, isAllowed) {
  const [check, setCheck] = useState(/** @type {import('../rules-store.js').Check | null} */ (null));
  const text = JSON.stringify(draft);
  useEffect(() => {
    if (!isAllowed) return undefined;
    const abort = new AbortController();
    const later = setTimeout(() => checkRule(draft, abort.signal).then(setCheck, () => {}), 400);
    return () => {
      clearTimeout(later);
      abort.abort();
    };
  }, [text]);
  return { check, setCheck };
}

/** @param {{ rule: Rule | null }} props */
function RuleEditor({ rule }) {
  const { draft, setDraft, isDirty, reset, forget } = useDraft(rule);
  const canWrite = hasRole('admin');
  const { check, setCheck } = useCheck(draft, canWrite);
  const [refused, setRefused] = useState(/** @type {{ faults: Fault[], error: unknown } | null} */ (null));
  const [secret, setSecret] = useState(/** @type {Rule | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  // A form that was just opened has no mistakes yet.
  const faults = check && !check.valid && (isDirty || rule) ? check.faults : (refused?.faults ?? []);
  const change = (/** @type {any} */ next) => {
    setRefused(null);
    setDraft(next);
  };
  const save = async () => {
    if (!canWrite || isBusy || (rule && !isDirty)) return;
    setBusy(true);
    try {
      const done = await saveRule(draft, rule);
      forget();
      await readRules();
      if (done.secret) setSecret(done);
      else if (!rule) go(rulePath(done.rule_id), { isReplaced: true });
    } catch (error) {
      const found = error instanceof ApiError ? (error.details?.faults ?? []) : [];
      drawnAtOnce(() => {
        setRefused({ faults: found, error });
        if (found.length > 0) setCheck((it) => ({ valid: false, faults: found, rule: null, sentence: it?.sentence ?? null, firings: it?.firings ?? null }));
      });
      showFault(found);
    } finally {
      setBusy(false);
    }
  };
  useSaveKey(save);
  const form = { draft, onChange: canWrite ? change : () => {}, faults };
  const sentence = check?.sentence ?? (isDirty ? null : rule?.sentence);
  return html`<div class="rule-grid"><form class="card form" aria-label="Rule" inert=${!canWrite} onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void save(); }}>
      <${RuleForm} form=${form} />
      ${sentence && html`<section><p class="small" role="status">${sentence}</p></section>`}
      ${refused && refused.faults.length === 0 && html`<section><${Failed} what=${refused.error instanceof ApiError && refused.error.code === 'VERSION_CONFLICT' ? 'Another person saved this rule meanwhile. Reload to see it; your text stays in this tab.' : 'It was not saved.'} error=${refused.error} /></section>`}
      <div class="foot-acts">${faults.length > 0 ? html`<${Badge} tone="bad" icon="bad">${counted(faults.length, 'mistake')}<//>` : isDirty ? html`<${Badge} tone="off" icon="off">Not saved<//>` : rule && html`<${Badge} tone="ok" icon="ok">Saved<//>`}<span class="grow"></span>
        ${isDirty && html`<button type="button" class="btn quiet" onClick=${reset}>Discard</button>`}<button class="btn solid" disabled=${isBusy || (rule !== null && !isDirty)}>${rule ? 'Save' : 'Create the rule'} <kbd>Ctrl S</kbd></button></div></form>
    <div class="rc">${rule && html`<${Acts} rule=${rule} isDirty=${isDirty} onSecret=${setSecret} />`}${check?.firings && check.firings.length > 0 && html`<${Firings} firings=${check.firings} />`}${canWrite && html`<${DryRun} draft=${draft} />`}<${AsJson} draft=${draft} faults=${faults} onChange=${change} /></div></div>
    ${secret && html`<${Secret} title="The secret of this rule" what=${`Requests are signed with it (Standard Webhooks).${draft.trigger === 'webhook' ? ` The address is ${location.origin}/api/hooks/${secret.rule_id}.` : ''}`} secret=${secret.secret ?? ''} onClose=${() => { const { rule_id } = secret; setSecret(null); if (!rule) go(rulePath(rule_id), { isReplaced: true }); }} />`}`;
}

/** @param {Fault[]} faults */
function showFault(faults) {
  for (const { at } of faults) {
    const field = document.querySelector(`[data-at="${CSS.escape(at)}"]`) ?? document.querySelector(`[data-at^="${CSS.escape(at)}"]`);
    if (!(field instanceof HTMLElement)) continue;
    field.scrollIntoView({ block: 'center' });
    (field.matches('input, select, textarea') ? field : (field.querySelector('button') ?? field)).focus();
    return;
  }
}

/** @param {() => void} save */
function useSaveKey(save) {
  const latest = useRef(save);
  latest.current = save;
  useKeys('Rule', [{ key: 'Ctrl S', does: 'Save the rule', run: () => {} }]);
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** @param {{ rule: Rule, isDirty: boolean, onSecret: (rule: Rule) => void }} props */
function Acts({ rule, isDirty, onSecret }) {
  const [asking, setAsking] = useState(/** @type {'' | 'launch' | 'delete' | 'secret'} */ (''));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const close = () => setAsking('');
  const remove = () => void deleteRule(rule).then(() => readRules()).then(() => go('/rules'), (error) => { close(); setProblem(error); });
  const renew = () => void api('POST', `/api/automation/rules/${rule.rule_id}/secret`, {}).then((it) => { close(); onSecret({ ...rule, secret: it.secret }); }, (error) => { close(); setProblem(error); });
  return html`<section class="card" aria-label="Actions"><div class="row wrap">${hasRole('editor') && html`<button class="btn" disabled=${isDirty} title=${isDirty ? 'Save the rule first' : undefined} onClick=${() => setAsking('launch')}><${Icon} name="play" />Launch once</button>`}
      ${hasRole('admin') && rule.has_secret !== undefined && html`<button class="btn" onClick=${() => setAsking('secret')}>New secret</button>`}${hasRole('admin') && html`<button class="btn quiet" onClick=${() => setAsking('delete')}>Delete</button>`}</div>
    ${rule.last_run && html`<p class="small row wrap"><span class="dim">Last:</span> <${RunState} status=${rule.last_run.status} code=${rule.last_run.error_code} /> <a href=${`${rulePath(rule.rule_id)}/runs/${rule.last_run.run_id}`}>${shortTime(rule.last_run.queued_at)}</a></p>`}
    ${problem && html`<${Failed} what="That did not work." error=${problem} />`}
    ${asking === 'launch' && html`<${Launch} rule=${rule} onClose=${close} />`}
    ${asking === 'delete' && html`<${Dialog} title="Delete this rule?" onClose=${close}><p>“${rule.name || 'Rule without a name'}” will not fire again. Its runs stay.</p><div class="row"><button class="btn solid" onClick=${remove}>Delete</button><button class="btn" onClick=${close}>Keep it</button></div><//>`}
    ${asking === 'secret' && html`<${Dialog} title="Make a new secret?" onClose=${close}><p>The one before ends at once: whatever uses it must be given the new one.</p><div class="row"><button class="btn solid" onClick=${renew}>Make a new secret</button><button class="btn" onClick=${close}>Cancel</button></div><//>`}</section>`;
}

/** @param {{ rule: Rule, onClose: () => void }} props */
function Launch({ rule, onClose }) {
  const [noteId, setNote] = useState('');
  const usual = requestOf(rule.action_json);
  const [request, setRequest] = useState(usual ?? '');
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    if (list.value.workspace !== workspaceId()) void readList();
  }, []);
  const launch = async () => {
    try {
      const event = noteId ? (await readHistory(noteId, 0)).versions[0]?.event_id : null;
      const isOwn = request.trim() !== '' && request !== usual;
      const run = await launchRule(rule.rule_id, { ...(event ? { triggering_event_id: event } : {}), ...(isOwn ? { request } : {}) });
      onClose();
      go(`${rulePath(rule.rule_id)}/runs/${run.run_id}`);
    } catch (refused) {
      setError(refused);
    }
  };
  return html`<${Dialog} title="Launch once" onClose=${onClose}><p class="small">It runs now, whatever its conditions are. A note tells it what it is about; for the last change of a note it runs once only.</p>
    ${usual !== null && (hasRole('admin')
      ? html`<label class="lab">Request, for this run only<textarea class="textarea" rows="4" value=${request} onInput=${(/** @type {Event} */ event) => setRequest(/** @type {HTMLTextAreaElement} */ (event.target).value)}></textarea></label>`
      : usual !== '' && html`<p class="small"><span class="label">Request</span><br /><span class="u">${usual}</span></p>`)}
    <label class="lab">About<span class="field"><select value=${noteId} onChange=${(/** @type {Event} */ event) => setNote(/** @type {HTMLSelectElement} */ (event.target).value)}><option value="">no note</option>${list.value.notes.slice(0, 200).map((it) => html`<option key=${it.note_id} value=${it.note_id}>${it.title}</option>`)}</select></span></label>
    ${error && html`<${Failed} what="It was not launched." error=${error} />`}
    <div class="row"><button class="btn solid" onClick=${() => void launch()}>Launch</button><button class="btn" onClick=${onClose}>Cancel</button></div><//>`;
}
