// Contents that want to be more than text, and sizes that want to freeze the page.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { close, open, settle, textOf, until, worked } from './open.mjs';
import { item, many, plan, usualWorld, waitingCall, writer } from './made.mjs';

after(close);

const NASTY = '<script>alert(1)</script><svg onload=alert(1)><img src=https://evil.example/x onerror=alert(1)>[x](javascript:alert(1)) https://evil.example \u001b[2J\u001b[31mred\u0000 \u202egpj.exe\u202c a\u200bb\u{e0041} \u00a0\r\n';
const ID = '<img src=x onerror=alert(1)>';

/** Whatever a page shows, it answers again after so many milliseconds on a quiet machine. SLACK makes room for a busy one. */
const FRAME_MAX = 200 * Number(process.env.SLACK ?? 1);

function nastyWorld() {
  const world = usualWorld();
  const w = writer(ID);
  w('run_started', 0, { goal: NASTY, config: {}, tools: [] })('attempt_started', 1, { attempt: 1 })('attempt_failed', 1, { class: NASTY, message: NASTY })('attempt_started', 1, { attempt: 2 });
  w('decision_made', 1, { answer: { text: NASTY, reasoning: NASTY, usage: {} }, calls: [{ id: NASTY, tool: NASTY, arguments: JSON.stringify({ [NASTY]: NASTY, list: [{ a: NASTY }] }) }, { id: 'b', tool: 'run', arguments: JSON.stringify({ command: NASTY }) }, { id: 'c', tool: 'edit', arguments: JSON.stringify({ path: NASTY, old: 'a', new: NASTY }) }] });
  w('review_asked', 1, { call: 0, tool: NASTY, why: NASTY })('call_reviewed', 1, { call: 0, tool: NASTY, by: NASTY, verdict: { denied: { reason: NASTY } } });
  w('tool_invoked', 1, { call: 1, tool: 'run', effect: NASTY })('tool_finished', 1, { call: 1, tool: 'run', outcome: 'ok', output: JSON.stringify({ exit: 0, stdout: NASTY, stderr: NASTY }) })(NASTY, 1, { [NASTY]: NASTY });
  w('run_ended', 1, { termination: { kind: 'fatal', reason: NASTY } });
  world.add(ID, w.entries, { goal: NASTY, agent: NASTY, model: NASTY, activity: NASTY, status: 'failed', termination: { kind: 'fatal', reason: NASTY } }, { directory: NASTY, sandbox: { level: NASTY }, lastText: NASTY, models: [NASTY], children: [{ runId: NASTY, call: 0, turn: 1, tool: NASTY }] });
  world.add('wait0002', [], {});
  world.plans = [plan('plan1', [item(NASTY, 0, [], 'denied', { description: NASTY, agent: NASTY, why: NASTY, testCommand: NASTY, receipt: NASTY, receiptPath: NASTY, changes: [{ path: NASTY, kind: 'created', bytes: 1, before: null, after: NASTY, binary: false }, { path: `${NASTY}2`, kind: NASTY, bytes: 1, before: null, after: null, binary: true }], tests: { command: NASTY, exitCode: 1, passed: null, failed: null, ms: 1, output: NASTY }, attempts: [{ runId: NASTY, status: NASTY, error: NASTY, ms: 1 }] })], { tree: NASTY, fault: NASTY })];
  world.calls = [waitingCall('wait0001', { command: { command: NASTY, directory: NASTY }, arguments: NASTY, written: NASTY, reply: NASTY, why: NASTY, note: NASTY, goal: NASTY }), waitingCall('wait0002', { digest: 'e2'.repeat(8), command: undefined, tool: NASTY, sources: [], change: { path: NASTY, isNew: true, before: null, after: NASTY } })];
  return world;
}

/** Nothing of it became an element, a link or a request. */
async function isInert(page, faults) {
  await settle(page);
  assert.deepEqual(faults, []);
  const found = await page.evaluate(() => ({
    scripts: [...document.scripts].map((it) => it.src).filter((it) => !it.endsWith('/src/main.js')),
    images: document.images.length,
    links: [...document.querySelectorAll('a')].map((it) => it.getAttribute('href')).filter((it) => !it.startsWith('/') && !it.startsWith('#')),
    handlers: [...document.querySelectorAll('*')].filter((it) => it.getAttributeNames().some((name) => name.startsWith('on'))).length,
    raw: /[\u0000\u001b\u202e\u200b\u{e0041}]/u.test(document.body.innerText),
  }));
  assert.deepEqual(found, { scripts: [], images: 0, links: [], handlers: 0, raw: false });
}

for (const address of ['/runs', `/runs/${encodeURIComponent(ID)}`, `/runs/${encodeURIComponent(ID)}/saw/1`, `/runs/${encodeURIComponent(ID)}/log#e3`, `/runs/${encodeURIComponent(ID)}/t/1?tab=entries`, `/runs/${encodeURIComponent(ID)}/vs/done0001`, '/inbox', '/work', '/work/plan1']) {
  test(`hostile texts stay text: ${address}`, async () => {
    const { page, context, faults } = await open(address, { world: nastyWorld() });
    await page.waitForSelector('.r .goal, .det h2, .cmp, .ask, .pl, .item');
    await until(page, () => document.body.innerText.includes('alert(1)'));
    await isInert(page, faults);
    assert.ok((await page.locator('.cc').count()) > 0, 'hidden characters are written out');
    await context.close();
  });
}

test('an output of 10 MB opens at once, in pages, and is searched by the server', async () => {
  const world = usualWorld();
  const w = writer('big00001');
  const line = `${NASTY}ok    2023 is common\n`;
  const big = `${line.repeat(Math.ceil(10_485_760 / line.length))}NEEDLE here\nFAIL at the end\n`;
  w('run_started', 0, { goal: 'g', config: {} })('attempt_started', 1, { attempt: 1 })('decision_made', 1, { answer: { text: '', usage: {} }, calls: [{ id: 'a', tool: 'run', arguments: '{}' }] })('tool_invoked', 1, { call: 0, tool: 'run', effect: 'write' })('tool_finished', 1, { call: 0, tool: 'run', outcome: 'ok', output: big });
  world.add('big00001', w.entries);
  const { page, context, faults } = await open('/runs/big00001', { world });
  await page.waitForSelector('.outp');
  assert.match(await textOf(page, '.outp header'), /1\d\.\d MiB/);
  assert.match(await page.locator('.outp').innerText(), /FAIL at the end/);
  const { longest } = await worked(page, async () => {
    await page.getByRole('button', { name: 'Show the first 64 KB' }).click();
    await page.getByRole('button', { name: 'Next 64 KB' }).click();
    await until(page, () => document.querySelector('.foldb').innerText.includes('65,536 to 131,072'));
  });
  console.log(`# 10 MB: ${Math.round(longest)} ms at a stretch`);
  assert.ok(longest < FRAME_MAX, `${longest} ms`);
  await page.getByLabel('Search in the output').fill('NEEDLE');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('.page-text')?.textContent.includes('NEEDLE here'));
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download', exact: true }).click()]);
  assert.match(download.suggestedFilename(), /big00001-5\.txt/);
  await isInert(page, faults);
  await context.close();
});

test('a run of 100,000 calls does not freeze; its end and its middle are reached', async () => {
  const world = usualWorld();
  world.add('hund0001', many('hund0001', 10_000, 10), { turns: 10_000 });
  const { page, context } = await open('/runs/hund0001', { world });
  await page.waitForSelector('.outline-box .e');
  const asked = [];
  page.on('request', (request) => request.url().includes('/entries?') && asked.push(request.url()));
  await page.evaluate(() => (document.querySelector('.outline-box').scrollTop = 2_000_000));
  await until(page, () => { const first = document.querySelector('.outline-box .th'); return first && Number(/[\d,]+/.exec(first.innerText)[0].replaceAll(',', '')) > 1000; });
  assert.ok(asked.length < 10, `${asked.length} pages were read`);
  const { longest } = await worked(page, () => page.evaluate(async () => {
    for (let at = 0; at < 60; at += 1) {
      document.querySelector('.outline-box').scrollTop += 300;
      await new Promise((done) => requestAnimationFrame(done));
    }
  }));
  console.log(`# 100,000 calls: ${Math.round(longest)} ms at a stretch while scrolling`);
  assert.ok(longest < FRAME_MAX, `${longest} ms`);
  await page.goto(page.url().replace(/hund0001.*/, 'hund0001/t/7777/c/3'));
  await until(page, () => document.querySelector('.det h2')?.innerText.includes('7,777') && document.querySelector('.e[aria-current]'));
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await page.goto(page.url().replace(/hund0001.*/, 'hund0001/log#e150000'));
  await until(page, () => document.querySelector('.det h2')?.innerText.includes('Entry 150,000'));
  await context.close();
});

test('a turn of 5,000 calls shows some of them', async () => {
  const world = usualWorld();
  world.add('wide0001', many('wide0001', 1, 5000), { turns: 1 });
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.r .goal');
  const { longest } = await worked(page, async () => {
    await page.goto(page.url().replace('/runs', '/runs/wide0001/t/1/c/4000'));
    await page.waitForSelector('#call-4000');
  });
  console.log(`# 5,000 calls in a turn: ${Math.round(longest)} ms at a stretch`);
  assert.ok(longest < FRAME_MAX, `${longest} ms`);
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await context.close();
});

test('a request of 5,000 messages is shown in pages, and is copied whole', async () => {
  const world = usualWorld();
  world.add('wide0001', many('wide0001', 2, 5000), { turns: 2 });
  const { page, context } = await open('/runs/wide0001/saw/2', { world });
  await page.waitForSelector('.msg.new');
  assert.match(await page.locator('.saw-head').innerText(), /5,003 messages/);
  const { longest } = await worked(page, async () => {
    for (const after of ['4,703', '4,603']) {
      await page.getByRole('button', { name: 'show 100', exact: true }).last().click();
      await until(page, (n) => document.querySelector('.saw').innerText.includes(`${n} messages after`), after);
    }
  });
  console.log(`# a request of 5,000 messages: ${Math.round(longest)} ms at a stretch`);
  assert.ok(longest < FRAME_MAX, `${longest} ms`);
  await page.getByText('200 messages before').waitFor();
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} nodes`);
  await page.getByRole('button', { name: 'show 100', exact: true }).first().click();
  await page.getByText('100 messages before').waitFor();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByText('The request is copied').waitFor({ state: 'attached' });
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal(copied.messages.length, 5003);
  await context.close();
});
