// Something that is shown once: a token, an invitation, a secret of a webhook.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { Dialog } from './dialog.js';
import { Icon } from './icon.js';

/** @param {{ title: string, what: string, secret: string, onClose: () => void }} props */
export function Secret({ title, what, secret, onClose }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard?.writeText(secret).then(() => setCopied(true), () => {});
  return html`<${Dialog} title=${title} onClose=${onClose}><p class="small">${what} It is shown only now: copy it.</p>
    <label class="lab">Copy this<input class="field mono secret" readonly value=${secret} onFocus=${(/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).select()} /></label>
    <div class="row"><button class="btn solid" onClick=${copy}><${Icon} name=${isCopied ? 'ok' : 'copy'} />${isCopied ? 'Copied' : 'Copy'}</button><button class="btn" onClick=${onClose}>Done</button></div><//>`;
}
