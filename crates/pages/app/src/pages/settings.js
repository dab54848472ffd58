// Settings: this browser, one's own account, and of a workspace its people and what the server was told.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { signOut } from '../api.js';
import { me, site, user, workspaces } from '../state.js';
import { route } from '../router.js';
import { keep, kept } from '../storage.js';
import { useCss, useTitle } from '../hooks.js';
import { Icon } from '../components/icon.js';
import { Later } from '../components/later.js';

const THEMES = [['', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

/** What a server without accounts has no pages for. @type {{ key: string, name: string, load: () => Promise<any>, isFor?: () => boolean }[]} */
const VIEWS = [
  { key: 'account', name: 'Account', load: () => import('./people-account.js') },
  { key: 'tokens', name: 'Tokens', load: () => import('./people-tokens.js') },
  { key: 'sessions', name: 'Sessions', load: () => import('./people-sessions.js') },
  { key: 'people', name: 'People', load: () => import('./people.js') },
  { key: 'workspaces', name: 'Workspaces', load: () => import('./people-workspaces.js') },
  { key: 'config', name: 'Configuration', load: () => import('./people-config.js'), isFor: () => me.value?.isOwner === true },
];

/** @param {string} theme */
function setTheme(theme) {
  keep('theme', theme || null);
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export default function Settings() {
  useTitle('Settings');
  useCss('/css/settings.css');
  const view = route.value.parts[1] ?? '';
  const shown = site.value?.kind === 'workspace' ? VIEWS.filter((it) => !it.isFor || it.isFor()) : [];
  const chosen = shown.find((it) => it.key === view);
  const tab = (/** @type {string} */ key, /** @type {string} */ name) => html`<a key=${key} class="tab" href=${`/settings${key ? `/${key}` : ''}`} aria-current=${(chosen?.key ?? '') === key ? 'page' : undefined}>${name}</a>`;
  return html`<div class="bar"><h1>Settings</h1></div><div class="page settings">
    ${shown.length > 0 && html`<nav class="subtabs scroll-x" aria-label="Settings">${tab('', 'General')}${shown.map((it) => tab(it.key, it.name))}</nav>`}
    ${chosen ? html`<${Later} key=${chosen.key} load=${chosen.load} />` : html`<${General} />`}</div>`;
}

function General() {
  const [theme, choose] = useState(kept('theme') ?? '');
  const [isKept, setKept] = useState(true);
  const pick = (/** @type {string} */ next) => {
    choose(next);
    setTheme(next);
    setKept((kept('theme') ?? '') === next);
  };
  const { current } = workspaces.value;
  return html`<section class="card pad"><h2>Appearance</h2><div class="row wrap" role="group" aria-label="Appearance">${THEMES.map(([key, name]) => html`<button key=${key} class="chip" aria-pressed=${String(theme === key)} onClick=${() => pick(key)}>${name}</button>`)}</div>
      ${!isKept && html`<p class="tiny c-bad">This browser's storage is full or blocked: the choice holds until you close this page.</p>`}</section>
    <section class="card pad"><h2>Session</h2><p class="mid small">${user.value ? `Signed in as ${user.value}.` : 'Signed in.'} ${current ? `Your role in “${current.name}” is ${current.role ?? 'viewer'}.` : 'The session is kept in this browser.'}</p><button class="btn" onClick=${signOut}><${Icon} name="key" />Sign out</button></section>
    <section class="card pad"><h2>Server</h2><p class="mid small">bonded ${site.value?.version}, ${site.value?.kind === 'store' ? "this machine's store" : site.value?.kind}. Settings of agents are in files; <code>bonded config</code> shows them with the file that each comes from.</p></section>`;
}
