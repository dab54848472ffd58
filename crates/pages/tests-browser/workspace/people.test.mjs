// People and settings: passwords, tokens shown once, sessions, roles, invitations, workspaces, what the server was told.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, makeMember, openPage, openSigned, OWNER, signIn, startWorld, until } from './browser.mjs';

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

test('a token is shown once, works, and is revoked', async () => {
  const { page, context, faults } = await openSigned(world, '/settings/tokens');
  await page.getByLabel('What the token is for').fill('backup');
  await page.getByRole('button', { name: 'Make a token' }).click();
  const token = await page.getByLabel('Copy this').inputValue();
  assert.ok((await world.workspace.api('GET', '/api/workspaces', undefined, token)).workspaces.length > 0);
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(token), 'it is nowhere on the page');
  await page.getByRole('button', { name: 'Revoke backup' }).click();
  await until(page, () => !document.body.innerText.includes('backup'));
  await assert.rejects(world.workspace.api('GET', '/api/workspaces', undefined, token), /401/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('sessions are listed, and another one is ended', async () => {
  const [one, other] = [await openSigned(world, '/settings/sessions'), await openSigned(world, '/notes')];
  await one.page.reload();
  await one.page.getByText('Another browser').first().waitFor();
  await one.page.getByRole('button', { name: 'End all others' }).click();
  await other.page.getByRole('heading', { name: 'This session has ended' }).waitFor();
  await until(one.page, () => !document.body.innerText.includes('Another browser'));
  await one.context.close();
  await other.context.close();
});

test('a role is changed, a member removed, an account disabled', async () => {
  const jon = await makeMember(world, 'jon', 'viewer');
  const { page, context, faults } = await openSigned(world, '/settings/people');
  const role = async () => (await world.workspace.api('GET', `/api/workspaces/${world.workspace.id}/members`)).members.find((it) => it.user_id === jon.user_id)?.role;
  await page.getByLabel('Role of jon').selectOption('admin');
  await eventually(async () => (await role()) === 'admin', 'an admin');
  await page.getByRole('button', { name: 'Remove jon' }).click();
  await eventually(async () => (await role()) === undefined, 'no member');
  await page.getByRole('button', { name: 'Disable jon' }).click();
  await page.getByRole('button', { name: 'Enable jon' }).waitFor();
  await page.getByRole('button', { name: 'New password for jon' }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test('a workspace is made, renamed, chosen, archived and restored', async () => {
  const { page, context, faults } = await openSigned(world, '/settings/workspaces');
  await page.getByLabel('Name of the new workspace').fill('Second');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('button', { name: 'Rename Second' }).click();
  await page.getByLabel('New name').fill('Other notes');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('button', { name: 'Show Other notes' }).click();
  await page.goto(`${world.proxy.origin}/notes`);
  await page.getByText('There are no notes yet').waitFor();
  assert.equal(await page.locator('.side').getByLabel('Workspace').locator('option:checked').innerText(), 'Other notes');
  await page.goto(`${world.proxy.origin}/settings/workspaces`);
  await page.getByRole('button', { name: 'Archive Other notes' }).click();
  await page.getByRole('button', { name: 'Restore Other notes' }).waitFor();
  await page.goto(`${world.proxy.origin}/notes`);
  await page.getByText('There are no notes yet').waitFor();
  assert.equal(await page.getByRole('button', { name: 'New note' }).count(), 0, 'an archived one is read only');
  assert.deepEqual(faults, []);
  await context.close();
});

test('what the server was told, with where it comes from; secrets only as set or not', async () => {
  const { page, context } = await openPage(world, '/settings/config');
  await page.route('**/api/settings', (route) => route.fulfill({ json: { settings: [{ key: 'server.bind_addr', value: '127.0.0.1:8130', source: 'file', from: '/srv/data/config.json', is_secret: false }, { key: 'OPENAI_API_KEY', value: null, source: 'environment', from: 'OPENAI_API_KEY', is_secret: true, is_set: true }] } }));
  await signIn(page);
  await page.getByText('/srv/data/config.json').waitFor();
  await page.getByText('set, not shown').waitFor();
  await page.getByLabel('Search settings').fill('bind');
  await until(page, () => document.querySelectorAll('tbody tr').length === 1);
  await context.close();
});

test('a new password ends every session, and is the one that works', async () => {
  const { page, context } = await openSigned(world, '/settings/account');
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password', { exact: true }).fill('another long password');
  await page.getByLabel('The new password again').fill('another long password');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByText('The password is as before.').waitFor();
  assert.equal(await page.getByRole('heading', { name: 'This session has ended' }).count(), 0, 'a wrong password does not end the session');
  await page.getByLabel('Current password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByRole('heading', { name: /The password is set|This session has ended/ }).first().waitFor();
  await page.goto(`${world.proxy.origin}/notes`);
  await signIn(page, { name: OWNER.name, password: 'another long password' });
  await page.locator('.shell').waitFor();
  await context.close();
});
