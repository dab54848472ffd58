// Places in a JSON value, named as the server names them (RFC 6901).

/** @param {string} at @returns {string[]} */
export const partsOf = (at) => (at === '' ? [] : at.slice(1).split('/').map((it) => it.replaceAll('~1', '/').replaceAll('~0', '~')));

/** @param {...(string | number)} parts */
export const pointer = (...parts) => parts.map((it) => `/${String(it).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** @param {any} value @param {string} at @returns {any} */
export const valueAt = (value, at) => partsOf(at).reduce((it, key) => (it === null || typeof it !== 'object' ? undefined : it[key]), value);

/**
 * The value with another one at a place; what else is in it stays, whether we know it or not. `undefined` takes it away.
 * @param {any} value @param {string} at @param {any} next @returns {any}
 */
export function withAt(value, at, next) {
  const [first, ...rest] = partsOf(at);
  if (first === undefined) return next;
  const inner = rest.length === 0 ? next : withAt(value?.[first] ?? {}, pointer(...rest), next);
  if (Array.isArray(value)) {
    const out = [...value];
    if (inner === undefined) out.splice(Number(first), 1);
    else out[Number(first)] = inner;
    return out;
  }
  const { [first]: _, ...others } = value ?? {};
  if (inner === undefined) return others;
  // The order of the keys stays as it was written.
  return value && first in value ? Object.fromEntries(Object.entries(value).map(([key, it]) => [key, key === first ? inner : it])) : { ...value, [first]: inner };
}

/**
 * The line of a text of JSON, indented by two, that a place is on.
 * @param {any} value @param {string} at
 */
export function lineOf(value, at) {
  let line = 0;
  let here = value;
  for (const key of partsOf(at)) {
    if (here === null || typeof here !== 'object' || !(key in here)) return line;
    line += 1;
    for (const [other, it] of Object.entries(here)) {
      if (other === key) break;
      line += JSON.stringify(it, null, 2).split('\n').length;
    }
    here = here[key];
  }
  return line;
}
