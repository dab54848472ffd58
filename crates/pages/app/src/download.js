// Files that people take away. A link could not carry the session, so what is asked for is fetched and handed over.
import { ApiError, send } from './api.js';
import { cutsOf, putAt } from './lib/calls.js';

/** @typedef {import('./types.js').Entry} Entry */

const PAGE = 1000;

/** @param {Blob} blob @param {string} name */
export function saveAs(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The whole log as lines of JSON. @param {string} path the run's in the API @param {string} id */
export async function downloadLog(path, id) {
  saveAs(await wholeLog(path), `${id}.jsonl`);
}

/** @param {string} path @returns {Promise<Blob>} */
async function wholeLog(path) {
  try {
    return await (await send('GET', `${path}/log`)).blob();
  } catch (error) {
    // A server that does not give it in one piece gives its parts.
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    return joined(path);
  }
}

/** @param {string} path */
async function joined(path) {
  const lines = [];
  for (let after = 0; ; ) {
    const { entries, more } = await (await send('GET', `${path}/entries?after=${after}&limit=${PAGE}`)).json();
    for (const entry of entries) lines.push(`${JSON.stringify(await whole(path, entry))}\n`);
    if (!more || entries.length === 0) return new Blob(lines, { type: 'application/x-ndjson' });
    after = entries.at(-1).seq;
  }
}

/** An entry with all of its texts. @param {string} path @param {Entry} entry */
async function whole(path, entry) {
  for (const { at } of cutsOf(entry.data)) {
    const text = await send('GET', `${path}/entries/${entry.seq}/text?at=${encodeURIComponent(at)}&download=1`);
    putAt(entry.data, at, await text.text());
  }
  return entry;
}
