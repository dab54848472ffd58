// The checks of a receipt, one by one.
import { html } from '../html.js';
import { Icon } from './icon.js';
import { safe } from './untrusted.js';

/** @param {{ checks: import('../lib/receipt.js').Check[] }} props */
export const Checks = ({ checks }) => html`<ul class="checks">${checks.map((it, at) => html`<li key=${at}><${Icon} name=${it.is === 'good' ? 'ok' : it.is === 'bad' ? 'bad' : 'off'} tone=${it.is === 'good' ? 'ok' : it.is === 'bad' ? 'bad' : 'wait'} /><b>${safe(it.name)}</b><span class="mid">${it.is === 'bad' && html`<span class="sr">failed: </span>`}${safe(it.text)}</span></li>`)}</ul>`;
