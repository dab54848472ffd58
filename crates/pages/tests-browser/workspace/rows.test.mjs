// What people do with a workspace from end to end, by the names that docs/scenarios.md gives: on a desk and on a phone, each
// with a server of its own that is set up in the browser.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, isWithin, openPage, openSigned, OWNER, saved, startWorld, textOf, until } from './browser.mjs';

const SIZES = [{ width: 1280, height: 900 }, { width: 390, height: 844 }];

for (const size of SIZES) {
  let world;
  before(async () => (world = await startWorld({ isSetUp: false })));
  after(() => world.end());

  const isPhone = size.width === 390;
  const row = (id, what, act) => test(`${id} at ${size.width} px: ${what}`, async () => {
    const opened = [];
    const people = {
      /** A page of the owner, or of `as`. */
      at: async (address, how = {}) => {
        const it = await (how.isStranger ? openPage : openSigned)(world, address, { ...size, ...how });
        opened.push(it);
        return it.page;
      },
      write: async (note, how) => {
        const page = await people.at(`/notes/${note.note_id}`, how);
        await page.locator('.ed-field').waitFor();
        return page;
      },
    };
    await act(people);
    for (const { page, context, faults } of opened) {
      assert.ok(await isWithin(page), 'nothing is wider than the screen');
      assert.deepEqual(faults, []);
      await context.close();
    }
  });
  const typeAtEnd = async (page, text) => {
    await page.locator('.ed-field').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(text);
  };
  const cut = (is) => {
    world.proxy.how.isCut = is;
    if (is) world.proxy.cut();
  };
  const says = (page, text) => until(page, (it) => document.querySelector('.save')?.innerText.includes(it), text);

  row('E2E-01', 'the owner sets up and invites three roles, and each signs in', async ({ at }) => {
    const owner = await at('/', { isStranger: true });
    await owner.getByLabel('Owner’s token').fill(world.workspace.token);
    await owner.getByLabel('Name').fill(OWNER.name);
    await owner.getByLabel('New password').fill(OWNER.password);
    await owner.getByLabel('The same password again').fill(OWNER.password);
    await owner.getByRole('button', { name: 'Create the owner’s account' }).click();
    await owner.locator('.shell').waitFor();
    await owner.goto(`${world.proxy.origin}/settings/people`);
    for (const role of ['viewer', 'editor', 'admin']) {
      await owner.getByLabel('Name of the new account').fill(role);
      await owner.getByRole('button', { name: 'Invite', exact: true }).click();
      const link = new URL(await owner.getByLabel('Copy this').inputValue());
      await owner.getByRole('button', { name: 'Done' }).click();
      const form = owner.getByRole('form', { name: 'Add a member' });
      await form.getByLabel('Name').fill(role);
      await form.getByLabel('Role').selectOption(role);
      await form.getByRole('button', { name: 'Add' }).click();
      await owner.getByLabel(`Role of ${role}`).waitFor();
      const guest = await at(link.pathname + link.hash, { isStranger: true });
      await guest.getByLabel('New password').fill(`secret of ${role}`);
      await guest.getByLabel('The same password again').fill(`secret of ${role}`);
      await guest.getByRole('button', { name: 'Set the password and sign in' }).click();
      await guest.locator('.shell').waitFor();
      const again = await at('/notes', { as: { name: role, password: `secret of ${role}` } });
      await again.getByText('There are no notes yet').first().waitFor();
    }
  });

  row('E2E-02', 'two people edit one note, and the conflict is resolved', async ({ write }) => {
    const note = await world.makeNote('Two people', 'top\n\nthe same line\n');
    const [ana, editor] = [await write(note), await write(note, { as: { name: 'editor', password: 'secret of editor' } })];
    cut(true);
    await ana.locator('.ed-field').fill('top\n\nthe line of ana\n');
    await says(ana, 'Not saved, the server');
    await editor.locator('.ed-field').fill('top\n\nthe line of the editor\n');
    await says(editor, 'Not saved, the server');
    cut(false);
    await saved(await Promise.race([ana, editor].map((page) => until(page, () => document.querySelector('.save')?.innerText.includes('Saved')).then(() => page))));
    const page = await eventually(async () => { for (const it of [ana, editor]) if ((await it.locator('.cf').count()) > 0) return it; return null; }, 'one of them is asked');
    assert.ok(await isWithin(page));
    await page.locator('.cf').getByRole('button', { name: /^Both, mine first/ }).click();
    await page.getByRole('button', { name: 'Use the result' }).click();
    await saved(page);
    const { markdown } = await world.readNote(note.note_id);
    for (const part of ['the line of ana\n', 'the line of the editor\n']) assert.ok(markdown.includes(part), `${part} in ${markdown}`);
    await until(page === ana ? editor : ana, (text) => document.querySelector('.ed-field')?.value === text, markdown);
  });

  row('E2E-06', 'who stops typing is saved, and Saved is true', async ({ write }) => {
    const note = await world.makeNote('Autosave', '');
    const page = await write(note);
    await saved(page);
    await typeAtEnd(page, 'x');
    assert.doesNotMatch(await page.locator('.save').innerText(), /^Saved/, 'from the first letter on');
    // Long enough on its way that a page which says Saved before the answer is seen.
    world.proxy.how.holdMs = 400;
    await typeAtEnd(page, ' and more');
    await saved(page);
    world.proxy.how.holdMs = 0;
    assert.equal((await world.readNote(note.note_id)).markdown, 'x and more');
  });

  row('E2E-09', 'a rule fires, and its run and what it did can be seen', async ({ at }) => {
    const rule = await world.workspace.api('POST', '/api/automation/rules', { workspace_id: world.workspace.id, name: 'Mark it', trigger: 'workspace_event.note_created', condition_json: {}, action_json: { kind: 'add_keyword', keyword: 'marked' } });
    const page = await at(`/rules/${rule.rule_id}/runs`);
    await page.getByText('This rule has not run yet').waitFor();
    const note = await world.makeNote('To be marked', 'x');
    await page.locator('.rrun').getByText('done').first().waitFor();
    await page.locator('.rrun').first().click();
    await page.locator('.rrun-in').waitFor();
    await page.locator('.rrun-in').getByText('Result').click();
    assert.match(await page.locator('.rrun-in').innerText(), /"changed": true[\s\S]*"version": 2/);
    assert.deepEqual((await world.readNote(note.note_id)).keywords, ['marked']);
    await world.workspace.api('PATCH', `/api/automation/rules/${rule.rule_id}`, { base_version: rule.version, enabled: false });
  });

  row('E2E-10', 'a session ends in the middle of an edit: sign in again, and nothing is lost', async ({ write }) => {
    const note = await world.makeNote('To the end', 'begun\n');
    const page = await write(note);
    const { user_id } = await world.workspace.api('GET', '/api/auth/session');
    await typeAtEnd(page, 'first half, ');
    for (const it of (await world.workspace.api('GET', `/api/users/${user_id}/sessions`)).sessions) await world.workspace.api('DELETE', `/api/users/${user_id}/sessions/${it.session_id}`);
    await page.getByRole('heading', { name: 'This session has ended' }).waitFor();
    await page.getByLabel('Password').fill(OWNER.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The cursor is where it was: one writes on.
    await page.keyboard.type('second half');
    await saved(page);
    assert.equal((await world.readNote(note.note_id)).markdown, 'begun\nfirst half, second half');
  });

  row('E2E-12', isPhone ? 'the menu at the top right opens and closes the navigation' : 'the navigation is there without a menu', async ({ at }) => {
    const page = await at('/notes');
    const menu = page.getByRole('button', { name: 'Menu' });
    assert.equal(await menu.isVisible(), isPhone);
    assert.equal(await page.locator('.side').isVisible(), !isPhone);
    if (!isPhone) return;
    await menu.click();
    assert.ok(await page.locator('.top-list').getByRole('link', { name: 'Rules' }).isVisible());
    await menu.click();
    assert.equal(await page.locator('.top-list').count(), 0);
    await menu.click();
    await page.locator('.top-list').getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
    assert.equal(await page.locator('.top-list').count(), 0);
  });

  row('E2E-17', 'a draft survives a conflict, the connection and a restart', async ({ write }) => {
    const note = await world.makeNote('Draft', 'one\ntwo\n');
    const page = await write(note);
    cut(true);
    await world.workspace.kill();
    await page.locator('.ed-field').fill('one, mine\ntwo\n');
    await says(page, 'Not saved, the server');
    await world.workspace.start();
    await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: 'one, theirs\ntwo\n' });
    cut(false);
    await page.reload();
    await page.locator('.cf').waitFor();
    assert.match(await page.locator('.cf').innerText(), /mine[\s\S]*theirs/);
    await page.reload();
    await page.locator('.cf').getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Use the result' }).click();
    await saved(page);
    assert.equal((await world.readNote(note.note_id)).markdown, 'one, mine\ntwo\n');
  });

  if (isPhone) row('E2E-19', 'at 320 px everything can be used, and nothing scrolls sideways', async ({ at, write }) => {
    const note = await world.makeNote('Narrow', `${'a long line that is wrapped '.repeat(6)}\n\n| a | b |\n|---|---|\n| ${'wide '.repeat(30)} | 2 |\n\n${'unbroken'.repeat(30)}\n`);
    const page = await write(note, { width: 320, height: 640 });
    assert.ok(await isWithin(page));
    await typeAtEnd(page, 'typed at 320 px');
    await saved(page);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('.md').waitFor();
    assert.ok(await isWithin(page), 'the preview');
    await page.getByRole('button', { name: 'Source' }).click();
    const other = await at('/runs', { width: 320, height: 640 });
    for (const address of ['/runs', '/inbox', '/notes', '/rules', '/rules/new', '/queue', '/queue/issues', '/settings', '/settings/people', '/settings/tokens', '/settings/sessions', '/settings/config', `/notes/${note.note_id}/history`]) {
      await other.evaluate((to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }, address);
      await other.locator('.main h1').first().waitFor({ state: 'attached' });
      await until(other, () => !document.querySelector('.sk'));
      assert.ok(await isWithin(other), address);
    }
  });

  row('E2E-23', 'a new note is selected at once', async ({ at }) => {
    const page = await at('/notes');
    await page.getByRole('button', { name: 'New note' }).first().click();
    await page.keyboard.type('Named at once');
    await page.keyboard.press('Enter');
    await page.keyboard.type('and written');
    await page.waitForURL(/\/notes\/[0-9a-f-]{36}/);
    await saved(page);
    const { title, markdown } = await world.readNote(new URL(page.url()).pathname.split('/')[2]);
    assert.deepEqual([title, markdown], ['Named at once', 'and written']);
  });

  row('E2E-24', 'links, lists and tasks are written as elsewhere', async ({ write }) => {
    const target = await world.makeNote(`Target of ${size.width}`, 'x');
    const note = await world.makeNote('Linked', '');
    const page = await write(note);
    await typeAtEnd(page, `- [ ] see [[target of ${size.width}`);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.keyboard.type('next');
    await page.keyboard.press('Control+Enter');
    assert.equal(await textOf(page), `- [ ] see [[Target of ${size.width}]]\n- [x] next`);
    await saved(page);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('.md').getByRole('link', { name: `Target of ${size.width}` }).click();
    await page.waitForURL((url) => url.pathname === `/notes/${target.note_id}`);
    await page.locator('.about').getByRole('link', { name: 'Linked' }).waitFor();
    await page.getByRole('button', { name: 'Source' }).click();
  });

  row('E2E-25', 'the list is a menu that closes when a note is chosen', async ({ write }) => {
    await world.makeNote('The other one', 'y');
    const page = await write(await world.makeNote('Compact', 'x'));
    assert.equal(await page.locator('.nl-row').count(), 0);
    await page.getByRole('button', { name: 'Notes', exact: true }).first().click();
    await page.locator('.nl-row').getByText('The other one').click();
    await until(page, () => document.querySelector('.title-field')?.value === 'The other one');
    assert.equal(await page.locator('.nl-row').count(), 0);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('compact');
    await page.keyboard.press('Enter');
    await until(page, () => document.querySelector('.title-field')?.value === 'Compact');
    assert.equal(await page.locator('.nl-row').count(), 0);
  });
}
