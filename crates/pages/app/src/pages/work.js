// Work: plans, what became of their items, and proof of it.
import { now } from '../state.js';
import { html } from '../html.js';
import { useEffect, useMemo, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { listen } from '../live.js';
import { go, itemPath, route } from '../router.js';
import { rem, useCss, useLoaded, useNarrow, useTitle } from '../hooks.js';
import { NODES_MAX, graphOf, itemState, neighbours, statesOf } from '../lib/plan.js';
import { count, counted } from '../lib/numbers.js';
import { clock, dateAndClock, dayName } from '../lib/time.js';
import { Badge, Icon } from '../components/icon.js';
import { useKeys } from '../components/keys.js';
import { ItemView } from '../components/plan-item.js';
import { PlanGraph, itemWords } from '../components/plan-graph.js';
import { Empty, Failed, Loading } from '../components/states.js';
import { Line, safe } from '../components/untrusted.js';
import { Windowed } from '../components/windowed.js';

/** @typedef {import('../types.js').Plan} Plan */
/** @typedef {import('../types.js').PlanRow} PlanRow */
/** @typedef {import('../types.js').Item} Item */

// Tests and publishing are no entries of a log: a plan that works is asked about again after this long.
const AGAIN_MS = 3000;

export default function Work() {
  useCss('/css/work.css');
  const [, plan, item] = route.value.parts;
  return plan ? html`<${PlanPage} key=${plan} id=${plan} selected=${item ?? null} />` : html`<${Plans} />`;
}

/** Loads again when something changed, and now and then while it is under way. @param {{ reload: () => void }} loaded @param {boolean} isOpen */
function useLive({ reload }, isOpen) {
  useEffect(() => listen({ changed: reload }), []);
  useEffect(() => {
    if (!isOpen) return;
    const again = setInterval(reload, AGAIN_MS);
    return () => clearInterval(again);
  }, [isOpen]);
}

function Plans() {
  useTitle('Work');
  const plans = useLoaded(() => /** @type {Promise<{ plans: PlanRow[], more: boolean }>} */ (api('GET', '/api/plans')), []);
  const list = plans.data?.plans ?? [];
  useLive(plans, list.some((it) => !it.ended));
  const move = (/** @type {number} */ by) => {
    const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.plans a')]);
    links[Math.min(links.length - 1, Math.max(0, links.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + by))]?.focus();
  };
  useKeys('Work', [
    { key: 'j', does: 'Next plan; Enter opens it', run: () => move(1) },
    { key: 'k', does: 'Previous plan', run: () => move(-1) },
  ]);
  return html`<div class="bar"><h1>Work</h1><span class="dim small">plans of this machine</span></div><div class="page">
    ${plans.error && html`<${Failed} what="The plans cannot be read." error=${plans.error} onRetry=${plans.reload} />`}
    ${!plans.data ? !plans.error && html`<${Loading} rows=${6} />` : list.length === 0 ? html`<${NoPlans} />` : html`<ul class="card plans">${list.map((it) => html`<${PlanLine} key=${it.id} plan=${it} />`)}</ul>${plans.data.more && html`<p class="end dim tiny">The newest ${count(list.length)} are shown.</p>`}`}</div>`;
}

const NoPlans = () => html`<${Empty} title="No plans yet"><p class="mid">A plan is a list of work items; each is published whole, tested and with a receipt, or not at all.</p><pre class="code">bonded new plan tidy.yaml
bonded work tidy.yaml --agent agent-1=coder.ai</pre><//>`;

/** @param {{ states: Record<string, number> }} props */
const States = ({ states }) => statesOf(states).map((it) => html`<${Badge} key=${it.word} tone=${it.tone} icon=${it.icon}>${count(it.n)} ${it.word.toLowerCase()}<//>`);

/** @param {{ plan: PlanRow }} props */
const PlanLine = ({ plan }) => html`<li><a class="pl" href=${itemPath(plan.id)}><span class="pl-t"><b class="u cut"><${Line} text=${plan.tree} /></b><span class="sub dim"><span class="mono">${plan.id}</span>, ${counted(plan.items, 'item')}</span></span>
  <span class="row wrap pl-s">${plan.fault ? html`<${Badge} tone="bad" icon="bad">cannot be read<//>` : html`<${States} states=${plan.states} />`}</span><span class="dim small nowrap" title=${dateAndClock(plan.startedAt)}>${dayName(plan.startedAt, now.peek())}, ${clock(plan.startedAt)}</span></a>${plan.fault && html`<p class="small c-bad u">${safe(plan.fault)}</p>`}</li>`;

/** @param {{ id: string, selected: string | null }} props */
function PlanPage({ id, selected }) {
  useTitle(`Plan ${id}`);
  const plan = useLoaded(() => /** @type {Promise<Plan>} */ (api('GET', `/api/plans/${encodeURIComponent(id)}`)), [id]);
  useLive(plan, plan.data?.ended === false);
  const [version, setVersion] = useState(0);
  useEffect(() => setVersion((it) => it + 1), [plan.data]);
  return html`<div class="bar"><a class="btn quiet icon" href="/work" aria-label="Back to the plans"><${Icon} name="back" /></a><span class="dim small">Work</span><span class="dim">/</span><span class="mono small cut u">${safe(id)}</span></div>
    ${plan.error && html`<div class="page"><${Failed} what="The plan cannot be read." error=${plan.error} onRetry=${plan.reload} /></div>`}
    ${plan.data ? html`<${PlanView} plan=${plan.data} selected=${selected} version=${version} />` : !plan.error && html`<div class="page"><h1 class="sr">Plan ${id}</h1><${Loading} rows=${6} /></div>`}`;
}

/** The item that is shown: the one of the address, else the first that did not go well, else the first. @param {Plan} plan @param {string | null} selected */
function chosen(plan, selected) {
  const isBad = (/** @type {Item} */ it) => ['failure', 'denied', 'timeout', 'waiting'].includes(it.state);
  return plan.items.find((it) => it.id === selected) ?? plan.items.find(isBad) ?? plan.items[0];
}

/** @param {{ plan: Plan, selected: string | null, version: number }} props */
function PlanView({ plan, selected, version }) {
  const item = chosen(plan, selected);
  const order = useMemo(() => plan.levels.flat(), [plan]);
  const move = (/** @type {number} */ by) => {
    const next = order[order.indexOf(item?.id ?? '') + by];
    if (next) go(itemPath(plan.id, next), { isReplaced: true });
  };
  useKeys('Plan', [
    { key: 'j', does: 'Next item', run: () => move(1) },
    { key: 'k', does: 'Previous item', run: () => move(-1) },
  ]);
  const isNarrow = useNarrow();
  const isChosen = selected !== null && item?.id === selected;
  return html`<div class="phead"><h1 class="u">${counted(plan.items.length, 'item')} on ${safe(plan.tree)}</h1><div class="meta">${plan.ended ? '' : html`<${Badge} tone="run" icon="run">Under way<//>`}<${States} states=${plan.states} /><span>started ${dateAndClock(plan.startedAt)}</span></div></div>
    <${Picture} plan=${plan} item=${item} />
    ${selected !== null && !isChosen && html`<div class="page"><${Empty} title="This plan has no such item"><a class="btn" href=${itemPath(plan.id)}>Show the plan</a><//></div>`}
    ${item && (isChosen || (selected === null && !isNarrow)) && html`<${ItemView} key=${item.id} planId=${plan.id} id=${item.id} version=${version} />`}`;
}

/** @param {{ plan: Plan, item: Item | undefined }} props */
function Picture({ plan, item }) {
  const isLarge = plan.items.length > NODES_MAX;
  const graph = useMemo(() => (isLarge ? item && neighbours(plan, item) : graphOf(plan)), [plan, item?.id, isLarge]);
  const headings = isLarge ? undefined : plan.levels.map((level, at) => html`<b>Level ${at}</b>, ${counted(level.length, 'item')}`);
  return html`${isLarge && html`<${ItemList} plan=${plan} selected=${item?.id ?? null} />`}${graph && html`<${PlanGraph} graph=${graph} planId=${plan.id} selected=${item?.id ?? null} headings=${headings} />`}`;
}

/** Too many for a picture. @param {{ plan: Plan, selected: string | null }} props */
function ItemList({ plan, selected }) {
  const rows = useMemo(() => plan.levels.flat().flatMap((id) => plan.items.find((it) => it.id === id) ?? []), [plan]);
  const height = useMemo(() => {
    const own = rem(3.25);
    return () => own;
  }, []);
  const at = rows.findIndex((it) => it.id === selected);
  const scrollTo = useMemo(() => (at >= 0 ? { at } : null), [at]);
  const render = (/** @type {Item} */ it) => {
    const { tone, icon, word } = itemState(it.state);
    return html`<a class="il" href=${itemPath(plan.id, it.id)} aria-current=${it.id === selected ? 'true' : undefined}><span class="cut u"><b><${Line} text=${it.id} /></b> <span class="mid"><${Line} text=${it.description} /></span><br /><span class="tiny dim"><${Line} text=${`level ${it.level}${it.dependencies.length > 0 ? `, after ${it.dependencies.join(', ')}` : ''}; ${itemWords(it)}`} /></span></span><${Badge} tone=${tone} icon=${icon}>${word}<//></a>`;
  };
  return html`<section class="card items-all" aria-label="Items"><${Windowed} rows=${rows} height=${height} keyOf=${(/** @type {Item} */ it) => it.id} render=${render} scrollTo=${scrollTo} label="Items" box="items-box" /></section>`;
}
