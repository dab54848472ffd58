// Tokens: for programs that act for a person. A token is shown once, when it is made.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { useLoaded } from '../hooks.js';
import { me } from '../state.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { Secret } from '../components/secret.js';
import { shortTime } from '../components/note-list.js';

/** @typedef {{ token_id: string, label: string, created_at: string, last_used_at: string | null }} Token */

export default function Tokens() {
  const path = `/api/users/${me.value?.id}/tokens`;
  const { data, error, reload } = useLoaded(() => api('GET', path), [path]);
  const [made, setMade] = useState('');
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const label = String(new FormData(form).get('label') ?? '').trim();
    api('POST', path, { ...(label ? { label } : {}) }).then((it) => { form.reset(); setMade(it.token); reload(); }, setProblem);
  };
  const revoke = (/** @type {Token} */ it) => void api('DELETE', `${path}/${it.token_id}`).then(reload, setProblem);
  return html`<section class="card pad"><h2>Tokens</h2><p class="mid small">A token lets a program act as you, without your password.</p>
    <form class="row wrap" onSubmit=${onSubmit}><label class="field grow"><span class="sr">What the token is for</span><input name="label" placeholder="What it is for" maxlength="100" /></label><button class="btn solid">Make a token</button></form>
    ${problem && html`<${Failed} what="That did not work." error=${problem} />`}${error && html`<${Failed} what="The tokens cannot be read." error=${error} onRetry=${reload} />`}
    ${!data ? !error && html`<${Loading} />` : data.tokens.length === 0 ? html`<${Empty} title="There are no tokens" />`
      : html`<ul class="rows" role="list">${data.tokens.map((/** @type {Token} */ it) => html`<li key=${it.token_id}><div class="grow"><b class="u">${it.label || 'without a name'}</b><span class="s">made ${shortTime(it.created_at)}, ${it.last_used_at ? `used ${shortTime(it.last_used_at)}` : 'never used'}</span></div><button class="btn" aria-label=${`Revoke ${it.label || 'the token'}`} onClick=${() => revoke(it)}>Revoke</button></li>`)}</ul>`}</section>
    ${made && html`<${Secret} title="Your new token" what="A program with this token can do what you can do." secret=${made} onClose=${() => setMade('')} />`}`;
}
