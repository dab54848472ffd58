// Two people changed the same place: both texts and the one before, and the choice between them. What fitted is in already.
import { html } from '../html.js';
import { useMemo, useState } from '../../vendor/hooks.js';
import { ANOTHER, choiceKey, ELSEWHERE, TITLE_KEY } from '../note-store.js';
import { diffLines } from '../lib/diff.js';
import { counted } from '../lib/numbers.js';
import { useKeys } from './keys.js';
import { Icon } from './icon.js';

/** @typedef {import('../note-store.js').NoteStore} NoteStore */
/** @typedef {import('../lib/merge3.js').Choice} Choice */

/** @param {NoteStore} store */
export function openChoices(store) {
  const open = store.choice.value;
  if (!open) return 0;
  const keys = open.merge.parts.flatMap((it) => (it.kind === 'conflict' ? [choiceKey(it)] : []));
  if (open.title) keys.unshift(TITLE_KEY);
  return keys.filter((it) => !store.choices.value.has(it)).length;
}

/** @param {{ store: NoteStore }} props */
export function ConflictView({ store }) {
  const open = store.choice.value;
  if (!open || !store.base) return null;
  const { merge, theirs, by, title } = open;
  const left = openChoices(store);
  const conflicts = merge.parts.filter((it) => it.kind === 'conflict').length + (title ? 1 : 0);
  const fitted = merge.parts.some((it) => it.kind !== 'same' && it.kind !== 'conflict');
  let number = title ? 1 : 0;
  const names = { by, base: store.base.version, theirs: theirs.version };
  return html`<div class="cf-view" role="region" aria-label="Choices">
    <div class="note wait"><${Icon} name="wait" /><div><b>${savedText(by, theirs.version)}</b> ${fitted ? 'What fits is merged and marked; ' : ''}${counted(conflicts, 'place')} ${conflicts === 1 ? 'needs' : 'need'} you. Your draft is kept in this browser, and nothing was overwritten.</div></div>
    ${title && html`<${Card} what="You both changed the title" number=${1} of=${conflicts} names=${names} base=${title.base} mine=${title.mine} theirs=${title.theirs} isLine=${true}
      choice=${store.choices.value.get(TITLE_KEY)} onChoose=${(/** @type {Choice | null} */ it) => store.choose(TITLE_KEY, it)} />`}
    ${merge.parts.map((part, at) => {
      if (part.kind !== 'conflict') return html`<${Settled} key=${at} part=${part} by=${by} />`;
      number += 1;
      const key = choiceKey(part);
      return html`<${Card} key=${key} what="You both changed this place" number=${number} of=${conflicts} names=${names} base=${part.base.join('\n')} mine=${part.mine.join('\n')} theirs=${part.theirs.join('\n')}
        choice=${store.choices.value.get(key)} onChoose=${(/** @type {Choice | null} */ it) => store.choose(key, it)} />`;
    })}
    <div class="cf-end"><span class="small mid" role="status">${left === 0 ? 'Every choice is made.' : `${counted(left, 'choice')} left.`}</span><button class="btn solid" disabled=${left > 0} onClick=${() => store.finishChoice()}>Use the result</button></div></div>`;
}

/** @param {string} by @param {number} version */
const savedText = (by, version) => (by === ELSEWHERE ? `You saved version ${version} in another place while you were writing here.` : `${sentence(by)} saved version ${version} while you were writing.`);

/** @param {string} by */
const sentence = (by) => by[0].toUpperCase() + by.slice(1);

const LINES_MAX = 6;

/** What is settled, folded where it is long. @param {{ part: import('../lib/merge3.js').Settled, by: string }} props */
function Settled({ part, by }) {
  const [isOpen, setOpen] = useState(false);
  const isSame = part.kind === 'same';
  const isFolded = isSame && !isOpen && part.lines.length > LINES_MAX;
  const lines = isFolded ? part.lines.slice(0, 2) : part.lines;
  const mark = { same: '', mine: 'yours, merged', theirs: `${by}, merged`, both: 'both of you, the same', merged: 'both of you, merged' }[part.kind];
  if (part.lines.length === 0) return html`<div class="cf-text fit"><span class="tiny c-ok">removed: ${mark}</span></div>`;
  return html`<div class=${isSame ? 'cf-text' : 'cf-text fit'}><pre class="u">${lines.join('\n')}</pre>${mark && html`<span class="tiny c-ok">${mark}</span>`}
    ${isFolded && html`<button class="link tiny" onClick=${() => setOpen(true)}>Show ${counted(part.lines.length - 2, 'more line')}</button><pre class="u">${part.lines.slice(-2).join('\n')}</pre>`}</div>`;
}

/**
 * @param {{ what: string, number: number, of: number, names: { by: string, base: number, theirs: number }, base: string, mine: string, theirs: string,
 *   isLine?: boolean, choice?: Choice, onChoose: (choice: Choice | null) => void }} props
 */
function Card({ what, number, of, names, base, mine, theirs, isLine, choice, onChoose }) {
  const who = names.by;
  const pick = (/** @type {Choice['pick']} */ to) => onChoose(choice?.pick === to ? null : { pick: to, ...(to === 'hand' ? { text: choice?.text ?? mine } : {}) });
  const keys = [{ key: '1', does: 'Keep mine', run: () => pick('mine') }, { key: '2', does: 'Take theirs', run: () => pick('theirs') }, { key: '3', does: 'Take both, mine first', run: () => pick('both') }];
  const button = (/** @type {Choice['pick']} */ to, /** @type {string} */ text, /** @type {string} */ key) => html`<button class="btn" aria-pressed=${String(choice?.pick === to)} onClick=${() => pick(to)}>${text}${key && number === 1 && html` <kbd>${key}</kbd>`}</button>`;
  return html`<section class="cf" aria-label=${`Choice ${number} of ${of}`}>${number === 1 && html`<${Keys} keys=${isLine ? keys.slice(0, 2) : keys} />`}
    <header><${Icon} name="compare" />${what}<span class="grow"></span>${choice && html`<${Icon} name="ok" />`}<span>${number} of ${of}</span></header>
    <div class="sides"><${Side} label="Yours" before=${base} after=${mine} /><${Side} label=${`${sentence(who)}, version ${names.theirs}`} before=${base} after=${theirs} /></div>
    <div class="base"><b>Before, version ${names.base}:</b> ${base === '' ? html`<span class="dim">nothing</span>` : html`<span class="u pre">${base}</span>`}</div>
    ${choice?.pick === 'hand' && html`<div class="hand"><textarea class="textarea" aria-label="Your own text for this place" value=${choice.text} onInput=${(/** @type {Event} */ event) => onChoose({ pick: 'hand', text: /** @type {HTMLTextAreaElement} */ (event.target).value })}></textarea></div>`}
    <div class="acts">${button('mine', 'Keep mine', '1')}${button('theirs', who === ANOTHER ? 'Take theirs' : who === ELSEWHERE ? 'Take the other' : `Take ${who}’s`, '2')}${!isLine && button('both', 'Both, mine first', '3')}<button class="btn quiet" aria-pressed=${String(choice?.pick === 'hand')} onClick=${() => pick('hand')}>By hand</button></div></section>`;
}

/** @param {{ keys: import('./keys.js').Key[] }} props */
function Keys({ keys }) {
  useKeys('Choice', keys);
  return null;
}

/** One side, with what it took away and put in. @param {{ label: string, before: string, after: string }} props */
function Side({ label, before, after }) {
  const diff = useMemo(() => diffLines(before, after), [before, after]);
  const lines = diff.lines.filter((it) => it.kind !== 'same' || it.text !== '');
  return html`<div class="sd"><span class="label">${label}</span>${after === '' ? html`<p class="dim">removed</p>` : html`<div class="u pre">${lines.map((line, at) => (line.kind === 'del' ? null : html`<p key=${at}>${line.words ? line.words.map((it, n) => (it.isMarked && line.kind === 'add' ? html`<ins key=${n}>${it.text}</ins>` : html`<span key=${n}>${it.text}</span>`)) : line.kind === 'add' ? html`<ins>${line.text}</ins>` : line.text}</p>`))}</div>`}</div>`;
}
