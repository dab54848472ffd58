// Which of the workspaces is shown; the browser remembers it.
import { workspaces } from './state.js';
import { keep, kept } from './storage.js';

/** @typedef {import('./workspace-types.js').Workspace} Workspace */

/** @param {string} id */
export function chooseWorkspace(id) {
  const { all } = workspaces.value;
  const current = all.find((it) => it.workspace_id === id);
  if (!current) return;
  keep('workspace', id);
  workspaces.value = { all, current };
}

/** What was read; the choice stays where it can. @param {Workspace[]} all */
export function takeWorkspaces(all) {
  const wanted = workspaces.value.current?.workspace_id ?? kept('workspace');
  const usable = all.filter((it) => it.state !== 'deleted');
  const current = usable.find((it) => it.workspace_id === wanted) ?? usable[0] ?? null;
  workspaces.value = { all, current };
}
