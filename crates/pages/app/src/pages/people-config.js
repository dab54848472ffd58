// What the server was told, and where each setting comes from. It is changed in the file, not here.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api, ApiError } from '../api.js';
import { useLoaded } from '../hooks.js';
import { Icon } from '../components/icon.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { valueText } from '../lib/conditions.js';

/** @typedef {{ key: string, value: any, source: 'default' | 'file' | 'environment', from: string | null, is_secret: boolean, is_set?: boolean }} Setting */

/** @param {Setting} it */
const fromText = (it) => (it.source === 'default' ? 'built in' : it.from ?? it.source);

export default function Config() {
  const { data, error, reload } = useLoaded(() => api('GET', '/api/settings'), []);
  const [q, setQ] = useState('');
  if (error instanceof ApiError && error.status === 404) return html`<${Empty} title="This server does not show its settings"><p class="small mid">They are in <code>config.json</code> in its data directory.</p><//>`;
  if (error) return html`<${Failed} what="The settings cannot be read." error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} rows=${8} />`;
  const shown = data.settings.filter((/** @type {Setting} */ it) => it.key.includes(q.trim().toLowerCase()));
  return html`<section class="card pad"><h2>Configuration</h2><p class="mid small">These are set in files and variables, and read when the server starts.</p>
    <label class="field full"><${Icon} name="search" /><span class="sr">Search settings</span><input type="search" placeholder="Search settings" value=${q} onInput=${(/** @type {Event} */ event) => setQ(/** @type {HTMLInputElement} */ (event.target).value)} /></label>
    <div class="scroll-box full" tabindex="0" role="group" aria-label="Settings"><table class="kv grid"><thead><tr><th>Setting</th><th>Value</th><th>From</th></tr></thead><tbody>${shown.map((/** @type {Setting} */ it) => html`<tr key=${it.key}><td class="mono">${it.key}</td><td class="mono u">${it.is_secret ? (it.is_set ? 'set, not shown' : 'not set') : valueText(it.value) || html`<span class="dim">empty</span>`}</td><td class="small">${fromText(it)}</td></tr>`)}</tbody></table></div>
    ${shown.length === 0 && html`<p class="dim small">No setting fits.</p>`}</section>`;
}
