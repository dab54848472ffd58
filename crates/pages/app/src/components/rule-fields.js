// Fields of a rule: each knows its place in the JSON, and shows the faults of that place.
import { html } from '../html.js';
import { valueAt, withAt } from '../lib/json-at.js';
import { Icon } from './icon.js';

/** @typedef {import('../workspace-types.js').Fault} Fault */
/** @typedef {{ draft: any, onChange: (draft: any) => void, faults: Fault[] }} Form */

/** @param {Fault[]} faults @param {string} at */
export const faultsAt = (faults, at) => faults.filter((it) => it.at === at || it.at.startsWith(`${at}/`));

const idOf = (/** @type {string} */ at) => `at${at.replaceAll('/', '-')}`;

/** What a field needs to be found and read with its faults. @param {Form} form @param {string} at @param {Fault[]} [faults] */
export function useField(form, at, faults = faultsAt(form.faults, at)) {
  return { id: idOf(at), 'data-at': at, 'aria-invalid': faults.length > 0 ? 'true' : undefined, 'aria-describedby': faults.length > 0 ? `${idOf(faults[0].at)}-fault` : undefined };
}

/** @param {{ faults: Fault[] }} props */
export const FaultText = ({ faults }) => faults.map((it) => html`<p key=${it.at + it.message} class="fault" id=${`${idOf(it.at)}-fault`}><${Icon} name="bad" />${it.message}</p>`);

/**
 * A text or a number at a place of the rule; empty means that it is left out.
 * @param {{ form: Form, at: string, label: string, hint?: string, isNumber?: boolean, isLong?: boolean, isMono?: boolean, list?: string[], placeholder?: string, isKept?: boolean }} props
 */
export function TextAt({ form, at, label, hint, isNumber, isLong, isMono, list, placeholder, isKept }) {
  const value = valueAt(form.draft, at);
  const faults = faultsAt(form.faults, at);
  const field = useField(form, at, faults);
  const onInput = (/** @type {Event} */ event) => {
    const text = /** @type {HTMLInputElement} */ (event.target).value;
    const next = text === '' && !isKept ? undefined : isNumber && /^\d+$/.test(text) ? Number(text) : text;
    form.onChange(withAt(form.draft, at, next));
  };
  const shown = value === undefined || value === null ? '' : String(value);
  const control = isLong
    ? html`<textarea ...${field} class="textarea" value=${shown} placeholder=${placeholder} onInput=${onInput}></textarea>`
    : html`<span class=${isMono ? 'field mono' : 'field'}><input ...${field} value=${shown} inputmode=${isNumber ? 'numeric' : undefined} placeholder=${placeholder} list=${list ? `${field.id}-list` : undefined} onInput=${onInput} /></span>`;
  return html`<div class="lab"><label for=${field.id}>${label}</label>${control}${hint && html`<span class="hint">${hint}</span>`}<${FaultText} faults=${faults} />
    ${list && html`<datalist id=${`${field.id}-list`}>${list.map((it) => html`<option key=${it} value=${it} />`)}</datalist>`}</div>`;
}

/** @param {{ form: Form, at: string, label: string, options: [string, string][], usual: string }} props */
export function SelectAt({ form, at, label, options, usual }) {
  const faults = faultsAt(form.faults, at);
  const field = useField(form, at, faults);
  const value = valueAt(form.draft, at) ?? usual;
  const onChange = (/** @type {Event} */ event) => {
    const next = /** @type {HTMLSelectElement} */ (event.target).value;
    form.onChange(withAt(form.draft, at, next === '' ? undefined : next));
  };
  return html`<div class="lab"><label for=${field.id}>${label}</label><span class="field"><select ...${field} value=${value} onChange=${onChange}>${options.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}${!options.some(([key]) => key === value) && html`<option value=${value}>${value}</option>`}</select></span><${FaultText} faults=${faults} /></div>`;
}

/** A few values of which one holds. @param {{ label: string, names?: Record<string, string>, value: string, options: [string, string][], at?: string, onPick: (key: string) => void }} props */
export function Segments({ label, names, value, options, at, onPick }) {
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 })[event.key];
    if (!by) return;
    event.preventDefault();
    const next = (options.findIndex(([key]) => key === value) + by + options.length) % options.length;
    onPick(options[next][0]);
    const buttons = /** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('button');
    buttons[next].focus();
  };
  const isKnown = options.some(([key]) => key === value);
  return html`<div class="seg" role="radiogroup" aria-label=${label} data-at=${at} onKeyDown=${onKey}>${options.map(([key, text], n) => html`<button key=${key} type="button" role="radio" aria-label=${names?.[key]} aria-checked=${String(key === value)} tabindex=${key === value || (!isKnown && n === 0) ? 0 : -1} onClick=${() => onPick(key)}>${text}</button>`)}</div>`;
}

/** @param {{ isOn: boolean, label: string, isDisabled?: boolean, onToggle: () => void }} props */
export const Switch = ({ isOn, label, isDisabled, onToggle }) => html`<button type="button" class=${isOn ? 'sw on' : 'sw'} role="switch" aria-checked=${String(isOn)} aria-label=${label} disabled=${isDisabled} onClick=${onToggle}></button>`;
