// The source of a note: the browser's own field for text, with the styled text right behind it.
import { h } from '../../vendor/preact.js';
import { html } from '../html.js';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import { linkAround, onEnter, onTab, openLink, toggleTask, wrap } from '../lib/md-keys.js';
import { placeAfter } from '../lib/edits.js';
import { styledLines } from '../lib/md-source.js';
import { Undo } from '../lib/undo.js';

/** Beyond this the text is shown plain: thousands of elements would make typing slow. */
const STYLED_MAX = 60_000;
const LINES_MAX = 900;

/** @typedef {import('../note-store.js').NoteStore} NoteStore */
/** @typedef {{ title: string, hint?: string }} Suggestion */

/** Puts text in as typing does. @param {HTMLTextAreaElement} field @param {import('../lib/md-keys.js').Put} put */
function putIn(field, put) {
  field.focus();
  field.setSelectionRange(put.from, put.to);
  const isDone = put.put === '' ? put.from === put.to || document.execCommand('delete') : document.execCommand('insertText', false, put.put);
  if (!isDone) {
    field.setRangeText(put.put, put.from, put.to, 'end');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  field.setSelectionRange(...put.select);
}

/** @param {string} text @param {{ from: number, to: number }[]} tinted */
function mirrored(text, tinted) {
  if (text.length > STYLED_MAX) return [`${text}\n`];
  const lines = styledLines(text);
  if (lines.length > LINES_MAX) return [`${text}\n`];
  let at = 0;
  // Text nodes without marks: what stands here must be exactly as wide as what stands in the field.
  return lines.flatMap((pieces, number) => {
    const end = at + pieces.reduce((sum, it) => sum + it.text.length, 0);
    const isTinted = tinted.some((it) => it.from <= end && it.to >= at && it.to > it.from);
    at = end + 1;
    const parts = pieces.map((it, n) => (it.kind ? h('span', { key: n, class: `s-${it.kind}` }, it.text) : it.text));
    return [isTinted ? h('span', { key: `l${number}`, class: 's-tint' }, parts) : parts, '\n'];
  });
}

/** Where a character of the mirror is on the screen. @param {HTMLElement} mirror @param {number} place */
function placeOf(mirror, place) {
  const walker = document.createTreeWalker(mirror, NodeFilter.SHOW_TEXT);
  let left = place;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0;
    if (left <= length) {
      const range = document.createRange();
      range.setStart(node, left);
      range.setEnd(node, left);
      return range.getClientRects()[0] ?? range.getBoundingClientRect();
    }
    left -= length;
  }
  return null;
}

/** @param {{ store: NoteStore, isReadOnly: boolean, suggest: (query: string) => Promise<Suggestion[]>, onOpen: (title: string) => void }} props */
export function Editor({ store, isReadOnly, suggest, onOpen }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const mirror = useRef(/** @type {HTMLElement | null} */ (null));
  const text = store.mine.value.markdown;
  const tinted = store.tinted.value;
  const styled = useMemo(() => mirrored(text, tinted), [text, tinted]);
  const links = useSuggestions(field, mirror, suggest);
  const undo = useUndo(store);
  useLayoutEffect(() => {
    // What was put in from outside; while a person types both are the same.
    if (field.current && field.current.value !== text) field.current.value = text;
  }, [text]);
  useEffect(() => {
    store.onMerged = (edits) => {
      undo.merged(edits);
      keepCursor(field.current, mirror.current, store.mine.value.markdown, edits);
    };
    return () => void (store.onMerged = () => {});
  }, [store]);
  const onInput = () => {
    const next = field.current?.value ?? '';
    undo.typed(store.mine.value.markdown, next, Date.now());
    store.write({ markdown: next });
    links.look();
  };
  const takeBack = (/** @type {Event} */ event, /** @type {boolean} */ isAgain) => {
    event.preventDefault();
    const found = isAgain ? undo.again(store.mine.value.markdown) : undo.back(store.mine.value.markdown);
    if (!found || !field.current || isReadOnly) return;
    field.current.value = found.text;
    field.current.setSelectionRange(found.at, found.at);
    store.write({ markdown: found.text });
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing || !field.current || links.onKey(event)) return undefined;
    const again = undoKey(event);
    if (again !== null) return takeBack(event, again);
    const put = putOf(event, field.current, onOpen);
    if (!put) return undefined;
    event.preventDefault();
    if (put !== 'done') putIn(field.current, put);
    return undefined;
  };
  // The menu of the browser asks in this way.
  const onBefore = (/** @type {InputEvent} */ event) => /^history(Undo|Redo)$/.test(event.inputType) && takeBack(event, event.inputType === 'historyRedo');
  return html`<div class="ed-box"><pre class="ed-mirror" ref=${mirror} aria-hidden="true">${styled}</pre>
    <textarea class="ed-field" ref=${field} aria-label="Text of the note, in Markdown" placeholder="Write here. [[ links to a note." spellcheck="true" readonly=${isReadOnly}
      aria-autocomplete="list" aria-controls=${links.isOpen ? 'link-list' : undefined} aria-activedescendant=${links.isOpen ? `link-${links.at}` : undefined}
      onInput=${onInput} onBeforeInput=${onBefore} onKeyDown=${onKeyDown} onClick=${(/** @type {MouseEvent} */ event) => { if (event.ctrlKey || event.metaKey) followLink(field.current, onOpen); else links.look(); }} onBlur=${links.close}></textarea>${links.list}</div>`;
}

/** The browser forgets what was typed when others' changes are put in; this does not. @param {NoteStore} store */
const useUndo = (store) => useMemo(() => new Undo(), [store]);

/** Whether a key takes back (false) or does again (true). @param {KeyboardEvent} event */
function undoKey(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return null;
  const key = event.key.toLowerCase();
  if (key === 'z') return event.shiftKey;
  return key === 'y' && !event.shiftKey ? true : null;
}

/** @param {HTMLTextAreaElement | null} field @param {(title: string) => void} onOpen */
function followLink(field, onOpen) {
  const title = field && linkAround(field.value, field.selectionStart);
  if (title) onOpen(title);
  return Boolean(title);
}

/** What a key puts in. @param {KeyboardEvent} event @param {HTMLTextAreaElement} field @param {(title: string) => void} onOpen */
function putOf(event, field, onOpen) {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const isCommand = event.ctrlKey || event.metaKey;
  if (event.key === 'Escape') {
    field.blur();
    return 'done';
  }
  if (field.readOnly) return null;
  if (event.key === 'Enter' && event.altKey) return followLink(field, onOpen) ? 'done' : null;
  if (event.key === 'Enter' && isCommand) return toggleTask(value, start);
  if (event.key === 'Enter' && !event.shiftKey) return onEnter(value, start, end);
  if (event.key === 'Tab' && !isCommand && !event.altKey) return onTab(value, start, end, event.shiftKey);
  if (isCommand && !event.shiftKey && event.key === 'b') return wrap(value, start, end, '**');
  if (isCommand && !event.shiftKey && event.key === 'i') return wrap(value, start, end, '*');
  return null;
}

/**
 * The cursor stays at its place in the text, and that place at its place on the screen.
 * @param {HTMLTextAreaElement | null} field @param {HTMLElement | null} mirror @param {string} text @param {import('../lib/edits.js').Edit[]} edits
 */
function keepCursor(field, mirror, text, edits) {
  if (!field || !mirror) return;
  const { selectionStart, selectionEnd, selectionDirection } = field;
  const isHere = document.activeElement === field;
  const before = isHere ? placeOf(mirror, selectionStart)?.top : undefined;
  field.value = text;
  const start = placeAfter(edits, selectionStart);
  field.setSelectionRange(start, placeAfter(edits, selectionEnd), selectionDirection ?? 'none');
  if (before === undefined) return;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const after = placeOf(mirror, start)?.top;
    if (after !== undefined && Math.abs(after - before) > 1) document.scrollingElement?.scrollBy({ top: after - before, behavior: 'instant' });
  }));
}

/**
 * The notes that fit what follows `[[`.
 * @param {{ current: HTMLTextAreaElement | null }} field @param {{ current: HTMLElement | null }} mirror @param {(query: string) => Promise<Suggestion[]>} suggest
 */
function useSuggestions(field, mirror, suggest) {
  const [shown, setShown] = useState(/** @type {{ from: number, found: Suggestion[], x: number, y: number } | null} */ (null));
  const [at, setAt] = useState(0);
  const turn = useRef(0);
  const close = () => {
    turn.current += 1;
    setShown(null);
  };
  const look = async () => {
    const own = ++turn.current;
    const it = field.current;
    const link = it && it.selectionStart === it.selectionEnd ? openLink(it.value, it.selectionStart) : null;
    if (!it || !link || it.readOnly) return setShown(null);
    const found = await suggest(link.query);
    if (own !== turn.current || !mirror.current) return undefined;
    const box = mirror.current.getBoundingClientRect();
    const place = placeOf(mirror.current, Math.min(link.from, mirror.current.textContent?.length ?? 0)) ?? box;
    setAt(0);
    return setShown(found.length > 0 ? { from: link.from, found, x: Math.min(place.left - box.left, Math.max(0, box.width - 260)), y: place.bottom - box.top } : null);
  };
  const take = (/** @type {Suggestion} */ it) => {
    const target = field.current;
    if (!target || !shown) return;
    const to = target.selectionStart;
    const end = target.value.startsWith(']]', to) ? to + 2 : to;
    const put = `${it.title}]]`;
    close();
    putIn(target, { from: shown.from, to: end, put, select: [shown.from + put.length, shown.from + put.length] });
    close();
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (!shown || event.ctrlKey || event.metaKey || event.altKey) return false;
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    if (event.key in steps) setAt((at + steps[event.key] + shown.found.length) % shown.found.length);
    else if (event.key === 'Enter' || event.key === 'Tab') take(shown.found[at]);
    else if (event.key === 'Escape') close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const list = shown && html`<ul class="link-list" id="link-list" role="listbox" aria-label="Notes to link to" style=${{ left: `${shown.x}px`, top: `${shown.y}px` }}>
    ${shown.found.map((it, n) => html`<li key=${it.title} id=${`link-${n}`} role="option" aria-selected=${String(n === at)} onMouseDown=${(/** @type {Event} */ event) => { event.preventDefault(); take(it); }}><span class="cut">${it.title}</span>${it.hint && html`<span class="tiny dim">${it.hint}</span>`}</li>`)}</ul>`;
  return { look, close, onKey, list, at, isOpen: shown !== null };
}
