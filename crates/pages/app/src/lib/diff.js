// Line differences after Myers, with the words that changed marked.

/**
 * @typedef {{ kind: 'same' | 'del' | 'add', text: string, before: number | null, after: number | null,
 *   words?: { text: string, isMarked: boolean }[] }} Line
 * @typedef {{ lines: Line[], added: number, removed: number }} Diff
 */

// Beyond this many edits a difference is no longer something to read: the middle is shown as replaced.
const EDITS_MAX = 1500;

/**
 * The shortest way from one list to another: pairs of kept places, in order.
 * @template T
 * @param {T[]} a @param {T[]} b
 * @returns {[number, number][]}
 */
export function kept(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  /** @type {[number, number][]} */
  const pairs = [];
  for (let i = 0; i < head; i += 1) pairs.push([i, i]);
  const middle = myers(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  for (const [i, j] of middle) pairs.push([i + head, j + head]);
  for (let i = tail; i > 0; i -= 1) pairs.push([a.length - i, b.length - i]);
  return pairs;
}

/**
 * @template T
 * @param {T[]} a @param {T[]} b
 * @returns {[number, number][]}
 */
function myers(a, b) {
  if (a.length === 0 || b.length === 0) return [];
  const most = Math.min(a.length + b.length, EDITS_MAX);
  const at = new Int32Array(2 * most + 3);
  /** @type {Int32Array[]} */
  const trace = [];
  for (let edits = 0; edits <= most; edits += 1) {
    // Only the diagonals that can have changed are kept: the trace stays small where the texts are alike.
    trace.push(at.slice(most - edits, most + edits + 3));
    for (let k = -edits; k <= edits; k += 2) {
      const middle = most + 1 + k;
      const isDown = k === -edits || (k !== edits && at[middle - 1] < at[middle + 1]);
      let x = isDown ? at[middle + 1] : at[middle - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      at[middle] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a.length, b.length, trace);
    }
  }
  return [];
}

/**
 * @param {number} x @param {number} y @param {Int32Array[]} trace
 * @returns {[number, number][]}
 */
function walkBack(x, y, trace) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const at = trace[edits];
    const value = (/** @type {number} */ k) => at[k + edits + 1];
    const k = x - y;
    const isDown = k === -edits || (k !== edits && value(k - 1) < value(k + 1));
    const beforeK = isDown ? k + 1 : k - 1;
    const beforeX = edits === 0 ? 0 : value(beforeK);
    const beforeY = beforeX - beforeK;
    const stop = edits === 0 ? 0 : Math.max(beforeX, 0);
    while (x > stop && y > (edits === 0 ? 0 : beforeY)) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    x = beforeX;
    y = beforeY;
  }
  return pairs.reverse();
}

/** A last line break ends a line; it does not begin another. @param {string} text */
function linesOf(text) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * @param {string} before @param {string} after
 * @returns {Diff}
 */
export function diffLines(before, after) {
  const a = linesOf(before);
  const b = linesOf(after);
  /** @type {Line[]} */
  const lines = [];
  let [i, j] = [0, 0];
  const until = (/** @type {number} */ endA, /** @type {number} */ endB) => {
    const from = lines.length;
    while (i < endA) lines.push({ kind: 'del', text: a[i], before: ++i, after: null });
    while (j < endB) lines.push({ kind: 'add', text: b[j], before: null, after: ++j });
    markWords(lines, from);
  };
  for (const [keptA, keptB] of kept(a, b)) {
    until(keptA, keptB);
    lines.push({ kind: 'same', text: a[i], before: ++i, after: ++j });
  }
  until(a.length, b.length);
  if (before !== '' && after !== '' && before.endsWith('\n') !== after.endsWith('\n')) {
    lines.push({ kind: after.endsWith('\n') ? 'add' : 'del', text: '(line break at the end of the file)', before: null, after: null });
  }
  const of = (/** @type {string} */ kind) => lines.filter((it) => it.kind === kind).length;
  return { lines, added: of('add'), removed: of('del') };
}

// Spaces one by one: of a line that was indented only what was added is marked.
const WORDS = /[\p{L}\p{N}_]+|./gsu;

/**
 * Marks the words of a changed block. The block is compared as one text: where a line is split in two, as an `if` that
 * is put around it, what stayed is still found.
 * @param {Line[]} lines @param {number} from
 */
function markWords(lines, from) {
  const removed = lines.slice(from).filter((it) => it.kind === 'del');
  const added = lines.slice(from).filter((it) => it.kind === 'add');
  if (removed.length === 0 || added.length === 0 || removed.length + added.length > 80) return;
  const split = (/** @type {Line[]} */ block) => block.flatMap((line, at) => (line.text.match(WORDS) ?? []).map((text) => ({ text, at })));
  const [a, b] = [split(removed), split(added)];
  if (a.length + b.length > 4000) return;
  const pairs = kept(a.map((it) => it.text), b.map((it) => it.text));
  // Blocks that share next to nothing are two texts: marks all over them would say nothing.
  const shared = pairs.filter(([i]) => a[i].text.trim() !== '').length;
  const solid = (/** @type {{ text: string }[]} */ words) => words.filter((it) => it.text.trim() !== '').length;
  if (shared * 4 < Math.min(solid(a), solid(b))) return;
  apply(removed, a, new Set(pairs.map(([i]) => i)));
  apply(added, b, new Set(pairs.map(([, j]) => j)));
}

/** @param {Line[]} block @param {{ text: string, at: number }[]} words @param {Set<number>} same */
function apply(block, words, same) {
  block.forEach((line) => (line.words = []));
  words.forEach(({ text, at }, index) => {
    const into = block[at].words ?? [];
    const isMarked = !same.has(index);
    const last = into.at(-1);
    if (last && last.isMarked === isMarked) last.text += text;
    else into.push({ text, isMarked });
  });
}

/**
 * Folds what is far from every change. A fold says how many lines it holds.
 * @param {Line[]} lines @param {number} around
 * @returns {(Line | { fold: number, from: number })[]}
 */
export function folded(lines, around) {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.kind !== 'same') near.fill(1, Math.max(0, at - around), Math.min(lines.length, at + around + 1));
  });
  /** @type {(Line | { fold: number, from: number })[]} */
  const out = [];
  lines.forEach((line, at) => {
    const last = out.at(-1);
    if (near[at]) out.push(line);
    else if (last && 'fold' in last) last.fold += 1;
    else out.push({ fold: 1, from: at });
  });
  return out;
}
