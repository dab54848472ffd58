// Answers of a workspace that only agents with a model would bring about: proposals, loops, issues. Shapes as in openapi.json.

export const RULE_ID = '11111111-1111-4111-8111-111111111111';
export const RUN_ID = '22222222-2222-4222-8222-222222222222';
const NOTE_ID = '33333333-3333-4333-8333-333333333333';
const AT = '2026-11-18T01:00:00.000Z';

export const operation = (n, more = {}) => ({
  operation_id: `0000000${n}-0000-4000-8000-000000000000`, operation_index: n, run_id: RUN_ID, rule_id: RULE_ID, note_id: NOTE_ID, kind: 'update_note', status: 'pending', diff: '-old\n+new\n',
  digest: `digest-${n}`, base_version: 3, proposed_at: AT, decided_at: null, decided_by: null, reject_reason: null, is_outdated: false,
  before: { title: `Note ${n}`, markdown: 'keep this\nold line\n', note_kind: 'note', keywords: ['inbox'], metadata: {} },
  after: { title: `Note ${n}`, markdown: `keep this\nnew line ${n}\n`, note_kind: 'note', keywords: ['filed'], metadata: {} }, ...more,
});

export const loops = [
  { loop: 1, started_at: AT, ended_at: '2026-11-18T01:00:02.000Z', states: ['planning'], instructions: [{ instruction: 'record_search', about: 'inbox', outcome: 'done', code: null, message: null }, { instruction: 'record_update', about: 'Note of another workspace', outcome: 'refused', code: 'CROSS_WORKSPACE_REJECTED', message: 'The note is in another workspace.' }], memory: { plan: 'file it', steps: ['a'] }, memory_change: { set: { plan: 'file it' }, removed: ['old_key'] }, think: 'I look for it first.', failure: null },
  { loop: 2, started_at: AT, ended_at: null, states: ['executing'], instructions: [], memory: { plan: 'file it' }, memory_change: { set: {}, removed: ['steps'] }, think: null, failure: 'The reply was no instruction.' },
];

export const rule = {
  rule_id: RULE_ID, name: 'File inbox notes', trigger: 'automation_schedule.cron', schedule: { cron: '30 9 * * 1-5', timezone: 'Europe/Berlin', catch_up: 'once', overlap: 'skip' }, condition_json: {},
  action_json: { kind: 'kjxlkj_agent', request: 'File this note.', mode: 'reviewed' }, enabled: true, max_chain_depth: 3, version: 1, created_at: AT, updated_at: AT,
  sentence: 'At 09:30, Monday to Friday, in Berlin.', next_firing_at: '2027-11-18T08:30:00.000Z', last_run: { run_id: RUN_ID, status: 'failed', queued_at: AT, error_code: 'XML_PARSE_ERROR' },
};

export const run = { run_id: RUN_ID, rule_id: RULE_ID, status: 'failed', error_code: 'XML_PARSE_ERROR', queued_at: AT, started_at: AT, finished_at: '2026-11-18T01:00:05.000Z', triggering_event_id: RUN_ID, depth: 0, result_json: null, audit: { loop_count: 2, operation_count: 2, operations: [], operations_left_out: 0 } };

export const firings = [
  { at: '2027-03-27T08:30:00.000Z', local: '2027-03-27T09:30:00+01:00', timezone: 'Europe/Berlin', clock_change: null },
  { at: '2027-03-28T07:30:00.000Z', local: '2027-03-28T09:30:00+02:00', timezone: 'Europe/Berlin', clock_change: 'Clocks were set forward by one hour.' },
];

export const dryRun = {
  fires: false, trigger: { holds: true, why: 'A note was changed.' }, would: 'Runs the agent.', faults: [],
  conditions: [{ at: '', kind: 'all', holds: false }, { at: '/all/0', kind: 'compare', field: 'note.keywords', op: 'contains', value: 'inbox', found: ['weekly'], is_there: true, holds: false }],
};

export const issue = (n, closed = null) => ({ event_id: `9000000${n}-0000-4000-8000-000000000000`, event_seq: n, event_type: 'issue.recorded', workspace_id: '', note_id: null, actor_type: 'agent', actor_id: null, version: null, timestamp: AT, payload: { key: `Duplicate ${n}`, value: 'Two notes say the same.', metadata: null }, depth: 0, closed });

/** Answers these, and lets the server answer everything else. */
export async function answerMade(page, world) {
  const state = { operations: [operation(1), operation(2), operation(3, { is_outdated: true }), operation(4, { kind: 'create_note', note_id: null, base_version: null, before: null })], reviews: [], issues: [issue(1), issue(2)], closed: [] };
  const put = (path, answer) => page.route((url) => url.pathname === path || (path instanceof RegExp && path.test(url.pathname)), answer);
  await put('/api/automation/operations', (route) => route.fulfill({ json: { operations: state.operations, pending: state.operations.length, next_offset: null } }));
  await put(/\/api\/automation\/runs\/[^/]+\/review$/, (route) => {
    const { decisions } = route.request().postDataJSON();
    state.reviews.push(...decisions);
    state.operations = state.operations.filter((it) => !decisions.some((d) => d.operation_id === it.operation_id));
    return route.fulfill({ json: { status: 'reviewed' } });
  });
  await put(/\/loops$/, (route) => route.fulfill({ json: { run_id: RUN_ID, status: 'failed', loops, next_after: null } }));
  await put('/api/automation/runs', (route) => route.fulfill({ json: { runs: [{ ...run, workspace_id: world.workspace.id }], next_offset: null } }));
  await put('/api/issues', (route) => {
    const wanted = new URL(route.request().url()).searchParams.get('state');
    const all = [...state.issues.filter((it) => !state.closed.some((c) => c.id === it.event_id)), ...state.closed.map((c) => ({ ...issue(9), event_id: c.id, closed: { at: AT, by: null, reason: c.reason } }))];
    return route.fulfill({ json: { issues: all.filter((it) => wanted === 'all' || (wanted === 'closed') === (it.closed !== null)), next_offset: null } });
  });
  await put(/\/api\/issues\/[^/]+\/close$/, (route) => {
    state.closed.push({ id: new URL(route.request().url()).pathname.split('/')[3], reason: route.request().postDataJSON().reason ?? null });
    return route.fulfill({ status: 204 });
  });
  return state;
}
