// What may go wrong around a note: no connection, a restart, a full storage, no sockets, another version, a wrong clock.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { eventually, openPage, openSigned, saved, signIn, startWorld, textOf, until, watch } from './browser.mjs';

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

const field = (page) => page.locator('.ed-field');
const says = (page, text) => until(page, (it) => document.querySelector('.save')?.innerText.includes(it), text);

async function openNote(note, how) {
  const opened = await openSigned(world, `/notes/${note.note_id}`, how);
  await field(opened.page).waitFor();
  return opened;
}

test('what is written without a connection is kept, and saved when it is back', async () => {
  const note = await world.makeNote('Offline', 'base\n');
  const { page, context, faults } = await openNote(note);
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await field(page).fill('base\nwritten offline\n');
  await says(page, 'Not saved, the server does not answer');
  await page.getByText('Not connected since').first().waitFor();
  world.proxy.how.isCut = false;
  await saved(page);
  assert.equal((await world.readNote(note.note_id)).markdown, 'base\nwritten offline\n');
  assert.deepEqual(faults, []);
  await context.close();
});

test('a draft survives the browser and the server: both end, and it is merged with what others wrote meanwhile', async () => {
  const note = await world.makeNote('Restart', 'one\ntwo\nthree\n');
  const require = createRequire(path.join(process.cwd(), 'x.js'));
  const profile = mkdtempSync(path.join(os.tmpdir(), 'bonded-profile-'));
  const start = () => require('playwright-core').chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] });
  let context = await start();
  let page = context.pages()[0];
  await page.goto(`${world.proxy.origin}/notes/${note.note_id}`);
  await signIn(page);
  await field(page).waitFor();
  await world.workspace.kill();
  await field(page).fill('one\ntwo\nthree, mine\n');
  await says(page, 'Not saved');
  await context.close();
  await world.workspace.start();
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 1, markdown: 'one, theirs\ntwo\nthree\n' });
  context = await start();
  page = context.pages()[0];
  const faults = [];
  watch(page, world, faults);
  await page.goto(`${world.proxy.origin}/notes`);
  await page.getByText('not saved, your draft is kept').waitFor();
  await page.goto(`${world.proxy.origin}/notes/${note.note_id}`);
  await eventually(async () => (await world.readNote(note.note_id)).markdown === 'one, theirs\ntwo\nthree, mine\n', 'merged and saved');
  await saved(page);
  assert.equal(await textOf(page), 'one, theirs\ntwo\nthree, mine\n');
  assert.deepEqual(faults, []);
  await context.close();
  rmSync(profile, { recursive: true, force: true });
});

test('a draft opens without the server, too', async () => {
  const note = await world.makeNote('Only here', 'base\n');
  const { page, context } = await openNote(note);
  await page.route(`**/api/notes/${note.note_id}`, (route) => route.abort());
  await field(page).fill('base\nonly in this browser\n');
  await says(page, 'Not saved');
  await page.reload();
  await field(page).waitFor();
  assert.equal(await textOf(page), 'base\nonly in this browser\n');
  await page.unroute(`**/api/notes/${note.note_id}`);
  await saved(page);
  await context.close();
});

test('a change whose answer was lost is sent again with its key, and happens once', async () => {
  const note = await world.makeNote('Once', '');
  const { page, context } = await openNote(note);
  const keys = [];
  await page.route('**/api/notes/*', async (route) => {
    if (route.request().method() !== 'PATCH') return route.fallback();
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await field(page).fill('said once');
  await eventually(() => keys.length > 1, 'sent again');
  await saved(page);
  assert.equal(keys[0], keys[1]);
  const now = await world.readNote(note.note_id);
  assert.deepEqual([now.markdown, now.version], ['said once', 2]);
  await context.close();
});

test('a full storage is said beside Save, and what is written is still saved on the server', async () => {
  const note = await world.makeNote('Full', 'base\n');
  const { page, context, faults } = await openNote(note, {
    script: () => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('no room', 'QuotaExceededError');
      };
    },
  });
  world.proxy.how.isCut = true;
  world.proxy.cut();
  await field(page).fill('base\nmore\n');
  await says(page, 'storage is full');
  world.proxy.how.isCut = false;
  await saved(page);
  assert.doesNotMatch(await page.locator('.save').innerText(), /full/);
  assert.equal((await world.readNote(note.note_id)).markdown, 'base\nmore\n');
  assert.deepEqual(faults, []);
  await context.close();
});

test('without sockets the page asks every five seconds, and says so', async () => {
  const note = await world.makeNote('No sockets', 'base\n');
  world.proxy.how.hasSockets = false;
  const { page, context, faults } = await openNote(note);
  await page.locator('.side').getByText('Every 5 s').waitFor();
  await field(page).fill('base\nsaved without a socket\n');
  await saved(page);
  await world.workspace.api('PATCH', `/api/notes/${note.note_id}`, { base_version: 2, markdown: 'base, theirs\nsaved without a socket\n' });
  await until(page, () => document.querySelector('.ed-field').value.startsWith('base, theirs'));
  world.proxy.how.hasSockets = true;
  // A socket is tried again after half a minute of asking, or sooner when the browser says that the network is back.
  await eventually(() => page.evaluate(() => {
    dispatchEvent(new Event('online'));
    return document.querySelector('.side').innerText.includes('Live');
  }), 'the socket is back');
  assert.deepEqual(faults, []);
  await context.close();
});

test('a server of another version is said; the next step loads its pages, and the draft stays', async () => {
  const note = await world.makeNote('Updated', 'base\n');
  const { page, context } = await openNote(note);
  world.proxy.how.version = '9.9.9';
  world.proxy.cut();
  await page.getByText('The server was updated.').waitFor();
  await page.evaluate(() => (window.isOld = true));
  await field(page).fill('base\nbefore the update\n');
  await page.locator('.side').getByRole('link', { name: 'Rules' }).click();
  await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
  assert.equal(await page.evaluate(() => window.isOld), undefined, 'the pages were loaded again');
  assert.equal(await page.getByText('The server was updated.').count(), 0);
  await page.goto(`${world.proxy.origin}/notes/${note.note_id}`);
  await saved(page);
  assert.equal((await world.readNote(note.note_id)).markdown, 'base\nbefore the update\n');
  world.proxy.how.version = null;
  await context.close();
});

test('a clock that is wrong by days changes nothing that is shown', async () => {
  await world.makeNote('Just now', 'x');
  const { page, context } = await openPage(world, '/notes', {
    script: () => {
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
    },
  });
  await signIn(page);
  const row = page.locator('.nl-row', { hasText: 'Just now' });
  await row.waitFor();
  assert.match(await row.innerText(), /changed \d\d:\d\d/, 'today is the server’s day');
  await page.locator('.side').getByText('Live').waitFor();
  await context.close();
});

test('an error of the server is shown with its code, and the text stays', async () => {
  const note = await world.makeNote('Refused', 'base\n');
  const { page, context } = await openNote(note);
  await page.route('**/api/notes/*', (route) => (route.request().method() === 'PATCH' ? route.fulfill({ status: 413, json: { code: 'NOTE_TOO_LARGE', message: 'The note is too large.', details: null, request_id: 'r-1' } }) : route.fallback()));
  await field(page).fill('too much');
  await page.getByText('NOTE_TOO_LARGE').waitFor();
  assert.match(await page.locator('.failed').innerText(), /r-1/);
  await page.unroute('**/api/notes/*');
  await page.locator('.failed').getByRole('button', { name: 'Try again' }).click();
  await saved(page);
  await context.close();
});
