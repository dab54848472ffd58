// The list with the server's own data: signing in, what it shows, and how it follows what happens.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { base, close, enter, link, open, store, textOf, until } from './open.mjs';
import { call, done, fill, interrupt } from './store.mjs';

after(close);

let session;
const at = (address, more = {}) => open(address, { storage: session.storage, ...more });
const goals = (page) => page.locator('.r .goal').allInnerTexts();

before(async () => {
  await fill(store);
  await interrupt(store, 'died');
  session = await enter();
});

test('without a session everything but the site is refused', async () => {
  assert.equal((await fetch(`${base}/api/site`)).status, 200);
  for (const path of ['/api/runs', '/api/inbox', '/api/stream']) assert.equal((await fetch(base + path)).status, 401, path);
});

test('the link works once, and a page without a session says how to get in', async () => {
  const { page, context } = await open(link);
  await page.getByRole('heading', { name: /Sign in|link/ }).first().waitFor();
  assert.equal(await page.locator('.r .goal').count(), 0);
  assert.ok(!page.url().includes('enter='));
  await context.close();
});

test('the list shows every run with its state, and is live', async () => {
  const { page, context, faults } = await at('/runs');
  await page.waitForSelector('.r .goal');
  const list = await page.locator('.list').innerText();
  for (const word of ['Done', 'Failed', 'Out of turns', 'Interrupted', 'Fix the importer', 'bad key', '$0.0020']) assert.ok(list.includes(word), `${word} in ${list}`);
  await until(page, () => document.querySelector('.foot').innerText.includes('Live'));
  assert.deepEqual(faults, []);
  await context.close();
});

test('chips and search ask the server', async () => {
  const { page, context } = await at('/runs');
  await page.waitForSelector('.r .goal');
  await page.getByRole('button', { name: /Hit a limit/ }).click();
  await until(page, () => document.querySelectorAll('.r .goal').length === 1);
  assert.deepEqual(await goals(page), ['Use all turns']);
  await page.getByRole('button', { name: /^All/ }).click();
  await page.keyboard.press('/');
  await page.keyboard.type('callers');
  await until(page, () => document.querySelectorAll('.r .goal').length === 1);
  assert.deepEqual(await goals(page), ['Find callers']);
  await context.close();
});

test('a run that begins waits behind a button, and its row changes while it runs', async () => {
  const { page, context } = await at('/runs');
  await until(page, () => document.querySelector('.foot').innerText.includes('Live'));
  const { child } = store.start(store.words('begins', [call('list', { path: '.' }), { ...done('never'), delay_ms: 600_000 }], { goal: 'Begins just now' }));
  await page.locator('.fresh').waitFor();
  assert.ok(!(await goals(page)).includes('Begins just now'));
  await page.keyboard.press('.');
  await until(page, () => document.querySelector('.list').innerText.includes('Begins just now'));
  assert.match(await page.locator('.r', { hasText: 'Begins just now' }).innerText(), /Turn 2/);
  child.kill('SIGKILL');
  // The server notices that nobody drives it; the row changes where it stands.
  await until(page, () => [...document.querySelectorAll('.r')].some((it) => it.innerText.includes('Begins just now') && it.innerText.includes('Interrupted')));
  await context.close();
});

test('two runs are selected and compared', async () => {
  const { page, context, faults } = await at('/runs');
  await page.waitForSelector('.r .goal');
  for (const key of ['j', 'x', 'j', 'x', 'c']) await page.keyboard.press(key);
  await page.waitForSelector('.tot');
  assert.match(page.url(), /\/vs\//);
  assert.deepEqual(faults, []);
  await context.close();
});
