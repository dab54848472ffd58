// What this browser keeps, and who is signed in.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { signOut } from '../api.js';
import { site, user } from '../state.js';
import { keep, kept } from '../storage.js';
import { useTitle } from '../hooks.js';
import { Icon } from '../components/icon.js';

const THEMES = [['', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

/** @param {string} theme */
function setTheme(theme) {
  keep('theme', theme || null);
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export default function Settings() {
  useTitle('Settings');
  const [theme, choose] = useState(kept('theme') ?? '');
  const [isKept, setKept] = useState(true);
  const pick = (/** @type {string} */ next) => {
    choose(next);
    setTheme(next);
    setKept((kept('theme') ?? '') === next);
  };
  return html`<div class="bar"><h1>Settings</h1></div><div class="page settings">
    <section class="card pad"><h2>Appearance</h2><div class="row wrap" role="group" aria-label="Appearance">${THEMES.map(([key, name]) => html`<button key=${key} class="chip" aria-pressed=${String(theme === key)} onClick=${() => pick(key)}>${name}</button>`)}</div>
      ${!isKept && html`<p class="tiny c-bad">This browser's storage is full or blocked: the choice holds until you close this page.</p>`}</section>
    <section class="card pad"><h2>Session</h2><p class="mid small">${user.value ? `Signed in as ${user.value}.` : 'Signed in.'} The session is kept in this browser.</p><button class="btn" onClick=${signOut}><${Icon} name="key" />Sign out</button></section>
    <section class="card pad"><h2>Server</h2><p class="mid small">bonded ${site.value?.version}, ${site.value?.kind === 'store' ? "this machine's store" : site.value?.kind}. Settings of agents are in files; <code>bonded config</code> shows them with the file that each comes from.</p></section></div>`;
}
