// What computes and draws nothing, without a browser: Markdown, keys of the editor, conditions, places in JSON.
import assert from 'node:assert/strict';
import test from 'node:test';
import { blocksOf, spansOf } from '../../app/src/lib/markdown.js';
import { linkAround, onEnter, onTab, openLink, toggleTask, toggleTaskInLine, wrap } from '../../app/src/lib/md-keys.js';
import { styledLines } from '../../app/src/lib/md-source.js';
import { kindOf, valueOf, valueText, withMore } from '../../app/src/lib/conditions.js';
import { Undo } from '../../app/src/lib/undo.js';
import { editsBetween } from '../../app/src/lib/edits.js';
import { lineOf, valueAt, withAt } from '../../app/src/lib/json-at.js';

/** A text with its cursor, written as `|`, after a key. */
function after(text, key) {
  const at = text.indexOf('|');
  const plain = text.replace('|', '');
  const put = key(plain, at);
  if (!put) return null;
  const out = plain.slice(0, put.from) + put.put + plain.slice(put.to);
  return `${out.slice(0, put.select[0])}|${out.slice(put.select[0])}`;
}

const enter = (text, at) => onEnter(text, at, at);
const CASES = [
  ['- one|', enter, '- one\n- |'], ['- |', enter, '|'], ['  * one|', enter, '  * one\n  * |'], ['1. one|', enter, '1. one\n2. |'], ['9) one|', enter, '9) one\n10) |'],
  ['- [x] done|', enter, '- [x] done\n- [ ] |'], ['- [ ] |', enter, '|'], ['> said|', enter, '> said\n> |'], ['plain|', enter, null], ['- a|b', enter, '- a\n- |b'], ['|- a', enter, null],
  ['- a|', (text, at) => onTab(text, at, at, false), '  - a|'], ['  - a|', (text, at) => onTab(text, at, at, true), '- a|'], ['plain|', (text, at) => onTab(text, at, at, false), null],
  ['- [ ] a|', toggleTask, '- [x] a|'], ['- [x] a|', toggleTask, '- [ ] a|'], ['- a|', toggleTask, '- [ ] a|'], ['a|', toggleTask, '- [ ] a|'],
  ['|word', (text, at) => wrap(text, at, at + 4, '**'), '**|word**'], ['**|word**', (text, at) => wrap(text, at, at + 4, '**'), '|word'],
];

test('keys of the editor', () => {
  for (const [before, key, expected] of CASES) assert.equal(after(before, key), expected, before);
  assert.equal(toggleTaskInLine('a\n- [ ] b\nc', 1), 'a\n- [x] b\nc');
});

test('links under way and around the cursor', () => {
  assert.deepEqual(openLink('see [[rel', 9), { from: 6, query: 'rel' });
  assert.equal(openLink('see [[rel]] x', 13), null);
  assert.equal(openLink('[[a\nb', 5), null);
  assert.equal(linkAround('see [[A note|shown]] here', 10), 'A note');
  assert.equal(linkAround('see [[A note]] here', 18), null);
});

const kinds = (blocks) => blocks.map((it) => it.kind);

test('Markdown as a tree', () => {
  assert.deepEqual(kinds(blocksOf('# a\n\ntext\nmore\n\n- x\n- y\n\n> q\n\n```\n# no heading\n```\n---\n| a | b |\n|---|---|\n| 1 | 2 |')), ['heading', 'text', 'list', 'quote', 'code', 'rule', 'table']);
  const [list] = blocksOf('- [ ] a\n  - [x] b\n- c\n');
  assert.deepEqual(list.items.map((it) => [it.line, it.check]), [[0, false], [2, null]]);
  assert.deepEqual(list.items[0].blocks[1].items.map((it) => [it.line, it.check]), [[1, true]]);
  assert.deepEqual(spansOf('[[A|b]] **c** `d*e*` ~~f~~').map((it) => it.kind), ['wiki', 'text', 'strong', 'text', 'code', 'text', 'del']);
  assert.equal(blocksOf('1. a\n2. b')[0].start, 1);
});

test('only addresses of pages and letters are links, and images are only named', () => {
  for (const to of ['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', ' java\tscript:x', '/api/auth/logout', 'file:///etc/passwd']) {
    assert.ok(spansOf(`[x](${to})`).every((it) => it.kind !== 'link'), to);
  }
  assert.deepEqual(spansOf('![x](https://a.example/p.png)').map((it) => it.kind), ['image']);
  assert.deepEqual(spansOf('https://a.example/b.').map((it) => [it.kind, it.to]), [['link', 'https://a.example/b'], ['text', undefined]]);
});

test('texts made to be slow or deep are not', () => {
  const began = Date.now();
  for (const text of ['*a'.repeat(50_000), '['.repeat(50_000), '`'.repeat(50_001), '> '.repeat(5000), '- '.repeat(5000), `${'  '.repeat(2000)}- x`, '|-'.repeat(20_000), '**_'.repeat(1900), '[[a'.repeat(1900), '#'.repeat(50_000)]) {
    for (const block of blocksOf(text)) if (block.kind === 'text' || block.kind === 'heading') spansOf(block.text);
    styledLines(text);
  }
  assert.ok(Date.now() - began < 4000, `${Date.now() - began} ms`);
});

test('the styled source is the source', () => {
  const text = '# a **b**\n- [x] c `d` [[e]]\n```\n# f\n```\n> g https://h.example\n\n---\n1. i ~~j~~ [k](l)';
  assert.equal(styledLines(text).map((line) => line.map((it) => it.text).join('')).join('\n'), text);
});

test('conditions: their forms, and the values that people type', () => {
  assert.deepEqual([{}, { all: [] }, { any: [] }, { not: {} }, { field: 'a', op: 'eq' }, { 'note.kind': 'note' }, { all: [], x: 1 }, [], null].map(kindOf), ['none', 'all', 'any', 'not', 'compare', 'fields', 'other', 'other', 'other']);
  assert.deepEqual(valueOf('a, b', 'note.keywords', 'in', ''), ['a', 'b']);
  assert.equal(valueOf('2', 'note.version', 'gt', ''), 2);
  assert.equal(valueOf('2', 'note.title', 'eq', ''), '2');
  assert.equal(valueOf('true', 'note.metadata.x', 'eq', false), true);
  assert.equal(valueText({ a: 1 }), '{"a":1}');
  assert.deepEqual(withMore({}, { a: 1 }), { all: [{ a: 1 }] });
  assert.deepEqual(withMore({ any: [1] }, 2), { any: [1, 2] });
  assert.deepEqual(withMore({ not: 1 }, 2), { all: [{ not: 1 }, 2] });
});

test('what was typed is taken back word by word, and done again', () => {
  const undo = new Undo();
  let text = '';
  let at = 0;
  for (const letter of 'one two') {
    undo.typed(text, text + letter, (at += 10));
    text += letter;
  }
  text = undo.back(text).text;
  assert.equal(text, 'one');
  text = undo.back(text).text;
  assert.equal(text, '');
  assert.equal(undo.back(text), null);
  assert.equal(undo.again(text).text, 'one');
});

test('others’ changes stay when one takes back one’s own', () => {
  const undo = new Undo();
  const apply = (before, after) => (undo.typed(before, after, 0), after);
  const merge = (before, after) => (undo.merged(editsBetween(before, after)), after);
  let text = apply('a\nb\nc', 'a\nb\nc mine');
  text = apply(text, 'first a\nb\nc mine');
  text = merge(text, 'theirs\nfirst a\nb\nc mine\ntheirs');
  text = undo.back(text).text;
  assert.equal(text, 'theirs\na\nb\nc mine\ntheirs');
  text = undo.back(text).text;
  assert.equal(text, 'theirs\na\nb\nc\ntheirs');
  text = apply(text, 'theirs\na changed\nb\nc\ntheirs');
  text = merge(text, 'theirs\na chXanged\nb\nc\ntheirs');
  assert.equal(undo.back(text), null, 'what they wrote into is not taken back');
});

test('places in JSON: read, changed with all else kept in its order, and found as lines', () => {
  const value = { a: { 'b/c': [1, { d: 2 }] }, z: 1 };
  assert.equal(valueAt(value, '/a/b~1c/1/d'), 2);
  assert.deepEqual(withAt(value, '/a/b~1c/1/d', 3), { a: { 'b/c': [1, { d: 3 }] }, z: 1 });
  assert.deepEqual(Object.keys(withAt(value, '/a', 1)), ['a', 'z']);
  assert.deepEqual(withAt(value, '/a/b~1c/0', undefined), { a: { 'b/c': [{ d: 2 }] }, z: 1 });
  assert.deepEqual(withAt({}, '/x/y', 1), { x: { y: 1 } });
  const lines = JSON.stringify(value, null, 2).split('\n');
  for (const [at, text] of [['/a', '"a"'], ['/a/b~1c/1/d', '"d"'], ['/z', '"z"']]) assert.ok(lines[lineOf(value, at)].includes(text), at);
});
