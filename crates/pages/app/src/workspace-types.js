// The shapes of a workspace's server. Nothing here runs.

/**
 * @typedef {'viewer' | 'editor' | 'admin' | 'owner'} Role
 * @typedef {{ workspace_id: string, name: string, role?: Role, state: 'active' | 'archived' | 'deleted', created_at: string, updated_at: string }} Workspace
 * @typedef {{ user_id: string, name: string | null, role: Role }} Member
 * @typedef {{ note_id: string, workspace_id: string, title: string, note_kind: string, keywords: string[], version: number,
 *   created_at: string, updated_at: string, deleted_at: string | null, folder?: string | null }} NoteSummary
 * @typedef {NoteSummary & { markdown: string, metadata: Record<string, any> }} Note
 * @typedef {{ event_id: string, event_seq: number, event_type: string, workspace_id: string, note_id: string | null,
 *   actor_type: 'user' | 'agent' | 'system', actor_id: string | null, version: number | null, timestamp: string,
 *   payload: any, depth: number, closed?: { at: string, by: string | null, reason: string | null } | null }} Event
 * @typedef {{ note_id: string, title: string, snippet: string, updated_at: string, note_kind: string }} Hit
 * @typedef {{ at: string, message: string }} Fault
 * @typedef {{ at: string, local: string, timezone: string, clock_change: string | null }} Firing
 * @typedef {{ run_id: string, status: string, queued_at: string, error_code: string | null }} LastRun
 * @typedef {{ rule_id: string, workspace_id: string, name?: string | null, trigger: string, condition_json: any, action_json: any,
 *   schedule?: any, enabled: boolean, max_chain_depth: number, version: number, created_at: string, updated_at: string,
 *   sentence?: string | null, next_firing_at?: string | null, last_run?: LastRun | null, has_secret?: boolean, secret?: string }} Rule
 * @typedef {{ loop: number, instruction: string, outcome: string, about?: string, code?: string, note_id?: string, version?: number }} OperationSummary
 * @typedef {{ run_id: string, rule_id: string, workspace_id: string, status: string, error_code: string | null, queued_at: string,
 *   started_at: string | null, finished_at: string | null, triggering_event_id: string, depth: number, result_json: any,
 *   audit: any, request?: string | null, operations?: Operation[] }} RuleRun
 * @typedef {{ title?: string, markdown?: string, note_kind?: string, keywords?: string[], metadata?: Record<string, any> }} ProposedText
 * @typedef {{ operation_id: string, operation_index: number, run_id: string, rule_id?: string, note_id: string | null, kind: string,
 *   status: string, diff: string, digest: string, base_version: number | null, proposed_at: string, decided_at: string | null,
 *   decided_by: string | null, reject_reason: string | null, before?: ProposedText | null, after?: ProposedText | null,
 *   is_outdated?: boolean, was_edited?: boolean }} Operation
 */

export {};
