// That images were there: what they are, never their bytes, which lie in the store.
import { html } from '../html.js';
import { bytes } from '../lib/numbers.js';
import { safe } from './untrusted.js';

/** The hash is called `blob` in the log. @param {any} image */
const wordsOf = (image) => `${image.type}, ${image.width}x${image.height}, ${bytes(image.bytes)}`;

/** @param {{ images: any, withheld?: unknown }} props */
export function ImageList({ images, withheld }) {
  if (!Array.isArray(images) || images.length === 0) return null;
  return html`<ul class="plain small" aria-label="Images">${images.map((it, at) => html`<li key=${at}><span>${safe(wordsOf(it))}</span> <span class="mono dim u">${safe(String(it.hash ?? it.blob ?? ''))}</span></li>`)}
    ${typeof withheld === 'string' && html`<li class="dim">not shown to the model: ${safe(withheld)}</li>`}</ul>`;
}
