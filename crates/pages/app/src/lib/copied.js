// Which parts of a call were copied, letter for letter, from untrusted output.

/**
 * @typedef {{ from: number, to: number, source: number, at: number }} Copy
 */

// Shorter agreement is chance: names of files and commands appear everywhere.
const LEAST = 12;

/**
 * The texts inside a tool's output: tools answer in JSON, whose escapes would hide a copy.
 * @param {string} output
 * @returns {string[]}
 */
export function textsOf(output) {
  try {
    const texts = leaves(JSON.parse(output));
    return texts.length > 0 ? texts : [output];
  } catch {
    return [output];
  }
}

/** @param {unknown} value @returns {string[]} */
function leaves(value) {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(leaves);
  if (value && typeof value === 'object') return Object.values(value).flatMap(leaves);
  return [];
}

/**
 * Finds the longest copies of at least twelve characters that the goal does not hold.
 * @param {string} text what is asked about
 * @param {string[]} sources untrusted texts
 * @param {string} goal what the user asked for
 * @returns {Copy[]} in order, not overlapping
 */
export function findCopies(text, sources, goal) {
  if (text.length < LEAST) return [];
  const places = index(text, sources);
  /** @type {Copy[]} */
  const found = [];
  for (let at = 0; at + LEAST <= text.length; ) {
    const copy = longest(text, at, sources, places);
    // Spaces alone are no copy, nor is what the user wrote.
    const words = copy ? text.slice(copy.from, copy.to).trim() : '';
    if (copy && words.length >= LEAST && !goal.includes(words)) {
      found.push(trimmed(text, copy));
      at = copy.to;
    } else {
      at += 1;
    }
  }
  return found;
}

/** @param {string} text @param {Copy} copy @returns {Copy} */
function trimmed(text, copy) {
  const words = text.slice(copy.from, copy.to);
  const lead = words.length - words.trimStart().length;
  const trail = words.length - words.trimEnd().length;
  return { ...copy, from: copy.from + lead, to: copy.to - trail, at: copy.at + lead };
}

/**
 * Where each run of twelve characters of the text stands in the sources. Only those of the text are kept: a source may
 * be megabytes long.
 * @param {string} text @param {string[]} sources
 * @returns {Map<string, [number, number][]>}
 */
function index(text, sources) {
  /** @type {Map<string, [number, number][]>} */
  const wanted = new Map();
  for (let at = 0; at + LEAST <= text.length; at += 1) wanted.set(text.slice(at, at + LEAST), []);
  sources.forEach((source, which) => {
    for (let at = 0; at + LEAST <= source.length; at += 1) {
      const places = wanted.get(source.slice(at, at + LEAST));
      if (places && places.length < 50) places.push([which, at]);
    }
  });
  return wanted;
}

/**
 * @param {string} text @param {number} from @param {string[]} sources @param {Map<string, [number, number][]>} places
 * @returns {Copy | null}
 */
function longest(text, from, sources, places) {
  /** @type {Copy | null} */
  let best = null;
  for (const [which, at] of places.get(text.slice(from, from + LEAST)) ?? []) {
    const source = sources[which];
    let length = LEAST;
    while (from + length < text.length && source[at + length] === text[from + length]) length += 1;
    if (!best || length > best.to - best.from) best = { from, to: from + length, source: which, at };
  }
  return best;
}
