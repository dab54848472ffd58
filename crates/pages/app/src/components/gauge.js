// Budgets: what is spent is solid, what is reserved is hatched, the limit is written.
import { cls, html } from '../html.js';
import { percent } from '../lib/numbers.js';

/**
 * @param {{ name: string, limit?: string, value: string, more?: string, spent: number, held?: number, most: number | null }} props
 */
export function Gauge({ name, limit, value, more, spent, held = 0, most }) {
  const part = most === null ? 0 : percent(spent, most);
  const reserved = most === null ? 0 : Math.min(100 - part, percent(held, most));
  const label = `${Math.round(part)} percent used${reserved > 0 ? `, ${Math.round(reserved)} percent held` : ''}`;
  return html`<div class=${cls('gauge', part >= 80 && 'over')}>
    <dt>${name} <span>${limit ?? 'no limit'}</span></dt>
    <dd>${value}${more && html` <span>${more}</span>`}
      ${most !== null && html`<svg role="img" aria-label=${label}>
        <rect width=${`${part > 0 ? Math.max(part, 1) : 0}%`} height="6" />
        ${reserved > 0 && html`<rect class="res" x=${`${part}%`} width=${`${reserved}%`} height="6" />`}
      </svg>`}
    </dd></div>`;
}

/** A thin bar beside a number in a list. @param {{ spent: number, most: number }} props */
export function LimitBar({ spent, most }) {
  const part = percent(spent, most);
  return html`<svg class="m" aria-hidden="true"><rect class=${part >= 80 ? 'full' : ''} width=${`${part}%`} height="3" /></svg>`;
}
