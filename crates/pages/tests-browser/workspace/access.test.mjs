// Every page of a workspace for people who see, hear or point differently: axe-core in both themes, the keyboard alone.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { axeSource, makeMember, openPage, openSigned, saved, signIn, startWorld, until } from './browser.mjs';
import { answerMade, rule as madeRule, RULE_ID, RUN_ID } from './made.mjs';

let world;
let note;
before(async () => {
  world = await startWorld();
  await makeMember(world, 'jon', 'editor');
  await world.makeNote('Release process', 'then work through [[Release 2.4 checklist]]', { keywords: ['release'] });
  note = await world.makeNote('Release 2.4 checklist', '# Before\n\nFollow [[Release process]].\n\n- [x] one\n- [ ] two\n\n> quote `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x;\n```\n', { keywords: ['release', 'list'] });
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: 'changed\n', keywords: ['release'] });
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 2, markdown: note.markdown });
  await world.workspace.api('POST', '/api/automation/rules', {
    workspace_id: world.workspace.id, name: 'File inbox notes', trigger: 'automation_schedule.cron', schedule: { cron: '30 9 * * 1-5', timezone: 'Europe/Berlin' },
    condition_json: { all: [{ field: 'note.keywords', op: 'contains', value: 'inbox' }, { any: [{ field: 'note.version', op: 'gt', value: 2 }, { not: { field: 'event.actor_type', op: 'eq', value: 'agent' } }] }] },
    action_json: { kind: 'kjxlkj_agent', request: 'File this note.', mode: 'reviewed' },
  });
});
after(() => world.end());

async function check(page, name) {
  await page.evaluate(axeSource());
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const bad = violations.filter((it) => ['serious', 'critical'].includes(it.impact)).flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n')[1] ?? ''}`));
  assert.deepEqual(bad, [], name);
  assert.equal(await page.locator('h1').count(), 1, `${name}: one first heading`);
}

const conflictOf = async (page) => {
  await page.locator('.ed-field').waitFor();
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await page.getByLabel('Text of the note').fill('mine\n');
  await until(page, () => document.querySelector('.save')?.innerText.includes('Not saved, the server'));
  const id = new URL(page.url()).pathname.split('/')[2];
  await world.workspace.api('PATCH', `/api/notes/${id}`, { base_version: 1, markdown: 'theirs\n' });
  world.proxy.how.isCut = false;
  await page.locator('.cf').waitFor();
};

/** Pages: address, what shows that it is there, and what is done first. */
const PAGES = {
  notes: ['/notes', '.nl-row'],
  note: [() => `/notes/${note.note_id}`, '.ed-field'],
  preview: [() => `/notes/${note.note_id}`, '.ed-field', async (page) => {
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('.md table').waitFor();
    await page.getByRole('button', { name: 'More' }).click();
  }],
  history: [() => `/notes/${note.note_id}/history`, '.diff'],
  rules: ['/rules', '.rl', (page) => page.locator('.rl a').first().click().then(() => page.locator('.cond').first().waitFor())],
  'a new rule': ['/rules/new', '.form'],
  'runs of a rule': [`/rules/${RULE_ID}/runs/${RUN_ID}`, '.loop'],
  review: ['/queue', '.change', (page) => page.getByRole('button', { name: 'Edit, then apply' }).first().click()],
  issues: ['/queue/issues', '.issue'],
  settings: ['/settings', '.chip'],
  account: ['/settings/account', '.stack'],
  tokens: ['/settings/tokens', '.rows li'],
  sessions: ['/settings/sessions', '.rows li'],
  people: ['/settings/people', '.rows li'],
  workspaces: ['/settings/workspaces', '.rows li'],
  'a choice': [async () => `/notes/${(await world.makeNote('Changed by two', 'before\n')).note_id}`, '.ed-field', conflictOf],
};

for (const width of [1280, 390]) {
  for (const theme of ['light', 'dark']) {
    test(`no serious fault: ${width} px, ${theme}`, { timeout: 240_000 }, async () => {
      const { page, context, faults } = await openPage(world, '/', { width, theme });
      await page.getByLabel('Password').waitFor();
      await check(page, 'login');
      await page.route('**/api/site', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), needsSetup: true } }));
      await page.reload();
      await page.getByRole('heading', { name: 'Set up this server' }).waitFor();
      await check(page, 'set-up');
      await page.unroute('**/api/site');
      await page.getByRole('button', { name: 'I have an account' }).click();
      await signIn(page);
      await page.locator('.shell').waitFor();
      for (const [name, [at, sign, first]] of Object.entries(PAGES)) {
        if (name === 'runs of a rule') {
          await answerMade(page, world);
          await page.route((url) => url.pathname === '/api/automation/rules', (route) => route.fulfill({ json: { rules: [{ ...madeRule, workspace_id: world.workspace.id }] } }));
        }
        await page.goto(world.proxy.origin + (typeof at === 'function' ? await at() : at));
        await page.locator(sign).first().waitFor();
        await first?.(page);
        await check(page, name);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name.replaceAll(' ', '-')}-${width}-${theme}.png`, fullPage: true });
        if (name === 'preview') await page.getByRole('button', { name: 'Source' }).click();
      }
      await page.getByRole('button', { name: 'Take' }).first().click();
      await page.getByRole('button', { name: 'Use the result' }).click();
      await saved(page);
      if (width === 390) {
        await page.getByRole('button', { name: 'Menu' }).click();
        await check(page, 'menu');
      }
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
}

test('with the keyboard alone: sign in, find a note, write, save, make a rule', async () => {
  const { page, context, faults } = await openPage(world, '/notes');
  await page.getByLabel('Name').waitFor();
  await page.keyboard.press('Tab');
  for (let n = 0; n < 5 && (await page.evaluate(() => document.activeElement?.id)) !== 'name'; n += 1) await page.keyboard.press('Tab');
  await page.keyboard.type('ana');
  await page.keyboard.press('Tab');
  await page.keyboard.type('a long enough password');
  await page.keyboard.press('Enter');
  await page.locator('.nl-row').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('work through');
  await page.keyboard.press('Enter');
  await page.locator('.ed-field').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('e');
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' by keys');
  await page.keyboard.press('Control+s');
  await saved(page);
  assert.match((await world.readNote(new URL(page.url()).pathname.split('/')[2])).markdown, / by keys$/, 'every letter was one');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  assert.match(await page.getByRole('dialog').innerText(), /Open the link at the cursor/);
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
  await page.keyboard.press('n');
  await page.getByLabel('Name', { exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test('focus is where a dialog was opened, after it is closed', async () => {
  const { page, context } = await openSigned(world, `/notes/${note.note_id}`);
  await page.locator('.ed-field').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.notEqual(await page.evaluate(() => document.activeElement), null);
  await context.close();
});
