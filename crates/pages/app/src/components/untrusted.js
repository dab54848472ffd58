// Text of models, tools and files. Templates make every text safe; what is here also gives it a direction of its own.
import { html, safe } from '../html.js';

export { safe };

/** On one line, as lists need it. @param {{ text: string }} props */
export const Line = ({ text }) => html`<span class="u">${safe(text.replace(/\s*\n\s*/g, ' '))}</span>`;
