// Starts the app: signs in, finds the page of the address, and keeps it live.
import { Component, render } from '../vendor/preact.js';
import { signal } from '../vendor/signals.js';
import { useEffect, useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from './html.js';
import { readSite, signIn, takeUpSession } from './api.js';
import { reconnect, stayLive } from './live.js';
import { go, onLeave, route } from './router.js';
import { auth, isOutdated, site } from './state.js';
import { kept } from './storage.js';
import { readInbox, watchInbox } from './inbox-watch.js';
import { Shell } from './shell.js';
import { Login, LoginAgain } from './pages/login.js';
import Runs from './pages/runs.js';
import { Empty, Failed, Loading } from './components/states.js';

// The list is the first page; the others are loaded when they are asked for.
/** @type {Record<string, () => Promise<{ default: any }>>} */
const LATER = {
  run: () => import('./pages/run.js'),
  compare: () => import('./pages/compare.js'),
  inbox: () => import('./pages/inbox.js'),
  verify: () => import('./pages/verify.js'),
  work: () => import('./pages/work.js'),
  notes: () => import('./pages/notes.js'),
  rules: () => import('./pages/rules.js'),
  queue: () => import('./pages/queue.js'),
  settings: () => import('./pages/settings.js'),
};

/** @param {string[]} parts */
function pageOf(parts) {
  const [first, , third] = parts;
  // A person who is signed in already has nothing more to do there.
  if (first === undefined || first === 'login') return 'home';
  if (first === 'runs') return parts.length < 2 ? 'runs' : third === 'vs' ? 'compare' : 'run';
  return first in LATER && first !== 'run' && first !== 'compare' ? first : 'missing';
}

/** @param {{ name: string }} props */
function Later({ name }) {
  const [page, setPage] = useState(/** @type {{ name: string, view: any } | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const load = () => {
    setError(null);
    LATER[name]().then((it) => setPage({ name, view: it.default }), setError);
  };
  useEffect(load, [name]);
  if (error) return html`<div class="page"><${Failed} what="This page cannot be loaded." error=${error} onRetry=${load} /></div>`;
  if (page?.name !== name) return html`<div class="page"><${Loading} /></div>`;
  return html`<${page.view} />`;
}

const Missing = () => html`<div class="bar"><h1>Not found</h1></div><div class="page"><${Empty} title="There is no such page"><a class="btn" href="/">Go to the first page</a><//></div>`;

/** A fault in one page leaves the rest usable. */
class Guard extends Component {
  /** @param {unknown} error */
  static getDerivedStateFromError(error) {
    return { error };
  }

  /** @override @param {any} props @param {any} state */
  render(props, state) {
    return state.error ? html`<div class="page"><${Failed} what="This page has a fault." error=${state.error} onRetry=${() => this.setState({ error: null })} /></div>` : props.children;
  }
}

/** Pages that hold what is being written read again by their own means; the others begin anew with a new session. */
const HOLDS_TEXT = ['notes', 'rules', 'queue'];
const sessions = signal(0);

function App() {
  const page = pageOf(route.value.parts);
  const place = useRef(page);
  // With the page itself: later it would take the focus from a field that was chosen meanwhile.
  useLayoutEffect(() => {
    if (page === 'home' && auth.value === 'in') go(firstPlace(), { isReplaced: true });
    if (place.current !== page) {
      // Who reads with the keyboard begins at the new page, not where the link was.
      document.getElementById('main')?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    place.current = page;
  }, [page, auth.value]);
  if (auth.value === 'unknown') return html`<div class="page"><${Loading} /></div>`;
  if (auth.value === 'out') return html`<${Login} failure=${linkFailure} />`;
  const view = page === 'runs' ? html`<${Runs} />` : page === 'home' ? null : page === 'missing' ? html`<${Missing} />` : html`<${Later} name=${page} />`;
  // A session that ends leaves the page as it is: what was being written stays in its place.
  return html`<${Shell}><${Guard} key=${HOLDS_TEXT.includes(page) ? page : `${page} ${sessions.value}`}>${view}<//><//>${auth.value === 'ended' && html`<${LoginAgain} />`}`;
}

/** What a server has decides where one begins. */
const firstPlace = () => (site.value?.has.includes('runs') || !site.value?.has.includes('notes') ? '/runs' : '/notes');

/** Why the link in the address did not work. @type {unknown} */
let linkFailure = null;

/** The secret leaves the address before anything else can see it there. */
function takeLink() {
  const found = /^#enter=(.+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return decodeURIComponent(found[1]);
}

function setTheme() {
  const theme = kept('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}

async function start() {
  setTheme();
  const link = takeLink();
  const root = /** @type {HTMLElement} */ (document.getElementById('app'));
  try {
    await readSite();
    if (link) await signIn({ link }).catch((error) => (linkFailure = error));
    if (auth.value !== 'in') await takeUpSession();
  } catch (error) {
    render(html`<main class="page" id="main"><h1 class="sr">bonded</h1><${Failed} what="bonded cannot be reached." error=${error} onRetry=${() => location.reload()} /></main>`, root);
    return;
  }
  render(html`<${App} />`, root);
  watchInbox();
  let before = auth.value;
  auth.subscribe((is) => {
    if (is === 'in') void readInbox().catch(() => {});
    if (is === 'in' && before === 'ended') {
      sessions.value += 1;
      reconnect();
    }
    before = is;
  });
  // The pages of another build are loaded at the next step, when nothing is being written here.
  onLeave((to) => isOutdated.value && (location.assign(to), true));
  if (site.value?.has.includes('runs')) void stayLive();
  if (site.value?.kind === 'workspace') void import('./socket.js').then((it) => it.stayConnected());
}

void start();
