// A call: what was asked for, who allowed it, and what came back.
import { html } from '../html.js';
import { standing } from '../lib/fold.js';
import { changeOf, cutOf, gist, isBrief, parsed, whySkipped, words } from '../lib/calls.js';
import { bytes } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { runPath } from '../router.js';
import { Badge, Icon } from './icon.js';
import { DiffView } from './diff.js';
import { ImageList } from './images.js';
import { JsonView } from './json.js';
import { FoldedText, LongText, PagedText, nameOf, useWhole } from './longtext.js';
import { Line, safe } from './untrusted.js';

/** @typedef {import('../lib/fold.js').Call} Call */

/** @type {Record<string, [string, string, string]>} */
const BADGES = {
  ok: ['ok', 'ok', 'ok'], failed: ['bad', 'bad', 'failed'], refused: ['bad', 'deny', 'refused'], denied: ['bad', 'deny', 'denied'],
  skipped: ['off', 'slash', 'skipped'], waiting: ['wait', 'wait', 'waits for a person'], running: ['run', 'run', 'running'], planned: ['off', 'off', 'not started'],
};

/** @param {Call} call */
function badgeWords(call) {
  const how = standing(call);
  const [tone, icon, word] = BADGES[how];
  const what = call.outcome && call.outcome !== 'ok' && how === 'failed' ? words(call.outcome) : word;
  return { tone, icon, text: call.latencyMs !== null ? `${what}, ${duration(call.latencyMs)}` : what };
}

/** @param {{ call: Call, runId: string, isTainted: boolean, children?: any, isOpen: boolean, onToggle?: () => void, subs: import('../types.js').Child[] }} props */
export function CallView({ call, runId, isTainted, isOpen, onToggle, subs }) {
  const { tone, icon, text } = badgeWords(call);
  const head = html`<span class="name">${call.tool}</span><span class="mono u cut grow">${isBrief(call.arguments) || changeOf(call.tool, call.arguments) || !isOpen ? html`<${Line} text=${gist(call.arguments)} />` : ''}</span>`;
  return html`<section class="call-view" id=${`call-${call.index}`} aria-label=${`Call ${call.index}: ${call.tool}`}>
    <div class="call">${onToggle ? html`<button class="call-head" aria-expanded=${String(isOpen)} onClick=${onToggle}>${head}</button>` : head}
      <${Badge} tone=${tone} icon=${icon}>${text}<//>${call.effect && call.effect !== 'read' && html`<span class="st off">changes something</span>`}${isTainted && html`<${Badge} tone="taint" icon="taint">untrusted<//>`}</div>
    ${isOpen && html`<${Steps} call=${call} />${subs.map((it) => html`<a key=${it.runId} class="btn sub-run" href=${runPath(it.runId)}><${Icon} name="sub" />Open the run of this agent, <span class="mono">${it.runId}</span></a>`)}
      <${Arguments} call=${call} runId=${runId} /><${Output} call=${call} runId=${runId} isTainted=${isTainted} />`}
  </section>`;
}

/** @param {{ icon: string, tone: string, word: string, children?: any }} props */
const Step = ({ icon, tone, word, children }) => html`<li><${Icon} name=${icon} tone=${tone} /><span class="dim">${word}</span><span class="u">${children}</span></li>`;

/** @param {{ call: Call }} props */
function Steps({ call }) {
  const { review, refused, skipped, repaired, progress } = call;
  if (!review && !refused && !skipped && !repaired && progress.length === 0) return null;
  const waited = review?.decided ? duration(review.decided - review.asked) : '';
  return html`<ol class="steps">
    ${repaired && html`<${Step} icon="guard" tone="off" word="repaired">the arguments were not valid JSON and were repaired: ${safe((repaired.steps ?? []).map((/** @type {any} */ it) => (typeof it === 'string' ? words(it) : JSON.stringify(it))).join(', '))}<//>`}
    ${review?.why && html`<${Step} icon="taint" tone=${review.why.includes('untrusted') ? 'taint' : 'off'} word="asked">${safe(review.why)}<//>`}
    ${review?.verdict === 'approved' && html`<${Step} icon="ok" tone="ok" word="approved">by ${safe(review.by)} after ${waited}, for this call with these arguments<//>`}
    ${review?.verdict === 'denied' && html`<${Step} icon="deny" tone="bad" word="denied">by ${safe(review.by)} after ${waited}${review.reason && html`: “${safe(review.reason)}”`}<//>`}
    ${review && !review.decided && html`<${Step} icon="wait" tone="wait" word="waiting"><a href="/inbox">Decide in the inbox</a><//>`}
    ${refused && html`<${Step} icon="deny" tone="bad" word="refused">${words(refused.code ?? '')}: ${safe(String(refused.message ?? ''))}<//>`}
    ${skipped && html`<${Step} icon="slash" tone="off" word="skipped">${whySkipped(skipped)}<//>`}
    ${progress.map((it, at) => html`<${Step} key=${at} icon="chev" tone="off" word="reported">${safe(it)}<//>`)}
  </ol>`;
}

/** @param {{ call: Call, runId: string }} props */
function Arguments({ call, runId }) {
  const place = { runId, seq: call.seq };
  const whole = useWhole(place, call.arguments);
  if (whole === null) return null;
  if (typeof whole === 'object') return html`<div><span class="label">Arguments</span><${PagedText} place=${place} cut=${whole.cut} /></div>`;
  const change = changeOf(call.tool, whole);
  if (change) return html`<${DiffView} ...${change} isNew=${false} name=${nameOf(place, `${call.index}`)} />`;
  const value = parsed(whole);
  if (value === undefined) return html`<div><span class="label">Arguments</span><${FoldedText} text=${whole} name=${nameOf(place, `${call.index}`)} /></div>`;
  const keys = Object.keys(value ?? {});
  if (keys.length === 0 || isBrief(whole)) return null;
  if (typeof value.command === 'string') {
    const { command, ...others } = value;
    return html`<div><span class="label">Command</span><pre class="code cmd u">${safe(command)}</pre>${Object.keys(others).length > 0 && html`<${JsonView} value=${others} />`}</div>`;
  }
  return html`<div><span class="label">Arguments</span><${JsonView} value=${value} raw=${whole} /></div>`;
}

/** @param {{ call: Call, runId: string, isTainted: boolean }} props */
function Output({ call, runId, isTainted }) {
  const place = { runId, seq: call.finishedSeq ?? 0 };
  const whole = useWhole(place, call.output ?? '');
  if (call.finishedSeq === null || whole === '') return null;
  const size = cutOf(call.output)?.bytes ?? new TextEncoder().encode(String(call.output)).length;
  return html`<div class=${isTainted ? 'orig' : ''}>
    ${isTainted ? html`<div class="orig-head"><${Icon} name="taint" />untrusted output, ${bytes(size)}</div>` : html`<span class="label">Output, ${bytes(size)}${call.cutFromBytes ? `, cut from ${bytes(call.cutFromBytes)}` : ''}</span>`}
    <div class="orig-body"><${OutputBody} whole=${whole} place=${place} call=${call} /><${ImageList} images=${call.images} withheld=${call.withheld} /></div></div>`;
}

/** @param {{ whole: any, place: { runId: string, seq: number }, call: Call }} props */
function OutputBody({ whole, place, call }) {
  if (whole === null) return html`<${LongText} place=${place} text=${call.output} />`;
  if (typeof whole === 'object') return html`<${PagedText} place=${place} cut=${whole.cut} />`;
  const value = parsed(whole);
  if (value === null || typeof value !== 'object') return html`<${FoldedText} text=${typeof value === 'string' ? value : whole} label="Output" name=${nameOf(place, 'output')} />`;
  if (typeof value.stdout === 'string') return html`<${Streams} value=${value} place=${place} />`;
  if (typeof value.content === 'string') {
    const { content, ...others } = value;
    return html`<${FoldedText} text=${content} label="Output" name=${nameOf(place, 'output')} />${Object.keys(others).length > 0 && html`<${JsonView} value=${others} raw=${whole} />`}`;
  }
  return html`<${JsonView} value=${value} raw=${whole} />`;
}

/** What a command wrote. @param {{ value: any, place: { runId: string, seq: number } }} props */
function Streams({ value, place }) {
  const ended = value.signal ? `ended by signal ${value.signal}` : `exit ${value.exit}`;
  return html`<p class="small"><${Badge} tone=${value.exit === 0 ? 'ok' : 'bad'} icon=${value.exit === 0 ? 'ok' : 'bad'}>${ended}<//>${value.truncated ? ' truncated' : ''}</p>
    ${value.stdout && html`<div><span class="label">stdout</span><${FoldedText} text=${value.stdout} label="stdout" name=${nameOf(place, 'stdout')} /></div>`}
    ${value.stderr && html`<div><span class="label">stderr</span><${FoldedText} text=${value.stderr} label="stderr" name=${nameOf(place, 'stderr')} /></div>`}
    ${!value.stdout && !value.stderr && html`<p class="dim small">It wrote nothing.</p>`}`;
}
