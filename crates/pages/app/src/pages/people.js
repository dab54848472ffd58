// People: members of the workspace and their roles; for the owner of the server also all accounts and invitations.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { api } from '../api.js';
import { useLoaded } from '../hooks.js';
import { hasRole, me, workspaces } from '../state.js';
import { hear } from '../socket.js';
import { readWorkspaces, workspaceId } from '../workspace.js';
import { Dialog } from '../components/dialog.js';
import { Failed, Loading } from '../components/states.js';
import { Secret } from '../components/secret.js';
import { shortTime } from '../components/note-list.js';

/** @typedef {import('../workspace-types.js').Member} Member */
/** @typedef {{ user_id: string, name: string, state: 'active' | 'disabled', is_owner: boolean, has_password: boolean, created_at: string, invited_until?: string | null }} User */

/** @type {[import('../workspace-types.js').Role, string][]} */
const ROLES = [['viewer', 'Viewer: reads'], ['editor', 'Editor: writes notes, reviews'], ['admin', 'Admin: rules and members'], ['owner', 'Owner']];

export default function People() {
  const isOwner = me.value?.isOwner === true;
  const users = useLoaded(() => (isOwner ? api('GET', '/api/users') : Promise.resolve({ users: [] })), [isOwner]);
  return html`<${MemberList} key=${workspaceId()} users=${users.data?.users ?? []} />${isOwner && html`<${Accounts} users=${users} />`}`;
}

/** @param {{ users: User[] }} props */
function MemberList({ users }) {
  const path = `/api/workspaces/${workspaceId()}/members`;
  const { data, error, reload } = useLoaded(() => api('GET', path), [path]);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [owner, setOwner] = useState(/** @type {Member | null} */ (null));
  useEffect(() => hear({ refresh: reload, event: (it) => it.event_type.includes('member') && reload() }), []);
  const canManage = hasRole('admin');
  /** @type {Member[]} */
  const members = data?.members ?? [];
  const did = (/** @type {Promise<any>} */ doing) => void doing.then(() => { setProblem(null); reload(); return readWorkspaces(); }, setProblem);
  const setRole = (/** @type {Member} */ it, /** @type {string} */ role) => (role === 'owner' ? setOwner(it) : did(api('POST', path, { user_id: it.user_id, role })));
  const others = users.filter((it) => it.state === 'active' && !members.some((m) => m.user_id === it.user_id));
  return html`<section class="card pad"><h2>Members of “${workspaces.value.current?.name ?? ''}”</h2>
    ${error && html`<${Failed} what="The members cannot be read." error=${error} onRetry=${reload} />`}${problem && html`<${Failed} what="That did not work." error=${problem} />`}
    ${!data ? !error && html`<${Loading} />` : html`<ul class="rows" role="list">${members.map((it) => html`<li key=${it.user_id}><div class="grow"><b class="u">${it.name ?? 'a former user'}</b>${it.user_id === me.value?.id && html`<span class="s">you</span>`}</div>
      ${canManage && it.role !== 'owner' ? html`<label class="field"><span class="sr">Role of ${it.name}</span><select value=${it.role} onChange=${(/** @type {Event} */ event) => setRole(it, /** @type {HTMLSelectElement} */ (event.target).value)}>${ROLES.filter(([role]) => role !== 'owner' || hasRole('owner')).map(([role, text]) => html`<option key=${role} value=${role}>${text}</option>`)}</select></label><button class="btn" aria-label=${`Remove ${it.name}`} onClick=${() => did(api('DELETE', `${path}/${it.user_id}`))}>Remove</button>`
        : html`<span class="small mid">${it.role}</span>${it.user_id === me.value?.id && it.role !== 'owner' && html`<button class="btn" onClick=${() => did(api('DELETE', `${path}/${it.user_id}`))}>Leave</button>`}`}</li>`)}</ul>`}
    ${canManage && html`<${AddMember} others=${others} onAdd=${(/** @type {any} */ body) => did(api('POST', path, body))} />`}</section>
    ${owner && html`<${Dialog} title=${`Make ${owner.name} the owner?`} onClose=${() => { setOwner(null); reload(); }}><p>A workspace has one owner. You become an admin, and only ${owner.name} can give it back.</p><div class="row"><button class="btn solid" onClick=${() => { did(api('POST', path, { user_id: owner.user_id, role: 'owner' })); setOwner(null); }}>Hand it over</button><button class="btn" onClick=${() => { setOwner(null); reload(); }}>Cancel</button></div><//>`}`;
}

/** @param {{ others: User[], onAdd: (body: any) => void }} props */
function AddMember({ others, onAdd }) {
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const given = new FormData(form);
    const name = String(given.get('name') ?? '').trim();
    const known = others.find((it) => it.name === name);
    onAdd({ ...(known ? { user_id: known.user_id } : { name }), role: given.get('role') });
    form.reset();
  };
  return html`<form class="row wrap" aria-label="Add a member" onSubmit=${onSubmit}><label class="field grow"><span class="sr">Name</span><input name="name" placeholder="Name of an account" list="accounts" required /></label><datalist id="accounts">${others.map((it) => html`<option key=${it.user_id} value=${it.name} />`)}</datalist>
    <label class="field"><span class="sr">Role</span><select name="role">${ROLES.filter(([role]) => role !== 'owner').map(([role, text]) => html`<option key=${role} value=${role} selected=${role === 'editor'}>${text}</option>`)}</select></label><button class="btn">Add</button></form>`;
}

/** @param {{ users: { data: any, error: unknown, reload: () => void } }} props */
function Accounts({ users }) {
  const [invitation, setInvitation] = useState(/** @type {{ name: string, code: string, until: string } | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [gone, setGone] = useState(/** @type {User | null} */ (null));
  const did = (/** @type {Promise<any>} */ doing) => void doing.then(() => { setProblem(null); users.reload(); }, setProblem);
  const show = (/** @type {any} */ it) => {
    setInvitation({ name: it.name, code: it.invitation, until: it.expires_at });
    users.reload();
  };
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    api('POST', '/api/users', { name: String(new FormData(form).get('name') ?? '').trim(), invite: true }).then((it) => { form.reset(); setProblem(null); show(it); }, setProblem);
  };
  const word = (/** @type {User} */ it) => (it.state === 'disabled' ? 'disabled' : it.is_owner ? 'owner of the server' : it.has_password ? 'active' : it.invited_until ? `invited until ${shortTime(it.invited_until)}` : 'no password yet');
  return html`<section class="card pad"><h2>Accounts on this server</h2><form class="row wrap" aria-label="Invite a person" onSubmit=${onSubmit}><label class="field grow"><span class="sr">Name of the new account</span><input name="name" placeholder="Name of a new account" maxlength="100" required /></label><button class="btn solid">Invite</button></form>
    ${problem && html`<${Failed} what="That did not work." error=${problem} />`}${users.error && html`<${Failed} what="The accounts cannot be read." error=${users.error} onRetry=${users.reload} />`}
    ${!users.data ? !users.error && html`<${Loading} />` : html`<ul class="rows" role="list">${users.data.users.map((/** @type {User} */ it) => html`<li key=${it.user_id}><div class="grow"><b class="u">${it.name}</b><span class="s">${word(it)}</span></div>${!it.is_owner && html`<${UserActs} user=${it} onInvite=${() => void api('POST', `/api/users/${it.user_id}/invitation`, {}).then(show, setProblem)} onState=${(/** @type {string} */ state) => did(api('PATCH', `/api/users/${it.user_id}`, { state }))} onUninvite=${() => did(api('DELETE', `/api/users/${it.user_id}/invitation`))} onDelete=${() => setGone(it)} />`}</li>`)}</ul>`}
    <p class="tiny dim">An invitation lets a person choose a password, once. Then add the account to a workspace above.</p></section>
    ${invitation && html`<${Secret} title=${`Invitation for ${invitation.name}`} what=${`Send this link to ${invitation.name}. It works once, until ${shortTime(invitation.until)}.`} secret=${`${location.origin}/login#invitation=${invitation.code}`} onClose=${() => setInvitation(null)} />`}
    ${gone && html`<${Dialog} title=${`Delete the account ${gone.name}?`} onClose=${() => setGone(null)}><p>Its tokens and sessions end. What it wrote stays. Workspaces that it owns pass to you.</p><div class="row"><button class="btn solid" onClick=${() => { did(api('DELETE', `/api/users/${gone.user_id}`)); setGone(null); }}>Delete</button><button class="btn" onClick=${() => setGone(null)}>Keep it</button></div><//>`}`;
}

/** @param {{ user: User, onInvite: () => void, onState: (state: string) => void, onUninvite: () => void, onDelete: () => void }} props */
const UserActs = ({ user, onInvite, onState, onUninvite, onDelete }) => html`<button class="btn" aria-label=${`${user.has_password ? 'New password for' : 'Invite'} ${user.name}`} onClick=${onInvite}>${user.has_password ? 'New password' : 'Invite again'}</button>
  ${user.invited_until && html`<button class="btn quiet" onClick=${onUninvite}>Withdraw</button>`}<button class="btn" aria-label=${`${user.state === 'active' ? 'Disable' : 'Enable'} ${user.name}`} onClick=${() => onState(user.state === 'active' ? 'disabled' : 'active')}>${user.state === 'active' ? 'Disable' : 'Enable'}</button><button class="btn quiet" aria-label=${`Delete ${user.name}`} onClick=${onDelete}>Delete</button>`;
