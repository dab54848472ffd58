// The states that every page has, and signing in.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { base, close, open, textOf, until } from './open.mjs';
import { refusal, usualWorld } from './made.mjs';

after(close);

const refuse = (status, code, message) => (route) => route.fulfill({ status, contentType: 'application/json', body: JSON.stringify(refusal(status, code, message)[1]) });

test('the secret of a link leaves the address at once, and works', async () => {
  const world = usualWorld();
  const { page, context } = await open('/runs#enter=SECRET', { world });
  await page.waitForSelector('.r .goal');
  assert.equal(page.url(), `${base}/runs`);
  assert.deepEqual(world.posted[0], { path: '/api/session', body: { link: 'SECRET' } });
  await context.close();
});

test('a session that ended leads to signing in, and back to the page', async () => {
  const world = usualWorld();
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.r .goal');
  world.special.set('/api/(runs|inbox)', refuse(401, 'unauthorized', 'Sign in first.'));
  await page.getByRole('button', { name: /^Waiting/ }).click();
  await page.getByRole('heading', { name: 'This session has ended' }).waitFor();
  world.special.clear();
  await page.getByLabel('Link or code').fill('http://127.0.0.1:1/#enter=ANEW');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForSelector('.r .goal');
  assert.deepEqual(world.posted.at(-1).body, { link: 'ANEW' });
  await context.close();
});

test('an error says what, its code and its request, and Try again helps', async () => {
  const world = usualWorld();
  world.special.set('/api/runs$', refuse(503, 'unavailable', 'The store is locked.'));
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.failed');
  assert.match(await textOf(page, '.failed'), /The list cannot be read\.[\s\S]*The store is locked\.[\s\S]*unavailable · request req-7f3a0c/);
  world.special.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForSelector('.r .goal');
  await context.close();
});

test('an error leaves what was there', async () => {
  const world = usualWorld();
  world.stream = `${JSON.stringify({ kind: 'runs', version: 2 })}\n`;
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.r .goal');
  world.special.set('/api/runs$', refuse(503, 'unavailable', 'The store is locked.'));
  await page.waitForSelector('.failed');
  assert.ok((await page.locator('.r .goal').count()) > 0);
  await context.close();
});

test('nothing is shown for 150 ms, then grey rows', async () => {
  const world = usualWorld();
  let release;
  world.special.set('/api/runs$', (route) => new Promise((done) => (release = done)).then(() => route.fallback()));
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.sk');
  world.special.clear();
  release();
  await context.close();
});

test('without a stream it asks every 5 s, and says so', async () => {
  const world = usualWorld();
  world.special.set('/api/stream', refuse(503, 'no_stream', 'no'));
  const { page, context } = await open('/runs', { world });
  await until(page, () => document.querySelector('.foot').innerText.includes('Every 5 s'));
  world.runs.get('done0001').row.goal = 'Renamed meanwhile';
  await until(page, () => document.body.innerText.includes('Renamed meanwhile'));
  await context.close();
});

test('without a server it says since when, turns actions off, and what was written stays', async () => {
  const world = usualWorld();
  const { page, context } = await open('/inbox', { world });
  await page.waitForSelector('.why');
  await page.locator('.why').fill('because');
  world.special.set('.', (route) => route.abort());
  await page.evaluate(() => import('/src/live.js').then((it) => it.reconnect()));
  await page.waitForSelector('.banner');
  assert.match(await textOf(page, '.banner'), /Not connected since \d\d:\d\d\. Shown as of then/);
  assert.ok(await page.locator('.approve').isDisabled());
  assert.equal(await page.locator('.why').inputValue(), 'because');
  world.special.clear();
  world.stream = `${JSON.stringify({ kind: 'beat', now: Date.now() })}\n`;
  await page.getByRole('button', { name: 'Try now' }).click();
  await page.waitForSelector('.banner', { state: 'detached' });
  await context.close();
});

test('another version of the server asks for a reload', async () => {
  const world = usualWorld();
  world.special.set('/api/stream', refuse(503, 'no_stream', 'no'));
  const { page, context } = await open('/runs', { world });
  await page.waitForSelector('.r .goal');
  world.version = '0.2.0';
  await until(page, () => document.querySelector('.banner')?.innerText.includes('The server was updated'));
  await context.close();
});

test('full storage is said beside the field', async () => {
  const { page, context } = await open('/inbox', { world: usualWorld() });
  await page.waitForSelector('.why');
  await page.evaluate(() => (Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }));
  await page.locator('.why').fill('because');
  assert.match(await textOf(page, '.go'), /storage is full/);
  await context.close();
});

test('a clock that is wrong by days changes nothing that is shown', async () => {
  const script = () => {
    const Real = Date;
    const shift = -3 * 86_400_000;
    globalThis.Date = class extends Real {
      constructor(...given) {
        if (given.length === 0) super(Real.now() + shift);
        else super(...given);
      }
      static now() {
        return Real.now() + shift;
      }
    };
  };
  const world = usualWorld();
  world.add('old00001', [], { goal: 'Two days ago', startedAt: Date.now() - 2 * 86_400_000 });
  const { page, context, faults } = await open('/runs', { world, script });
  await page.waitForSelector('.r .goal');
  assert.deepEqual((await page.locator('.gh').allInnerTexts()).slice(0, 3), ['Needs you', 'Running', 'Today']);
  assert.match(await textOf(page, '.list .r'), /Waiting, 3 min/);
  await page.getByLabel('Started').selectOption('Today');
  await until(page, () => !document.body.innerText.includes('Two days ago') && document.querySelector('.r .goal'));
  assert.deepEqual(faults, []);
  await context.close();
});

test('a run that does not exist says so', async () => {
  const { page, context } = await open('/runs/nothere', { world: usualWorld() });
  await page.waitForSelector('.failed');
  assert.match(await textOf(page, '.failed'), /no_such_run/);
  await context.close();
});

test('an address that is none leads back', async () => {
  const { page, context } = await open('/nowhere', { world: usualWorld() });
  await page.getByRole('heading', { name: 'Not found' }).waitFor();
  await page.getByRole('link', { name: /^Go to the/ }).click();
  await page.waitForSelector('.r .goal');
  await context.close();
});

test('appearance is chosen in the settings and kept; signing out forgets the session', async () => {
  const { page, context } = await open('/settings', { world: usualWorld() });
  await page.getByRole('button', { name: 'Dark', exact: true }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.reload();
  await page.waitForSelector('.chip');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to bonded' }).waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem('bonded.token')), null);
  await context.close();
});
