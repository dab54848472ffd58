// What the first page costs, and what the server sends with it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test, { after } from 'node:test';
import { gzipSync } from 'node:zlib';
import { base, close, open } from './open.mjs';
import { usualWorld } from './made.mjs';

after(close);

const APP = new URL('../app/', import.meta.url).pathname;
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

test('the first page is under 60 KB', async () => {
  const { page, context, faults } = await open('/runs', { world: usualWorld() });
  const asked = new Set();
  page.on('request', (request) => asked.add(new URL(request.url()).pathname));
  await page.reload();
  await page.waitForSelector('.r .goal');
  const files = [...asked].filter((it) => !it.startsWith('/api/')).map((it) => (it === '/runs' ? '/index.html' : it));
  const sizes = files.map((it) => gzipSync(readFileSync(path.join(APP, it)), { level: 9 }).length);
  const total = sizes.reduce((sum, it) => sum + it, 0);
  console.log(`# first page: ${files.length} files, ${total} bytes with gzip`);
  assert.ok(total < 60_000, `${total} bytes`);
  assert.deepEqual(faults, []);
  await context.close();
});

test('what the first page needs is named in it, and nothing else', () => {
  const seen = new Set();
  const walk = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from] of readFileSync(path.join(APP, file), 'utf8').matchAll(/(?:^|;)\s*(?:import|export)[^;'"()]*?from\s*['"](\.[^'"]+)['"]/gm)) walk(path.normalize(path.join(path.dirname(file), from)));
  };
  walk('src/main.js');
  seen.delete('src/main.js');
  const named = [...readFileSync(path.join(APP, 'index.html'), 'utf8').matchAll(/modulepreload" href="\/([^"]+)"/g)].map((it) => it[1]);
  assert.deepEqual(named.toSorted(), [...seen].toSorted());
});

test('the page comes with its policy, and files with their types', async () => {
  const response = await fetch(`${base}/runs`);
  assert.equal(response.headers.get('content-security-policy'), POLICY);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  for (const [file, type] of [['/src/main.js', /javascript/], ['/css/tokens.css', /css/], ['/icon.svg', /svg/]]) assert.match((await fetch(base + file)).headers.get('content-type'), type);
  assert.equal((await fetch(`${base}/src/nothing.js`)).status, 404);
});

test('the markup has no script, style or handler of its own', () => {
  const html = readFileSync(path.join(APP, 'index.html'), 'utf8');
  assert.doesNotMatch(html, /\sstyle=|<style|\son\w+=|javascript:|<script(?![^>]*src=)/);
  assert.doesNotMatch(html, /(href|src)="(https?:)?\/\//);
});
