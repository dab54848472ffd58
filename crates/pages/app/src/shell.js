// What stands around every page: where one can go, whether the page is live, and the list of keys.
import { html } from './html.js';
import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { isOutdated, link, pageTitle, queueCount, site, tries, user, waitingCount, workspaces } from './state.js';
import { reconnect } from './live.js';
import { go, route } from './router.js';
import { signOut } from './api.js';
import { chooseWorkspace } from './choice.js';
import { Icon } from './components/icon.js';
import { Dialog } from './components/dialog.js';
import { layers, useKeys } from './components/keys.js';
import { clock } from './lib/time.js';

/** `isInMenu`: what a narrow screen has no tab for is in its menu. @type {{ path: string, name: string, icon: string, key: string, needs?: string, isInMenu?: boolean, count?: () => number }[]} */
const PLACES = [
  { path: '/inbox', name: 'Inbox', icon: 'inbox', key: 'i', needs: 'inbox', count: () => waitingCount.value },
  { path: '/runs', name: 'Runs', icon: 'runs', key: 'r', needs: 'runs' },
  { path: '/work', name: 'Work', icon: 'work', key: 'w', needs: 'work' },
  { path: '/notes', name: 'Notes', icon: 'notes', key: 'n', needs: 'notes' },
  { path: '/rules', name: 'Rules', icon: 'rules', key: 'u', needs: 'rules' },
  { path: '/queue', name: 'Review', icon: 'guard', key: 'e', needs: 'rules', count: () => queueCount.value },
  { path: '/verify', name: 'Receipts', icon: 'chain', key: 'v', isInMenu: true },
  { path: '/settings', name: 'Settings', icon: 'settings', key: 's', isInMenu: true },
];

const TABS_MAX = 5;

// What the server lacks is left out.
const places = () => PLACES.filter((it) => !it.needs || site.value?.has.includes(it.needs));

/** The tabs of a narrow screen. */
function tabs() {
  const all = places();
  return all.length <= TABS_MAX ? all : all.filter((it) => !it.isInMenu).slice(0, TABS_MAX);
}

/** @param {{ place: (typeof PLACES)[number], onClick?: () => void }} props */
const Place = ({ place, onClick }) => {
  const isHere = route.value.path === place.path || route.value.path.startsWith(`${place.path}/`);
  const waiting = place.count?.() ?? 0;
  return html`<a href=${place.path} onClick=${onClick} aria-current=${isHere ? 'page' : undefined}><${Icon} name=${place.icon} />${place.name}
    ${waiting > 0 && html`<span class="count wait"><span class="sr">waiting: </span>${waiting}</span>`}</a>`;
};

const Brand = () => html`<a class="brand" href="/"><svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.2" aria-hidden="true"><rect x="2.2" y="6" width="12" height="12" rx="6" /><rect x="9.8" y="6" width="12" height="12" rx="6" /></svg>bonded</a>`;

function Connection() {
  const { mode, since } = link.value;
  if (mode === 'live') return html`<span class="row"><${Icon} name="ok" tone="ok" />Live</span>`;
  if (mode === 'polling') return html`<span class="row"><${Icon} name="retry" tone="wait" />Every 5 s</span>`;
  if (mode === 'offline') return html`<span class="row"><${Icon} name="off" tone="wait" />Not connected since ${clock(since)}</span>`;
  return html`<span class="row"><${Icon} name="off" />Connecting</span>`;
}

function tryNow() {
  tries.value += 1;
  reconnect();
}

function Banners() {
  const { mode, since } = link.value;
  return html`
    ${mode === 'offline' && html`<div class="note wait banner" role="status"><${Icon} name="off" /><div class="grow"><b>Not connected since ${clock(since)}.</b> Shown as of then. What you write is kept.</div><button class="btn" onClick=${tryNow}>Try now</button></div>`}
    ${isOutdated.value && html`<div class="note limit banner" role="status"><${Icon} name="up" /><div class="grow"><b>The server was updated.</b> Reload to use the new version.</div><button class="btn" onClick=${() => location.reload()}>Reload</button></div>`}`;
}

/** Which of several workspaces is shown. */
function Workspaces() {
  const { all, current } = workspaces.value;
  const shown = all.filter((it) => it.state !== 'deleted');
  if (shown.length < 2) return null;
  const onChange = (/** @type {Event} */ event) => {
    chooseWorkspace(/** @type {HTMLSelectElement} */ (event.target).value);
    go('/notes');
  };
  return html`<label class="field ws-pick"><span class="sr">Workspace</span><select value=${current?.workspace_id} onChange=${onChange}>${shown.map((it) => html`<option key=${it.workspace_id} value=${it.workspace_id}>${it.name}${it.state === 'archived' ? ' (archived)' : ''}</option>`)}</select></label>`;
}

/** @param {{ onClose: () => void }} props */
function KeyHelp({ onClose }) {
  const titles = [...new Set(layers.value.map((it) => it.title))];
  const keysOf = (/** @type {string} */ title) => layers.value.filter((it) => it.title === title).flatMap((it) => it.keys());
  return html`<${Dialog} title="Keys" onClose=${onClose} wide=${true}>
    <div class="keylist">${titles.map((title) => html`<section key=${title}><h3>${title}</h3><dl>${keysOf(title).map((it) => html`<div key=${it.key}><dt>${it.key.split(' ').map((part) => html`<kbd>${part}</kbd> `)}</dt><dd>${it.does}</dd></div>`)}</dl></section>`)}</div>
    <p class="small dim">Letters are off while you type. Esc leaves a field or closes this list.</p>
    <div class="row"><button class="btn" onClick=${onClose}>Close</button></div><//>`;
}

/** The menu of a narrow screen, at the top right: it opens and closes the whole navigation. */
function TopMenu() {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setOpen(false), [route.value.path]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onDown = (/** @type {Event} */ event) => !box.current?.contains(/** @type {Node} */ (event.target)) && setOpen(false);
    addEventListener('pointerdown', onDown);
    return () => removeEventListener('pointerdown', onDown);
  }, [isOpen]);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || !isOpen) return;
    setOpen(false);
    button.current?.focus();
  };
  return html`<div class="top-menu" ref=${box} onKeyDown=${onKey}>
    <button ref=${button} class="btn icon" aria-label="Menu" aria-expanded=${String(isOpen)} aria-controls="top-menu" onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? 'x' : 'menu'} /></button>
    ${isOpen && html`<nav class="top-list" id="top-menu" aria-label="More"><${Workspaces} />
      ${places().map((it) => html`<${Place} key=${it.path} place=${it} onClick=${() => setOpen(false)} />`)}
      <div class="top-foot"><${Connection} />${user.value && html`<span class="row"><${Icon} name="user" />${user.value}</span>`}<button class="btn quiet" onClick=${signOut}>Sign out</button></div></nav>`}</div>`;
}

/** @param {{ children?: any }} props */
export function Shell({ children }) {
  const [isHelp, setHelp] = useState(false);
  useKeys('Everywhere', [
    { key: '?', does: 'List the keys', run: () => setHelp(true) },
    ...places().map((it) => ({ key: `g ${it.key}`, does: `Go to ${it.name}`, run: () => go(it.path) })),
  ]);
  useBadge();
  return html`<div class="shell">
    <header class="side"><${Brand} /><${Workspaces} />
      <nav class="nav" aria-label="Main"><ul>${places().map((it) => html`<li key=${it.path}><${Place} place=${it} /></li>`)}</ul></nav>
      <div class="foot"><${Connection} />${user.value && html`<span class="row"><${Icon} name="user" />${user.value}</span>`}
        <button class="row foot-keys" onClick=${() => setHelp(true)}><kbd>?</kbd>keys <kbd>g</kbd>go to</button></div></header>
    <main class="main" id="main" tabindex="-1"><${Banners} />${children}</main></div>
    <${TopMenu} />
    <nav class="tabs" aria-label="Main, small screens">${tabs().map((it) => html`<${Place} key=${it.path} place=${it} />`)}</nav>
    ${isHelp && html`<${KeyHelp} onClose=${() => setHelp(false)} />`}`;
}

/** The title and the icon say how many calls wait, also from another tab. */
function useBadge() {
  const n = waitingCount.value + queueCount.value;
  const title = pageTitle.value;
  useEffect(() => {
    document.title = `${n > 0 ? `(${n}) ` : ''}${title ? `${title} · ` : ''}bonded`;
    document.getElementById('icon')?.setAttribute('href', n > 0 ? '/icon-waiting.svg' : '/icon.svg');
  }, [n, title]);
}
