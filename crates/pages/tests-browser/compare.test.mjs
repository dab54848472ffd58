// Two runs side by side.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { close, open, textOf, until } from './open.mjs';
import { story, usualWorld } from './made.mjs';

after(close);

function worldOfTwo() {
  const world = usualWorld();
  const entries = structuredClone(story('othr0001'));
  const decision = entries.find((it) => it.kind === 'decision_made' && it.turn === 3);
  decision.data.answer.text = 'I will run the tests.';
  decision.data.calls[0].arguments = JSON.stringify({ command: 'python3 -m pytest -q' });
  return world.add('othr0001', entries, { goal: 'Fix the importer', costUsd: 0, from: { kind: 'fork', runId: 'done0001', turn: 3 } });
}

test('equal turns are folded, the first difference is marked, words that differ are marked', async () => {
  const { page, context, faults } = await open('/runs/done0001/vs/othr0001', { world: worldOfTwo() });
  await page.waitForSelector('.cc2');
  assert.match(await textOf(page, 'button.eq'), /Turns 1 to 2 are equal/);
  assert.match(await textOf(page, '.eq.df'), /First difference: turn 3, the reply/);
  assert.ok((await page.locator('.side-a .code del').allInnerTexts()).some((it) => it.includes('unittest')));
  assert.deepEqual((await page.locator('.side-b .code ins').allInnerTexts()), ['pytest']);
  assert.match(await textOf(page, '.tot'), /Cost\s+\$0\.0038\s+\$0\s+−\$0\.0038/);
  assert.deepEqual(faults, []);
  await context.close();
});

test('equal turns open, and the sides swap', async () => {
  const { page, context } = await open('/runs/done0001/vs/othr0001', { world: worldOfTwo() });
  await page.locator('button.eq').first().click();
  await until(page, () => document.querySelectorAll('.eq-turn').length === 2);
  await page.getByRole('button', { name: 'Swap' }).click();
  await page.waitForURL(/othr0001\/vs\/done0001/);
  await context.close();
});

test('on a phone a switch shows one side', async () => {
  const { page, context } = await open('/runs/done0001/vs/othr0001', { world: worldOfTwo(), width: 390, height: 844 });
  await page.waitForSelector('.cc2');
  assert.ok(await page.locator('.side-a').first().isVisible());
  assert.ok(!(await page.locator('.side-b').first().isVisible()));
  await page.getByRole('button', { name: 'B', exact: true }).click();
  await page.locator('.side-b').first().waitFor({ state: 'visible' });
  await context.close();
});

test('a run equals itself', async () => {
  const { page, context } = await open('/runs/done0001/vs/done0001', { world: worldOfTwo() });
  await until(page, () => document.body.innerText.includes('Every turn is equal.'));
  await context.close();
});
