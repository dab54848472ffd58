// The rules of the workspace, and what is asked of the server about them.
import { signal } from '../vendor/signals.js';
import { api } from './api.js';
import { hear } from './socket.js';
import { workspaceId } from './workspace.js';

/** @typedef {import('./workspace-types.js').Rule} Rule */
/** @typedef {import('./workspace-types.js').RuleRun} RuleRun */
/** @typedef {import('./workspace-types.js').Fault} Fault */
/** @typedef {{ valid: boolean, faults: Fault[], rule: any, sentence: string | null, firings: import('./workspace-types.js').Firing[] | null }} Check */

/** @type {import('../vendor/signals.js').Signal<{ workspace: string, rules: Rule[] | null, error: unknown }>} */
export const rules = signal({ workspace: '', rules: null, error: null });

let turn = 0;

export async function readRules() {
  const own = ++turn;
  const workspace = workspaceId();
  if (!workspace) return;
  try {
    const found = await api('GET', `/api/automation/rules?workspace_id=${workspace}`);
    if (own === turn) rules.value = { workspace, rules: found.rules, error: null };
  } catch (error) {
    if (own === turn) rules.value = { ...rules.value, error };
  }
}

let isWatching = false;
let later = 0;

export function watchRules() {
  if (isWatching) return;
  isWatching = true;
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(() => void readRules(), 300);
  };
  hear({ refresh: soon, automation: soon, event: (it) => it.event_type.startsWith('rule.') && soon() });
}

/** What the server says about the rule before it is saved. @param {any} rule @param {AbortSignal} signal @returns {Promise<Check>} */
export const checkRule = (rule, signal) => api('POST', '/api/automation/rules/check', { workspace_id: workspaceId(), ...rule }, signal);

/** Keys that the server gives and does not take. */
const GIVEN = ['rule_id', 'version', 'created_at', 'updated_at', 'sentence', 'next_firing_at', 'last_run', 'has_secret', 'secret', 'workspace_id'];

const ORDER = ['name', 'enabled', 'trigger', 'schedule', 'condition_json', 'action_json'];

/** A rule as a person writes it: the keys in the order of the form, then all others. @param {Rule} rule */
export function writable(rule) {
  const place = (/** @type {string} */ key) => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);
  return Object.fromEntries(Object.entries(rule).filter(([key]) => !GIVEN.includes(key)).toSorted(([a], [b]) => place(a) - place(b)));
}

/** @param {any} draft @param {Rule | null} saved @returns {Promise<Rule>} */
export function saveRule(draft, saved) {
  if (!saved) return api('POST', '/api/automation/rules', { workspace_id: workspaceId(), ...draft });
  // A change leaves out what stays away: a key that was taken out is named as nothing.
  const gone = Object.fromEntries(Object.keys(writable(saved)).filter((key) => !(key in draft)).map((key) => [key, null]));
  return api('PATCH', `/api/automation/rules/${saved.rule_id}`, { ...gone, ...draft, base_version: saved.version });
}

/** @param {Rule} rule @param {boolean} enabled @returns {Promise<Rule>} */
export const enableRule = (rule, enabled) => api('PATCH', `/api/automation/rules/${rule.rule_id}`, { enabled, base_version: rule.version });

/** @param {Rule} rule */
export const deleteRule = (rule) => api('DELETE', `/api/automation/rules/${rule.rule_id}?base_version=${rule.version}`);

/** @param {string} ruleId @param {{ triggering_event_id?: string, request?: string }} given @returns {Promise<RuleRun>} */
export const launchRule = (ruleId, given) => api('POST', `/api/automation/rules/${ruleId}/launch`, given);

/** Where an action says what its agent is asked; other actions ask nothing. @type {Record<string, string>} */
const ASKED_IN = { kjxlkj_agent: 'request', run: 'goal' };

/** What the agent of a rule is asked, or null where there is none. @param {any} action @returns {string | null} */
export const requestOf = (action) => (action?.kind in ASKED_IN ? String(action[ASKED_IN[action.kind]] ?? '') : null);

/** @param {string} ruleId @param {number} offset @returns {Promise<{ runs: RuleRun[], next_offset: number | null }>} */
export const readRuns = (ruleId, offset) => api('GET', `/api/automation/runs?workspace_id=${workspaceId()}&rule_id=${ruleId}&limit=30&offset=${offset}`);

export const NEW_RULE = {
  enabled: true, trigger: 'workspace_event.note_created', condition_json: {}, action_json: { kind: 'kjxlkj_agent', mode: 'reviewed', request: '' },
};
