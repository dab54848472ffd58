// Text of models, tools and files: text nodes only. What would hide or steer is written out.
import { html } from '../html.js';
import { pieces } from '../lib/hidden.js';

// A text made of nothing but hidden characters must not become a page of elements.
const CHIPS_MAX = 300;

/**
 * The parts of a text, to be put into any element.
 * @param {string} text
 */
export function safe(text) {
  const parts = pieces(text);
  if (parts.length === 1 && 'text' in parts[0]) return parts[0].text;
  let chips = 0;
  return parts.map((it, at) => {
    if ('text' in it) return it.text;
    const written = it.times > 1 ? `${it.mark} ×${it.times}` : it.mark;
    chips += 1;
    return chips > CHIPS_MAX ? `⟨${written}⟩` : html`<span key=${at} class="cc">${written}</span>`;
  });
}

/** On one line, as lists need it. @param {{ text: string }} props */
export const Line = ({ text }) => html`<span class="u">${safe(text.replace(/\s*\n\s*/g, ' '))}</span>`;

/** @param {{ text: string, class?: string, label?: string }} props */
export const Block = ({ text, class: name, label }) =>
  html`<pre class=${`u ${name ?? ''}`} aria-label=${label} tabindex=${label ? 0 : undefined}>${safe(text)}</pre>`;
