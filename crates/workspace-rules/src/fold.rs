//! How a note and a workspace follow from their events.

use super::event::{NoteCreated, NoteUpdated, StoredEvent, WorkspaceEvent};
use super::note::{Note, Workspace, WorkspaceState};

/// Folds an event into the note that it is about: `None` before the note was created. An event of another note, or
/// one that is about no note, changes nothing.
pub fn apply(note: &mut Option<Note>, stored: &StoredEvent) {
    if let WorkspaceEvent::NoteCreated(created) = &stored.event {
        if note.is_none() {
            *note = Some(created_note(created, stored));
        }
        return;
    }
    let Some(note) = note.as_mut() else { return };
    if stored.event.note_id() != Some(note.note_id) {
        return;
    }
    note.version = stored.version.unwrap_or(note.version);
    note.updated_at = stored.at;
    match &stored.event {
        WorkspaceEvent::NoteUpdated(updated) => update(note, updated),
        WorkspaceEvent::NoteTitleChanged { title, .. } => note.title.clone_from(title),
        WorkspaceEvent::NoteDeleted { .. } => note.deleted_at = Some(stored.at),
        WorkspaceEvent::NoteUndeleted { .. } => note.deleted_at = None,
        WorkspaceEvent::NoteMetadataSet { key, value, .. } => {
            note.metadata.insert(key.clone(), value.clone());
        }
        WorkspaceEvent::NoteMetadataDeleted { key, .. } => {
            note.metadata.remove(key);
        }
        WorkspaceEvent::NoteCreated(_)
        | WorkspaceEvent::WorkspaceCreated { .. }
        | WorkspaceEvent::WorkspaceUpdated { .. }
        | WorkspaceEvent::MemberSet(_)
        | WorkspaceEvent::MemberRemoved { .. }
        | WorkspaceEvent::RuleCreated { .. }
        | WorkspaceEvent::RuleUpdated { .. }
        | WorkspaceEvent::RuleDeleted { .. }
        | WorkspaceEvent::AutomationQueued(_)
        | WorkspaceEvent::AutomationRunning { .. }
        | WorkspaceEvent::AutomationSucceeded(_)
        | WorkspaceEvent::AutomationFailed(_)
        | WorkspaceEvent::AutomationCancelled(_)
        | WorkspaceEvent::OperationProposed(_)
        | WorkspaceEvent::OperationApplied { .. }
        | WorkspaceEvent::OperationRejected { .. }
        | WorkspaceEvent::IssueRecorded(_) => {}
    }
}

fn created_note(created: &NoteCreated, stored: &StoredEvent) -> Note {
    Note {
        note_id: created.note_id,
        workspace_id: stored.workspace_id,
        title: created.title.clone(),
        markdown: created.markdown.clone(),
        note_kind: created.note_kind.clone(),
        access_scope: created.access_scope,
        keywords: created.keywords.clone(),
        metadata: created.metadata.clone(),
        version: 1,
        created_at: stored.at,
        updated_at: stored.at,
        deleted_at: None,
    }
}

fn update(note: &mut Note, updated: &NoteUpdated) {
    let updated = updated.clone();
    if let Some(title) = updated.title {
        note.title = title;
    }
    if let Some(markdown) = updated.markdown {
        note.markdown = markdown;
    }
    if let Some(kind) = updated.note_kind {
        note.note_kind = kind;
    }
    if let Some(scope) = updated.access_scope {
        note.access_scope = scope;
    }
    if let Some(keywords) = updated.keywords {
        note.keywords = keywords;
    }
    note.metadata.extend(updated.metadata);
}

impl Workspace {
    /// Folds an event into the workspace itself.
    pub fn apply(workspace: &mut Option<Self>, stored: &StoredEvent) {
        match &stored.event {
            WorkspaceEvent::WorkspaceCreated { name } => {
                workspace.get_or_insert_with(|| Self {
                    workspace_id: stored.workspace_id,
                    name: name.clone(),
                    state: WorkspaceState::Active,
                    created_at: stored.at,
                    updated_at: stored.at,
                });
            }
            WorkspaceEvent::WorkspaceUpdated { name, state } => {
                let Some(workspace) = workspace else { return };
                if let Some(name) = name {
                    workspace.name.clone_from(name);
                }
                workspace.state = state.unwrap_or(workspace.state);
                workspace.updated_at = stored.at;
            }
            WorkspaceEvent::MemberSet(_)
            | WorkspaceEvent::MemberRemoved { .. }
            | WorkspaceEvent::NoteCreated(_)
            | WorkspaceEvent::NoteUpdated(_)
            | WorkspaceEvent::NoteTitleChanged { .. }
            | WorkspaceEvent::NoteDeleted { .. }
            | WorkspaceEvent::NoteUndeleted { .. }
            | WorkspaceEvent::NoteMetadataSet { .. }
            | WorkspaceEvent::NoteMetadataDeleted { .. }
            | WorkspaceEvent::RuleCreated { .. }
            | WorkspaceEvent::RuleUpdated { .. }
            | WorkspaceEvent::RuleDeleted { .. }
            | WorkspaceEvent::AutomationQueued(_)
            | WorkspaceEvent::AutomationRunning { .. }
            | WorkspaceEvent::AutomationSucceeded(_)
            | WorkspaceEvent::AutomationFailed(_)
            | WorkspaceEvent::AutomationCancelled(_)
            | WorkspaceEvent::OperationProposed(_)
            | WorkspaceEvent::OperationApplied { .. }
            | WorkspaceEvent::OperationRejected { .. }
            | WorkspaceEvent::IssueRecorded(_) => {}
        }
    }
}
