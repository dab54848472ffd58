// The workspaces that one is in: make, rename, archive, delete, restore.
import { html } from '../html.js';
import { useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { chooseWorkspace } from '../choice.js';
import { workspaces } from '../state.js';
import { readWorkspaces } from '../workspace.js';
import { Failed } from '../components/states.js';

/** @typedef {import('../workspace-types.js').Workspace} Workspace */

export default function Workspaces() {
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [renamed, setRenamed] = useState('');
  const did = (/** @type {Promise<any>} */ doing) => doing.then(() => { setProblem(null); setRenamed(''); return readWorkspaces(); }, setProblem);
  const { all, current } = workspaces.value;
  const change = (/** @type {Workspace} */ it, /** @type {any} */ body) => void did(api('PATCH', `/api/workspaces/${it.workspace_id}`, body));
  const onMake = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    void did(api('POST', '/api/workspaces', { name: String(new FormData(form).get('name') ?? '').trim() })).then(() => form.reset());
  };
  const onRename = (/** @type {SubmitEvent} */ event, /** @type {Workspace} */ it) => {
    event.preventDefault();
    change(it, { name: String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('name') ?? '').trim() });
  };
  const acts = (/** @type {Workspace} */ it) => (it.role !== 'owner' ? '' : it.state === 'active'
    ? html`<button class="btn" aria-label=${`Rename ${it.name}`} onClick=${() => setRenamed(it.workspace_id)}>Rename</button><button class="btn" aria-label=${`Archive ${it.name}`} onClick=${() => change(it, { state: 'archived' })}>Archive</button><button class="btn quiet" aria-label=${`Delete ${it.name}`} onClick=${() => change(it, { state: 'deleted' })}>Delete</button>`
    : html`<button class="btn" aria-label=${`Restore ${it.name}`} onClick=${() => change(it, { state: 'active' })}>Restore</button>`);
  return html`<section class="card pad"><h2>Workspaces</h2>${problem && html`<${Failed} what="That did not work." error=${problem} />`}
    <ul class="rows" role="list">${all.map((it) => html`<li key=${it.workspace_id}>${renamed === it.workspace_id
      ? html`<form class="row wrap full" onSubmit=${(/** @type {SubmitEvent} */ event) => onRename(event, it)}><label class="field grow"><span class="sr">New name</span><input name="name" defaultValue=${it.name} required /></label><button class="btn solid">Rename</button><button type="button" class="btn" onClick=${() => setRenamed('')}>Cancel</button></form>`
      : html`<div class="grow"><b class="u">${it.name}</b><span class="s">${it.role ?? ''}${it.state === 'active' ? '' : `, ${it.state}`}</span></div>${it.workspace_id === current?.workspace_id ? html`<span class="st off">shown</span>` : it.state !== 'deleted' && html`<button class="btn" aria-label=${`Show ${it.name}`} onClick=${() => chooseWorkspace(it.workspace_id)}>Show</button>`}${acts(it)}`}</li>`)}</ul>
    <form class="row wrap" aria-label="New workspace" onSubmit=${onMake}><label class="field grow"><span class="sr">Name of the new workspace</span><input name="name" placeholder="Name of a new workspace" maxlength="100" required /></label><button class="btn">Make it</button></form>
    <p class="tiny dim">An archived workspace can be read only. A deleted one is hidden from its members, and its owner can restore it.</p></section>`;
}
