// A receipt, checked in the browser from its file alone. receipt.json was made by `bonded work`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { close, open, textOf, until } from './open.mjs';
import { usualWorld } from './made.mjs';

after(close);

const RECEIPT = readFileSync(new URL('receipt.json', import.meta.url), 'utf8');
const file = (text, name = 'RECEIPT.json') => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });

async function checked(...texts) {
  const it = await open('/verify', { world: usualWorld() });
  await it.page.waitForSelector('.drop');
  const requests = [];
  it.page.on('request', (request) => !/\/(api|src)\//.test(request.url()) || request.method() !== 'GET' ? requests.push(request.url()) : 0);
  await it.page.setInputFiles('input[type=file]', texts.map((text, at) => file(text, `R${at}.json`)));
  await it.page.waitForSelector('.receipt');
  return { ...it, requests };
}
const failing = (page) => page.locator('.receipt .checks li:has(.c-bad) b').allInnerTexts();

test('a receipt as it was written holds, its signature too, and nothing is sent', async () => {
  const { page, context, faults, requests } = await checked(RECEIPT);
  assert.match(await textOf(page, '.receipt'), /every check holds[\s\S]*Ed25519, good for the key/);
  assert.deepEqual(await failing(page), []);
  assert.deepEqual(requests, []);
  assert.deepEqual(faults, []);
  await context.close();
});

/** What is changed, and which checks must notice. */
const FORGED = [
  ['another size', ['"bytes":15', '"bytes":16'], ['Hash', 'Files', 'Signature']],
  ['another file content', [/("content":")[0-9a-f]{4}/, '$1ffff'], ['Hash', 'Content hash', 'Files', 'Signature']],
  ['another end', ['"status":"success","tests"', '"status":"failure","tests"'], ['Hash', 'Tree', 'Signature']],
  ['another signature', [/"sig":"..../, '"sig":"AAAA'], ['Signature']],
  ['white space', [',"format"', ', "format"'], ['Form']],
  ['a key twice', ['"format":1', '"format":1,"format":1'], ['Form']],
  ['tests that failed', ['"exit_code":0', '"exit_code":1'], ['Hash', 'Tests', 'Signature']],
  ['counts of tests that nobody counted', ['"tool_ops_count":1', '"tests_passed":9,"tool_ops_count":1'], ['Hash', 'Tests', 'Signature']],
  ['more calls than counted', ['"tool_ops_count":1', '"tool_ops_count":0'], ['Hash', 'Calls', 'Signature']],
  ['an admission that was none', ['{"admitted":true}', '{"admitted":false}'], ['Hash', 'Admission', 'Signature']],
  ['attempts that were not allowed', ['"format":1', '"earlier_attempts":[{"execution_time_ms":1,"status":"failure"}],"format":1'], ['Hash', 'Attempts', 'Signature']],
  ['a merged file that it did not change', ['"metrics"', '"merged":[{"path":"other.txt"}],"metrics"'], ['Hash', 'Merged files', 'Signature']],
  ['a change by others that it denies', ['"content_hash"', '"changed_meanwhile":true,"content_hash"'], ['Hash', 'Changes by others', 'Signature']],
  ['a run that was not done', ['"termination":"done"', '"termination":"fatal"'], ['Hash', 'End', 'Signature']],
];
for (const [what, [from, to], expected] of FORGED) {
  test(`${what} is noticed`, async () => {
    const forged = RECEIPT.replace(from, to);
    assert.notEqual(forged, RECEIPT);
    const { page, context } = await checked(forged);
    assert.deepEqual(await failing(page), expected);
    await context.close();
  });
}

test('what is no receipt is refused in words', async () => {
  const { page, context } = await checked('<script>alert(1)</script>', '{"a":1}');
  assert.match(await page.locator('.verify').innerText(), /not JSON[\s\S]*not a receipt/);
  await context.close();
});

test('a receipt that is dropped is checked', async () => {
  const { page, context } = await open('/verify', { world: usualWorld() });
  await page.waitForSelector('.drop');
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'RECEIPT.json'));
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
  }, RECEIPT);
  await until(page, () => document.querySelector('.receipt')?.innerText.includes('every check holds'));
  await context.close();
});
