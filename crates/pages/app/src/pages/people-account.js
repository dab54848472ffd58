// One's own password.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api, signOut } from '../api.js';
import { me, user } from '../state.js';
import { Failed } from '../components/states.js';

export default function Account() {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isDone, setDone] = useState(false);
  const onSubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    try {
      setError(null);
      if (form.get('password') !== form.get('again')) throw new Error('The two new passwords are not the same.');
      await api('PUT', `/api/users/${me.value?.id}/password`, { password: form.get('password'), current_password: form.get('current') });
      setDone(true);
    } catch (refused) {
      setError(refused);
    }
  };
  if (isDone) return html`<section class="card pad"><h2>The password is set</h2><p class="mid small">All sessions have ended, also this one.</p><button class="btn solid" onClick=${signOut}>Sign in again</button></section>`;
  const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ complete) => html`<label class="lab">${label}<span class="field"><input name=${name} type="password" autocomplete=${complete} required /></span></label>`;
  return html`<section class="card pad"><h2>Password of ${user.value}</h2><form class="stack" onSubmit=${onSubmit}><input class="sr" name="username" autocomplete="username" value=${user.value} readonly tabindex="-1" aria-hidden="true" />
      ${field('current', 'Current password', 'current-password')}${field('password', 'New password', 'new-password')}${field('again', 'The new password again', 'new-password')}
      <p class="tiny dim">A new password ends every session of your account, also this one. Tokens stay.</p>
      ${error && html`<${Failed} what="The password is as before." error=${error} />`}<div><button class="btn solid">Set the password</button></div></form></section>`;
}
