// A run: its head, timeline, outline, detail, and everything that can be done with it.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { close, open, textOf, until } from './open.mjs';
import { story, usualWorld } from './made.mjs';

after(close);

const at = async (address, world = usualWorld(), more = {}) => {
  const it = await open(address, { world, ...more });
  await it.page.waitForSelector('.det h2, .failed');
  return { ...it, world };
};

test('the head says goal, state, taint, sandbox and answer', async () => {
  const { page, context, faults } = await at('/runs/done0001');
  assert.equal(await textOf(page, 'h1'), 'Fix the importer');
  const head = await textOf(page, '.head');
  for (const part of ['Done', 'Untrusted data since turn 1', 'workspace-write, no network', 'entries']) assert.ok(head.includes(part), part);
  assert.match(await textOf(page, '.result'), /Answer\s+It is fixed\./);
  assert.deepEqual(faults, []);
  await context.close();
});

test('gauges show what is spent and held of the limits', async () => {
  const { page, context } = await at('/runs/runs0001');
  const budget = await textOf(page, '.budget');
  assert.match(budget, /Tokens\s+limit 60,000\s+8,600 \+ 11,192 held/);
  assert.equal(await page.locator('.gauge.over').count(), 1, 'cost is above 80 percent');
  await context.close();
});

test('the timeline shows failures, pauses, people, taint and what was shortened, and says it in words', async () => {
  const { page, context } = await at('/runs/done0001');
  for (const mark of ['.fail', '.back', '.person', '.t', '.funnel', '.deny', '.bad']) assert.ok((await page.locator(`.plot ${mark}`).count()) > 0, mark);
  assert.match(await page.locator('.plot').getAttribute('aria-label'), /4 turns\. Turn 1: model .*Turn 2: rate_limit.*edit ok.*Turn 3: .*run denied/);
  await context.close();
});

test('an address names a place, and it is shown', async () => {
  const { page, context } = await at('/runs/done0001/t/2/c/0');
  assert.match(await textOf(page, '.det h2'), /Turn 2/);
  assert.match(await textOf(page, '.e[aria-current]'), /edit/);
  assert.match(await textOf(page, '.det .steps'), /attempt 1[\s\S]*rate limit 429/);
  const call = await textOf(page, '.call-view');
  assert.match(call, /by ana after 1 min 12 s/);
  assert.match(await textOf(page, '.diff'), /src\/parser\.py[\s\S]*\+2\s+−1/);
  assert.ok((await page.locator('.diff ins').count()) > 0);
  await context.close();
});

test('keys: turns, calls, failures, tabs', async () => {
  const { page, context } = await at('/runs/done0001/t/1');
  await page.keyboard.press('j');
  await page.waitForURL(/t\/2$/);
  await page.keyboard.press('k');
  await page.waitForURL(/t\/1$/);
  await page.keyboard.press('l');
  await page.keyboard.press('l');
  await page.waitForURL(/t\/1\/c\/1$/);
  await page.keyboard.press('h');
  await page.waitForURL(/t\/1\/c\/0$/);
  await page.keyboard.press('e');
  await page.waitForURL(/t\/2/);
  await page.keyboard.press('e');
  await page.waitForURL(/t\/3\/c\/0$/);
  await page.keyboard.press('2');
  await page.waitForURL(/saw\/3$/);
  await page.keyboard.press('3');
  await page.waitForURL(/tab=entries/);
  await page.keyboard.press('4');
  await page.waitForURL(/\/log$/);
  await context.close();
});

test('what the model saw marks what is new', async () => {
  const { page, context } = await at('/runs/done0001/saw/3');
  await page.waitForSelector('.msg.new');
  assert.match(await textOf(page, '.saw-head'), /about 3,320 tokens/);
  const all = await page.locator('.msg').count();
  await page.getByRole('button', { name: 'New since turn 2' }).click();
  await until(page, (n) => document.querySelectorAll('.msg').length < n, all);
  assert.equal(await page.locator('.msg.new').count(), 2);
  await context.close();
});

test('tabs are moved by arrow keys', async () => {
  const { page, context } = await at('/runs/done0001/t/3');
  await page.getByRole('tab', { name: 'What happened' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.msg');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'tab-saw');
  await context.close();
});

test('the slider shows the run as it stood', async () => {
  const { page, context } = await at('/runs/done0001');
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.waitForURL(/t\/2\?asof=1/);
  assert.match(await slider.getAttribute('aria-valuetext'), /before turn 2/);
  assert.match(await textOf(page, '.budget'), /Turns\s+limit 20\s+1\b/);
  assert.ok((await page.locator('.is-later').count()) > 0);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await until(page, () => document.querySelectorAll('.is-later').length === 0);
  await context.close();
});

test('the log lists every entry, and an address opens one', async () => {
  const { page, context } = await at('/runs/done0001/log#e7');
  await page.waitForSelector('.det .kv');
  assert.match(await textOf(page, '.det h2'), /Entry 7/);
  assert.match(await textOf(page, '.det'), /tool_finished/);
  await page.locator('.lr').nth(2).click();
  await page.waitForURL(/#e3$/);
  await until(page, () => document.querySelector('.det h2').innerText.includes('Entry 3'));
  await context.close();
});

test('fork asks, then opens the new run', async () => {
  const { page, context, world } = await at('/runs/done0001/t/3');
  await page.keyboard.press('F');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.waitForURL(/\/runs\/forked01$/);
  assert.deepEqual(world.posted.at(-1), { path: '/api/runs/done0001/fork', body: { turn: 3 } });
  await context.close();
});

test('cancel takes a reason', async () => {
  const { page, context, world } = await at('/runs/runs0001');
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByLabel('Reason, kept in the log').fill('wrong branch');
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await until(page, () => document.querySelector('.head .st').innerText.includes('Cancelled'));
  assert.deepEqual(world.posted.at(-1).body, { reason: 'wrong branch' });
  await context.close();
});

test('an interrupted run is resumed', async () => {
  const { page, context, world } = await at('/runs/intr0001');
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, () => document.querySelector('.head .st').innerText.includes('Running'));
  assert.equal(world.posted.at(-1).path, '/api/runs/intr0001/resume');
  await context.close();
});

test('verify and replay say what they found', async () => {
  const { page, context } = await at('/runs/done0001');
  await page.getByRole('button', { name: /^More/ }).click();
  await page.getByRole('menuitem', { name: 'Verify the log' }).click();
  await until(page, () => document.querySelector('dialog .note.ok')?.innerText.includes('The log is intact'));
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('P');
  await until(page, () => document.querySelector('dialog .note.bad')?.innerText.includes('step 4 differs'));
  await context.close();
});

test('the log is downloaded', async () => {
  const { page, context } = await at('/runs/done0001');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('D')]);
  assert.equal(download.suggestedFilename(), 'done0001.jsonl');
  await context.close();
});

test('entries and words that stream in are shown, and following moves on', async () => {
  const world = usualWorld();
  const all = story('runs0001');
  const { entries } = world.runs.get('runs0001');
  const next = { ...all[entries.length], runId: 'runs0001' };
  world.stream = [{ kind: 'beat', now: Date.now() }, { kind: 'live', turn: 3, attempt: 1, text: 'The remote ', from: 0 }, { kind: 'live', turn: 3, attempt: 1, text: 'The remote script\u202e was', from: 0 }].map((it) => `${JSON.stringify(it)}\n`).join('');
  const { page, context } = await at('/runs/runs0001', world);
  await until(page, () => document.querySelector('.said-now')?.innerText.includes('The remote script'));
  assert.equal(await page.locator('.said-now .cc').count(), 1);
  world.stream = `${JSON.stringify({ kind: 'entry', entry: next })}\n`;
  await until(page, () => document.querySelector('.outline-box')?.innerText.includes('curl'));
  assert.equal(await page.locator('.said-now').count(), 0);
  await context.close();
});

test('an agent that was called and its caller lead to each other', async () => {
  const world = usualWorld();
  world.add('parent01', story('parent01'), {}, { children: [{ runId: 'child001', call: 1, turn: 1, tool: 'read' }] });
  world.add('child001', story('child001'), {}, { parent: 'parent01' });
  const { page, context } = await at('/runs/parent01/t/1/c/1', world);
  await page.locator('.e.sub button').click();
  await page.locator('.e.inner', { hasText: 'unittest' }).first().waitFor();
  assert.ok((await page.locator('.plot .agent').count()) === 1);
  await page.reload();
  await page.locator('.e.inner').first().waitFor();
  await page.locator('.e.sub a').click();
  await page.waitForURL(/child001$/);
  await page.locator('.head a', { hasText: 'parent01' }).click();
  await page.waitForURL(/parent01$/);
  await context.close();
});

test('[ and ] go to the runs beside it', async () => {
  const { page, context } = await at('/runs/runs0001');
  await page.keyboard.press(']');
  await page.waitForURL((url) => !url.pathname.includes('runs0001'));
  await page.keyboard.press('[');
  await page.waitForURL(/runs0001$/);
  await context.close();
});

test('only failures are listed when asked', async () => {
  const { page, context } = await at('/runs/done0001');
  await page.getByRole('button', { name: 'Failures only' }).click();
  await until(page, () => document.querySelectorAll('.outline-box .e').length === 3);
  await context.close();
});

test('on a phone a call takes the whole screen, and Back leads to the turns', async () => {
  const { page, context } = await open('/runs/done0001', { world: usualWorld(), width: 390, height: 844 });
  await page.locator('.e', { hasText: 'edit' }).click();
  await page.waitForURL(/t\/2\/c\/0$/);
  await page.locator('.det .diff').waitFor();
  const box = await page.locator('.det').boundingBox();
  assert.deepEqual([box.x, box.y, box.width], [0, 0, 390]);
  await page.goBack();
  await page.locator('.det').waitFor({ state: 'hidden' });
  assert.ok(await page.locator('.e', { hasText: 'edit' }).isVisible());
  await page.locator('.e', { hasText: 'edit' }).click();
  await page.getByRole('link', { name: 'Back to the turns' }).click();
  await page.waitForURL(/done0001$/);
  await context.close();
});

test('what was opened stays open when the page is loaded again', async () => {
  const world = usualWorld();
  const entries = structuredClone(story('long0001'));
  entries.find((it) => it.kind === 'tool_finished').data.output = Array.from({ length: 90 }, (_, n) => `line ${n}`).join('\n');
  world.add('long0001', entries);
  const { page, context } = await at('/runs/long0001/t/1', world);
  await page.getByRole('button', { name: 'Show 58 lines more' }).click();
  await until(page, () => document.querySelector('.out-text').innerText.includes('line 40'));
  await page.reload();
  await until(page, () => document.querySelector('.out-text')?.innerText.includes('line 40'));
  await context.close();
});

test('a person who is still awaited has the time since then in the timeline', async () => {
  const { page, context } = await at('/runs/wait0001');
  await until(page, () => [...document.querySelectorAll('.plot .person title')].some((it) => /waited \d+ min/.test(it.textContent)));
  await context.close();
});
