// A note as one reads it. Everything is an element of ours or a text node: HTML of a note is shown, never obeyed.
import { html } from '../html.js';
import { useMemo } from '../../vendor/hooks.js';
import { blocksOf, spansOf } from '../lib/markdown.js';

/** @typedef {{ onOpen?: (title: string) => void, onTick?: (line: number) => void }} Acts */

/** @param {{ text: string } & Acts} props */
export function Markdown({ text, onOpen, onTick }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return html`<div class="md u">${blocks.map((it, at) => html`<${Block} key=${at} block=${it} acts=${{ onOpen, onTick }} />`)}</div>`;
}

/** @param {{ block: import('../lib/markdown.js').Block, acts: Acts }} props */
function Block({ block, acts }) {
  switch (block.kind) {
    case 'heading': return headingOf(block, acts);
    case 'text': return html`<p><${Spans} text=${block.text} acts=${acts} /></p>`;
    case 'code': return html`<pre class="code" tabindex="0" aria-label=${block.lang ? `Code, ${block.lang}` : 'Code'}>${block.text}</pre>`;
    case 'quote': return html`<blockquote>${block.blocks.map((it, at) => html`<${Block} key=${at} block=${it} acts=${acts} />`)}</blockquote>`;
    case 'list': return block.isOrdered
      ? html`<ol start=${block.start}>${block.items.map((it) => html`<${Item} key=${it.line} item=${it} acts=${acts} />`)}</ol>`
      : html`<ul>${block.items.map((it) => html`<${Item} key=${it.line} item=${it} acts=${acts} />`)}</ul>`;
    case 'table': return html`<div class="scroll-box" tabindex="0" role="group" aria-label="Table"><table class="kv grid"><thead><tr>${block.head.map((it, at) => html`<th key=${at}><${Spans} text=${it} acts=${acts} /></th>`)}</tr></thead>
      <tbody>${block.rows.map((row, at) => html`<tr key=${at}>${row.map((it, n) => html`<td key=${n}><${Spans} text=${it} acts=${acts} /></td>`)}</tr>`)}</tbody></table></div>`;
    default: return html`<hr />`;
  }
}

/** The page has its own first heading: those of a note begin below it. @param {{ level: number, text: string }} block @param {Acts} acts */
function headingOf({ level, text }, acts) {
  const Tag = `h${Math.min(6, level + 1)}`;
  return html`<${Tag} class=${`md-h${level}`}><${Spans} text=${text} acts=${acts} /><//>`;
}

/** @param {{ item: import('../lib/markdown.js').Item, acts: Acts }} props */
function Item({ item, acts }) {
  const blocks = item.blocks.map((it, at) => (at === 0 && it.kind === 'text' ? html`<${Spans} key=${at} text=${it.text} acts=${acts} />` : html`<${Block} key=${at} block=${it} acts=${acts} />`));
  if (item.check === null) return html`<li>${blocks}</li>`;
  const first = item.blocks[0];
  const label = first?.kind === 'text' ? first.text : 'Task';
  return html`<li class="task"><input type="checkbox" checked=${item.check} disabled=${!acts.onTick} aria-label=${label} onClick=${(/** @type {Event} */ event) => { event.preventDefault(); acts.onTick?.(item.line); }} /><div>${blocks}</div></li>`;
}

/** @param {{ text: string, acts: Acts }} props */
const Spans = ({ text, acts }) => spansOf(text).map((it) => spanNode(it, acts));

/** @param {import('../lib/markdown.js').Span} span @param {Acts} acts @returns {any} */
function spanNode(span, acts) {
  switch (span.kind) {
    case 'text': return html`<span>${span.text}</span>`;
    case 'code': return html`<code>${span.text}</code>`;
    case 'image': return html`<span class="md-image">image: ${span.text || 'no description'} <span class="tiny mono">${span.to}</span></span>`;
    case 'wiki': return html`<a class="wl" href=${`/notes?open=${encodeURIComponent(span.to)}`} onClick=${(/** @type {MouseEvent} */ event) => openWiki(event, span.to, acts)}>${span.text}</a>`;
    case 'link': return linkNode(span, acts);
    default: return html`<${{ strong: 'strong', em: 'em', del: 's', mark: 'mark' }[span.kind]} class=${span.kind === 'mark' ? 'md-mark' : undefined}>${span.spans.map((it) => spanNode(it, acts))}<//>`;
  }
}

/** A link shows where it leads: its text may say something else. @param {{ to: string, spans: import('../lib/markdown.js').Span[] }} link @param {Acts} acts */
function linkNode({ to, spans }, acts) {
  const isBare = spans.length === 1 && 'text' in spans[0] && spans[0].text === to;
  return html`<a href=${to} target="_blank" rel="noopener noreferrer nofollow">${spans.map((it) => spanNode(it, acts))}</a>${!isBare && html` <span class="tiny dim mono">${to}</span>`}`;
}

/** @param {MouseEvent} event @param {string} title @param {Acts} acts */
function openWiki(event, title, acts) {
  if (!acts.onOpen || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  acts.onOpen(title);
}
