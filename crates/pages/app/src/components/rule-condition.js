// The conditions of a rule, as rows; groups are rows of rows.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { EMPTY_COMPARE, FIELDS, kindOf, OPS, valueOf, valueText, withMore } from '../lib/conditions.js';
import { valueAt, withAt } from '../lib/json-at.js';
import { Icon } from './icon.js';
import { FaultText, faultsAt, useField } from './rule-fields.js';

/** @typedef {{ draft: any, onChange: (draft: any) => void, faults: import('../workspace-types.js').Fault[] }} Form */

/** @param {{ form: Form, at: string, depth?: number, onRemove?: () => void }} props */
export function Condition({ form, at, depth = 0, onRemove }) {
  const value = valueAt(form.draft, at) ?? {};
  const put = (/** @type {string} */ place, /** @type {any} */ next) => form.onChange(withAt(form.draft, place, next));
  const kind = kindOf(value);
  if (kind === 'compare') return html`<${Compare} form=${form} at=${at} onRemove=${onRemove ?? (() => put(at, {}))} />`;
  if (kind === 'all' || kind === 'any') return html`<${Group} form=${form} at=${at} kind=${kind} depth=${depth} onRemove=${onRemove} />`;
  if (kind === 'not') return html`<div class="cond-group"><div class="row"><span class="label">not</span><span class="grow"></span><${Remove} what="the negation" onClick=${onRemove ?? (() => put(at, {}))} /></div><${Condition} form=${form} at=${`${at}/not`} depth=${depth + 1} /></div>`;
  if (kind === 'none') return depth === 0 ? html`<p class="small mid">always</p>` : html`<div class="row"><p class="small mid grow">always</p>${onRemove && html`<${Remove} what="the empty condition" onClick=${onRemove} />`}</div>`;
  return html`<div class="row"><code class="small grow cut">${JSON.stringify(value)}</code><span class="tiny dim">in JSON</span>${onRemove && html`<${Remove} what="this condition" onClick=${onRemove} />`}</div><${FaultText} faults=${faultsAt(form.faults, at)} />`;
}

export const FieldNames = () => html`<datalist id="cond-fields">${FIELDS.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`;

/** @param {{ what: string, onClick: () => void }} props */
const Remove = ({ what, onClick }) => html`<button type="button" class="btn quiet icon" aria-label=${`Remove ${what}`} onClick=${onClick}><${Icon} name="x" /></button>`;

/** @param {{ form: Form, at: string, kind: 'all' | 'any', depth: number, onRemove?: () => void }} props */
function Group({ form, at, kind, depth, onRemove }) {
  const value = valueAt(form.draft, at);
  const put = (/** @type {any} */ next) => form.onChange(withAt(form.draft, at, next));
  const remove = (/** @type {number} */ n) => {
    const left = value[kind].filter((/** @type {any} */ _, /** @type {number} */ i) => i !== n);
    put(left.length === 0 && depth === 0 ? {} : { [kind]: left });
  };
  const inner = html`${depth > 0 || value[kind].length > 1 ? html`<div class="row"><label class="field short"><span class="sr">Of these conditions</span><select value=${kind} onChange=${() => put({ [kind === 'all' ? 'any' : 'all']: value[kind] })}><option value="all">all of these hold</option><option value="any">one of these holds</option></select></label><span class="grow"></span>${onRemove && html`<${Remove} what="this group" onClick=${onRemove} />`}</div>` : ''}
    ${value[kind].map((/** @type {any} */ _, /** @type {number} */ n) => html`<${Condition} key=${n} form=${form} at=${`${at}/${kind}/${n}`} depth=${depth + 1} onRemove=${() => remove(n)} />`)}
    ${depth > 0 && html`<${Adders} onAdd=${(/** @type {any} */ it) => put(withMore(value, it))} isInner=${true} />`}`;
  return depth === 0 ? inner : html`<div class="cond-group">${inner}</div>`;
}

/** @param {{ onAdd: (condition: any) => void, isInner?: boolean }} props */
export const Adders = ({ onAdd, isInner }) => html`<div class="row wrap"><button type="button" class="btn quiet add" onClick=${() => onAdd({ ...EMPTY_COMPARE })}><${Icon} name="plus" />Add a condition</button>${!isInner && html`<button type="button" class="btn quiet add" onClick=${() => onAdd({ any: [{ ...EMPTY_COMPARE }, { ...EMPTY_COMPARE }] })}><${Icon} name="plus" />Add a group</button>`}</div>`;

/** The text stays as it is typed, as long as it means the value. @param {{ field: any, compare: any, onValue: (value: any) => void }} props */
function ValueField({ field, compare, onValue }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const meant = (/** @type {string} */ text) => valueOf(text, compare.field ?? '', compare.op ?? 'eq', compare.value);
  const isList = compare.op === 'in' && Array.isArray(compare.value) && compare.value.every((/** @type {any} */ it) => typeof it === 'string' && !it.includes(','));
  const isSame = typed !== null && JSON.stringify(meant(typed)) === JSON.stringify(compare.value);
  const onInput = (/** @type {Event} */ event) => {
    const text = /** @type {HTMLInputElement} */ (event.target).value;
    setTyped(text);
    onValue(meant(text));
  };
  return html`<input ...${field} aria-label="Value" value=${isSame ? typed : isList ? compare.value.join(', ') : valueText(compare.value)} onInput=${onInput} />`;
}

/** @param {{ form: Form, at: string, onRemove: () => void }} props */
function Compare({ form, at, onRemove }) {
  const it = valueAt(form.draft, at);
  const put = (/** @type {any} */ next) => form.onChange(withAt(form.draft, at, { ...it, ...next }));
  const own = form.faults.filter((fault) => fault.at === at || fault.at.startsWith(`${at}/`));
  const [field, op, value] = [useField(form, `${at}/field`, own), useField(form, `${at}/op`, own), useField(form, `${at}/value`, own)];
  const setOp = (/** @type {string} */ next) => put({ op: next, value: next === 'exists' ? true : it.op === 'exists' ? '' : valueOf(valueText(it.value), it.field ?? '', next, it.value) });
  const text = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).value;
  return html`<div class=${own.length > 0 ? 'cond err' : 'cond'}><span class="field mono small"><input ...${field} aria-label="Field" list="cond-fields" value=${it.field ?? ''} onInput=${(/** @type {Event} */ event) => put({ field: text(event) })} /></span>
    <span class="field small"><select ...${op} aria-label="Comparison" value=${it.op ?? 'eq'} onChange=${(/** @type {Event} */ event) => setOp(text(event))}>${OPS.map(([key, word]) => html`<option key=${key} value=${key}>${word}</option>`)}${!OPS.some(([key]) => key === (it.op ?? 'eq')) && html`<option value=${it.op}>${it.op}</option>`}</select></span>
    <span class="field">${it.op === 'exists'
      ? html`<select ...${value} aria-label="Value" value=${String(it.value ?? true)} onChange=${(/** @type {Event} */ event) => put({ value: text(event) === 'true' })}><option value="true">yes</option><option value="false">no</option></select>`
      : html`<${ValueField} field=${value} compare=${it} onValue=${(/** @type {any} */ next) => put({ value: next })} />`}</span>
    <${Remove} what="this condition" onClick=${onRemove} /></div><${FaultText} faults=${own} />`;
}
