// The workspace that is shown, and the names of the people in it.
import { signal } from '../vendor/signals.js';
import { api } from './api.js';
import { takeWorkspaces } from './choice.js';
import { me, queueCount, user, workspaces } from './state.js';

/** @typedef {import('./workspace-types.js').Member} Member */

/** Names by id: events name people by their ids alone. @type {import('../vendor/signals.js').Signal<Map<string, string>>} */
export const names = signal(new Map());

export const workspaceId = () => workspaces.value.current?.workspace_id ?? '';

export async function readWorkspaces() {
  const { workspaces: all } = await api('GET', '/api/workspaces');
  takeWorkspaces(all);
  await readNames();
}

export async function readNames() {
  const id = workspaceId();
  if (!id) return;
  const { members } = await api('GET', `/api/workspaces/${id}/members`);
  names.value = new Map(members.map((/** @type {Member} */ it) => [it.user_id, it.name ?? 'a former member']));
}

/** How many changes wait for review, where the server can say so. */
export async function readQueueCount() {
  const id = workspaceId();
  if (!id) return;
  const found = await api('GET', `/api/automation/operations?workspace_id=${id}&limit=1`).catch(() => null);
  queueCount.value = found?.pending ?? 0;
}

/**
 * Who did something, as one says it.
 * @param {{ actor_type: string, actor_id: string | null }} event
 */
export function actorName(event) {
  if (event.actor_type === 'agent') return 'an agent';
  if (event.actor_type === 'system') return 'the server';
  if (event.actor_id && event.actor_id === me.value?.id) return user.value || 'you';
  return names.value.get(event.actor_id ?? '') ?? 'a former member';
}

/** @param {{ actor_type: string, actor_id: string | null }} event */
export const isMine = (event) => event.actor_type === 'user' && event.actor_id === me.value?.id;
