// Taking back what one typed, while others write in the same text: their changes stay, and move the places of one's own.

/** @typedef {import('./edits.js').Edit} Edit */
/** One change: at `from`, `put` stands where `gone` was. @typedef {{ from: number, gone: string, put: string, at: number }} Step */

const STEPS_MAX = 500;
const TOGETHER_MS = 1000;

/** What changed between two texts, as one replacement. @param {string} before @param {string} after @param {number} at @returns {Step} */
function stepBetween(before, after, at) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { from: head, gone: before.slice(head, before.length - tail), put: after.slice(head, after.length - tail), at };
}

/** Letters of one word are one step. @param {Step} last @param {Step} next */
function joined(last, next) {
  const isTyping = last.gone === '' && next.gone === '' && next.from === last.from + last.put.length && next.at - last.at < TOGETHER_MS;
  return isTyping && !/\s/.test(next.put) ? { ...last, put: last.put + next.put, at: next.at } : null;
}

/**
 * The steps after others changed the text. A step at whose place they wrote cannot be taken back any more, nor can those
 * before it.
 * @param {Step[]} steps @param {Edit[]} edits
 */
function moved(steps, edits) {
  /** @type {Step[]} */
  const kept = [];
  let others = edits;
  for (const step of steps.toReversed()) {
    const end = step.from + step.put.length;
    if (others.some((it) => it.from < end && it.to > step.from)) break;
    // What others put exactly before a step moves it.
    const by = others.filter((it) => it.to <= step.from).reduce((sum, it) => sum + it.put.length - (it.to - it.from), 0);
    kept.unshift({ ...step, from: step.from + by });
    const shift = step.gone.length - step.put.length;
    others = others.map((it) => (it.from >= end ? { ...it, from: it.from + shift, to: it.to + shift } : it));
  }
  return kept;
}

export class Undo {
  /** @type {Step[]} */
  done = [];
  /** @type {Step[]} */
  undone = [];

  /** @param {string} before @param {string} after @param {number} at */
  typed(before, after, at) {
    if (before === after) return;
    const step = stepBetween(before, after, at);
    const last = this.done.at(-1);
    const both = last && this.undone.length === 0 ? joined(last, step) : null;
    this.undone = [];
    this.done = both ? [...this.done.slice(0, -1), both] : [...this.done, step].slice(-STEPS_MAX);
  }

  /** @param {Edit[]} edits */
  merged(edits) {
    this.done = moved(this.done, edits);
    this.undone = [];
  }

  /** The text without the last step, and where the cursor is then. @param {string} text */
  back(text) {
    const step = this.done.pop();
    if (!step || text.slice(step.from, step.from + step.put.length) !== step.put) return null;
    this.undone.push(step);
    return { text: text.slice(0, step.from) + step.gone + text.slice(step.from + step.put.length), at: step.from + step.gone.length };
  }

  /** The text with the step that was taken back last. @param {string} text */
  again(text) {
    const step = this.undone.pop();
    if (!step || text.slice(step.from, step.from + step.gone.length) !== step.gone) return null;
    this.done.push({ ...step, at: 0 });
    return { text: text.slice(0, step.from) + step.put + text.slice(step.from + step.gone.length), at: step.from + step.put.length };
  }
}
