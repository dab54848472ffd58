// The request of a turn, as it was sent.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { say } from '../state.js';
import { useLoaded } from '../hooks.js';
import { count, counted } from '../lib/numbers.js';
import { cutOf, gist, textOf } from '../lib/calls.js';
import { Icon } from '../components/icon.js';
import { useKeys } from '../components/keys.js';
import { ImageList } from '../components/images.js';
import { Failed, Loading } from '../components/states.js';
import { FoldedText } from '../components/longtext.js';
import { Line, safe } from '../components/untrusted.js';

/** @typedef {import('../types.js').Message} Message */

// How many more a click shows, how many are shown at once, and how many are asked for at once.
const MORE = 100;
const SHOWN_MAX = 200;
const PAGE_MAX = 1000;

/** @param {{ store: import('../run-store.js').RunStore, turn: number }} props */
export function SawView({ store, turn }) {
  const path = `${store.path}/saw/${turn}`;
  // The first page begins a little before what is new: what is old is in the turns before.
  const saw = useLoaded(() => /** @type {Promise<import('../types.js').Saw>} */ (api('GET', path)), [store, turn]);
  if (saw.error) return html`<section><${Failed} what="The request cannot be rebuilt." error=${saw.error} onRetry=${saw.reload} /></section>`;
  if (!saw.data) return html`<section><${Loading} /></section>`;
  return html`<${Request} key=${path} path=${path} saw=${saw.data} />`;
}

/** The messages of some places; a page of long ones ends early. @param {string} path @param {number} from @param {number} until @param {boolean} [isWhole] */
async function messagesOf(path, from, until, isWhole = false) {
  /** @type {Message[]} */
  const found = [];
  while (from + found.length < until) {
    const at = from + found.length;
    const page = /** @type {import('../types.js').Saw} */ (await api('GET', `${path}?from=${at}&limit=${Math.min(PAGE_MAX, until - at)}&whole=${isWhole}`));
    if (page.messages.length === 0) break;
    for (const message of page.messages) found.push(message);
  }
  return found;
}

/** @param {{ path: string, saw: import('../types.js').Saw }} props */
function Request({ path, saw }) {
  const { total, tools, estimatedTokens, turn } = saw;
  const [isOnlyNew, setOnlyNew] = useState(false);
  const [{ from, messages }, setLoaded] = useState({ from: saw.from, messages: saw.messages });
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isBusy, setBusy] = useState(false);
  const end = from + messages.length;
  const doing = (/** @type {() => Promise<void>} */ what) => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    void what().catch(setError).finally(() => setBusy(false));
  };
  const showBefore = () => doing(async () => {
    const start = Math.max(0, from - MORE);
    const before = await messagesOf(path, start, from);
    setLoaded({ from: start, messages: [...before, ...messages].slice(0, SHOWN_MAX) });
  });
  const showAfter = () => doing(async () => {
    const all = [...messages, ...(await messagesOf(path, end, Math.min(end + MORE, total)))];
    const left = Math.max(0, all.length - SHOWN_MAX);
    setLoaded({ from: from + left, messages: all.slice(left) });
  });
  const copy = () => doing(async () => {
    const isAll = messages.length === total && messages.every((it) => cutOf(it.text) === null);
    const all = isAll ? messages : await messagesOf(path, 0, total, true);
    await navigator.clipboard?.writeText(JSON.stringify({ turn, messages: all, tools, estimatedTokens }, null, 2));
    say('The request is copied');
  });
  useKeys('What the model saw', [
    { key: 'n', does: 'Only what is new', run: () => setOnlyNew(!isOnlyNew) },
    { key: 'y', does: 'Copy the request', run: copy },
  ]);
  return html`<div class="saw"><div class="saw-head"><span class="small mid">${counted(total, 'message')}${estimatedTokens === null ? '' : `, about ${count(estimatedTokens)} tokens`}, as it was sent</span><span class="grow"></span>
      <button class="chip" aria-pressed=${String(isOnlyNew)} onClick=${() => setOnlyNew(!isOnlyNew)}>New since turn ${turn - 1}</button><button class="btn" disabled=${isBusy} onClick=${copy}><${Icon} name="copy" />Copy</button></div>
    ${error !== null && html`<section><${Failed} what="Not all of the request can be loaded." error=${error} onRetry=${() => setError(null)} /></section>`}
    ${from > 0 && html`<div class="msg"><span class="who">before</span><span class="mid">${counted(from, 'message')} before</span><button class="link tiny" disabled=${isBusy} onClick=${showBefore}>show ${Math.min(MORE, from)}</button></div>`}
    ${messages.map((it, at) => (!isOnlyNew || it.isNew) && html`<${MessageView} key=${from + at} message=${it} />`)}
    ${end < total && html`<div class="msg"><span class="who">after</span><span class="mid">${counted(total - end, 'message')} after</span><button class="link tiny" disabled=${isBusy} onClick=${showAfter}>show ${Math.min(MORE, total - end)}</button></div>`}
    <div class="msg"><span class="who">tools</span><span class="mono small">${tools.join(', ')}</span><span class="tiny dim">${count(tools.length)}</span></div></div>`;
}

/** @param {{ message: Message }} props */
function MessageView({ message }) {
  const { role, isNew, calls } = message;
  const text = textOf(message.text);
  const [isOpen, setOpen] = useState(isNew && text.length < 4000);
  const isTainted = /^<untrusted-/.test(text);
  const isLong = text.length > 160 || text.includes('\n');
  const cut = cutOf(message.text);
  return html`<div class=${isNew ? 'msg new' : 'msg'}>
    <span class=${isTainted ? 'who c-taint' : 'who'}>${isTainted && html`<${Icon} name="taint" />`} ${role === 'user' ? 'goal' : role}${isNew && html`<span class="sr">, new</span>`}</span>
    <div class="msg-body">${isOpen || !isLong ? html`<${FoldedText} text=${text} isProse=${role !== 'tool'} />` : html`<span class="cut mid block"><${Line} text=${text.slice(0, 300)} /></span>`}
      ${cut && html`<span class="dim tiny">the beginning of ${count(cut.bytes)} bytes; all of it is in the log</span>`}
      <${ImageList} images=${message.images} />
      ${calls?.map((it) => html`<div key=${it.id} class="small"><b class="mono">${it.tool}</b> <span class="mono dim u">${safe(gist(it.arguments))}</span></div>`)}</div>
    ${isLong ? html`<button class="link tiny" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>${isOpen ? 'fold' : `${count(text.length)} letters`}</button>` : html`<span class="tiny dim">${count(text.length)}</span>`}</div>`;
}
