// What runs, and what ended since yesterday: a glance, with the list of runs behind it.
import { html } from '../html.js';
import { useEffect } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { listen } from '../live.js';
import { runPath } from '../router.js';
import { useLoaded } from '../hooks.js';
import { now } from '../state.js';
import { isEnded } from '../lib/status.js';
import { clock, dayName } from '../lib/time.js';
import { StateBadge } from './icon.js';
import { Line } from './untrusted.js';

/** @typedef {import('../types.js').Row} Row */

const SHOWN_MAX = 8;

/** The first moment of yesterday. */
const yesterday = () => new Date(now.peek()).setHours(0, 0, 0, 0) - 86_400_000;

export function Lately() {
  const lately = useLoaded(() => /** @type {Promise<{ runs: Row[] }>} */ (api('GET', '/api/runs?limit=50')), []);
  useEffect(() => listen({ changed: lately.reload }), []);
  const runs = lately.data?.runs ?? [];
  const active = runs.filter((it) => it.status === 'running');
  const ended = runs.filter((it) => isEnded(it.status) && it.updatedAt >= yesterday());
  return html`<${Group} title="Running" runs=${active} /><${Group} title="Ended since yesterday" runs=${ended} />`;
}

/** @param {{ title: string, runs: Row[] }} props */
function Group({ title, runs }) {
  if (runs.length === 0) return null;
  return html`<section class="lately"><h2 class="itg">${title}, ${runs.length}</h2><ul class="card">${runs.slice(0, SHOWN_MAX).map((it) => html`<li key=${it.runId}><a href=${runPath(it.runId)}><${StateBadge} status=${it.status} ended=${it.termination?.kind} /><span class="cut"><${Line} text=${it.goal.slice(0, 200)} /></span><span class="dim tiny nowrap">${dayName(it.updatedAt, now.peek()) === 'Today' ? '' : 'yesterday '}${clock(it.updatedAt)}</span></a></li>`)}</ul>
    ${runs.length > SHOWN_MAX && html`<p class="tiny"><a href="/runs">All runs</a></p>`}</section>`;
}
