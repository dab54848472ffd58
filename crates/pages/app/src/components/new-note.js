// A note that the server does not have yet. One writes in it at once; the note takes over what was written when it is there.
import { html } from '../html.js';
import { useLayoutEffect } from '../../vendor/hooks.js';
import { useTitle } from '../hooks.js';
import { justMade, making, writeInto } from '../note-acts.js';
import { useFocus } from './focus.js';
import { Badge } from './icon.js';
import { Failed } from './states.js';

/** Keeps where one writes, for the note that comes in place of this. */
function usePlace() {
  useLayoutEffect(() => () => {
    const field = document.activeElement;
    const isText = field instanceof HTMLTextAreaElement;
    // A title that was not begun is selected, to be written over.
    if (isText || (field instanceof HTMLInputElement && field.value !== '')) justMade.place = { isText, from: field.selectionStart ?? 0, to: field.selectionEnd ?? 0 };
  }, []);
}

export function NewNote() {
  useTitle('New note');
  usePlace();
  const title = useFocus();
  const note = making.value;
  if (!note) return null;
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing || (event.key !== 'Enter' && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    /** @type {HTMLElement | null} */ (document.querySelector('.ed-field'))?.focus();
  };
  const put = (/** @type {'title' | 'markdown'} */ part) => (/** @type {Event} */ event) => writeInto({ [part]: /** @type {HTMLInputElement} */ (event.target).value });
  return html`<article class="nv" aria-label="New note"><div class="bar nv-bar"><span class="row wrap save" role="status">${note.error ? html`<${Badge} tone="bad" icon="bad">Not saved<//>` : html`<${Badge} tone="run" icon="run">Not saved yet<//>`}</span><span class="grow"></span>
      ${note.error && html`<button class="btn" onClick=${() => (making.value = null)}>Discard</button>`}</div>
    <div class="doc"><h1 class="sr">New note</h1>${note.error && html`<${Failed} what="The note was not made." error=${note.error} onRetry=${() => void note.send()} />`}
      <input ref=${title} class="title-field u" aria-label="Title" placeholder="Untitled" value=${note.title} maxlength="500" onInput=${put('title')} onKeyDown=${onKey} />
      <div class="ed-box"><pre class="ed-mirror" aria-hidden="true">${`${note.markdown}\n`}</pre><textarea class="ed-field" aria-label="Text of the note, in Markdown" placeholder="Write here. [[ links to a note." value=${note.markdown} onInput=${put('markdown')}></textarea></div></div></article>`;
}
