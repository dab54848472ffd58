// Opens the app in Chromium. The server under test is named by BONDED_UI: the link that `bonded ui` prints.
// playwright-core and axe-core are taken from the directory in which the checks are started.
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.cwd(), 'x.js'));
const { chromium } = require('playwright-core');

export const link = process.argv.find((it) => it.startsWith('http')) ?? process.env.BONDED_UI ?? 'http://127.0.0.1:8123/#enter=devlink';
export const base = new URL(link).origin;
export const axeSource = () => require('axe-core').source;

let browser;

export async function launch() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--force-color-profile=srgb', '--font-render-hinting=none'],
  });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = undefined;
}

/**
 * A page that notes everything that must not happen: errors, violations of the policy, requests to others, dialogs.
 * `world` answers the API; without one the server does.
 */
export async function open(address, { world, width = 1280, height = 900, theme = 'light', storage, motion } = {}) {
  const context = await (await launch()).newContext({
    viewport: { width, height }, colorScheme: theme, storageState: storage, acceptDownloads: true, reducedMotion: motion,
    permissions: ['clipboard-write', 'clipboard-read'],
  });
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
export async function until(page, holds, argument, timeout = 5000) {
  await page.waitForFunction(holds, argument, { timeout });
}

export const textOf = (page, selector) => page.locator(selector).first().innerText();
