// What a run does at this moment.
import { html } from '../html.js';
import { now } from '../state.js';
import { standing } from '../lib/fold.js';
import { gist, words } from '../lib/calls.js';
import { duration } from '../lib/time.js';
import { Icon } from './icon.js';
import { safe } from './untrusted.js';

/** @param {import('../lib/fold.js').Turn | undefined} turn @param {number} moment */
function doing(turn, moment) {
  const attempt = turn?.attempts.at(-1);
  const running = turn?.calls.find((it) => it && standing(it) === 'running');
  if (running) return { what: `runs ${running.tool} ${gist(running.arguments)}`, since: running.invokedAt };
  if (attempt && attempt.endedAt === null) return { what: 'model is answering', since: attempt.at };
  if (attempt?.failure?.retry_after_ms && attempt.endedAt) {
    const left = attempt.endedAt + attempt.failure.retry_after_ms - moment;
    return { what: left > 0 ? `${words(attempt.failure.class)}; next attempt in ${duration(left)}` : 'asking again', since: attempt.endedAt };
  }
  return { what: 'working', since: turn?.endedAt ?? null };
}

/** @param {{ store: import('../run-store.js').RunStore, turns: import('../lib/fold.js').Turn[] }} props */
export function Now({ store, turns }) {
  const run = store.run.value;
  const said = store.said.value;
  if (run?.status !== 'running') return null;
  const turn = turns.at(-1);
  const { what, since } = doing(turn, now.value);
  return html`<div class="now"><div class="row small"><${Icon} name="run" tone="run" /><b>Turn ${said?.turn ?? turn?.turn ?? 1}</b><span class="mid cut u">${safe(what)}</span><span class="grow"></span><span class="dim nowrap">${since ? duration(now.value - since) : ''}</span></div>
    ${said && html`<p class="u said-now">${safe(said.text.slice(-1200))}<span class="caret" aria-hidden="true"></span></p>`}</div>`;
}
