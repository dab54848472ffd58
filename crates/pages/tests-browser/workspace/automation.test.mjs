// Rules that need no model, end to end with the real server: checked while they are written, tried, fired, told; folders,
// attachments and what the server was told.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, openSigned, saved, startWorld, until } from './browser.mjs';

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

const rulesOf = async () => (await world.workspace.api('GET', `/api/automation/rules?workspace_id=${world.workspace.id}`)).rules;

test('a rule is checked while it is written, tried without effect, saved, and fires', async () => {
  const note = await world.makeNote('Week 46', 'x', { keywords: ['weekly'] });
  const { page, context, faults } = await openSigned(world, '/rules/new');
  await page.getByLabel('Name', { exact: true }).fill('Tell me');
  await page.getByRole('radio', { name: 'Note created' }).click();
  await page.getByLabel('Action').selectOption('notify');
  await page.locator('.fault').first().waitFor();
  await page.getByLabel('Title', { exact: true }).fill('A weekly note');
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Value').fill('weekly');
  await until(page, () => document.querySelectorAll('.fault').length === 0);
  await page.getByLabel('As if this note had just changed').selectOption(note.note_id);
  await page.getByRole('button', { name: 'Try it' }).click();
  await until(page, () => document.querySelector('.tr')?.innerText.includes('["weekly"]'));
  await page.getByRole('button', { name: 'Create the rule' }).click();
  const rule = await eventually(async () => (await rulesOf()).find((it) => it.name === 'Tell me'), 'saved');
  assert.equal((await world.workspace.api('GET', `/api/notices?workspace_id=${world.workspace.id}`)).notices.length, 0, 'a trial has no effect');
  await until(page, (id) => location.pathname === `/rules/${id}`, rule.rule_id);
  await world.makeNote('Week 47', 'y', { keywords: ['weekly'] });
  await page.goto(`${world.proxy.origin}/queue/notices`);
  await page.locator('.issue').getByText('A weekly note').waitFor();
  await page.getByRole('button', { name: 'Mark as read', exact: true }).click();
  await page.getByText('new', { exact: true }).waitFor({ state: 'detached' });
  await page.goto(`${world.proxy.origin}/rules/${rule.rule_id}/runs`);
  await page.locator('.rrun').getByText('done').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test('the next five firings of a schedule, in its zone', async () => {
  const { page, context } = await openSigned(world, '/rules/new');
  await page.getByLabel('Request').fill('x');
  await page.getByRole('radio', { name: 'Schedule' }).click();
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await until(page, () => document.querySelectorAll('.fire > li').length === 5);
  assert.match(await page.locator('.fire').innerText(), /09:30[\s\S]*Europe\/Berlin; \d\d:30 UTC/);
  await context.close();
});

test('a webhook has a secret that is shown once, and a new one on request', async () => {
  const { page, context, faults } = await openSigned(world, '/rules/new');
  await page.getByLabel('Name', { exact: true }).fill('From outside');
  await page.getByRole('radio', { name: 'Webhook' }).click();
  await page.getByLabel('Action').selectOption('notify');
  await page.getByLabel('Title', { exact: true }).fill('Called');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  const secret = await page.getByLabel('Copy this').inputValue();
  assert.match(secret, /^whsec_/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByLabel('Copy this').waitFor();
  assert.notEqual(await page.getByLabel('Copy this').inputValue(), secret);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a note is moved to a folder, and the list shows one folder', async () => {
  const note = await world.makeNote('To be moved', 'x');
  const { page, context, faults } = await openSigned(world, `/notes/${note.note_id}`);
  await page.getByLabel('Folder', { exact: true }).last().fill('Projects/2026');
  await page.keyboard.press('Tab');
  await eventually(async () => (await world.readNote(note.note_id)).metadata.folder === 'Projects/2026', 'moved');
  await saved(page);
  await page.goto(`${world.proxy.origin}/notes?folder=Projects%2F2026`);
  await until(page, () => document.querySelectorAll('.nl-row').length === 1);
  assert.deepEqual(faults, []);
  await context.close();
});

test('files are attached, taken back out byte for byte, and removed', async () => {
  const note = await world.makeNote('With files', 'x');
  const { page, context, faults } = await openSigned(world, `/notes/${note.note_id}`);
  await page.getByRole('button', { name: 'Attach files' }).waitFor();
  const bytes = Buffer.from([0, 1, 2, 255, 10, 13]);
  await page.getByLabel('Files to attach').setInputFiles({ name: 'a <b>.bin', mimeType: 'application/octet-stream', buffer: bytes });
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'a <b>.bin', exact: true }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.deepEqual(Buffer.concat(chunks), bytes);
  await page.getByRole('button', { name: 'Remove a <b>.bin' }).click();
  await until(page, () => !document.querySelector('.about').innerText.includes('a <b>.bin'));
  assert.deepEqual(faults, []);
  await context.close();
});

test('what the server was told is shown to its owner, with where each setting comes from', async () => {
  const { page, context, faults } = await openSigned(world, '/settings/config');
  const row = page.locator('tr', { hasText: 'automation.concurrent_runs' });
  await row.waitFor();
  assert.match(await row.innerText(), /config\.json|built in/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('an invitation is withdrawn', async () => {
  await world.workspace.api('POST', '/api/users', { name: 'guest', invite: true });
  const { page, context, faults } = await openSigned(world, '/settings/people');
  await page.getByText('invited until').waitFor();
  await page.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('no password yet').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});
