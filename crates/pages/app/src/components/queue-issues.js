// Issues that agents raised, open and closed; and notices that rules left.
import { html, cls } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api, ApiError } from '../api.js';
import { useLoaded } from '../hooks.js';
import { notePath, route, rulePath, setQuery } from '../router.js';
import { hasRole } from '../state.js';
import { hear } from '../socket.js';
import { names, workspaceId } from '../workspace.js';
import { Empty, Failed, Loading } from './states.js';
import { FoldedText } from './longtext.js';
import { Icon } from './icon.js';
import { useFocus } from './focus.js';
import { shortTime } from './note-list.js';

/** @typedef {import('../workspace-types.js').Event} Event */

/** @param {() => void} reload @param {string} kind */
const useFollowed = (reload, kind) => useEffect(() => hear({ refresh: reload, event: (it) => it.event_type.includes(kind) && reload() }), []);

export function Issues() {
  const state = route.value.query.get('state') ?? 'open';
  const { data, error, reload } = useLoaded(async () => {
    const path = `/api/issues?workspace_id=${workspaceId()}&limit=200`;
    try {
      return await api('GET', `${path}&state=${state}`);
    } catch (refused) {
      // An older server has no states: all of them are shown.
      if (refused instanceof ApiError && refused.status === 400) return api('GET', path);
      throw refused;
    }
  }, [workspaceId(), state]);
  useFollowed(reload, 'issue');
  const chip = (/** @type {string} */ key, /** @type {string} */ text) => html`<button class="chip" aria-pressed=${String(state === key)} onClick=${() => setQuery({ state: key === 'open' ? null : key })}>${text}</button>`;
  return html`<div class="row wrap" role="group" aria-label="State">${chip('open', 'Open')}${chip('closed', 'Closed')}${chip('all', 'All')}</div>
    ${error && html`<${Failed} what="The issues cannot be read." error=${error} onRetry=${reload} />`}
    ${!data ? !error && html`<${Loading} />` : data.issues.length === 0 ? html`<${Empty} title=${state === 'open' ? 'No issue is open' : 'No issue here'}><p class="small mid">Agents raise an issue where they want a person to look.</p><//>`
      : html`<ul class="issues" role="list">${data.issues.map((/** @type {Event} */ it) => html`<${Issue} key=${it.event_id} issue=${it} onChanged=${reload} />`)}</ul>`}`;
}

/** @param {{ issue: Event, onChanged: () => void }} props */
function Issue({ issue: it, onChanged }) {
  const [isClosing, setClosing] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const payload = it.payload ?? {};
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const reason = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('reason') ?? '').trim();
    api('POST', `/api/issues/${it.event_id}/close`, reason ? { reason } : {}).then(onChanged, setError);
  };
  return html`<li class=${cls('card issue', it.closed && 'closed')}><header class="row wrap"><b class="u">${payload.key ?? payload.title ?? 'Issue'}</b><span class="tiny dim">${shortTime(it.timestamp)}</span>${it.note_id && html`<a class="small" href=${notePath(it.note_id)}>note</a>`}</header>
    <${FoldedText} text=${String(payload.value ?? payload.message ?? JSON.stringify(payload))} isProse=${true} />
    ${payload.metadata && html`<p class="tiny mono dim u">${typeof payload.metadata === 'string' ? payload.metadata : JSON.stringify(payload.metadata)}</p>`}
    ${it.closed ? html`<p class="small"><${Icon} name="ok" tone="ok" /> closed by ${names.value.get(it.closed.by ?? '') ?? 'a member'}, ${shortTime(it.closed.at)}${it.closed.reason ? html`: <span class="u">${it.closed.reason}</span>` : ''}</p>`
      : hasRole('editor') && (isClosing ? html`<${CloseForm} onSubmit=${onSubmit} onCancel=${() => setClosing(false)} />`
        : html`<button class="btn" onClick=${() => setClosing(true)}>Close</button>`)}
    ${error && html`<${Failed} what="It was not closed." error=${error} />`}</li>`;
}

/** @param {{ onSubmit: (event: SubmitEvent) => void, onCancel: () => void }} props */
function CloseForm({ onSubmit, onCancel }) {
  const field = useFocus();
  return html`<form class="edit-form" onSubmit=${onSubmit}><label class="lab">What was done about it<span class="field"><input name="reason" maxlength="1000" ref=${field} /></span></label><div class="row"><button class="btn solid">Close the issue</button><button type="button" class="btn" onClick=${onCancel}>Cancel</button></div></form>`;
}

/** @typedef {{ notice_id: string, title: string, message: string | null, note_id: string | null, rule_id: string, posted_at: string, is_read: boolean }} Notice */

export function Notices() {
  const { data, error, reload } = useLoaded(() => api('GET', `/api/notices?workspace_id=${workspaceId()}&limit=200`), [workspaceId()]);
  useFollowed(reload, 'notice');
  const read = (/** @type {any} */ which) => void api('POST', '/api/notices/read', { workspace_id: workspaceId(), ...which }).then(reload, () => {});
  if (error instanceof ApiError && error.status === 404) return html`<${Empty} title="This server has no notices" />`;
  if (error && !data) return html`<${Failed} what="The notices cannot be read." error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  if (data.notices.length === 0) return html`<${Empty} title="There are no notices"><p class="small mid">Rules can leave one: “Then leave a notice”.</p><//>`;
  return html`${data.unread > 0 && html`<div class="row"><span class="small dim grow">${data.unread} unread</span><button class="btn" onClick=${() => read({ all: true })}>Mark all as read</button></div>`}
    <ul class="issues" role="list">${data.notices.map((/** @type {Notice} */ it) => html`<li key=${it.notice_id} class=${cls('card issue', it.is_read && 'closed')}><header class="row wrap">${!it.is_read && html`<span class="st run">new</span>`}<b class="u">${it.title}</b><span class="tiny dim">${shortTime(it.posted_at)}</span></header>${it.message && html`<p class="prose u">${it.message}</p>`}
      <div class="row wrap">${it.note_id && html`<a class="small" href=${notePath(it.note_id)}>note</a>`}<a class="small" href=${rulePath(it.rule_id)}>rule</a><span class="grow"></span>${!it.is_read && html`<button class="btn quiet" onClick=${() => read({ notice_ids: [it.notice_id] })}>Mark as read</button>`}</div></li>`)}</ul>`;
}
