// Plans: the list, the picture, an item with its diffs, tests, limits and receipt.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { close, open, textOf, until } from './open.mjs';
import { item, plan, usualPlan, usualWorld } from './made.mjs';

after(close);

const RECEIPT = readFileSync(new URL('receipt.json', import.meta.url), 'utf8');

function worldOfPlans(receipt = RECEIPT) {
  const world = usualWorld();
  world.plans = [usualPlan(receipt), plan('broken', [], { fault: 'the record cannot be read' })];
  return world;
}
const at = async (address, world = worldOfPlans(), more = {}) => {
  const it = await open(address, { world, ...more });
  await it.page.waitForSelector('.pl, .dag, .empty, .failed, .items-all');
  return it;
};

test('the list says what became of the items of each plan', async () => {
  const { page, context, faults } = await at('/work');
  assert.match(await textOf(page, '.pl'), /\/home\/ana\/shop[\s\S]*5 items[\s\S]*2 published[\s\S]*1 denied[\s\S]*1 blocked/);
  assert.match(await page.locator('.plans li').nth(1).innerText(), /cannot be read[\s\S]*the record cannot be read/);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/work\/plan1$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a plan is a picture: a column for each level, and what leads to the chosen item is thick', async () => {
  const { page, context, faults } = await at('/work/plan1');
  assert.deepEqual(await page.locator('.lh b').allInnerTexts(), ['Level 0', 'Level 1', 'Level 2']);
  assert.equal(await page.locator('.edges path').count(), 5);
  await page.getByRole('link', { name: /changelog/ }).click();
  await page.waitForURL(/\/work\/plan1\/changelog$/);
  await until(page, () => document.querySelectorAll('.edges .hot').length === 3);
  const boxes = await page.locator('.dag .n').evaluateAll((nodes) => nodes.map((it) => it.getBoundingClientRect().toJSON()));
  const overlaps = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
  assert.deepEqual(overlaps, []);
  assert.deepEqual(faults, []);
  await context.close();
});

test('an item that was denied says that nothing was published, what it would have changed, and why', async () => {
  const { page, context, faults } = await at('/work/plan1/docs');
  const shown = await page.locator('.item').innerText();
  for (const part of ['Denied', 'Nothing of this was published.', 'Exceeded max files: 2 > 1', '2, over by 1', 'What it would have changed, 2 paths', 'docs/list.md', 'A list may end in a comma.', 'content not kept, 2.0 KiB', 'exit 1, 2 tests passed, 1 failed', 'FAIL one', 'no answer']) assert.ok(shown.includes(part), `${part} in ${shown}`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('its receipt is checked in the browser, and one that was changed is noticed', async () => {
  const { page, context } = await at('/work/plan1/docs');
  await until(page, () => document.querySelector('.rc')?.innerText.includes('Verified here'));
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('D')]);
  assert.equal(readFileSync(await download.path(), 'utf8'), RECEIPT);
  await context.close();
  const forged = await at('/work/plan1/docs', worldOfPlans(RECEIPT.replace('"tool_ops_count":1', '"tool_ops_count":0')));
  await until(forged.page, () => document.querySelector('.rc')?.innerText.includes('A check failed'));
  await forged.context.close();
});

test('by keys: items one after the other, the run, and back', async () => {
  const { page, context } = await at('/work/plan1/parser');
  await page.keyboard.press('j');
  await page.waitForURL(/tokens$/);
  await page.keyboard.press('k');
  await page.waitForURL(/parser$/);
  await page.waitForSelector('.item');
  await page.keyboard.press('b');
  await page.waitForURL(/\/work\/plan1$/);
  await context.close();
});

test('more items than a picture can hold are a list with the neighbours of one', async () => {
  const world = usualWorld();
  world.plans = [plan('large', Array.from({ length: 200 }, (_, n) => item(`item-${n}`, n % 4, n % 4 === 0 ? [] : [`item-${n - 1}`], 'success')))];
  const { page, context } = await at('/work/large/item-42', world);
  await page.locator('.il[aria-current]').waitFor();
  assert.equal(await page.locator('.dag .n').count(), 3);
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 3000);
  await context.close();
});

test('on a phone the picture is a list that says what comes after what', async () => {
  const { page, context } = await at('/work/plan1', worldOfPlans(), { width: 390, height: 844 });
  assert.match(await page.locator('.dag').innerText(), /changelog[\s\S]*\(after parser, tokens\)/);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  await context.close();
});

test('nothing yet, and what is not there', async () => {
  const world = usualWorld();
  const { page, context } = await at('/work', world);
  assert.match(await textOf(page, '.empty'), /No plans yet[\s\S]*bonded work/);
  await page.goto(page.url().replace('/work', '/work/none'));
  await page.waitForSelector('.failed');
  assert.match(await textOf(page, '.failed'), /not_found/);
  await context.close();
});
