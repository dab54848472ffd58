// The states that every page has: loading, empty, failed.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { ApiError } from '../api.js';
import { Icon } from './icon.js';

/** Grey rows, after 150 ms: what comes sooner needs no sign that it is coming. @param {{ rows?: number }} props */
export function Loading({ rows = 4 }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const later = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(later);
  }, []);
  if (!isLate) return null;
  const row = (/** @type {unknown} */ _, /** @type {number} */ at) => html`<span key=${at} class=${at % 2 ? 'sk s' : 'sk l'}></span>`;
  return html`<div class="loading" role="status"><span class="sr">Loading</span>${Array.from({ length: rows }, row)}</div>`;
}

/** @param {{ what: string, error: unknown, onRetry?: () => void }} props */
export function Failed({ what, error, onRetry }) {
  const known = error instanceof ApiError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  return html`<div class="failed" role="alert">
    <div class="note bad"><${Icon} name="bad" /><div><b>${what}</b> ${message}
      <div class="tiny mono">${known?.code ?? 'unexpected'}${known?.requestId ? ` · request ${known.requestId}` : ''}</div></div></div>
    ${onRetry && html`<button class="btn" onClick=${onRetry}><${Icon} name="retry" />Try again</button>`}
  </div>`;
}

/** @param {{ title: string, children?: any }} props */
export const Empty = ({ title, children }) => html`<div class="empty"><b>${title}</b>${children}</div>`;
