// A run with the server's own data: what it shows, and every action.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { close, enter, open, store, textOf, until } from './open.mjs';
import { ENDED, call, done, fill, interrupt } from './store.mjs';

after(close);

let session;
const at = async (address, more = {}) => {
  const it = await open(address, { storage: session.storage, ...more });
  await it.page.waitForSelector('.det h2, .failed');
  return it;
};

before(async () => {
  await fill(store);
  await callAgent();
  session = await enter();
});

/** A run whose agent calls another one. */
async function callAgent() {
  const report = (text) => call('agent__final_report', { report_format: 'markdown', report_content: text });
  const child = store.model('child', [call('list', { path: 'src' }, 'I look.'), report('It is in the attic.')]);
  store.write('librarian.ai', `---\ndescription: Knows where things are.\nmodels: ${child}\ntools: builtin\n---\nYou are a librarian.\n`);
  const parent = store.model('caller', [call('agent__librarian', { prompt: 'find it', reason: 'a search', format: 'sub-agent' }), report('In the attic.')]);
  const agent = store.write('reader.ai', `---\nmodels: ${parent}\nagents: librarian.ai\n---\nYou ask others.\n`);
  await store.bonded(['run', '--id', 'caller', '--quiet', '--no-prompt', '--agent', agent, 'Ask the librarian']);
}

test('the head, the gauges, the timeline and the outline show what happened', async () => {
  const { page, context, faults } = await at('/runs/repair');
  assert.equal(await textOf(page, 'h1'), 'Fix the importer');
  const head = await textOf(page, '.head');
  for (const part of ['Done', 'Untrusted data since turn 1', 'workspace-write']) assert.ok(head.includes(part), `${part} in ${head}`);
  assert.match(await textOf(page, '.result'), /The importer takes empty parts\./);
  assert.match(await textOf(page, '.budget'), /Tokens\s+limit 60,000\s+7,\d\d\d[\s\S]*Cost\s+limit \$0\.05\s+\$0\.00/);
  for (const mark of ['.model', '.fail', '.t']) assert.ok((await page.locator(`.plot ${mark}`).count()) > 0, mark);
  const outline = await textOf(page, '.outline-box');
  for (const part of ['Turn 1', 'issue.md', 'rate limit 429', 'src/parser.py', 'failed']) assert.ok(outline.includes(part), `${part} in ${outline}`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a turn shows its diff and outputs, what the model saw, and its entries', async () => {
  const { page, context, faults } = await at('/runs/repair/t/2');
  assert.match(await textOf(page, '.diff'), /src\/parser\.py[\s\S]*if part\.strip\(\):/);
  await page.keyboard.press('2');
  await page.waitForSelector('.msg.new');
  assert.match(await textOf(page, '.saw'), /as it was sent/);
  await page.keyboard.press('3');
  await page.waitForSelector('.entries .lr');
  await page.locator('.entries .lr').first().click();
  assert.match(await textOf(page, '.entries .kv'), /hash/);
  await page.keyboard.press('4');
  await page.waitForSelector('.out .lr');
  await page.locator('.out .lr').nth(2).click();
  await page.waitForURL(/#e3$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('the slider shows the run as it stood', async () => {
  const { page, context } = await at('/runs/repair');
  await page.getByRole('slider').focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForURL(/t\/3\?asof=1/);
  assert.ok((await page.locator('.is-later').count()) > 0);
  await context.close();
});

test('verify and replay answer', async () => {
  const { page, context } = await at('/runs/repair');
  await page.keyboard.press('V');
  await until(page, () => document.querySelector('dialog .note.ok')?.innerText.includes('The log is intact'));
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('P');
  await page.waitForSelector('dialog .note.ok');
  await context.close();
});

test('the log that is downloaded is all of it', async () => {
  const { page, context } = await at('/runs/repair');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('D')]);
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n').map((it) => JSON.parse(it));
  const shown = (await store.bonded(['show', 'repair', '--json'])).trim().split('\n').map((it) => JSON.parse(it));
  assert.deepEqual(lines.map((it) => [it.seq, it.hash]), shown.map((it) => [it.seq, it.hash]));
  assert.deepEqual(lines.at(-1).data, shown.at(-1).data);
  await context.close();
});

test('a fork is made, opened, resumed, and compared with its origin', async () => {
  const { page, context } = await at('/runs/repair/t/3');
  await page.keyboard.press('F');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.includes('/repair'));
  await page.waitForSelector('.head .st');
  assert.match(await textOf(page, '.head'), /fork of\s+repair/);
  await until(page, () => document.querySelector('.outline-box')?.innerText.includes('Turn 2'));
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, () => document.querySelector('.head .st').innerText.includes('Done'));
  const fork = new URL(page.url()).pathname.split('/')[2];
  await page.goto(page.url().replace(/\/runs\/.*/, `/runs/repair/vs/${fork}`));
  await page.waitForSelector('.tot');
  assert.match(await textOf(page, '.cmp'), /are equal|is equal/);
  await context.close();
});

test('a run whose process died is resumed, and one that runs is cancelled with a reason', async () => {
  await interrupt(store, 'died');
  const { page, context } = await at('/runs/died');
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, () => document.querySelector('.head .st').innerText.includes('Running'));
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByLabel('Reason, kept in the log').fill('wrong branch');
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await until(page, () => document.querySelector('.head .st').innerText.includes('Cancelled'));
  assert.match(await textOf(page, '.result'), /wrong branch/);
  await context.close();
});

test('an agent that was called and its caller lead to each other', async () => {
  const { page, context, faults } = await at('/runs/caller/t/1');
  await page.locator('.outline-box .e.sub button').first().click();
  await page.locator('.e.inner', { hasText: 'list' }).first().waitFor();
  await page.locator('.plot .agent').waitFor();
  await page.locator('.outline-box .e.sub a').first().click();
  await page.waitForURL((url) => url.pathname !== '/runs/caller/t/1');
  await until(page, () => document.querySelector('h1')?.innerText.includes('find it'));
  await page.locator('.head a', { hasText: 'caller' }).first().click();
  await page.waitForURL(/\/runs\/caller$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('entries of a run that goes on are drawn as they are committed', async () => {
  // It waits for a person until the page is there.
  const steps = Array.from({ length: 12 }, (_, n) => ({ ...call('list', { path: n % 2 ? 'src' : '.' }, `Step ${n}.`), delay_ms: 300 }));
  const flags = ['--max-turns', '30', '--no-progress', '0', '--ask', 'write'];
  await store.run('live', [call('write', { path: 'go.txt', content: 'go\n' }), ...steps, done('all steps')], { goal: 'Go on', flags, ends: ENDED.waits });
  const { page, context } = await at('/runs/live');
  await until(page, () => document.querySelector('.foot').innerText.includes('Live') && document.querySelector('.outline-box .th'));
  const { pending } = await session.ask('/api/runs/live');
  const watched = page.evaluate(watchTurns);
  await store.bonded(['approve', 'live', '--quiet', '--call', '0', '--digest', pending.digest]);
  const drawn = await watched;
  await until(page, () => document.querySelector('.head .st').innerText.includes('Done'));
  const { entries } = await session.ask('/api/runs/live/entries?limit=1000');
  const late = drawn.map(([turn, at]) => at - entries.find((it) => it.turn === turn).at).sort((a, b) => a - b);
  const [best, median] = [late[0], late[late.length >> 1]];
  console.log(`# live: ${late.length} turns, the first within ${best} ms of the commit, half within ${median} ms, all within ${late.at(-1)} ms`);
  assert.ok(late.length >= 8, `${late.length} turns were seen as they came`);
  await context.close();
});

/** In the page: when each new turn is drawn. The clocks are those of one machine. */
function watchTurns() {
  const turns = () => [...document.querySelectorAll('.outline-box .th')].map((it) => Number(/Turn (\d+)/.exec(it.innerText)[1]));
  const seen = new Set(turns());
  const drawn = [];
  return new Promise((settle) => {
    const look = () => {
      for (const turn of turns().filter((it) => !seen.has(it))) {
        seen.add(turn);
        drawn.push([turn, Date.now()]);
      }
      if (drawn.length >= 8 || document.querySelector('.result')) settle(drawn);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}
