// What waits for a person, on every page: the count in the title, and a notification where that was allowed.
import { api } from './api.js';
import { listen } from './live.js';
import { go } from './router.js';
import { auth, inbox, say, site } from './state.js';
import { kept } from './storage.js';

/** @type {Set<string> | null} */
let known = null;

export async function readInbox() {
  if (auth.value !== 'in' || !site.value?.has.includes('inbox')) return;
  const { calls } = await api('GET', '/api/inbox');
  tellNew(calls);
  inbox.value = calls;
  showBadge(calls.length);
}

export function watchInbox() {
  const read = () => void readInbox().catch(() => {});
  listen({ changed: read });
}

/** Also on the icon of the app, where this page is installed as one. @param {number} n */
function showBadge(n) {
  if (!('setAppBadge' in navigator)) return;
  // A browser that has no place for it says so by failing.
  void (n > 0 ? navigator.setAppBadge(n) : navigator.clearAppBadge()).catch(() => {});
}

/** @param {import('./types.js').Waiting[]} calls */
function tellNew(calls) {
  const before = known;
  known = new Set(calls.map((it) => it.digest));
  const fresh = before ? calls.filter((it) => !before.has(it.digest)) : [];
  if (fresh.length === 0) return;
  say(`A call of ${fresh[0].tool} waits for you`);
  if (document.hidden && kept('notify') === 'on' && Notification.permission === 'granted') fresh.forEach(notify);
}

/** Names the tool and the run, never what the call holds: notifications are shown on locked screens. @param {import('./types.js').Waiting} call */
function notify(call) {
  const shown = new Notification('A call waits for you', { body: `${call.tool}, run ${call.runId}`, tag: call.digest });
  shown.onclick = () => {
    window.focus();
    go(`/inbox/call/${call.digest}`);
    shown.close();
  };
}
