import { html } from '../html.js';
import { stateOf } from '../lib/status.js';

/** @param {{ name: string, tone?: string }} props */
export const Icon = ({ name, tone }) => {
  const icon = html`<svg class="i" aria-hidden="true"><use href=${`#i-${name}`} /></svg>`;
  return tone ? html`<span class=${`c-${tone}`}>${icon}</span>` : icon;
};

/** State is shape, word and colour: never colour alone. @param {{ tone: string, icon?: string, children?: any }} props */
export const Badge = ({ tone, icon, children }) =>
  html`<span class=${`st ${tone}`}>${icon && html`<${Icon} name=${icon} />`}${children}</span>`;

/** @param {{ status: string, ended?: string, word?: string }} props */
export const StateBadge = ({ status, ended, word }) => {
  const state = stateOf(status, ended);
  return html`<${Badge} tone=${state.tone} icon=${state.icon}>${word ?? state.word}<//>`;
};
