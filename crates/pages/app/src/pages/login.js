// Signing in: with a link that `bonded ui` prints, a token, a name and a password, an invitation; and the first account.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { accept, ApiError, setUp, signIn, signOut } from '../api.js';
import { go } from '../router.js';
import { site, user } from '../state.js';
import { Failed } from '../components/states.js';
import { Icon } from '../components/icon.js';
import { Dialog } from '../components/dialog.js';

/** The secret of a pasted link, or what was pasted itself. @param {string} text */
const secretOf = (text) => text.trim().replace(/^.*#(enter|invitation)=/, '');

const INVITED = /^#invitation=(.+)$/;

/** The invitation in the address; it stays there until it is accepted, so that the page can be loaded again. */
const invitation = () => INVITED.exec(location.hash)?.[1] ?? '';

/** @param {{ name: string, label: string, type?: string, complete: string, value?: string, hint?: string, least?: number }} props */
function Field({ name, label, type = 'text', complete, value, hint, least }) {
  return html`<label class="field-label" for=${name}>${label}</label>
    <div class="field">${type === 'password' && complete === 'off' && html`<${Icon} name="key" />`}<input id=${name} name=${name} type=${type} autocomplete=${complete} value=${value} minlength=${least} required aria-describedby=${hint ? `${name}-hint` : undefined} /></div>
    ${hint && html`<p class="tiny dim" id=${`${name}-hint`}>${hint}</p>`}`;
}

const NewPassword = () => html`<${Field} name="password" label="New password" type="password" complete="new-password" />
  <${Field} name="again" label="The same password again" type="password" complete="new-password" />`;

/**
 * The ways in. `does` gets what was entered.
 * @type {Record<string, { title: string, help: any, fields: () => any, button: string, does: (of: (name: string) => string) => Promise<void> }>}
 */
const WAYS = {
  link: {
    title: 'Sign in to bonded', button: 'Sign in',
    help: html`<p class="mid">Run <code>bonded ui</code> again in a terminal: it opens this page. Or paste the link that it prints.</p>`,
    fields: () => html`<${Field} name="secret" label="Link or code" type="password" complete="off" />`,
    does: (of) => signIn({ link: secretOf(of('secret')) }),
  },
  token: {
    title: 'Sign in to bonded', button: 'Sign in',
    help: html`<p class="mid">Enter a token of this server.</p>`,
    fields: () => html`<${Field} name="secret" label="Token" type="password" complete="off" />`,
    does: (of) => signIn({ token: of('secret').trim() }),
  },
  password: {
    title: 'Sign in to bonded', button: 'Sign in',
    help: html`<p class="mid">Sign in with your account on this server.</p>`,
    fields: () => html`<${Field} name="name" label="Name" complete="username" value=${user.value} /><${Field} name="secret" label="Password" type="password" complete="current-password" />`,
    does: (of) => signIn({ name: of('name'), password: of('secret') }),
  },
  invitation: {
    title: 'You are invited', button: 'Set the password and sign in',
    help: html`<p class="mid">Choose a password for your account. The invitation works once.</p>`,
    fields: () => html`<${Field} name="secret" label="Invitation" type="password" complete="off" value=${invitation()} hint="The link that you were sent, or the code at its end." /><${NewPassword} />`,
    does: (of) => accept({ invitation: secretOf(of('secret')), password: of('password') }).then(() => go('/', { isReplaced: true })),
  },
  setup: {
    title: 'Set up this server', button: 'Create the owner’s account',
    help: html`<p class="mid">There is no account here yet. The first one owns the server.</p>`,
    fields: () => html`<${Field} name="token" label="Owner’s token" type="password" complete="off" hint=${html`It is in the file <code>owner-token</code> in the server’s data directory.`} />
      <${Field} name="name" label="Name" complete="username" /><${NewPassword} />`,
    does: (of) => setUp({ token: of('token').trim(), name: of('name').trim(), password: of('password') }),
  },
};

/** Ways that lead elsewhere from a way. @type {Record<string, [string, string][]>} */
const OTHERS = {
  password: [['invitation', 'I have an invitation']],
  invitation: [['password', 'I have a password']],
  setup: [['password', 'I have an account']],
};

/** @param {FormData} form */
function checked(form) {
  if (form.has('again') && form.get('again') !== form.get('password')) throw new Error('The two passwords are not the same.');
  return (/** @type {string} */ name) => String(form.get(name) ?? '');
}

/** @param {{ way: string, failure?: unknown, others?: any }} props */
function LoginForm({ way, failure, others }) {
  const { fields, help, button, does } = WAYS[way];
  const [error, setError] = useState(/** @type {unknown} */ (failure ?? null));
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await does(checked(new FormData(/** @type {HTMLFormElement} */ (event.target))));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="login-form" onSubmit=${onSubmit}>${help}${fields()}
    ${error && html`<${Failed} what=${whatFailed(error)} error=${error} />`}
    <button class="btn solid big" disabled=${isBusy}>${button}</button>${others}</form>`;
}

/** @param {unknown} error */
function whatFailed(error) {
  const code = error instanceof ApiError ? error.code : '';
  if (code === 'SETUP_ALREADY_COMPLETED') return 'This server is set up already: sign in instead.';
  if (code === 'RATE_LIMITED') return 'Too many wrong passwords.';
  return 'That did not work.';
}

/** @param {{ failure?: unknown }} props */
export function Login({ failure }) {
  const kind = site.value?.login ?? 'link';
  const usual = kind !== 'password' ? kind : invitation() ? 'invitation' : site.value?.needsSetup ? 'setup' : 'password';
  const [way, setWay] = useState(usual);
  const others = (OTHERS[way] ?? []).map(([to, text]) => html`<button key=${to} type="button" class="link small" onClick=${() => setWay(to)}>${text}</button>`);
  return html`<main class="login" id="main" tabindex="-1"><div class="card"><h1>${WAYS[way].title}</h1>
    <${LoginForm} key=${way} way=${way} failure=${failure} others=${others.length > 0 && html`<div class="row wrap login-others">${others}</div>`} /></div></main>`;
}

/** Over the page, which stays as it is below. */
export function LoginAgain() {
  return html`<${Dialog} title="This session has ended" onClose=${() => {}}>
    <p class="small">Sign in again to continue. What you wrote is still here.</p>
    <${LoginForm} way=${site.value?.login ?? 'link'} />
    <button class="link small login-leave" onClick=${signOut}>Leave this page and use another account</button><//>`;
}
