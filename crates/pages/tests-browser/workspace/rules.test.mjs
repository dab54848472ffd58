// Rules: form and JSON as one object, faults at their fields, firings, a dry run, launching, history; and the review queue.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, openPage, openSigned, signIn, startWorld, until } from './browser.mjs';
import { answerMade, dryRun, firings, rule as madeRule, RULE_ID, RUN_ID } from './made.mjs';

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

const rulesOf = async () => (await world.workspace.api('GET', `/api/automation/rules?workspace_id=${world.workspace.id}`)).rules;
const jsonOf = async (page) => JSON.parse((await page.locator('.json-view').innerText()).trim());

test('a rule is written in the form, saved, disabled, and deleted', async () => {
  const { page, context, faults } = await openSigned(world, '/rules/new');
  await page.getByLabel('Name', { exact: true }).fill('Tag new notes');
  await page.getByRole('radio', { name: 'Note changed' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Field').fill('note.title');
  await page.getByLabel('Comparison').selectOption('starts_with');
  await page.getByLabel('Value').fill('Week');
  await page.getByLabel('Request').fill('File this note.');
  const json = await jsonOf(page);
  assert.deepEqual([json.trigger, json.condition_json], ['workspace_event.note_changed', { all: [{ field: 'note.title', op: 'starts_with', value: 'Week' }] }]);
  await page.keyboard.press('Control+s');
  const saved = await eventually(async () => (await rulesOf()).find((it) => it.name === 'Tag new notes'), 'the rule is saved');
  assert.deepEqual([saved.enabled, saved.action_json.request, saved.action_json.mode], [true, 'File this note.', 'reviewed']);
  await until(page, (id) => location.pathname === `/rules/${id}`, saved.rule_id);
  await page.getByRole('switch', { name: 'Tag new notes, enabled' }).click();
  await eventually(async () => (await rulesOf())[0].enabled === false, 'disabled');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There are no rules yet').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test('mistakes are shown at their fields and lines, and Save goes to the first', async () => {
  const { page, context, faults } = await openSigned(world, '/rules/new');
  await page.getByLabel('Name', { exact: true }).fill('Wrong');
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Field').fill('note.version');
  await page.getByLabel('Comparison').selectOption('starts_with');
  await page.getByLabel('Value').fill('2');
  await page.getByLabel('Request').fill('x');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.locator('.fault').first().waitFor();
  await until(page, () => document.activeElement?.getAttribute('aria-invalid') === 'true');
  const described = await page.evaluate(() => document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.textContent);
  assert.match(described, /cannot be compared/);
  assert.match(await page.locator('.json-view .hl').first().innerText(), /value/);
  await page.getByText('1 mistake').waitFor();
  assert.equal((await rulesOf()).length, 0);
  await page.getByLabel('Comparison').selectOption('gt');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  const saved = await eventually(async () => (await rulesOf())[0], 'saved after the correction');
  assert.deepEqual(saved.condition_json, { all: [{ field: 'note.version', op: 'gt', value: 2 }] }, 'the value is a number again');
  await world.workspace.api('DELETE', `/api/automation/rules/${saved.rule_id}?base_version=1`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('JSON and form are two views of one object: keys that the form does not know stay', async () => {
  const { page, context } = await openSigned(world, '/rules/new');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const field = page.getByLabel('The rule as JSON');
  const written = { name: 'By JSON', trigger: 'manual', condition_json: { any: [{ 'note.kind': 'note' }, { not: { field: 'note.title', op: 'exists', value: true } }] }, action_json: { kind: 'kjxlkj_agent', request: 'x', loop: { max_iterations: 3 }, from_tomorrow: { a: 1 } }, also_new: true };
  await field.fill(`${JSON.stringify(written).slice(0, -1)}`);
  await page.getByText('This is no JSON yet').waitFor();
  await field.fill(JSON.stringify(written));
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'By JSON');
  assert.equal(await page.getByLabel('Loops at most').inputValue(), '3');
  await page.getByLabel('Request').fill('another request');
  await page.getByRole('button', { name: 'Done' }).click();
  assert.deepEqual(await jsonOf(page), { ...written, action_json: { ...written.action_json, request: 'another request' } });
  await page.reload();
  await page.locator('.json-view').waitFor();
  assert.equal((await jsonOf(page)).name, 'By JSON', 'a rule that is not saved stays in the tab');
  await context.close();
});

test('firings in the rule’s zone with changes of the clock, and a dry run with what each condition saw', async () => {
  const note = await world.makeNote('Week 46', 'x', { keywords: ['weekly'] });
  const { page, context, faults } = await openPage(world, '/rules/new');
  await page.route('**/api/automation/rules/check', (route) => route.fulfill({ json: { valid: true, faults: [], rule: {}, sentence: 'At 09:30, Monday to Friday.', firings } }));
  const asked = [];
  await page.route('**/api/automation/rules/dry-run', (route) => {
    asked.push(route.request().postDataJSON());
    return route.fulfill({ json: dryRun });
  });
  await signIn(page);
  await page.getByRole('radio', { name: 'Schedule' }).click();
  await page.getByText('Sat 27 Mar, 09:30').waitFor();
  assert.match(await page.locator('.fire').innerText(), /08:30 UTC[\s\S]*Clocks were set forward/);
  await page.getByText('At 09:30, Monday to Friday.').waitFor();
  await page.getByLabel('As if this note had just changed').selectOption(note.note_id);
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('It would not run.').waitFor();
  assert.match(await page.locator('.tr').innerText(), /note\.keywords contains inbox\s+is \["weekly"\]/);
  assert.equal(asked[0].note_id, note.note_id);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a launch is a run that can be seen', async () => {
  const rule = await world.workspace.api('POST', '/api/automation/rules', { workspace_id: world.workspace.id, name: 'By hand', trigger: 'manual', condition_json: {}, action_json: { kind: 'kjxlkj_agent', request: 'Do it.', loop: { max_iterations: 1 } } });
  const { page, context, faults } = await openSigned(world, `/rules/${rule.rule_id}`);
  await page.getByRole('button', { name: 'Launch once' }).click();
  assert.equal(await page.getByLabel('Request, for this run only').inputValue(), 'Do it.');
  await page.getByRole('button', { name: 'Launch', exact: true }).click();
  await until(page, () => /\/runs\/[0-9a-f-]{36}$/.test(location.pathname));
  await page.locator('.rrun').getByText(/waits|running|failed/).first().waitFor();
  const runs = (await world.workspace.api('GET', `/api/automation/runs?workspace_id=${world.workspace.id}`)).runs;
  assert.equal(runs.length, 1);
  assert.deepEqual(faults, []);
  await context.close();
});

test('history shows loops, instructions, refusals and what changed in the memory', async () => {
  const { page, context, faults } = await openPage(world, `/rules/${RULE_ID}/runs/${RUN_ID}`);
  await answerMade(page, world);
  await page.route((url) => url.pathname === '/api/automation/rules', (route) => route.fulfill({ json: { rules: [{ ...madeRule, workspace_id: world.workspace.id }] } }));
  await signIn(page);
  await page.locator('.loop').first().waitFor();
  const text = await page.locator('.rule-view').innerText();
  for (const part of ['XML_PARSE_ERROR', 'Loop 1', 'planning', 'CROSS_WORKSPACE_REJECTED', 'The note is in another workspace.', 'plan', 'old_key', 'The reply was no instruction.']) assert.ok(text.includes(part), part);
  assert.match(await page.locator('.rule-list').innerText(), /next in \d+/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('the queue: apply, edit then apply, reject with a reason, and in bulk within a run', async () => {
  const { page, context, faults } = await openPage(world, '/queue');
  const state = await answerMade(page, world);
  await signIn(page);
  const card = (n) => page.getByRole('article', { name: `Change: Note ${n}` });
  await card(1).waitFor();
  assert.match(await card(1).locator('.diff tr.a').innerText(), /new line 1/);
  assert.match(await card(1).locator('.changed').innerText(), /inbox[\s\S]*filed/);
  assert.ok(await card(3).getByRole('button', { name: 'Apply', exact: true }).isDisabled(), 'an outdated one is not applied as it is');
  await card(1).getByRole('button', { name: 'Apply', exact: true }).click();
  await page.locator('.decided', { hasText: 'Note 1' }).waitFor();
  await card(2).getByRole('button', { name: 'Edit, then apply' }).click();
  await card(2).getByLabel('Text').fill('written by a person\n');
  await card(2).getByRole('button', { name: 'Apply what you wrote' }).click();
  await page.locator('.decided', { hasText: 'Note 2' }).waitFor();
  await card(3).getByRole('button', { name: 'Reject' }).click();
  await card(3).getByLabel(/Reason/).fill('not like this');
  await card(3).getByRole('button', { name: 'Reject' }).click();
  await page.locator('.decided', { hasText: 'Note 3' }).waitFor();
  assert.deepEqual(state.reviews.map(({ digest, decision, edited, reject_reason }) => ({ digest, decision, edited, reject_reason })), [
    { digest: 'digest-1', decision: 'apply', edited: undefined, reject_reason: undefined },
    { digest: 'digest-2', decision: 'apply', edited: { markdown: 'written by a person\n' }, reject_reason: undefined },
    { digest: 'digest-3', decision: 'reject', edited: undefined, reject_reason: 'not like this' },
  ]);
  assert.deepEqual(faults, []);
  await context.close();
});

test('issues are seen, and closed with what was done', async () => {
  const { page, context, faults } = await openPage(world, '/queue/issues');
  const state = await answerMade(page, world);
  await signIn(page);
  await page.getByText('Duplicate 1').waitFor();
  await page.locator('.issue', { hasText: 'Duplicate 1' }).getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('What was done about it').fill('merged them');
  await page.getByRole('button', { name: 'Close the issue' }).click();
  await until(page, () => !document.body.innerText.includes('Duplicate 1'));
  assert.equal(state.closed[0].reason, 'merged them');
  await page.getByRole('button', { name: 'Closed' }).click();
  await page.getByText('merged them').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});
