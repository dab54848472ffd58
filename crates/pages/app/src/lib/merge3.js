// A three-way merge of texts: what two people made of the same text becomes one text, or a choice where both changed the
// same place. Lines first; a line that both changed is merged word by word where they kept most of it.
import { kept } from './diff.js';

/**
 * @typedef {{ from: number, to: number, put: string[] }} Hunk what stands for the tokens `from` to `to` of the base
 * @typedef {{ kind: 'same' | 'mine' | 'theirs' | 'both' | 'merged', lines: string[] }} Settled
 * @typedef {{ kind: 'conflict', base: string[], mine: string[], theirs: string[] }} Conflict
 * @typedef {Settled | Conflict} Part
 * @typedef {{ pick: 'mine' | 'theirs' | 'both' | 'hand', text?: string }} Choice
 * @typedef {{ parts: Part[], isClean: boolean }} Merge
 */

/** @param {string} base @param {string} mine @param {string} theirs @returns {Merge} */
export function merge3(base, mine, theirs) {
  const parts = mergeTokens(base.split('\n'), mine.split('\n'), theirs.split('\n'), byWords);
  return { parts, isClean: parts.every((it) => it.kind !== 'conflict') };
}

/** The text of a merge without open choices. @param {Merge} merge */
export const mergedText = (merge) => merge.parts.flatMap((it) => (it.kind === 'conflict' ? it.mine : it.lines)).join('\n');

/**
 * The text after the choices, in the order of the conflicts; null while one is open.
 * @param {Merge} merge @param {(conflict: Conflict) => Choice | undefined} choiceOf
 */
export function resolved(merge, choiceOf) {
  /** @type {string[]} */
  const lines = [];
  for (const part of merge.parts) {
    const chosen = part.kind === 'conflict' ? linesOf(part, choiceOf(part)) : part.lines;
    if (!chosen) return null;
    lines.push(...chosen);
  }
  return lines.join('\n');
}

/** @param {Conflict} part @param {Choice | undefined} choice */
function linesOf(part, choice) {
  if (!choice) return null;
  if (choice.pick === 'mine') return part.mine;
  if (choice.pick === 'theirs') return part.theirs;
  if (choice.pick === 'both') return [...part.mine, ...part.theirs];
  return choice.text ? choice.text.split('\n') : [];
}

/**
 * What one side made of the base, as the places that differ.
 * @param {string[]} base @param {string[]} side
 */
function hunksOf(base, side) {
  /** @type {Hunk[]} */
  const hunks = [];
  let [i, j] = [0, 0];
  const until = (/** @type {number} */ x, /** @type {number} */ y) => {
    if (x > i || y > j) hunks.push({ from: i, to: x, put: side.slice(j, y) });
    [i, j] = [x + 1, y + 1];
  };
  for (const [x, y] of kept(base, side)) until(x, y);
  until(base.length, side.length);
  return hunks;
}

// A place that grows may hide an insertion at either end, so the order of two of them that touch is unknown.
const grows = (/** @type {Hunk} */ it) => it.put.length > it.to - it.from;

/** @param {Hunk} a @param {Hunk} b */
function clash(a, b) {
  if (a.from < b.to && b.from < a.to) return true;
  return (a.to === b.from || b.to === a.from) && grows(a) && grows(b);
}

/**
 * @param {string[]} base @param {string[]} mine @param {string[]} theirs
 * @param {(conflict: Conflict) => Part} settle
 */
function mergeTokens(base, mine, theirs, settle) {
  const queues = [hunksOf(base, mine), hunksOf(base, theirs)];
  /** @type {Part[]} */
  const parts = [];
  let at = 0;
  for (let group = nextGroup(queues); group; group = nextGroup(queues)) {
    const [a, b] = group;
    const all = [...a, ...b];
    const from = Math.min(...all.map((it) => it.from));
    const to = Math.max(...all.map((it) => it.to));
    if (from > at) parts.push({ kind: 'same', lines: base.slice(at, from) });
    parts.push(partOf(base, from, to, a, b, settle));
    at = Math.max(at, to);
  }
  if (at < base.length) parts.push({ kind: 'same', lines: base.slice(at) });
  return parts;
}

/** The first place that is left, with all that clashes with it. @param {Hunk[][]} queues @returns {[Hunk[], Hunk[]] | null} */
function nextGroup(queues) {
  const [x, y] = [queues[0][0], queues[1][0]];
  if (!x && !y) return null;
  const first = !y || (x && (x.from - y.from || x.to - y.to) <= 0) ? 0 : 1;
  /** @type {[Hunk[], Hunk[]]} */
  const group = [[], []];
  group[first].push(/** @type {Hunk} */ (queues[first].shift()));
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false;
    for (const side of [0, 1]) {
      const next = queues[side][0];
      if (!next || !group[1 - side].some((it) => clash(it, next))) continue;
      group[side].push(/** @type {Hunk} */ (queues[side].shift()));
      isGrowing = true;
    }
  }
  return group;
}

/**
 * @param {string[]} base @param {number} from @param {number} to @param {Hunk[]} a @param {Hunk[]} b
 * @param {(conflict: Conflict) => Part} settle @returns {Part}
 */
function partOf(base, from, to, a, b, settle) {
  const mine = applied(base, from, to, a);
  const theirs = applied(base, from, to, b);
  if (b.length === 0) return { kind: 'mine', lines: mine };
  if (a.length === 0) return { kind: 'theirs', lines: theirs };
  if (isEqual(mine, theirs)) return { kind: 'both', lines: mine };
  return settle({ kind: 'conflict', base: base.slice(from, to), mine, theirs });
}

/** @param {string[]} base @param {number} from @param {number} to @param {Hunk[]} hunks */
function applied(base, from, to, hunks) {
  const out = [];
  let at = from;
  for (const hunk of hunks) {
    out.push(...base.slice(at, hunk.from), ...hunk.put);
    at = hunk.to;
  }
  out.push(...base.slice(at, to));
  return out;
}

/** @param {string[]} a @param {string[]} b */
const isEqual = (a, b) => a.length === b.length && a.every((it, at) => it === b[at]);

const WORDS = /[\p{L}\p{N}_]+|\s+|./gsu;
const WORDS_MAX = 4000;

/** Lines that both changed, word by word; a conflict again where that does not fit. @param {Conflict} conflict @returns {Part} */
function byWords(conflict) {
  const sides = [conflict.base, conflict.mine, conflict.theirs];
  if (sides.some((it) => it.length === 0)) return conflict;
  const [base, mine, theirs] = sides.map((it) => it.join('\n').match(WORDS) ?? []);
  if (base.length + mine.length + theirs.length > WORDS_MAX || !keepsMost(base, mine) || !keepsMost(base, theirs)) return conflict;
  const parts = mergeTokens(base, mine, theirs, (it) => it);
  if (parts.some((it) => it.kind === 'conflict')) return conflict;
  const text = parts.flatMap((it) => (it.kind === 'conflict' ? [] : it.lines)).join('');
  return { kind: 'merged', lines: text.split('\n') };
}

/** Of a line that was written anew, words that are alike by chance must not be woven into another. @param {string[]} base @param {string[]} side */
function keepsMost(base, side) {
  const words = (/** @type {string[]} */ tokens) => tokens.filter((it) => /[\p{L}\p{N}]/u.test(it));
  const stayed = kept(words(base), words(side)).length;
  return stayed * 2 >= words(base).length;
}

/**
 * A field that is one value: the side that changed it decides; two different changes are a choice (null).
 * @template T
 * @param {T} base @param {T} mine @param {T} theirs
 */
export const mergeValue = (base, mine, theirs) => (mine === base || mine === theirs ? theirs : theirs === base ? mine : null);

/** Keywords are a set: what either added is in, what either took away is out. @param {string[]} base @param {string[]} mine @param {string[]} theirs */
export function mergeSet(base, mine, theirs) {
  const out = theirs.filter((it) => mine.includes(it) || !base.includes(it));
  for (const it of mine) if (!base.includes(it) && !out.includes(it)) out.push(it);
  return out;
}
