// Signing in to a workspace: the first account, names and passwords, invitations, sessions that end, marks that are old.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, isWithin, makeMember, openPage, openSigned, OWNER, saved, signIn, startWorld, textOf, until } from './browser.mjs';

let world;
before(async () => (world = await startWorld({ isSetUp: false })));
after(() => world.end());

test('the owner sets the server up with the token, and is signed in', async () => {
  const { page, context, faults } = await openPage(world, '/');
  await page.getByRole('heading', { name: 'Set up this server' }).waitFor();
  await page.getByLabel('Owner’s token').fill('wrong');
  await page.getByLabel('Name').fill(OWNER.name);
  await page.getByLabel('New password').fill(OWNER.password);
  await page.getByLabel('The same password again').fill('another');
  await page.getByRole('button', { name: 'Create the owner’s account' }).click();
  await page.getByText('The two passwords are not the same.').waitFor();
  await page.getByLabel('The same password again').fill(OWNER.password);
  await page.getByRole('button', { name: 'Create the owner’s account' }).click();
  await page.locator('.failed').waitFor();
  await page.getByLabel('Owner’s token').fill(world.workspace.token);
  await page.getByRole('button', { name: 'Create the owner’s account' }).click();
  await page.locator('.shell').waitFor();
  assert.ok(await page.locator('.side').getByRole('link', { name: 'Notes' }).isVisible());
  await page.locator('.side').getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'People' }).click();
  await page.getByText('owner of the server').waitFor();
  await page.getByRole('link', { name: 'General' }).click();
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await page.getByRole('heading', { name: 'Sign in to bonded' }).waitFor();
  assert.equal(await page.getByText('Set up').count(), 0, 'it is set up once');
  assert.deepEqual(faults, []);
  await context.close();
});

test('a wrong password is refused, and the right one leads to the page that was asked for', async () => {
  const { page, context } = await openPage(world, '/rules');
  await signIn(page, { name: OWNER.name, password: 'wrong' });
  await page.getByText('That did not work.').waitFor();
  await signIn(page);
  await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
  await page.goto(`${world.proxy.origin}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await page.getByRole('heading', { name: 'Sign in to bonded' }).waitFor();
  await context.close();
});

test('the owner invites three roles, and each signs in and may do what the role may', async () => {
  const owner = await openSigned(world, '/settings/people');
  for (const role of ['viewer', 'editor', 'admin']) {
    await owner.page.getByLabel('Name of the new account').fill(`the ${role}`);
    await owner.page.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = await owner.page.getByLabel('Copy this').inputValue();
    await owner.page.getByRole('button', { name: 'Done' }).click();
    const form = owner.page.getByRole('form', { name: 'Add a member' });
    await form.getByLabel('Name').fill(`the ${role}`);
    await form.getByLabel('Role').selectOption(role);
    await form.getByRole('button', { name: 'Add' }).click();
    await owner.page.getByLabel(`Role of the ${role}`).waitFor();
    const guest = await openPage(world, new URL(link).pathname + new URL(link).hash);
    await guest.page.getByRole('heading', { name: 'You are invited' }).waitFor();
    await guest.page.getByLabel('New password').fill(`secret of the ${role}`);
    await guest.page.getByLabel('The same password again').fill(`secret of the ${role}`);
    await guest.page.getByRole('button', { name: 'Set the password and sign in' }).click();
    await guest.page.locator('.shell').waitFor();
    assert.equal(new URL(guest.page.url()).hash, '', 'the invitation has left the address');
    await guest.page.goto(`${world.proxy.origin}/notes`);
    await guest.page.getByText('There are no notes yet').waitFor();
    assert.equal(await guest.page.getByRole('button', { name: 'New note' }).count() > 0, role !== 'viewer', role);
    await guest.page.goto(`${world.proxy.origin}/rules`);
    await guest.page.getByText('There are no rules yet').waitFor();
    assert.equal(await guest.page.getByRole('link', { name: 'New rule' }).count() > 0, role === 'admin', role);
    assert.deepEqual(guest.faults, []);
    await guest.context.close();
  }
  assert.deepEqual(owner.faults, []);
  await owner.context.close();
});

test('a session that ends in the middle of an edit: sign in over the page, and nothing is lost', async () => {
  const note = await world.makeNote('Edited to the end', 'begun\n');
  const { page, context, faults } = await openSigned(world, `/notes/${note.note_id}`);
  await page.locator('.ed-field').waitFor();
  await saved(page);
  // The session ends on the server, as when it expires; the socket is told at once.
  const sessions = await world.workspace.api('GET', `/api/users/${(await world.workspace.api('GET', '/api/auth/session')).user_id}/sessions`);
  await page.locator('.ed-field').focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('first half, ');
  for (const it of sessions.sessions) await world.workspace.api('DELETE', `/api/users/${(await world.workspace.api('GET', '/api/auth/session')).user_id}/sessions/${it.session_id}`);
  await page.getByRole('heading', { name: 'This session has ended' }).waitFor();
  assert.match(await textOf(page), /first half, $/, 'the text stays on the page');
  assert.doesNotMatch(await page.locator('.save').innerText(), /^Saved/);
  await page.getByLabel('Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await until(page, () => !document.querySelector('dialog[open]'));
  await saved(page);
  await page.locator('.ed-field').focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('second half');
  await eventually(async () => (await world.readNote(note.note_id)).markdown === 'begun\nfirst half, second half', 'both halves are saved');
  assert.deepEqual(faults, []);
  await context.close();
});

test('a second sign-in in another tab makes the mark of this tab old: the change is made nevertheless', async () => {
  const note = await world.makeNote('Two tabs', '');
  const { page, context } = await openSigned(world, `/notes/${note.note_id}`);
  await page.locator('.ed-field').waitFor();
  const other = await context.newPage();
  await other.goto(`${world.proxy.origin}/settings`);
  await other.evaluate(async (owner) => {
    const { csrf_token } = await (await fetch('/api/auth/session')).json();
    await fetch('/api/auth/login', { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': csrf_token }, body: JSON.stringify({ username: owner.name, password: owner.password }) });
  }, OWNER);
  await page.locator('.ed-field').fill('from the first tab');
  await eventually(async () => (await world.readNote(note.note_id)).markdown === 'from the first tab', 'it is saved');
  await context.close();
});

test('a narrow screen has tabs, and a menu at the top right that opens and closes the navigation', async () => {
  for (const width of [390, 320]) {
    const { page, context, faults } = await openSigned(world, '/notes', { width, height: 720 });
    assert.ok(await page.locator('.tabs').getByRole('link', { name: 'Notes' }).isVisible());
    assert.ok(!(await page.locator('.side').isVisible()));
    const menu = page.getByRole('button', { name: 'Menu' });
    const box = await menu.boundingBox();
    assert.ok(box.x + box.width > width - 20 && box.y < 20, 'at the top right');
    await menu.click();
    assert.ok(await page.locator('.top-list').getByRole('link', { name: 'Settings' }).isVisible());
    await menu.click();
    await page.locator('.top-list').waitFor({ state: 'detached' });
    await menu.press('Enter');
    await page.keyboard.press('Escape');
    await page.locator('.top-list').waitFor({ state: 'detached' });
    await menu.click();
    await page.locator('.top-list').getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
    await page.locator('.top-list').waitFor({ state: 'detached' });
    for (const at of ['/notes', '/rules', '/rules/new', '/queue', '/settings', '/settings/people', '/settings/tokens']) {
      await page.goto(world.proxy.origin + at);
      await page.locator('.shell h1').first().waitFor({ state: 'attached' });
      assert.ok(await isWithin(page), `${at} at ${width} px`);
    }
    assert.deepEqual(faults, []);
    await context.close();
  }
});

test('what the server lacks is left out', async () => {
  const { page, context } = await openPage(world, '/notes');
  await page.route('**/api/site', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), has: ['notes'] } }));
  await page.reload();
  await signIn(page);
  await page.locator('.side').getByRole('link', { name: 'Notes' }).waitFor();
  assert.equal(await page.locator('.side').getByRole('link', { name: 'Rules' }).count(), 0);
  await context.close();
});

test('a member who signs out leaves nothing of their drafts to another account', async () => {
  const jon = await makeMember(world, 'jon', 'editor');
  const note = await world.makeNote('Shared', 'base\n');
  const { page, context } = await openSigned(world, `/notes/${note.note_id}`, { as: jon });
  await page.locator('.ed-field').waitFor();
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await page.locator('.ed-field').fill('base\njon’s draft\n');
  await until(page, () => document.querySelector('.save')?.innerText.includes('Not saved'));
  world.proxy.how.isCut = false;
  await page.evaluate(() => fetch('/api/auth/session').then((it) => it.json()).then((it) => fetch('/api/auth/logout', { method: 'POST', headers: { 'x-csrf-token': it.csrf_token } })));
  await page.goto(`${world.proxy.origin}/notes/${note.note_id}`);
  await signIn(page);
  await page.locator('.ed-field').waitFor();
  assert.doesNotMatch(await textOf(page), /draft/);
  await context.close();
});
