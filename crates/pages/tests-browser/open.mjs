// Opens the app in Chromium, from a `bonded ui` of its own. CHROMIUM names the browser, BONDED the program.
// playwright-core and axe-core are taken from the directory in which the checks are started.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Store } from './store.mjs';

const require = createRequire(path.join(process.cwd(), 'x.js'));
const { chromium } = require('playwright-core');

/** What the server shows. It is empty until checks fill it. */
export const store = new Store();
export const link = await store.serve();
export const base = new URL(link).origin;
export const axeSource = () => require('axe-core').source;

let browser;

export async function launch() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--font-render-hinting=none'],
  });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = undefined;
  await store.end();
}

/** What a browser keeps that has opened the link, and a way to ask the server without one. */
export async function enter() {
  const { page, context } = await open(link);
  await page.waitForSelector('.r .goal, .empty', { timeout: PATIENCE });
  const storage = await context.storageState();
  const token = await page.evaluate(() => localStorage.getItem('bonded.token'));
  await context.close();
  const ask = async (path) => (await fetch(base + path, { headers: { Authorization: `Bearer ${token}` } })).json();
  return { storage, ask };
}

/** Long enough for a busy machine: a check that waits this long has failed. */
export const PATIENCE = 30_000;

/**
 * A page that notes everything that must not happen: errors, violations of the policy, requests to others, dialogs.
 * `world` answers the API; without one the server does.
 */
export async function open(address, { world, width = 1280, height = 900, theme = 'light', storage, motion, script } = {}) {
  const context = await (await launch()).newContext({
    viewport: { width, height }, colorScheme: theme, storageState: storage, acceptDownloads: true, reducedMotion: motion,
    permissions: ['clipboard-write', 'clipboard-read'],
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    const isRefusal = /Failed to load resource/.test(text);
    if (message.type() === 'error' && !isRefusal) faults.push(`console: ${text}`);
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (origin !== base && protocol !== 'data:' && protocol !== 'blob:') faults.push(`foreign request: ${request.url()}`);
  });
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  if (script) await context.addInitScript(script);
  if (world) {
    await page.route('**/api/**', (route) => world.answer(route));
    await context.addInitScript(() => {
      // Once for the context: a page that signs out must find nothing again.
      if (sessionStorage.getItem('made')) return;
      sessionStorage.setItem('made', 'yes');
      localStorage.setItem('bonded.token', 'made');
      localStorage.setItem('bonded.user', 'ana');
    });
  }
  await page.goto(address.startsWith('http') ? address : base + address);
  return { page, context, faults };
}

/** Waits until something holds; checks never sleep for a fixed time. */
export async function until(page, holds, argument, timeout = PATIENCE) {
  await page.waitForFunction(holds, argument, { timeout });
}

export const textOf = (page, selector) => page.locator(selector).first().innerText();

/** Two frames: what was asked for is drawn, and what it started has begun. */
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

/**
 * How long the page's main thread worked while something was done: in all, and at a stretch. It is the thread's own time,
 * so that other programs on the machine do not count.
 */
export async function worked(page, act) {
  const chrome = await launch();
  await chrome.startTracing(page, { categories: ['toplevel'] });
  const result = await act();
  await settle(page);
  const { traceEvents } = JSON.parse((await chrome.stopTracing()).toString());
  const main = traceEvents.filter((it) => it.name === 'thread_name' && it.args.name === 'CrRendererMain').map((it) => `${it.pid} ${it.tid}`);
  const spans = main.map((thread) => traceEvents.filter((it) => it.ph === 'X' && it.tdur > 0 && it.name.endsWith('RunTask') && `${it.pid} ${it.tid}` === thread).map((it) => it.tdur / 1000));
  // Of several renderers the page's is the one that worked.
  const own = spans.sort((a, b) => sum(b) - sum(a))[0] ?? [];
  assert.ok(own.length > 0, 'the browser said what it did');
  return { result, total: sum(own), longest: Math.max(...own) };
}

const sum = (numbers) => numbers.reduce((total, it) => total + it, 0);
