// Signing in: with a link that `bonded ui` prints, a token, or a name and a password.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { signIn } from '../api.js';
import { auth, site } from '../state.js';
import { Failed } from '../components/states.js';
import { Icon } from '../components/icon.js';

/** The secret of a pasted link, or what was pasted itself. @param {string} text */
const secretOf = (text) => text.trim().replace(/^.*#enter=/, '');

/** @param {{ kind: string }} props */
function Fields({ kind }) {
  if (kind === 'password') {
    return html`<label class="field-label" for="name">Name</label><div class="field"><input id="name" name="name" autocomplete="username" required /></div>
      <label class="field-label" for="secret">Password</label><div class="field"><input id="secret" name="secret" type="password" autocomplete="current-password" required /></div>`;
  }
  return html`<label class="field-label" for="secret">${kind === 'token' ? 'Token' : 'Link or code'}</label>
    <div class="field"><${Icon} name="key" /><input id="secret" name="secret" type="password" autocomplete="off" required /></div>`;
}

/** @param {string} kind @param {FormData} form */
function given(kind, form) {
  const secret = String(form.get('secret') ?? '');
  if (kind === 'password') return { name: String(form.get('name') ?? ''), password: secret };
  return kind === 'token' ? { token: secret.trim() } : { link: secretOf(secret) };
}

/** @type {Record<string, any>} */
const HELP = {
  link: html`<p class="mid">Run <code>bonded ui</code> again in a terminal: it opens this page. Or paste the link that it prints.</p>`,
  token: html`<p class="mid">Enter a token of this server.</p>`,
  password: html`<p class="mid">Sign in with your account of this workspace.</p>`,
};

/** @param {{ failure?: unknown }} props */
export function Login({ failure }) {
  const kind = site.value?.login ?? 'link';
  const [error, setError] = useState(/** @type {unknown} */ (failure ?? null));
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signIn(given(kind, new FormData(/** @type {HTMLFormElement} */ (event.target))));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return html`<main class="login" id="main" tabindex="-1"><form class="card" onSubmit=${onSubmit}>
    <h1>${auth.value === 'ended' ? 'This session has ended' : 'Sign in to bonded'}</h1>
    ${HELP[kind]}<${Fields} kind=${kind} />
    ${error && html`<${Failed} what="That did not work." error=${error} />`}
    <button class="btn solid big" disabled=${isBusy}>Sign in</button>
  </form></main>`;
}
