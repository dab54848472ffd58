// The merge of texts, without a browser: cases, and properties over random texts from a seed.
import assert from 'node:assert/strict';
import test from 'node:test';
import { merge3, mergedText, mergeSet, mergeValue, resolved } from '../../app/src/lib/merge3.js';
import { editsBetween, patchOf, placeAfter, withEdits } from '../../app/src/lib/edits.js';

const lines = (...it) => it.join('\n');

/** Clean merges: base, mine, theirs, merged. */
const CLEAN = {
  'only I changed it': ['a', 'b', 'a', 'b'],
  'only they changed it': ['a', 'a', 'b', 'b'],
  'both made the same change': ['a', 'b', 'b', 'b'],
  'different lines': [lines('1', '2', '3'), lines('one', '2', '3'), lines('1', '2', 'three'), lines('one', '2', 'three')],
  'neighbouring lines': [lines('1', '2'), lines('one', '2'), lines('1', 'two'), lines('one', 'two')],
  'a line after one that changed': [lines('1', ''), lines('one', ''), lines('1', 'new', ''), lines('one', 'new', '')],
  'a line before one that changed': [lines('1', ''), lines('one', ''), lines('new', '1', ''), lines('new', 'one', '')],
  'different words of one line': ['the old key is here now', 'the new key is here now', 'the old key is there now', 'the new key is there now'],
  'a deleted line and another changed': [lines('1', '2', '3', '4'), lines('1', '3', '4'), lines('1', '2', '3', 'four'), lines('1', '3', 'four')],
  'a last line without a break': [lines('a', 'b'), lines('a', 'b', 'c'), lines('A', 'b'), lines('A', 'b', 'c')],
  'checkboxes of one list': [lines('- [ ] a', '- [ ] b'), lines('- [x] a', '- [ ] b'), lines('- [ ] a', '- [x] b'), lines('- [x] a', '- [x] b')],
};

for (const [name, [base, mine, theirs, merged]] of Object.entries(CLEAN)) {
  test(`merges: ${name}`, () => {
    const merge = merge3(base, mine, theirs);
    assert.ok(merge.isClean, JSON.stringify(merge.parts));
    assert.equal(mergedText(merge), merged);
  });
}

const CONFLICTS = {
  'one line, two ways': ['Sign with the old key.', 'Sign with the 2026 key.', 'Sign with the new hardware key.'],
  'two lines at one place': ['a\n', 'a\nmine\n', 'a\ntheirs\n'],
  'changed here, deleted there': [lines('1', '2', '3'), lines('1', 'two', '3'), lines('1', '3')],
  'two texts of an empty note': ['', 'mine', 'theirs'],
  'a line inserted by both, and the next one changed by one': [lines('x', 'end'), lines('new', 'y', 'end'), lines('new', 'x', 'end')],
};

for (const [name, [base, mine, theirs]] of Object.entries(CONFLICTS)) {
  test(`asks: ${name}`, () => assert.ok(!merge3(base, mine, theirs).isClean));
}

test('a choice holds the three texts and can be mine, theirs, both or by hand', () => {
  const merge = merge3('a\nold\nz', 'a\nmine\nz', 'a\ntheirs\nz');
  assert.deepEqual(merge.parts[1], { kind: 'conflict', base: ['old'], mine: ['mine'], theirs: ['theirs'] });
  assert.equal(resolved(merge, () => undefined), null);
  const by = (pick, text) => resolved(merge, () => ({ pick, text }));
  assert.deepEqual([by('mine'), by('theirs'), by('both'), by('hand', 'x\ny'), by('hand', '')], ['a\nmine\nz', 'a\ntheirs\nz', 'a\nmine\ntheirs\nz', 'a\nx\ny\nz', 'a\nz']);
});

test('titles are one value, keywords a set', () => {
  assert.deepEqual([mergeValue('a', 'a', 'b'), mergeValue('a', 'b', 'a'), mergeValue('a', 'b', 'b'), mergeValue('a', 'b', 'c')], ['b', 'b', 'b', null]);
  assert.deepEqual(mergeSet(['a', 'b'], ['a', 'c'], ['a', 'b', 'd']), ['a', 'd', 'c']);
});

/** Numbers that are the same in every run of a seed. */
function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const WORDS = ['a', 'b', 'key', 'old', '', 'the', '- [ ] x', '😀', 'é', '  '];

function someText(rand) {
  return Array.from({ length: rand(12) }, () => Array.from({ length: rand(5) }, () => WORDS[rand(WORDS.length)]).join(' ')).join('\n');
}

/** A text after some edits; what is put in is named, so that it can be looked for. */
function edited(rand, text, name, marks) {
  let out = [...text];
  for (let n = rand(4); n > 0; n -= 1) {
    const mark = `${name}${marks.length}`;
    const at = rand(out.length + 1);
    const isPut = rand(3) > 0;
    if (isPut) marks.push(mark);
    out.splice(at, isPut ? 0 : rand(4), ...(isPut ? `${rand(2) ? '\n' : ''}${mark}${rand(2) ? '\n' : ''}` : ''));
  }
  return out.join('');
}

test('properties of a merge, 20,000 random texts', () => {
  let clean = 0;
  for (let seed = 1; seed <= 20_000; seed += 1) {
    const rand = random(seed);
    const base = someText(rand);
    const mine = edited(rand, base, 'M', []);
    const theirs = edited(rand, base, 'T', []);
    const text = (m) => (m.isClean ? mergedText(m) : null);
    assert.equal(text(merge3(base, mine, base)), mine, `seed ${seed}: only I`);
    assert.equal(text(merge3(base, base, theirs)), theirs, `seed ${seed}: only they`);
    assert.equal(text(merge3(base, mine, mine)), mine, `seed ${seed}: the same`);
    const [one, other] = [merge3(base, mine, theirs), merge3(base, theirs, mine)];
    assert.equal(one.isClean, other.isClean, `seed ${seed}: either way`);
    const marks = `${mine}\n${theirs}`.match(/[MT]\d+/g) ?? [];
    const both = one.isClean ? mergedText(one) : /** nothing is lost by taking both */ resolved(one, () => ({ pick: 'both' }));
    for (const mark of marks) assert.ok(both.includes(mark), `seed ${seed}: ${mark} is lost`);
    if (!one.isClean) continue;
    clean += 1;
    assert.equal(mergedText(one), mergedText(other), `seed ${seed}: same text either way`);
    for (const mark of marks) assert.equal(both.split(mark).length, 2, `seed ${seed}: ${mark} is there twice`);
  }
  assert.ok(clean > 5000, `only ${clean} were clean`);
});

test('a change as edits, as a patch, and where a cursor is after it', () => {
  for (let seed = 1; seed <= 5000; seed += 1) {
    const rand = random(seed);
    const before = someText(rand);
    const after = edited(rand, before, 'M', []);
    const edits = editsBetween(before, after);
    assert.equal(withEdits(before, edits), after, `seed ${seed}`);
    assert.equal(withPatch(before, patchOf(before, after)), after, `seed ${seed}`);
    const place = rand(before.length + 1);
    const found = placeAfter(edits, place);
    assert.ok(found >= 0 && found <= after.length, `seed ${seed}: ${found}`);
  }
  assert.equal(placeAfter(editsBetween('one two', 'zero one two'), 4), 9);
  assert.equal(placeAfter(editsBetween('one two', 'one two three'), 3), 3);
});

/** As the server applies it: by characters. */
function withPatch(text, ops) {
  const characters = [...text];
  let at = 0;
  let out = '';
  for (const op of ops) {
    if ('retain' in op) out += characters.slice(at, (at += op.retain)).join('');
    else if ('insert' in op) out += op.insert;
    else at += op.delete;
  }
  return out + characters.slice(at).join('');
}
