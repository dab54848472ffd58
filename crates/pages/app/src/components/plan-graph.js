// A plan as a picture: columns are levels, and what leads to the chosen item is thick. On a phone it is a list.
import { cls, html } from '../html.js';
import { itemPath } from '../router.js';
import { NODE, itemState } from '../lib/plan.js';
import { counted } from '../lib/numbers.js';
import { duration } from '../lib/time.js';
import { Badge } from './icon.js';
import { Line } from './untrusted.js';

/** @typedef {import('../lib/plan.js').Graph} Graph */
/** @typedef {import('../types.js').Item} Item */

/** What an item used, or why it stands where it does. @param {Item} item */
export function itemWords(item) {
  if (item.why) return item.why;
  const { files, toolOps, timeMs } = item.limits;
  const used = [files.used === null ? '' : counted(files.used, 'file'), toolOps.used === null ? '' : counted(toolOps.used, 'call'), timeMs.used === null ? '' : duration(timeMs.used)];
  return [...used.filter(Boolean), item.agent].join(', ');
}

/** @param {{ graph: Graph, planId: string, selected: string | null, headings?: any[] }} props */
export function PlanGraph({ graph, planId, selected, headings }) {
  const columns = Array.from({ length: graph.columns }, (_, at) => graph.nodes.filter((it) => it.column === at));
  return html`<section class="card dag" aria-label="Items and what they come after" tabindex="0"><div class="lv" style=${{ gridTemplateColumns: `repeat(${graph.columns}, minmax(250px, 1fr))` }}>
    ${columns.map((nodes, at) => html`<div class="lvl" key=${at}>${headings && html`<div class="lh">${headings[at]}</div>`}
      <div class="col" style=${{ height: `${graph.height}px` }}>${nodes.map((it) => html`<${GraphNode} key=${it.item.id} node=${it} planId=${planId} isSelected=${it.item.id === selected} />`)}</div></div>`)}
    <svg class=${cls('edges', headings && 'under')} viewBox=${`0 0 ${graph.columns * 100} ${graph.height}`} preserveAspectRatio="none" aria-hidden="true" style=${{ height: `${graph.height}px` }}>${graph.edges.map((it) => html`<path key=${`${it.from} ${it.to}`} class=${cls(it.isOpen && 'off', (it.from === selected || it.to === selected) && 'hot')} d=${it.path} />`)}</svg></div></section>`;
}

/** @param {{ node: import('../lib/plan.js').Node, planId: string, isSelected: boolean }} props */
function GraphNode({ node: { item, y }, planId, isSelected }) {
  const { tone, icon, word } = itemState(item.state);
  return html`<a class=${cls('n', tone)} href=${itemPath(planId, item.id)} aria-current=${isSelected ? 'true' : undefined} style=${{ top: `${y - NODE / 2}px` }}>
    <span class="row"><span class="t cut u"><${Line} text=${item.id} /></span><span class="grow"></span><${Badge} tone=${tone} icon=${icon}>${word}<//></span>
    <span class="s cut"><${Line} text=${item.description} />${item.dependencies.length > 0 && html`<span class="after"> (after ${item.dependencies.join(', ')})</span>`}</span>
    <span class=${cls('s cut', item.why && `c-${tone}`)}><${Line} text=${itemWords(item)} /></span></a>`;
}
