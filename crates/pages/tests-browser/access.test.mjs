// Access: axe-core in both themes and widths, landmarks, one h1, the skip link, targets, focus, reduced motion, width.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { axeSource, close, open, settle, until } from './open.mjs';
import { usualPlan, usualWorld } from './made.mjs';

after(close);

const RECEIPT = readFileSync(new URL('receipt.json', import.meta.url), 'utf8');
const PAGES = [
  ['/runs', '.r .goal'], ['/runs?state=cancelled', '.empty'], ['/runs/done0001/t/2', '.diff'], ['/runs/done0001/t/1', '.call-view'], ['/runs/done0001/saw/3', '.msg'], ['/runs/done0001/t/4?tab=entries', '.entries'],
  ['/runs/done0001/log#e7', '.det .kv'], ['/runs/runs0001', '.now'], ['/runs/wait0001', '.head .st'], ['/work', '.pl'], ['/work/plan1/docs', '.rc .checks'], ['/inbox', '.cmd mark'], ['/runs/done0001/vs/fail0001', '.cmp'], ['/verify', '.drop'], ['/settings', '.chip'],
];

for (const theme of ['light', 'dark']) {
  for (const width of [1280, 390]) {
    test(`axe finds nothing serious: ${theme}, ${width} px`, async () => {
      const found = [];
      const world = usualWorld();
      world.plans = [usualPlan(RECEIPT)];
      const { page, context } = await open('/runs', { world, theme, width, height: width === 390 ? 844 : 900 });
      // Through the debugger: the policy of the page forbids scripts of others, as it should.
      const session = await context.newCDPSession(page);
      await session.send('Runtime.evaluate', { expression: axeSource() });
      for (const [address, sign] of PAGES) {
        await page.evaluate((to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }, address);
        await page.waitForSelector(sign);
        await settle(page);
        if (address === '/verify') {
          await page.setInputFiles('input[type=file]', { name: 'RECEIPT.json', mimeType: 'application/json', buffer: Buffer.from(RECEIPT) });
          await page.waitForSelector('.receipt');
        }
        const got = await session.send('Runtime.evaluate', { expression: `axe.run(document, { resultTypes: ['violations'] }).then((it) => JSON.stringify(it.violations.map((v) => [v.impact, v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? ''))])))`, awaitPromise: true, returnByValue: true });
        for (const violation of JSON.parse(got.result.value)) found.push([address, ...violation]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push([address, 'serious', `wider than the screen by ${wide} px`]);
        const outline = await page.evaluate(() => ({ h1: document.querySelectorAll('h1').length, main: document.querySelectorAll('main').length }));
        if (outline.h1 !== 1 || outline.main !== 1) found.push([address, 'serious', JSON.stringify(outline)]);
      }
      assert.deepEqual(found.filter(([, impact]) => ['serious', 'critical'].includes(impact)), []);
      for (const it of found) console.log(`# minor: ${JSON.stringify(it)}`);
      await context.close();
    });
  }
}

test('the first Tab shows the link to the content, which leads there', async () => {
  const { page, context } = await open('/runs', { world: usualWorld() });
  await page.waitForSelector('.r .goal');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  assert.ok((await page.locator('.skip').boundingBox()).y >= 0);
  await page.keyboard.press('Enter');
  await until(page, () => location.hash === '#main');
  await context.close();
});

test('whatever Tab reaches shows that it has the focus', async () => {
  const { page, context } = await open('/runs/done0001/t/2', { world: usualWorld() });
  await page.waitForSelector('.diff');
  const hidden = [];
  for (let n = 0; n < 60; n += 1) {
    await page.keyboard.press('Tab');
    const is = await page.evaluate(() => {
      const it = document.activeElement;
      if (!it || it === document.body) return null;
      const own = getComputedStyle(it);
      const row = it.closest('.r, .field');
      const around = row ? getComputedStyle(row).outlineStyle : 'none';
      return own.outlineStyle !== 'none' || around !== 'none' ? null : it.outerHTML.slice(0, 120);
    });
    if (is) hidden.push(is);
  }
  assert.deepEqual(hidden, []);
  await context.close();
});

test('targets are at least 24 px', async () => {
  const { page, context } = await open('/runs/done0001/t/2', { world: usualWorld() });
  await page.waitForSelector('.diff');
  const small = await page.evaluate(() => [...document.querySelectorAll('button, a, input, summary')].filter((it) => {
    const box = it.getBoundingClientRect();
    const isInText = getComputedStyle(it).display === 'inline';
    return box.width > 0 && box.height > 0 && !isInText && !it.closest('.sr, .skip') && (box.height < 24 || box.width < 24);
  }).map((it) => it.outerHTML.slice(0, 120)));
  assert.deepEqual(small, []);
  await context.close();
});

test('who asked for less motion sees none', async () => {
  const { page, context } = await open('/runs/runs0001', { world: usualWorld(), motion: 'reduce' });
  await page.waitForSelector('.now');
  const moving = await page.evaluate(() => document.getAnimations().filter((it) => it.playState === 'running').length);
  assert.equal(moving, 0);
  await context.close();
});
