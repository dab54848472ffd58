// Plans with the server's own data: `bonded work` runs them, with scripted agents.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { close, enter, open, store, textOf, until } from './open.mjs';
import { call } from './store.mjs';

after(close);

let session;
const at = (address) => open(address, { storage: session.storage });

/** What a plan ends with that did not wholly succeed. */
const SOME_FAILED = 1;

before(async () => {
  store.write('work/kept.txt', 'kept\n');
  const report = call('agent__final_report', { report_format: 'markdown', report_content: 'ok' });
  const agent = (n, lines) => `--agent=agent-${n}=${store.write(`agent-${n}.ai`, `---\nmodels: ${store.model(`agent-${n}`, [...lines, report])}\ntools: builtin\n---\nYou are tested.\n`)}`;
  const write = (path, content) => call('write', { path, content });
  const plan = store.write('plan.json', JSON.stringify([
    { id: 'greeting', agent_id: 'agent-1', description: 'Write greet.sh', test_command: 'test -s greet.sh' },
    { id: 'docs', agent_id: 'agent-2', description: 'Document it', dependencies: ['greeting'], constraints: { max_files: 1 } },
    { id: 'release', agent_id: 'agent-1', description: 'Prepare the release notes', dependencies: ['docs'] },
  ]));
  await store.bonded(['work', plan, agent(1, [write('greet.sh', 'echo "Hello, $1!"\n')]), agent(2, [write('docs/a.md', '# A\n'), write('docs/b.md', '# B\n')])], SOME_FAILED);
  session = await enter();
});

test('the list leads to the picture of the plan', async () => {
  const { page, context, faults } = await at('/work');
  await page.locator('.pl').click();
  await page.waitForSelector('.dag .n');
  const shown = await page.locator('.dag').innerText();
  for (const part of ['greeting', 'Published', 'docs', 'Denied', 'Exceeded max files: 2 > 1', 'release', 'Blocked']) assert.ok(shown.includes(part), `${part} in ${shown}`);
  assert.equal(await page.locator('.edges path').count(), 2);
  assert.deepEqual(faults, []);
  await context.close();
});

test('an item that was published shows its change, its tests and a receipt that holds', async () => {
  const { page, context, faults } = await at('/work');
  await page.locator('.pl').click();
  await page.getByRole('link', { name: /greeting/ }).first().click();
  await until(page, () => document.querySelector('.rc')?.innerText.includes('Verified here'));
  const shown = await page.locator('.item').innerText();
  for (const part of ['Published.', 'greet.sh', 'Hello, $1!', 'exit 0', 'test -s greet.sh']) assert.ok(shown.includes(part), `${part} in ${shown}`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('an item that was denied shows what it would have changed, and leads to its run and back', async () => {
  const { page, context } = await at('/work');
  await page.locator('.pl').click();
  await page.getByRole('link', { name: /docs/ }).first().click();
  await until(page, () => document.querySelector('.item')?.innerText.includes('Nothing of this was published.'));
  assert.match(await textOf(page, '.item'), /What it would have changed, \d paths[\s\S]*docs\/a\.md/);
  await page.getByRole('link', { name: 'Open its run' }).click();
  await until(page, () => document.querySelector('.head')?.innerText.includes('of plan'));
  await page.locator('.head .meta a', { hasText: 'docs' }).click();
  await page.waitForURL(/\/work\/[^/]+\/docs$/);
  await context.close();
});
