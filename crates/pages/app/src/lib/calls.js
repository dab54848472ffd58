// What a call does, in few words.

/** A text of the log, or its beginning where it was cut. @param {any} text @returns {string} */
export const textOf = (text) => (typeof text === 'string' ? text : text?.cut ? text.cut.head : text == null ? '' : JSON.stringify(text));

/** @param {any} text @returns {import('../types.js').Cut | null} */
export const cutOf = (text) => (text && typeof text === 'object' && text.cut ? text.cut : null);

/** Texts of an entry that the server did not send whole. @param {any} value @returns {import('../types.js').Cut[]} */
export function cutsOf(value) {
  const cut = cutOf(value);
  if (cut) return [cut];
  return value && typeof value === 'object' ? Object.values(value).flatMap(cutsOf) : [];
}

/** Puts a text where a JSON pointer points. @param {any} value @param {string} pointer @param {string} text */
export function putAt(value, pointer, text) {
  const keys = pointer.split('/').slice(1).map((it) => it.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  const holder = keys.reduce((it, key) => it?.[key], value);
  if (holder && last !== undefined) holder[last] = text;
}

/** @param {any} text @returns {any} the value, or undefined where it is no JSON */
export function parsed(text) {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** JSON with its keys in order, so that equal values are equal texts. @param {any} value @returns {string} */
function ordered(value) {
  if (Array.isArray(value)) return `[${value.map(ordered).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${ordered(value[key])}`).join(',')}}`;
}

/** Whether two texts say the same as JSON: blanks and the order of keys say nothing. @param {string} a @param {string} b */
export function isSameJson(a, b) {
  if (a === b) return true;
  const [left, right] = [parsed(a), parsed(b)];
  return left !== undefined && right !== undefined && ordered(left) === ordered(right);
}

// The argument that says most of a call, by the names that tools use.
const TELLING = ['command', 'path', 'file', 'url', 'query', 'pattern', 'name', 'goal', 'prompt', 'reason', 'id'];

/** The argument that says what a call is about. @param {any} args */
export function gist(args) {
  const value = parsed(args);
  if (!value || typeof value !== 'object') return textOf(args).slice(0, 200);
  const key = TELLING.find((it) => typeof value[it] === 'string');
  const text = key ? value[key] : Object.keys(value).length === 0 ? '' : JSON.stringify(value);
  return text.slice(0, 200);
}

/**
 * The change that a call of a tool for files makes, as far as its arguments tell.
 * @param {string} tool @param {any} args
 * @returns {{ path: string, before: string, after: string, isPart: boolean } | null}
 */
export function changeOf(tool, args) {
  const value = parsed(args);
  if (!value || typeof value.path !== 'string') return null;
  if (tool === 'edit' && typeof value.old === 'string' && typeof value.new === 'string') {
    return { path: value.path, before: value.old, after: value.new, isPart: true };
  }
  if (tool === 'write' && typeof value.content === 'string') {
    return { path: value.path, before: '', after: value.content, isPart: false };
  }
  return null;
}

/** Whether the gist of a call is all of it: one short argument. @param {any} args */
export function isBrief(args) {
  const value = parsed(args);
  if (!value || typeof value !== 'object' || Array.isArray(value)) return false;
  const fields = Object.entries(value);
  const [[name, text] = ['', '']] = fields;
  return fields.length === 1 && name !== 'command' && TELLING.includes(name) && typeof text === 'string' && text.length <= 120 && !text.includes('\n');
}

/** @param {string} kind the name of a kind of entry, or of a reason */
export const words = (kind) => kind.replaceAll('_', ' ');

/** @type {Record<string, string>} */
const SKIPPED = {
  after_the_end: 'the run had already finished',
  context_budget: 'the output of a call before it left no room in the context',
  untrusted: 'denied: untrusted data is in the run',
  secret_not_kept: 'its arguments held a secret that is not kept',
  beside_the_report: 'the report ended the run',
};

/** @param {string} reason */
export const whySkipped = (reason) => SKIPPED[reason] ?? words(reason);
