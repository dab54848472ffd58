// The list of runs: filters, search, groups, keys, selection, what is new, paging.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { close, open, textOf, until } from './open.mjs';
import { row, usualWorld } from './made.mjs';

after(close);

const at = async (address, world = usualWorld(), more = {}) => {
  const it = await open(address, { world, ...more });
  await it.page.waitForSelector('.r .goal, .empty, .failed');
  return { ...it, world };
};
const goals = (page) => page.locator('.r .goal').allInnerTexts();

test('the list is grouped: what needs you, what runs, then days', async () => {
  const { page, context, faults } = await at('/runs');
  assert.deepEqual((await page.locator('.gh').allInnerTexts()).slice(0, 3), ['Needs you', 'Running', 'Today']);
  assert.match(await textOf(page, '.list .r'), /Waiting, \d+ min/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a chip filters by state, the address says so, and Clear takes it back', async () => {
  const { page, context } = await at('/runs');
  await page.getByRole('button', { name: /Hit a limit/ }).click();
  await until(page, () => document.querySelectorAll('.r .goal').length === 1);
  assert.match(page.url(), /state=limit/);
  assert.match(await textOf(page, '.filters .chip:last-child'), /Cancelled\s*0/);
  await page.getByRole('button', { name: /^Cancelled/ }).click();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await until(page, () => document.querySelectorAll('.r .goal').length === 5);
  await context.close();
});

test('agent, day and untrusted data narrow the list, and are in the address', async () => {
  const world = usualWorld();
  world.add('old00001', [], { goal: 'Last year', agent: 'coder.ai', startedAt: Date.now() - 400 * 86_400_000 });
  world.add('code0001', [], { goal: 'Of the coder', agent: 'coder.ai' });
  const { page, context } = await at('/runs', world);
  await page.getByLabel('Agent').selectOption('coder.ai');
  await until(page, () => document.querySelectorAll('.r .goal').length === 2);
  await page.getByLabel('Started').selectOption('Last 7 days');
  await until(page, () => document.querySelectorAll('.r .goal').length === 1);
  assert.match(page.url(), /agent=coder\.ai&since=7d/);
  await page.reload();
  await page.waitForSelector('.r .goal');
  assert.deepEqual(await goals(page), ['Of the coder']);
  await page.keyboard.press('u');
  await page.waitForSelector('.empty');
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await page.keyboard.press('u');
  await page.waitForURL(/untrusted=1/);
  await until(page, () => document.querySelectorAll('.r .goal').length === 2);
  await context.close();
});

test('search is in the address and survives a reload', async () => {
  const { page, context } = await at('/runs');
  await page.keyboard.press('/');
  await page.keyboard.type('callers');
  await page.waitForURL(/q=callers/);
  await until(page, () => document.querySelectorAll('.r .goal').length === 1);
  await page.reload();
  await page.waitForSelector('.r .goal');
  assert.deepEqual(await goals(page), ['Find callers']);
  assert.equal(await page.getByRole('searchbox').inputValue(), 'callers');
  await context.close();
});

test('letters are letters while somebody types', async () => {
  const { page, context } = await at('/runs');
  await page.keyboard.press('/');
  await page.keyboard.type('?jk');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  assert.equal(await page.getByRole('searchbox').inputValue(), '?jk');
  await context.close();
});

test('by keys alone: move, select two, compare', async () => {
  const { page, context } = await at('/runs');
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  await page.getByRole('toolbar', { name: 'Selected runs' }).waitFor();
  await page.keyboard.press('c');
  await page.waitForURL(/\/vs\//);
  await context.close();
});

test('Enter opens the run that has the focus, however fast the keys come', async () => {
  const { page, context } = await at('/runs');
  // In one moment, with no frame between them: the third goes back to the first.
  await page.evaluate(() => {
    for (const key of ['j', 'j', 'j', 'k', 'k']) (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  });
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/runs\/wait0001$/);
  await context.close();
});

test('a page that was just opened takes the keys, and the one before no longer', async () => {
  const { page, context } = await at('/runs');
  await page.locator('.side').getByRole('link', { name: 'Settings' }).click();
  await page.locator('.side').getByRole('link', { name: 'Runs' }).click();
  await page.keyboard.type('/jk?');
  assert.equal(await page.getByRole('searchbox').inputValue(), 'jk?');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  await page.clock.install();
  await page.evaluate(() => {
    document.querySelector('input[type=search]').dispatchEvent(new Event('input', { bubbles: true }));
    document.querySelector('.side a[href="/settings"]').click();
  });
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  // Longer than a search waits for the last letter: it must not follow to another page.
  await page.clock.runFor(1000);
  assert.equal(new URL(page.url()).search, '');
  await context.close();
});

test('a question takes the keys from the moment it is asked', async () => {
  const { page, context } = await at('/runs');
  await page.keyboard.type('?gi');
  assert.match(page.url(), /\/runs$/, 'the page behind it hears nothing');
  await page.keyboard.press('Escape');
  await page.keyboard.type('gi');
  await page.waitForURL(/\/inbox/);
  await context.close();
});

test('a third selection takes the place of the first', async () => {
  const { page, context } = await at('/runs');
  for (const n of [0, 1, 2]) await page.locator('.r input').nth(n).check();
  assert.equal(await page.locator('.r input:checked').count(), 2);
  assert.equal(await page.locator('.r input').nth(0).isChecked(), false);
  await context.close();
});

test('new runs wait until they are asked for; rows change in place', async () => {
  const world = usualWorld();
  world.stream = `${JSON.stringify({ kind: 'beat', now: Date.now() })}\n${JSON.stringify({ kind: 'runs', version: 2 })}\n`;
  const { page, context } = await at('/runs', world);
  world.add('new00001', [], { goal: 'Began just now', startedAt: Date.now(), status: 'running', termination: undefined });
  world.runs.get('done0001').row.goal = 'Fix the importer, renamed';
  await page.locator('.fresh').waitFor();
  assert.match(await textOf(page, '.fresh'), /1 new run/);
  const shown = await goals(page);
  assert.ok(shown.includes('Fix the importer, renamed') && !shown.includes('Began just now'));
  await page.keyboard.press('.');
  await until(page, () => document.body.innerText.includes('Began just now'));
  await context.close();
});

test('thousands of runs are read as they come near, and few of them are drawn', async () => {
  const world = usualWorld();
  for (let n = 0; n < 3000; n += 1) world.runs.set(`old${n}`, { row: row(`old${n}`, { startedAt: Date.now() - 90_000_000 - n * 60_000 }), entries: [], extra: {} });
  const { page, context } = await at('/runs', world);
  await until(page, () => {
    scrollTo(0, document.body.scrollHeight);
    return document.querySelector('.list').clientHeight > 30_000;
  });
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await context.close();
});

test('a run whose log cannot be read is listed all the same', async () => {
  const world = usualWorld();
  world.add('damaged1', [], { status: 'damaged', goal: '', model: null, startedAt: 0, updatedAt: 0, turns: 0, tokens: null, costUsd: null, termination: undefined, activity: 'the log is damaged' });
  const { page, context, faults } = await at('/runs', world);
  assert.match(await page.locator('.r', { hasText: 'damaged1' }).innerText(), /Log damaged[\s\S]*the log is damaged[\s\S]*–/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('an empty store says how to begin', async () => {
  const world = usualWorld();
  world.runs.clear();
  const { page, context } = await at('/runs', world);
  assert.match(await textOf(page, '.empty'), /No runs yet[\s\S]*bonded run/);
  await context.close();
});

test('keys are listed under ?, and Esc closes the list and gives the focus back', async () => {
  const { page, context } = await at('/runs');
  await page.locator('.r .goal').first().focus();
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  await dialog.waitFor();
  assert.match(await dialog.innerText(), /Next run[\s\S]*Compare the two/);
  await page.keyboard.press('Escape');
  assert.ok(await page.evaluate(() => document.activeElement?.hasAttribute('data-run')));
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.waitForURL(/\/inbox/);
  await context.close();
});
