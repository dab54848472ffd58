// Notes against the real server: writing, saving, links, history, keys, search, others' changes, choices.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, isWithin, makeMember, openSigned, saved, startWorld, textOf, until } from './browser.mjs';

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

const field = (page) => page.locator('.ed-field');

async function openNote(note, how) {
  const opened = await openSigned(world, `/notes/${note.note_id}`, how);
  await field(opened.page).waitFor();
  return opened;
}

async function typeAtEnd(page, text) {
  await field(page).focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(text);
}

test('what is written is saved 600 ms after the last letter, and called saved only after the commit', async () => {
  const note = await world.makeNote('Autosave', '');
  const { page, context, faults } = await openNote(note);
  await saved(page);
  const sent = [];
  let answer;
  await page.route('**/api/notes/*', async (route) => {
    if (route.request().method() !== 'PATCH') return route.fallback();
    sent.push(Date.now());
    await new Promise((done) => (answer = done));
    return route.fallback();
  });
  await typeAtEnd(page, 'hello');
  const last = Date.now();
  await eventually(() => sent.length > 0, 'it is sent');
  assert.ok(sent[0] - last > 450 && sent[0] - last < 2000, `${sent[0] - last} ms after the last letter`);
  assert.match(await page.locator('.save').innerText(), /Saving/, 'not saved before the answer');
  assert.equal((await world.readNote(note.note_id)).markdown, '');
  answer();
  await saved(page);
  assert.equal((await world.readNote(note.note_id)).markdown, 'hello');
  assert.equal(sent.length, 1, 'once');
  assert.deepEqual(faults, []);
  await context.close();
});

test('a new note is selected at once, and its title is ready to be written over', async () => {
  await world.makeNote('Before it', '');
  const { page, context, faults } = await openSigned(world, '/notes');
  await page.locator('.nl-row').first().waitFor();
  await page.keyboard.press('n');
  await page.keyboard.type('Made by a key');
  await page.keyboard.press('Enter');
  await page.keyboard.type('its text');
  await saved(page);
  const id = new URL(page.url()).pathname.split('/')[2];
  const note = await eventually(async () => { const it = await world.readNote(id); return it.markdown === 'its text' && it; }, 'it is saved');
  assert.equal(note.title, 'Made by a key');
  assert.equal(await page.locator('.nl-row[aria-current]').innerText().then((it) => it.split('\n')[0]), 'Made by a key');
  assert.deepEqual(faults, []);
  await context.close();
});

test('what is typed right after n is the new note’s, however long the server takes, and none of it is a key of the page', async () => {
  await world.makeNote('Before them', '');
  const { page, context, faults } = await openSigned(world, '/notes');
  await page.locator('.nl-row').first().waitFor();
  const asked = [];
  let answer;
  await page.route('**/api/notes', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    asked.push(route.request().headers()['idempotency-key']);
    if (asked.length === 1) return route.abort();
    await new Promise((done) => (answer = done));
    return route.fallback();
  });
  await page.keyboard.type('njk/ of notes?');
  await page.getByText('The note was not made.').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.type('# first');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.ed-field').focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' line');
  await eventually(() => answer, 'it is sent again');
  assert.equal(asked[0], asked[1], 'with its key: one note');
  answer();
  await page.waitForURL(/\/notes\/[0-9a-f-]{36}/);
  await page.keyboard.type(', the end');
  await saved(page);
  assert.equal(await page.getByLabel('Title').inputValue(), 'jk/ of notes?');
  assert.equal(await textOf(page), '# first line, the end');
  assert.equal(await page.locator('.nl-row', { hasText: 'jk/ of notes?' }).count(), 1);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a search and Enter at once open the first that is found, not the first that was shown', async () => {
  const note = await world.makeNote('Quince marmalade', 'sour');
  await world.makeNote('The newest of all', 'x');
  const { page, context, faults } = await openSigned(world, '/notes');
  await page.locator('.nl-row').first().waitFor();
  await page.keyboard.type('/quince');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === `/notes/${note.note_id}`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('lists continue, tasks are ticked, words become bold, and Ctrl S saves', async () => {
  const note = await world.makeNote('Keys', '');
  const { page, context } = await openNote(note);
  await typeAtEnd(page, '- [ ] one\ntwo\n\n1. first\nsecond');
  assert.equal(await textOf(page), '- [ ] one\n- [ ] two\n1. first\n2. second');
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('Control+Enter');
  assert.match(await textOf(page), /^- \[x\] one\n/);
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Tab');
  assert.match(await textOf(page), /\n {2}2\. second$/);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Control+Shift+ArrowLeft');
  await page.keyboard.press('Control+b');
  assert.match(await textOf(page), /2\. \*\*second\*\*$/);
  await page.keyboard.press('Control+s');
  await saved(page);
  await page.keyboard.press('Control+z');
  assert.match(await textOf(page), /2\. second/, 'what a key put in can be undone');
  await context.close();
});

test('[[ suggests titles; links open notes, and make those that are missing', async () => {
  await world.makeNote('Release process', 'x');
  const note = await world.makeNote('With links', '');
  const { page, context, faults } = await openNote(note);
  await page.locator('.nl-row').first().waitFor();
  await typeAtEnd(page, 'see [[rele');
  await page.keyboard.press('Enter');
  assert.equal(await textOf(page), 'see [[Release process]]');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Alt+Enter');
  await until(page, () => document.querySelector('.title-field')?.value === 'Release process');
  await page.locator('.about').getByRole('link', { name: 'With links' }).click();
  await until(page, () => document.querySelector('.title-field')?.value === 'With links');
  await typeAtEnd(page, ' and [[Not there yet]]');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('link', { name: 'Not there yet' }).click();
  await until(page, () => document.querySelector('.title-field')?.value === 'Not there yet');
  await eventually(async () => (await world.readNote(note.note_id)).markdown === 'see [[Release process]] and [[Not there yet]]', 'what was written before leaving is saved');
  assert.deepEqual(faults, []);
  await context.close();
});

test('the preview obeys nothing: no HTML, no images, no scripts', async () => {
  const note = await world.makeNote('Hostile', '<img src=x onerror=alert(1)>\n<script>alert(2)</script>\n\n![pixel](http://evil.example/p.png) [text](javascript:alert(3)) [ok](https://good.example/a)\n\n- [ ] task\n\n\u202eevil\u202c');
  const { page, context, faults } = await openNote(note);
  await page.getByText('in this text cannot be seen').waitFor();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('.md').waitFor();
  assert.equal(await page.locator('.md img, .md script, .md iframe').count(), 0);
  assert.deepEqual(await page.locator('.md a').evaluateAll((all) => all.map((it) => [it.getAttribute('href'), it.rel])), [['https://good.example/a', 'noopener noreferrer nofollow']]);
  assert.ok((await page.locator('.md .cc').count()) >= 2, 'what would steer is written out');
  await page.locator('.md input[type=checkbox]').click();
  await eventually(async () => /- \[x\] task/.test((await world.readNote(note.note_id)).markdown), 'ticked in the source');
  assert.deepEqual(faults, []);
  await context.close();
});

test('hostile titles, keywords, folders and names of rules stay text', async () => {
  const nasty = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202egpj.exe';
  const note = await world.makeNote(nasty, `[[${nasty}]]`, { keywords: ['<img src=x onerror=alert(3)>'], metadata: { folder: '<svg onload=alert(4)>' } });
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: nasty });
  const rule = await world.workspace.api('POST', '/api/automation/rules', { workspace_id: world.workspace.id, name: '<img src=x onerror=alert(5)>', trigger: 'manual', condition_json: {}, action_json: { kind: 'notify', title: '<script>alert(6)</script>' } });
  const { page, context, faults } = await openSigned(world, '/notes');
  for (const [address, sign] of [['/notes', '.nl-row'], [`/notes/${note.note_id}`, '.ed-field'], [`/notes/${note.note_id}/history`, '.diff'], ['/rules', '.rl'], [`/rules/${rule.rule_id}`, '.form']]) {
    await page.goto(world.proxy.origin + address);
    await page.locator(sign).first().waitFor();
    await until(page, () => document.body.innerText.includes('onerror=alert'));
    const found = await page.evaluate(() => ({ made: document.querySelectorAll('#app img, #app script, #app svg[onload]').length, raw: document.body.innerText.includes('\u202e'), handlers: [...document.querySelectorAll('*')].filter((it) => it.getAttributeNames().some((name) => name.startsWith('on'))).length }));
    assert.deepEqual(found, { made: 0, raw: false, handlers: 0 }, address);
  }
  assert.deepEqual(faults, []);
  await world.workspace.api('DELETE', `/api/notes/${note.note_id}?base_version=2`);
  await world.workspace.api('DELETE', `/api/automation/rules/${rule.rule_id}`);
  await context.close();
});

test('search as one types, keywords, and what fits nothing', async () => {
  await world.makeNote('Alpha zebra', 'the quick brown fox', { keywords: ['animals'] });
  await world.makeNote('Beta', 'a zebra in the text', { keywords: ['animals', 'text'] });
  const { page, context, faults } = await openSigned(world, '/notes');
  await page.locator('.nl-row').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('zeb');
  await until(page, () => document.querySelectorAll('.nl-row').length === 2);
  await page.keyboard.type('ra fox');
  await until(page, () => document.querySelectorAll('.nl-row').length === 1);
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('.title-field')?.value === 'Alpha zebra');
  assert.match(page.url(), /q=zebra\+fox/, 'the search is in the address');
  await page.locator('#note-search').fill('nothing like this');
  await page.getByText('No note fits').waitFor();
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await page.getByRole('button', { name: /^text/ }).click();
  await until(page, () => document.querySelectorAll('.nl-row').length === 1);
  assert.deepEqual(faults, []);
  await context.close();
});

test('others’ changes are merged in place, the cursor stays, and the lines are tinted for a while', async () => {
  const jon = await makeMember(world, 'jon', 'editor');
  const note = await world.makeNote('Together', 'one\ntwo\nthree\n');
  const [ana, other] = [await openNote(note), await openNote(note, { as: jon })];
  await field(ana.page).evaluate((it) => { it.focus(); it.setSelectionRange(11, 11); });
  await field(other.page).evaluate((it) => { it.focus(); it.setSelectionRange(0, 0); });
  await other.page.keyboard.type('zero\n');
  await until(ana.page, () => document.querySelector('.ed-field').value === 'zero\none\ntwo\nthree\n');
  assert.equal(await field(ana.page).evaluate((it) => it.selectionStart), 16, 'still in “three”');
  assert.ok((await ana.page.locator('.s-tint').count()) > 0);
  await ana.page.keyboard.type('X');
  await until(other.page, () => document.querySelector('.ed-field').value.includes('thrXee'));
  await other.page.keyboard.type('also ');
  await until(ana.page, () => document.querySelector('.ed-field').value.includes('also '));
  await ana.page.keyboard.press('Control+z');
  assert.equal(await textOf(ana.page), 'zero\nalso one\ntwo\nthree\n', 'only one’s own is taken back');
  await ana.page.keyboard.press('Control+Shift+z');
  await ana.page.getByLabel('Title').focus();
  await ana.page.keyboard.press('End');
  await ana.page.keyboard.type(' and ');
  await other.page.keyboard.type('more ');
  await until(ana.page, () => document.querySelector('.ed-field').value.includes('also more '));
  await ana.page.keyboard.type('apart');
  assert.equal(await ana.page.getByLabel('Title').inputValue(), 'Together and apart', 'a title that is being written stays as it is');
  await saved(ana.page);
  await ana.page.locator('.about').getByText('jon').first().waitFor();
  await until(ana.page, () => document.querySelectorAll('.s-tint').length === 0);
  assert.deepEqual([...ana.faults, ...other.faults], []);
  await ana.context.close();
  await other.context.close();
});

/** Two people who changed the same line while one of them was away. */
async function conflicted(name) {
  const note = await world.makeNote(name, 'intro\n\nSign with the old key.\n\nend\n');
  const opened = await openNote(note);
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await field(opened.page).fill('intro\n\nSign with the 2026 key.\n\nend, mine\n');
  await until(opened.page, () => document.querySelector('.save')?.innerText.includes('Not saved, the server'));
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: 'intro, theirs\n\nSign with the new hardware key.\n\nend\n' });
  world.proxy.how.isCut = false;
  await opened.page.locator('.cf').waitFor();
  return { ...opened, note };
}

const RESULTS = { 'Keep mine': 'Sign with the 2026 key.', 'Take': 'Sign with the new hardware key.', 'Both, mine first': 'Sign with the 2026 key.\nSign with the new hardware key.', 'By hand': 'Sign with both keys.' };

for (const [button, line] of Object.entries(RESULTS)) {
  test(`a choice: ${button}`, async () => {
    const { page, context, note, faults } = await conflicted(`Choice ${button}`);
    const card = await page.locator('.cf').innerText();
    for (const text of ['2026', 'new hardware', 'Sign with the old key.']) assert.ok(card.includes(text), text);
    assert.match(await page.locator('.save').innerText(), /1 choice open/);
    assert.equal((await world.readNote(note.note_id)).version, 2, 'nothing was overwritten');
    await page.locator('.cf').getByRole('button', { name: new RegExp(`^${button}`) }).click();
    if (button === 'By hand') await page.getByLabel('Your own text for this place').fill('Sign with both keys.');
    await page.getByRole('button', { name: 'Use the result' }).click();
    await saved(page);
    assert.equal((await world.readNote(note.note_id)).markdown, `intro, theirs\n\n${line}\n\nend, mine\n`);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test('a choice survives loading the page again, and others’ further changes', async () => {
  const { page, context, note } = await conflicted('Choice kept');
  await page.keyboard.press('1');
  await until(page, () => document.querySelector('.cf [aria-pressed="true"]'));
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 2, markdown: 'intro, theirs again\n\nSign with the new hardware key.\n\nend\n' });
  await until(page, () => document.querySelector('.cf-view')?.innerText.includes('theirs again'));
  await page.reload();
  await until(page, () => document.querySelector('.cf [aria-pressed="true"]'));
  await page.getByRole('button', { name: 'Use the result' }).click();
  await saved(page);
  assert.equal((await world.readNote(note.note_id)).markdown, 'intro, theirs again\n\nSign with the 2026 key.\n\nend, mine\n');
  await context.close();
});

test('two titles are a choice too', async () => {
  const note = await world.makeNote('Title before', 'x');
  const { page, context } = await openNote(note);
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await page.getByLabel('Title').fill('Title of mine');
  await until(page, () => document.querySelector('.save')?.innerText.includes('Not saved, the server'));
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}/title`, { base_version: 1, title: 'Title of theirs' });
  world.proxy.how.isCut = false;
  await page.getByText('You both changed the title').waitFor();
  await page.locator('.cf').getByRole('button', { name: 'Keep mine' }).click();
  await page.getByRole('button', { name: 'Use the result' }).click();
  await saved(page);
  assert.equal((await world.readNote(note.note_id)).title, 'Title of mine');
  await context.close();
});

test('history: differences, and the way back', async () => {
  const note = await world.makeNote('Past', 'first\n');
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: 'first\nsecond\n' });
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 2, markdown: 'second\n', keywords: ['k'] });
  const { page, context, faults } = await openNote(note);
  await page.locator('.about').getByRole('link', { name: 'History' }).click();
  await page.locator('.diff tr.d').getByText('first').waitFor();
  await page.getByRole('link', { name: 'to now' }).last().click();
  await until(page, () => /history\/1\.\.3$/.test(location.pathname));
  await page.getByRole('button', { name: 'Go back to version 1' }).click();
  await saved(page);
  const now = await eventually(async () => { const it = await world.readNote(note.note_id); return it.version === 4 && it; }, 'a new version');
  assert.deepEqual([now.markdown, now.keywords], ['first\n', []]);
  assert.deepEqual(faults, []);
  await context.close();
});

test('keywords are added and removed; a note is deleted and restored', async () => {
  const note = await world.makeNote('Kept', 'x');
  const { page, context, faults } = await openNote(note);
  await page.getByLabel('Add a keyword').fill('red, blue');
  await page.keyboard.press('Enter');
  await eventually(async () => (await world.readNote(note.note_id)).keywords.join() === 'red,blue', 'added');
  await page.getByRole('button', { name: 'Remove the keyword red' }).click();
  await eventually(async () => (await world.readNote(note.note_id)).keywords.join() === 'blue', 'removed');
  await saved(page);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The note is deleted.').waitFor();
  assert.ok((await world.readNote(note.note_id)).deleted_at);
  await page.getByRole('button', { name: 'Undo' }).click();
  await field(page).waitFor();
  assert.equal((await world.readNote(note.note_id)).deleted_at, null);
  assert.deepEqual(faults, []);
  await context.close();
});

test('up to 1280 px the list is a menu that closes when a note is chosen; at 320 px nothing is cut off', async () => {
  const note = await world.makeNote('Compact', 'a line that is long enough to be wrapped on a small screen '.repeat(3));
  await world.makeNote('Another one', 'y');
  const { page, context } = await openNote(note, { width: 1280 });
  assert.equal(await page.locator('.nl-row').count(), 0);
  const menu = page.getByRole('button', { name: 'Notes' });
  await menu.click();
  await page.locator('.nl-row').getByText('Another one').click();
  await until(page, () => document.querySelector('.title-field')?.value === 'Another one');
  await page.locator('.nl-row').first().waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 1281, height: 800 });
  await page.locator('.nl-row').first().waitFor();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.getByRole('button', { name: 'Notes', exact: true }).first().click();
  await page.locator('.nl-row').getByText('Compact').click();
  await until(page, () => document.querySelector('.title-field')?.value === 'Compact');
  assert.ok(await isWithin(page));
  await typeAtEnd(page, 'typed on a phone');
  await saved(page);
  await context.close();
});

test('lines that end as on Windows stay so, and characters of two halves are counted as one', async () => {
  const note = await world.makeNote('Line ends', '😀 one\r\ntwo\r\n');
  const { page, context } = await openNote(note);
  await field(page).evaluate((it) => { it.focus(); it.setSelectionRange(3, 3); });
  await page.keyboard.type('🎉');
  await eventually(async () => (await world.readNote(note.note_id)).markdown === '😀 🎉one\r\ntwo\r\n', 'it is saved with its line ends');
  await context.close();
});
