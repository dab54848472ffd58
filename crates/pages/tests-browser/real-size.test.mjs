// Hostile and large contents with the server's own data: nothing executes, and the page answers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { close, enter, open, settle, store, until, worked } from './open.mjs';
import { ENDED, call, done } from './store.mjs';

after(close);

const NASTY = '<script>alert(1)</script><svg onload=alert(1)><img src=https://evil.example/x onerror=alert(1)>[x](javascript:alert(1)) \u001b[2J\u001b[31mred \u202egpj.exe\u202c a\u200bb\u{e0041}';
/** Milliseconds, on a quiet machine as people have them; the last is a frame at 60 Hz. SLACK makes room for a busy one. */
const [FRAME_MAX, OPEN_MAX, FIRST_MAX, SCROLL_MAX] = [200, 500, 300, 16.7].map((it) => Number(process.env.SLACK ?? 1) * it);
const CALLS = 50;
const TURNS = 100;

let session;
const at = (address, more = {}) => open(address, { storage: session.storage, ...more });

before(async () => {
  store.write('work/nasty.txt', `${NASTY}\n`.repeat(200));
  store.write('work/big.txt', `${'ok    2023 is common <script>alert(1)</script>\n'.repeat(220_000)}NEEDLE here\nFAIL at the end\n`);
  store.write('work/src/a.txt', 'a\n');
  const calls = Array.from({ length: CALLS }, (_, n) => ({ tool: 'list', arguments: { path: n % 2 ? 'src' : '.' } }));
  const nasty = [{ tool: 'read', arguments: { path: 'nasty.txt' } }, { tool: NASTY, arguments: { [NASTY]: NASTY } }, { tool: 'write', arguments: { path: 'made.txt', content: NASTY } }];
  await Promise.all([
    store.run('nasty', [{ text: NASTY, reasoning: NASTY, calls: nasty }, done(NASTY)], { goal: NASTY, flags: ['--untrusted', 'read'] }),
    store.run('asks', [call('run', { command: `echo '${NASTY}'` }, NASTY), done('no')], { goal: NASTY, flags: ['--ask', 'run'], ends: ENDED.waits }),
    store.run('big', [call('run', { command: 'cat big.txt' }), done('read')], { goal: 'Read all of it', flags: ['--tool-output', '16m', '--sandbox', 'full', '--max-tokens', '100m'] }),
    store.run('long', [{ text: 'Step.', calls, repeat: TURNS }, done('all steps')], { goal: 'Take very many steps', flags: ['--max-turns', '200', '--max-calls', '60', '--no-progress', '0'] }),
  ]);
  session = await enter();
});

/** Nothing of it became an element, a link or a request. */
async function isInert(page, faults) {
  await settle(page);
  assert.deepEqual(faults, []);
  const found = await page.evaluate(() => ({
    scripts: [...document.scripts].map((it) => it.src).filter((it) => !it.endsWith('/src/main.js')), images: document.images.length,
    links: [...document.querySelectorAll('a')].map((it) => it.getAttribute('href')).filter((it) => !it.startsWith('/') && !it.startsWith('#')),
    raw: /[\u0000\u001b\u202e\u200b\u{e0041}]/u.test(document.body.innerText),
  }));
  assert.deepEqual(found, { scripts: [], images: 0, links: [], raw: false });
}

for (const address of ['/runs', '/runs/nasty/t/1', '/runs/nasty/saw/2', '/runs/nasty/log#e3', '/runs/nasty/t/1?tab=entries', '/runs/nasty/vs/asks', '/inbox']) {
  test(`hostile texts stay text: ${address}`, async () => {
    const { page, context, faults } = await at(address);
    await until(page, () => document.body.innerText.includes('alert(1)') && document.querySelector('.cc'));
    await isInert(page, faults);
    await context.close();
  });
}

test('an output of 10 MB opens at once, in pages, is searched by the server, and is downloaded whole', async () => {
  const { page, context, faults } = await at('/runs');
  await page.waitForSelector('.r .goal');
  const { longest } = await worked(page, async () => {
    await page.goto(page.url().replace('/runs', '/runs/big/t/1'));
    await page.waitForSelector('.outp');
    await page.getByRole('button', { name: 'Show the first 64 KB' }).click();
    await page.getByRole('button', { name: 'Next 64 KB' }).click();
    await until(page, () => document.querySelector('.foldb').innerText.includes('65,5') && document.querySelector('.page-text'));
  });
  console.log(`# 10 MB: ${Math.round(longest)} ms at a stretch`);
  assert.ok(longest < FRAME_MAX, `${longest} ms`);
  await page.getByLabel('Search in the output').fill('NEEDLE');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('.page-text')?.textContent.includes('NEEDLE here'));
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download', exact: true }).click()]);
  assert.match(readFileSync(await download.path(), 'utf8'), /FAIL at the end/);
  await isInert(page, faults);
  await context.close();
});

test('a log that is downloaded has its long texts whole', async () => {
  const { page, context } = await at('/runs/nasty');
  await page.waitForSelector('.det h2');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('D')]);
  const dataOf = (text) => text.trim().split('\n').map((it) => JSON.parse(it)).map(({ seq, data }) => [seq, data]);
  const whole = dataOf(await store.bonded(['show', 'nasty', '--json']));
  assert.ok(whole.some(([, data]) => (data.output?.length ?? 0) > 8192), 'a text is long enough to be cut');
  assert.deepEqual(dataOf(readFileSync(await download.path(), 'utf8')), whole);
  await context.close();
});

test('a run of 10,000 entries opens within 500 ms and scrolls at 60 frames', async () => {
  const { page, context } = await at('/runs');
  await page.waitForSelector('[data-run="long"]');
  // The modules are in the browser's cache from here on, as they are for a person who looks at a second run.
  await page.evaluate(() => import('/src/pages/run.js'));
  const opened = await worked(page, () => page.evaluate(async () => {
    const begun = performance.now();
    /** @type {HTMLElement} */ (document.querySelector('[data-run="long"]')).click();
    while (!document.querySelector('.outline-box .e')) await new Promise((settle) => requestAnimationFrame(settle));
    return performance.now() - begun;
  }));
  console.log(`# 10,000 entries: first rows after ${Math.round(opened.result)} ms, ${Math.round(opened.total)} ms of it work`);
  assert.ok(opened.total < OPEN_MAX, `${opened.total} ms`);
  await until(page, () => document.querySelector('.plot.columns'));
  await until(page, (n) => document.querySelector('.outline-box ul').clientHeight > n, CALLS * TURNS * 20);
  const scrolled = await worked(page, () => page.evaluate(async () => {
    const box = document.querySelector('.outline-box');
    for (let n = 0; n < 100; n += 1) {
      box.scrollTop += 250;
      await new Promise((settle) => requestAnimationFrame(settle));
    }
  }));
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  console.log(`# scrolling: ${(scrolled.total / 100).toFixed(1)} ms of work a frame, ${Math.round(scrolled.longest)} ms at most, ${nodes} nodes`);
  assert.ok(scrolled.total / 100 < SCROLL_MAX, `${scrolled.total / 100} ms`);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await context.close();
});

test('the first page is there within 300 ms', async () => {
  const { page, context } = await at('/runs');
  await page.waitForSelector('.r .goal');
  const again = await worked(page, async () => {
    await page.reload();
    await page.waitForSelector('.r .goal');
    return page.evaluate(() => performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint')?.startTime ?? performance.now());
  });
  console.log(`# first page: painted after ${Math.round(again.result)} ms, ${Math.round(again.total)} ms of work`);
  assert.ok(again.total < FIRST_MAX, `${again.total} ms`);
  await context.close();
});
