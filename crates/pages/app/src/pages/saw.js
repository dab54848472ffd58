// The request of a turn, as it was sent.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { say } from '../state.js';
import { useLoaded } from '../hooks.js';
import { count, counted } from '../lib/numbers.js';
import { cutOf, gist, textOf } from '../lib/calls.js';
import { Icon } from '../components/icon.js';
import { useKeys } from '../components/keys.js';
import { Failed, Loading } from '../components/states.js';
import { FoldedText } from '../components/longtext.js';
import { Line, safe } from '../components/untrusted.js';

/** @typedef {import('../types.js').Message} Message */

const MORE = 50;

/** @param {{ store: import('../run-store.js').RunStore, turn: number }} props */
export function SawView({ store, turn }) {
  const saw = useLoaded(() => /** @type {Promise<import('../types.js').Saw>} */ (api('GET', `${store.path}/saw/${turn}`)), [store, turn]);
  if (saw.error) return html`<section><${Failed} what="The request cannot be rebuilt." error=${saw.error} onRetry=${saw.reload} /></section>`;
  if (!saw.data) return html`<section><${Loading} /></section>`;
  return html`<${Request} key=${turn} saw=${saw.data} />`;
}

/** @param {{ saw: import('../types.js').Saw }} props */
function Request({ saw }) {
  const { messages, tools, estimatedTokens } = saw;
  const firstNew = messages.findIndex((it) => it.isNew);
  const [isOnlyNew, setOnlyNew] = useState(false);
  // What is old is in the turns before: the request opens a little before what is new in it.
  const [from, setFrom] = useState(Math.max(0, Math.min(firstNew < 0 ? 0 : firstNew - 6, messages.length - MORE)));
  useEffect(() => setFrom((it) => (isOnlyNew && firstNew >= 0 ? firstNew : it)), [isOnlyNew]);
  const shown = messages.slice(isOnlyNew && firstNew >= 0 ? firstNew : from).filter((it) => !isOnlyNew || it.isNew).slice(0, 200);
  const copy = () => void navigator.clipboard?.writeText(JSON.stringify(saw, null, 2)).then(() => say('The request is copied'));
  useKeys('What the model saw', [
    { key: 'n', does: 'Only what is new', run: () => setOnlyNew(!isOnlyNew) },
    { key: 'y', does: 'Copy the request', run: copy },
  ]);
  return html`<div class="saw"><div class="saw-head"><span class="small mid">${counted(messages.length, 'message')}${estimatedTokens === null ? '' : `, about ${count(estimatedTokens)} tokens`}, as it was sent</span><span class="grow"></span>
      <button class="chip" aria-pressed=${String(isOnlyNew)} onClick=${() => setOnlyNew(!isOnlyNew)}>New since turn ${saw.turn - 1}</button><button class="btn" onClick=${copy}><${Icon} name="copy" />Copy</button></div>
    ${!isOnlyNew && from > 0 && html`<div class="msg"><span class="who">before</span><span class="mid">${counted(from, 'message')} of earlier turns</span><button class="link tiny" onClick=${() => setFrom(Math.max(0, from - MORE))}>show ${Math.min(MORE, from)}</button></div>`}
    ${shown.map((it, at) => html`<${MessageView} key=${at} message=${it} />`)}
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
      ${calls?.map((it) => html`<div key=${it.id} class="small"><b class="mono">${it.tool}</b> <span class="mono dim u">${safe(gist(it.arguments))}</span></div>`)}</div>
    ${isLong ? html`<button class="link tiny" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>${isOpen ? 'fold' : `${count(text.length)} letters`}</button>` : html`<span class="tiny dim">${count(text.length)}</span>`}</div>`;
}
