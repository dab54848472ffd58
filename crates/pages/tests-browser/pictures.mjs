// Makes the pictures of the README, in docs: `node pictures.mjs [DIRECTORY]`, with BONDED and CHROMIUM as for the checks.
import path from 'node:path';
import { close, enter, open, store, until } from './open.mjs';
import { ENDED, LIMITED, REPAIR, call, done, fillInbox, interrupt, writeTree } from './store.mjs';

const into = process.argv[2] ?? new URL('../../../docs/', import.meta.url).pathname;
const WIDTH = 1180;

const look = (path, text) => ({ ...call('list', { path }, text), delay_ms: 120, usage: { input: 2100, output: 60 } });

/** A run of an agent with a file of its own. */
async function ofAgent(id, name, goal, lines) {
  const report = call('agent__final_report', { report_format: 'markdown', report_content: 'Three incidents, one of them open.' });
  const file = store.write(`${name}.ai`, `---\nmodels: ${store.model(name, [...lines, report])}\ntools: builtin\n---\nYou are ${name}.\n`);
  await store.bonded(['run', '--id', id, '--quiet', '--no-prompt', '--agent', file, goal]);
}

async function fillList() {
  writeTree(store);
  await ofAgent('b44e9021', 'digest', 'Summarise last week’s incidents for the review', [look('.', 'I look.')]);
  await store.run('2a6be9d5', [{ ...look('.', 'Again.'), repeat: 5 }], { goal: 'Make the nightly backup job idempotent', flags: LIMITED, ends: ENDED.failed });
  await store.run('c7f2a810', [look('.', 'I look.'), look('src', 'On.')], { goal: 'Rewrite the importer so that it streams', flags: [...LIMITED.slice(0, -1), '2'], ends: ENDED.failed });
  await interrupt(store, '51d03b6e');
  const slow = REPAIR.map((it) => ({ ...it, delay_ms: 300 }));
  await store.run('ed14a502', slow, { goal: 'The importer crashes on lists with an empty part. Find out why and fix it.', flags: [...LIMITED, '--untrusted', 'read'] });
}

/** One that is active while the pictures are made. */
function begin() {
  const lines = [look('.', 'I look.'), look('src', 'On.'), { ...done('ported'), delay_ms: 600_000 }];
  store.start(store.words('0c91d7aa', lines, { goal: 'Port the billing tests from unittest to pytest, one module at a time', flags: LIMITED }));
}

async function picture(storage, address, name, height, isReady) {
  const { page, context } = await open(address, { storage, width: WIDTH, height });
  await until(page, isReady);
  await until(page, () => document.querySelector('.foot').innerText.includes('Live'));
  await page.screenshot({ path: path.join(into, name) });
  await context.close();
}

async function make() {
  await fillList();
  await fillInbox(store);
  begin();
  const { storage, ask } = await enter();
  while ((await ask('/api/runs/0c91d7aa')).turns !== 3) await new Promise((settle) => setTimeout(settle, 20));
  const { calls } = await ask('/api/inbox');
  await picture(storage, '/runs', 'pages-runs.png', 660, () => document.querySelectorAll('.r .goal').length >= 7);
  await picture(storage, '/runs/ed14a502/t/2', 'pages-run.png', 830, () => document.querySelector('.diff ins'));
  await picture(storage, `/inbox/call/${calls.find((it) => it.runId === 'changes').digest}`, 'pages-inbox.png', 720, () => document.querySelector('.diff .a'));
}

await make().finally(close);
