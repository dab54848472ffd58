// JSON as a table, or as it is written.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { counted } from '../lib/numbers.js';
import { safe } from './untrusted.js';

const ROWS_MAX = 60;
const DEEP_MAX = 6;

/** @param {{ value: any, raw?: string }} props */
export function JsonView({ value, raw }) {
  const [isRaw, setRaw] = useState(false);
  const text = () => raw ?? JSON.stringify(value, null, 2);
  return html`<div class="json"><div class="json-sw"><button class="link tiny" aria-pressed=${String(isRaw)} onClick=${() => setRaw(!isRaw)}>${isRaw ? 'Show as a table' : 'Show as JSON'}</button></div>
    ${isRaw ? html`<pre class="code u">${safe(pretty(text()).slice(0, 65_536))}</pre>` : html`<${Value} value=${value} depth=${0} />`}</div>`;
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {{ value: any, depth: number }} props */
function Value({ value, depth }) {
  if (value === null) return html`<span class="dim">null</span>`;
  if (typeof value === 'string') return value.includes('\n') ? html`<pre class="u">${safe(value.slice(0, 16_384))}${value.length > 16_384 ? html`<span class="dim"> … ${counted(value.length - 16_384, 'character')} more; see it as JSON</span>` : ''}</pre>` : html`<span class="mono u">${safe(value.slice(0, 16_384))}</span>`;
  if (typeof value !== 'object') return html`<span class="mono">${String(value)}</span>`;
  if (depth >= DEEP_MAX) return html`<span class="mono u">${safe(JSON.stringify(value).slice(0, 2000))}</span>`;
  if (Array.isArray(value)) return html`<${List} list=${value} depth=${depth} />`;
  return html`<${Fields} fields=${Object.entries(value)} depth=${depth} />`;
}

/** @param {{ fields: [string, any][], depth: number }} props */
function Fields({ fields, depth }) {
  const [most, setMost] = useState(ROWS_MAX);
  if (fields.length === 0) return html`<span class="dim">nothing</span>`;
  return html`<table class="kv"><tbody>${fields.slice(0, most).map(([key, value]) => html`<tr key=${key}><th scope="row" class="u">${safe(key)}</th><td><${Value} value=${value} depth=${depth + 1} /></td></tr>`)}
    ${fields.length > most && html`<tr><th></th><td><button class="link" onClick=${() => setMost(most + ROWS_MAX)}>Show ${counted(fields.length - most, 'more field')}</button></td></tr>`}</tbody></table>`;
}

const isFlat = (/** @type {any} */ it) => it !== null && typeof it === 'object' && !Array.isArray(it) && Object.values(it).every((field) => field === null || typeof field !== 'object');

/** Rows of the same kind are a table. @param {{ list: any[], depth: number }} props */
function List({ list, depth }) {
  const [most, setMost] = useState(ROWS_MAX);
  if (list.length === 0) return html`<span class="dim">empty list</span>`;
  const more = list.length > most && html`<button class="link small" onClick=${() => setMost(most + ROWS_MAX)}>Show ${counted(list.length - most, 'more item')}</button>`;
  const keys = list.every(isFlat) ? [...new Set(list.slice(0, 50).flatMap((it) => Object.keys(it)))] : [];
  if (keys.length > 0 && keys.length <= 8) {
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table"><table class="kv grid"><thead><tr>${keys.map((key) => html`<th key=${key} scope="col" class="u">${safe(key)}</th>`)}</tr></thead>
      <tbody>${list.slice(0, most).map((it, at) => html`<tr key=${at}>${keys.map((key) => html`<td key=${key}>${key in it && html`<${Value} value=${it[key]} depth=${depth + 1} />`}</td>`)}</tr>`)}</tbody></table></div>${more}`;
  }
  return html`<ol class="jl">${list.slice(0, most).map((it, at) => html`<li key=${at}><${Value} value=${it} depth=${depth + 1} /></li>`)}</ol>${more}`;
}
