// What waits for a person in a workspace: changes that agents propose, issues that they raised, notices of rules.
import { html } from '../html.js';
import { useEffect } from '../../vendor/hooks.js';
import { useCss, useTitle } from '../hooks.js';
import { go, route } from '../router.js';
import { hasRole, queueCount, workspaces } from '../state.js';
import { readRules, rules, watchRules } from '../rules-store.js';
import { useKeys } from '../components/keys.js';
import { Changes } from '../components/queue-changes.js';
import { Issues, Notices } from '../components/queue-issues.js';

const VIEWS = [['', 'Changes'], ['issues', 'Issues'], ['notices', 'Notices']];

export default function Queue() {
  useCss('/css/rules.css');
  useCss('/css/queue.css');
  useTitle('Review');
  const view = route.value.parts[1] ?? '';
  const workspace = workspaces.value.current?.workspace_id;
  watchRules();
  useEffect(() => {
    if (workspace && rules.value.workspace !== workspace) void readRules();
  }, [workspace]);
  useKeys('Review', VIEWS.map(([key, name], at) => ({ key: String(at + 1), does: `Show ${name.toLowerCase()}`, run: () => go(`/queue${key ? `/${key}` : ''}`) })));
  return html`<div class="bar"><h1>Review</h1>${!hasRole('editor') && html`<span class="dim small">Editors of this workspace decide.</span>`}</div>
    <div class="page queue"><nav class="subtabs" aria-label="Review">${VIEWS.map(([key, name]) => html`<a key=${key} class="tab" href=${`/queue${key ? `/${key}` : ''}`} aria-current=${view === key ? 'page' : undefined}>${name}${key === '' && queueCount.value > 0 ? html` <span class="count wait">${queueCount.value}</span>` : ''}</a>`)}</nav>
      ${workspace && (view === 'issues' ? html`<${Issues} key=${workspace} />` : view === 'notices' ? html`<${Notices} key=${workspace} />` : html`<${Changes} key=${workspace} />`)}</div>`;
}
