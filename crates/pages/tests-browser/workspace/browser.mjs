// Opens the app of a workspace in Chromium, and signs in. Everything that must not happen is noted.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { OWNER, startProxy, startWorkspace } from './server.mjs';

const require = createRequire(path.join(process.cwd(), 'x.js'));
const { chromium } = require('playwright-core');
export const axeSource = () => require('axe-core').source;

export { OWNER };

let browser;
const launch = async () => (browser ??= await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--force-color-profile=srgb', '--font-render-hinting=none'],
}));

/** A workspace with its proxy, for one file of checks. */
export async function startWorld(how) {
  const workspace = await startWorkspace(how);
  const proxy = await startProxy(workspace);
  const end = async () => {
    await browser?.close();
    browser = undefined;
    await proxy.end();
    await workspace.end();
  };
  const makeNote = (title, markdown = '', more = {}) => workspace.api('POST', '/api/notes', { workspace_id: workspace.id, title, markdown, ...more });
  const readNote = (id) => workspace.api('GET', `/api/notes/${id}`);
  return { workspace, proxy, end, makeNote, readNote };
}

/** @param {{ width?: number, height?: number, theme?: string, script?: () => void }} [how] */
export async function openPage(world, at, how = {}) {
  const context = await (await launch()).newContext({ viewport: { width: how.width ?? 1440, height: how.height ?? 900 }, colorScheme: how.theme ?? 'light', permissions: ['clipboard-read', 'clipboard-write'] });
  context.setDefaultTimeout(PATIENCE);
  const faults = [];
  if (how.script) await context.addInitScript(how.script);
  await context.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  const page = await context.newPage();
  watch(page, world, faults);
  await page.goto(world.proxy.origin + at);
  return { page, context, faults };
}

/** Whose page it is. */
const worlds = new WeakMap();

/** Errors of scripts, violations of the policy, requests to others. What a cut connection says is no fault. */
export function watch(page, world, faults) {
  worlds.set(page, world);
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text()) && faults.push(`console: ${message.text()}`));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== world.proxy.origin && !['data:', 'blob:'].includes(protocol)) faults.push(`foreign request: ${request.url()}`);
  });
}

export async function signIn(page, { name, password } = OWNER) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** A page that is signed in. */
export async function openSigned(world, at, how = {}) {
  const opened = await openPage(world, at, how);
  await signIn(opened.page, how.as);
  await opened.page.waitForSelector('.shell');
  return opened;
}

/** An account with a password, by invitation, and a member of the workspace. */
export async function makeMember(world, name, role) {
  const password = `a password of ${name}`;
  const { invitation, user_id } = await world.workspace.api('POST', '/api/users', { name, invite: true });
  await fetch(`${world.workspace.base}/api/auth/invitation`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ invitation, password }) });
  await world.workspace.api('POST', `/api/workspaces/${world.workspace.id}/members`, { user_id, role });
  return { name, password, user_id };
}

/** Long enough for a busy machine: a check that waits this long has failed. */
export const PATIENCE = 30_000;

/** Waits until something holds in the page; checks never sleep for a fixed time. */
export const until = (page, holds, argument, timeout = PATIENCE) => page.waitForFunction(holds, argument, { timeout });

/** Waits until something holds here. */
export async function eventually(holds, what, timeout = PATIENCE) {
  const end = Date.now() + timeout;
  for (;;) {
    const found = await holds();
    if (found) return found;
    assert.ok(Date.now() < end, `in vain: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/**
 * Waits until the page says that its note is saved. The server must have it then, as it is on the page and with the version
 * that the page says: a page that says so before is at fault, however soon it is true.
 */
export async function saved(page) {
  await eventually(async () => {
    const shown = await page.evaluate(shownNote);
    if (!shown) return false;
    const stored = await worlds.get(page).readNote(shown.id);
    // Another person wrote meanwhile: the page will show it.
    if (stored.version > shown.version) return false;
    const { version, title, markdown } = stored;
    assert.deepEqual({ version, title, text: markdown.replaceAll('\r\n', '\n') }, { version: shown.version, title: shown.title ?? title, text: shown.text ?? markdown }, 'what is called saved is on the server');
    return true;
  }, 'it is saved');
}

/** In the page: the note that is called saved, as it is shown; a preview shows no fields. */
function shownNote() {
  const state = document.querySelector('.save');
  if (!state?.innerText.includes('Saved')) return null;
  return { id: location.pathname.split('/')[2], version: Number(state.dataset.version), title: document.querySelector('.title-field')?.value, text: document.querySelector('.ed-field')?.value };
}

export const textOf = (page) => page.locator('.ed-field').inputValue();

/** No part is wider than the window. */
export const isWithin = (page) => page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth);
