// Makes the pictures of the README, in docs: `node pictures.mjs [DIRECTORY]`, with BONDED and CHROMIUM as for the checks.
import path from 'node:path';
import { close, enter, open, store, until } from './open.mjs';
import { ENDED, LIMITED, REPAIR, call, done, fillInbox, interrupt, writeTree } from './store.mjs';

const into = process.argv[2] ?? new URL('../../../docs/', import.meta.url).pathname;
const SIZE = { width: 1180, height: 720 };

/** An agent that plays these replies. */
function agent(name, lines) {
  return store.write(`${name}.ai`, `---\nmodels: ${store.model(name, lines)}\ntools: builtin\n---\nYou are ${name}.\n`);
}

const report = (text) => call('agent__final_report', { report_format: 'markdown', report_content: text });
const look = (path, text) => ({ ...call('list', { path }, text), delay_ms: 120, usage: { input: 2100, output: 60 } });

async function fillList() {
  writeTree(store);
  const told = (id, name, goal, lines, flags = [], ends = ENDED.done) => store.bonded(['run', '--id', id, '--quiet', '--no-prompt', '--agent', agent(`${name}-${id}`, lines), ...flags, goal], ends);
  await told('b44e9021', 'digest', 'Summarise last week’s incidents for the review', [look('.', 'I look.'), report('Three incidents, one of them open.')], LIMITED);
  await told('2a6be9d5', 'ops', 'Make the nightly backup job idempotent', [look('.', 'a'), look('.', 'b'), look('.', 'c'), look('.', 'd')], [...LIMITED, '--no-progress', '3'], ENDED.failed);
  await told('c7f2a810', 'coder', 'Rewrite the importer so that it streams', [look('.', 'I look.'), look('src', 'On.')], ['--max-turns', '2'], ENDED.failed);
  await interrupt(store, '51d03b6e');
  const slow = REPAIR.map((it) => ({ ...it, delay_ms: 300 }));
  await store.run('ed14a502', slow, { goal: 'The importer crashes on lists with an empty part. Find out why, fix it, and run the tests.', flags: [...LIMITED, '--untrusted', 'read'] });
}

/** One that is active while the pictures are made. */
function begin() {
  const lines = [look('.', 'I look.'), look('src', 'On.'), { ...done('ported'), delay_ms: 600_000 }];
  store.start(store.words('0c91d7aa', lines, { goal: 'Port the billing tests from unittest to pytest, one module at a time', flags: LIMITED }));
}

async function picture(storage, address, name, isReady) {
  const { page, context } = await open(address, { storage, ...SIZE });
  await until(page, isReady);
  await until(page, () => document.querySelector('.foot').innerText.includes('Live'));
  await page.screenshot({ path: path.join(into, name) });
  await context.close();
}

await fillList();
await fillInbox(store);
begin();
const { storage, ask } = await enter();
while ((await ask('/api/runs/0c91d7aa')).turns !== 3) await new Promise((settle) => setTimeout(settle, 20));
const { calls } = await ask('/api/inbox');
await picture(storage, '/runs', 'pages-runs.png', () => document.querySelectorAll('.r .goal').length >= 7);
await picture(storage, '/runs/ed14a502/t/2', 'pages-run.png', () => document.querySelector('.diff ins'));
await picture(storage, `/inbox/call/${calls.find((it) => it.runId === 'changes').digest}`, 'pages-inbox.png', () => document.querySelector('.diff ins, .diff .a'));
await close();
