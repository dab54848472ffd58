// Conditions of rules: what they may look at, how they compare, and the values that people type.

export const FIELDS = ['note.title', 'note.markdown', 'note.keywords', 'note.kind', 'note.version', 'note.id', 'note.metadata.', 'event.type', 'event.actor_type', 'event.body.', 'trigger.at'];

/** @type {[string, string][]} */
export const OPS = [
  ['eq', 'is'], ['ne', 'is not'], ['contains', 'contains'], ['in', 'is one of'], ['starts_with', 'starts with'], ['ends_with', 'ends with'],
  ['matches', 'matches the pattern'], ['lt', 'is less than'], ['le', 'is at most'], ['gt', 'is more than'], ['ge', 'is at least'], ['exists', 'is there'],
];

/** @typedef {'none' | 'all' | 'any' | 'not' | 'compare' | 'fields' | 'other'} Kind */

/** @param {any} it @returns {Kind} */
export function kindOf(it) {
  if (it === null || typeof it !== 'object' || Array.isArray(it)) return 'other';
  const keys = Object.keys(it);
  if (keys.length === 0) return 'none';
  if (keys.length === 1 && Array.isArray(it.all)) return 'all';
  if (keys.length === 1 && Array.isArray(it.any)) return 'any';
  if (keys.length === 1 && 'not' in it) return 'not';
  if ('field' in it || 'op' in it) return 'compare';
  return keys.some((key) => ['all', 'any', 'not'].includes(key)) ? 'other' : 'fields';
}

/** @param {any} value */
export const valueText = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

/**
 * What was typed, as the value that is meant.
 * @param {string} text @param {string} field @param {string} op @param {any} before
 */
export function valueOf(text, field, op, before) {
  if (op === 'exists') return text !== 'false';
  const parsed = parsedOr(text, undefined);
  if (op === 'in') return Array.isArray(parsed) ? parsed : text.split(',').map((it) => numberIf(it.trim(), field)).filter((it) => it !== '');
  if (typeof before !== 'string' && before !== undefined && parsed !== undefined) return parsed;
  return numberIf(text, field);
}

/** @param {string} text @param {string} field */
const numberIf = (text, field) => (field === 'note.version' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** @param {string} text @param {any} otherwise */
export function parsedOr(text, otherwise) {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** A condition with one more at its end. @param {any} condition @param {any} added */
export function withMore(condition, added) {
  const kind = kindOf(condition);
  if (kind === 'none') return { all: [added] };
  if (kind === 'all') return { all: [...condition.all, added] };
  if (kind === 'any') return { any: [...condition.any, added] };
  return { all: [condition, added] };
}

export const EMPTY_COMPARE = { field: 'note.keywords', op: 'contains', value: '' };
