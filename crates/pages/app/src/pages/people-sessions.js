// Sessions: the browsers in which one is signed in.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api, signOut } from '../api.js';
import { useLoaded } from '../hooks.js';
import { me } from '../state.js';
import { Failed, Loading } from '../components/states.js';
import { shortTime } from '../components/note-list.js';

/** @typedef {{ session_id: string, created_at: string, expires_at: string, is_current: boolean }} Session */

export default function Sessions() {
  const path = `/api/users/${me.value?.id}/sessions`;
  const { data, error, reload } = useLoaded(() => api('GET', path), [path]);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const end = (/** @type {Session} */ it) => (it.is_current ? signOut() : void api('DELETE', `${path}/${it.session_id}`).then(reload, setProblem));
  const others = (data?.sessions ?? []).filter((/** @type {Session} */ it) => !it.is_current);
  const endOthers = async () => {
    try {
      for (const it of others) await api('DELETE', `${path}/${it.session_id}`);
    } catch (refused) {
      setProblem(refused);
    }
    reload();
  };
  return html`<section class="card pad"><div class="row wrap full"><h2 class="grow">Sessions</h2>${others.length > 0 && html`<button class="btn" onClick=${() => void endOthers()}>End all others</button>`}</div>
    ${problem && html`<${Failed} what="That did not work." error=${problem} />`}${error && html`<${Failed} what="The sessions cannot be read." error=${error} onRetry=${reload} />`}
    ${!data ? !error && html`<${Loading} />` : html`<ul class="rows" role="list">${data.sessions.map((/** @type {Session} */ it) => html`<li key=${it.session_id}><div class="grow"><b>${it.is_current ? 'This browser' : 'Another browser'}</b><span class="s">since ${shortTime(it.created_at)}, until ${shortTime(it.expires_at)}</span></div><button class="btn" onClick=${() => end(it)}>${it.is_current ? 'Sign out' : 'End'}</button></li>`)}</ul>`}</section>`;
}
