// An agent with a scripted model: what it proposes waits in the queue and is decided there; its loops are in the history.
import assert from 'node:assert/strict';
import http from 'node:http';
import test, { after, before } from 'node:test';
import { eventually, openSigned, startWorld, until } from './browser.mjs';

const REPLY = '<record_add><keywords>found</keywords><value>{"title": "Proposed one", "markdown": "first line\\nsecond line\\n"}</value></record_add>'
  + '<record_add><keywords>found</keywords><value>{"title": "Proposed two", "markdown": "to be edited\\n"}</value></record_add>'
  + '<record_add><keywords>found</keywords><value>{"title": "Proposed three", "markdown": "to be rejected\\n"}</value></record_add>'
  + '<ram_add><key>plan</key><value>file it</value></ram_add><record_issue><key>Duplicate</key><value>Two notes say the same.</value><metadata>{}</metadata></record_issue>';

/** What the model was asked. */
const asked = [];

/** A provider that always says the same. */
function startModel() {
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (it) => chunks.push(it));
    request.on('end', () => {
      if (request.method === 'GET') return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [{ id: 'scripted' }] }));
      const text = Buffer.concat(chunks).toString();
      asked.push(text);
      if (!JSON.parse(text).stream) return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: REPLY }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } }));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { role: 'assistant', content: REPLY }, finish_reason: null }] })}\n\n`);
      response.write(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`);
      return response.end('data: [DONE]\n\n');
    });
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

let world;
let model;
before(async () => {
  model = await startModel();
  const base = `http://127.0.0.1:${model.address().port}/v1`;
  world = await startWorld({ configure: (it) => ({ ...it, automation: { ...it.automation, base_url: base, model: 'scripted' } }) });
});
after(async () => {
  await world.end();
  model.close();
});

test('what an agent proposes is applied, edited and rejected; its run can be seen', { timeout: 120_000 }, async () => {
  const rule = await world.workspace.api('POST', '/api/automation/rules', { workspace_id: world.workspace.id, name: 'Find things', trigger: 'manual', condition_json: {}, action_json: { kind: 'kjxlkj_agent', mode: 'reviewed', request: 'Find things.', loop: { max_iterations: 1, loop_delay_ms: 0, idle_delay_ms: 0 } } });
  const { page, context, faults } = await openSigned(world, `/rules/${rule.rule_id}`);
  await page.getByRole('button', { name: 'Launch once' }).click();
  assert.equal(await page.getByLabel('Request, for this run only').inputValue(), 'Find things.');
  await page.getByLabel('Request, for this run only').fill('Find <b>other</b> things.');
  await page.getByRole('button', { name: 'Launch', exact: true }).click();
  await page.locator('.loop').first().waitFor();
  await until(page, () => document.querySelector('.loop')?.innerText.includes('proposed'));
  assert.match(await page.locator('.loop').first().innerText(), /plan/, 'what it left in its memory');
  assert.match(await page.locator('.rrun-in').innerText(), /Launched with the request\s+Find <b>other<\/b> things\./);
  assert.ok(asked.some((it) => it.includes('Find <b>other</b> things.')) && !asked.some((it) => it.includes('Find things.')), 'the model was asked this, and not what the rule says');
  await page.locator('.side').getByRole('link', { name: /Review/ }).click();
  const card = (name) => page.locator('.change', { hasText: name });
  await card('Proposed one').getByRole('button', { name: 'Apply', exact: true }).click();
  await page.locator('.decided', { hasText: 'Proposed one' }).waitFor();
  await card('Proposed two').getByRole('button', { name: 'Edit, then apply' }).click();
  await card('Proposed two').getByLabel('Text').fill('written by a person\n');
  await card('Proposed two').getByRole('button', { name: 'Apply what you wrote' }).click();
  await page.locator('.decided', { hasText: 'Proposed two' }).waitFor();
  await card('Proposed three').getByRole('button', { name: 'Reject' }).click();
  await card('Proposed three').getByLabel(/Reason/).fill('not needed');
  await card('Proposed three').getByRole('button', { name: 'Reject' }).click();
  await page.locator('.decided', { hasText: 'Proposed three' }).waitFor();
  await page.getByRole('link', { name: 'Issues' }).click();
  await page.locator('.issue', { hasText: 'Two notes say the same.' }).getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('What was done about it').fill('merged them');
  await page.getByRole('button', { name: 'Close the issue' }).click();
  await page.getByText('No issue is open').waitFor();
  await page.getByRole('button', { name: 'Closed' }).click();
  await page.getByText('merged them').waitFor();
  const notes = await eventually(async () => { const it = (await world.workspace.api('GET', `/api/notes?workspace_id=${world.workspace.id}`)).notes; return it.length === 2 && it; }, 'two notes');
  const texts = await Promise.all(notes.map(async (it) => (await world.readNote(it.note_id)).markdown));
  assert.deepEqual(texts.toSorted(), ['first line\nsecond line\n', 'written by a person\n']);
  assert.deepEqual(faults, []);
  await context.close();
});
