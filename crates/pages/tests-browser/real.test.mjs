// The whole way, with nothing made up: the server that BONDED_UI names, its session, its runs. What its store lacks is
// skipped and named. Calls that wait are decided and one run is forked, so point it at a store that may change.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { base, close, link, open, textOf, until } from './open.mjs';

after(close);

let storage;
let token;
let runs = [];
const api = async (path) => (await fetch(base + path, { headers: { Authorization: `Bearer ${token}` } })).json();
const at = async (address) => open(address, { storage });
const someRun = (t, holds, what) => {
  const found = runs.find(holds);
  if (!found) t.skip(`the store has no ${what}`);
  return found;
};

before(async () => {
  const { page, context } = await open(link);
  await page.waitForSelector('.r .goal, .empty', { timeout: 10_000 });
  assert.equal(page.url(), `${base}/runs`);
  storage = await context.storageState();
  token = await page.evaluate(() => localStorage.getItem('bonded.token'));
  await context.close();
  ({ runs } = await api('/api/runs?limit=200'));
});

test('without a session everything but the site is refused', async () => {
  assert.equal((await fetch(`${base}/api/site`)).status, 200);
  for (const path of ['/api/runs', '/api/inbox', '/api/stream']) assert.equal((await fetch(base + path)).status, 401, path);
});

test('the link works once', async () => {
  const secret = new URL(link).hash.replace('#enter=', '');
  const again = await fetch(`${base}/api/session`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ link: secret }) });
  assert.ok(again.status >= 400, `${again.status}`);
  assert.ok((await again.json()).error.code);
});

test('the list shows the runs and is live', async (t) => {
  if (runs.length === 0) return t.skip('the store is empty');
  const { page, context, faults } = await at('/runs');
  await page.waitForSelector('.r .goal');
  await until(page, () => document.querySelector('.foot').innerText.includes('Live'), undefined, 15_000);
  assert.deepEqual(faults, []);
  return context.close();
});

test('a run shows its turns, what the model saw, and its log', async (t) => {
  const run = someRun(t, (it) => it.turns >= 2 && it.status !== 'damaged', 'run of two turns');
  if (!run) return undefined;
  const { page, context, faults } = await at(`/runs/${encodeURIComponent(run.runId)}/t/2`);
  await page.waitForSelector('.outline-box .th');
  assert.match(await textOf(page, '.det h2'), /Turn 2/);
  await page.getByRole('tab', { name: 'What the model saw' }).click();
  await page.waitForSelector('.msg.new');
  await page.getByRole('tab', { name: /Entries/ }).click();
  await page.waitForSelector('.entries .lr');
  await page.keyboard.press('4');
  await page.waitForSelector('.out .lr');
  assert.deepEqual(faults, []);
  return context.close();
});

test('verify and replay answer', async (t) => {
  const run = someRun(t, (it) => it.status === 'succeeded', 'run that succeeded');
  if (!run) return undefined;
  const { page, context } = await at(`/runs/${encodeURIComponent(run.runId)}`);
  await page.waitForSelector('.det h2');
  await page.keyboard.press('V');
  await page.waitForSelector('dialog .note.ok', { timeout: 20_000 });
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('P');
  await page.waitForSelector('dialog .note', { timeout: 20_000 });
  return context.close();
});

test('a fork is made and opened', async (t) => {
  const run = someRun(t, (it) => it.status === 'succeeded' && it.turns >= 2, 'run of two turns that succeeded');
  if (!run) return undefined;
  const { page, context } = await at(`/runs/${encodeURIComponent(run.runId)}/t/2`);
  await page.waitForSelector('.outline-box .th');
  await page.keyboard.press('F');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.includes(encodeURIComponent(run.runId)), { timeout: 15_000 });
  await page.waitForSelector('.head .st');
  assert.match(await textOf(page, '.head'), /fork of/);
  return context.close();
});

test('two runs are compared', async (t) => {
  const two = runs.filter((it) => it.turns >= 1 && it.status !== 'damaged').slice(0, 2);
  if (two.length < 2) return t.skip('the store has no two runs');
  const { page, context, faults } = await at(`/runs/${encodeURIComponent(two[0].runId)}/vs/${encodeURIComponent(two[1].runId)}`);
  await page.waitForSelector('.tot');
  assert.deepEqual(faults, []);
  return context.close();
});

test('a call that waits is denied with a reason', async (t) => {
  const { calls } = await api('/api/inbox');
  if (calls.length === 0) return t.skip('no call waits');
  const { page, context, faults } = await at(`/inbox/call/${calls[0].digest}`);
  const card = page.locator(`#card-${calls[0].digest}`);
  await card.waitFor();
  await card.locator('.why').fill('denied by a check');
  await card.locator('.deny').click();
  await page.waitForSelector('.ask.done', { timeout: 15_000 });
  const left = (await api('/api/inbox')).calls;
  assert.ok(!left.some((it) => it.digest === calls[0].digest));
  assert.deepEqual(faults, []);
  return context.close();
});

test('a call that waits is approved once', async (t) => {
  const { calls } = await api('/api/inbox');
  if (calls.length === 0) return t.skip('no call waits');
  const { page, context } = await at(`/inbox/call/${calls[0].digest}`);
  const card = page.locator(`#card-${calls[0].digest}`);
  await card.waitFor();
  await card.locator('.approve').click();
  await page.waitForSelector('.ask.done', { timeout: 15_000 });
  return context.close();
});

test('a run that is interrupted is resumed, and one that runs is cancelled', async (t) => {
  const run = someRun(t, (it) => it.status === 'interrupted', 'run that was interrupted');
  if (!run) return undefined;
  const { page, context } = await at(`/runs/${encodeURIComponent(run.runId)}`);
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, () => !document.querySelector('.head .st').innerText.includes('Interrupted'), undefined, 15_000);
  const cancel = page.getByRole('button', { name: 'Cancel run' });
  if ((await cancel.count()) > 0) {
    await cancel.click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await until(page, () => !/Running/.test(document.querySelector('.head .st').innerText), undefined, 15_000);
  }
  return context.close();
});
