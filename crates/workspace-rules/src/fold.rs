//! How a note and a workspace follow from their events.
//!
//! Folding never fails and asks no permission: what is stored was decided before. The store folds each event as it
//! writes it, and folding all events of a stream from its beginning gives the same rows again.

use super::event::{NoteCreated, NoteUpdated, StoredEvent, WorkspaceEvent};
use super::note::{Note, Workspace, WorkspaceState};
use super::subject::{EventSubject, NoteFact, WorkspaceFact};

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
    let EventSubject::Note(note_id, fact) = stored.event.subject() else {
        return;
    };
    if note_id != note.note_id {
        return;
    }
    note.version = stored.version.unwrap_or(note.version);
    note.updated_at = stored.at;
    match fact {
        // There is one already.
        NoteFact::Created(_) => {}
        NoteFact::Updated(updated) => update(note, updated),
        NoteFact::TitleChanged(title) => title.clone_into(&mut note.title),
        NoteFact::Deleted => note.deleted_at = Some(stored.at),
        NoteFact::Undeleted => note.deleted_at = None,
        NoteFact::MetadataSet { key, value } => {
            note.metadata.insert(key.to_owned(), value.clone());
        }
        NoteFact::MetadataDeleted { key } => {
            note.metadata.remove(key);
        }
    }
}

/// The first version is 1, whatever the event says.
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

/// Metadata is merged by key; every other field is replaced as a whole.
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
    /// Members are no part of it: who may what is kept beside it.
    pub fn apply(workspace: &mut Option<Self>, stored: &StoredEvent) {
        let EventSubject::Workspace(fact) = stored.event.subject() else {
            return;
        };
        match fact {
            WorkspaceFact::Created { name } => {
                workspace.get_or_insert_with(|| Self {
                    workspace_id: stored.workspace_id,
                    name: name.to_owned(),
                    state: WorkspaceState::Active,
                    created_at: stored.at,
                    updated_at: stored.at,
                });
            }
            WorkspaceFact::Updated { name, state } => {
                let Some(workspace) = workspace else { return };
                if let Some(name) = name {
                    name.clone_into(&mut workspace.name);
                }
                workspace.state = state.unwrap_or(workspace.state);
                workspace.updated_at = stored.at;
            }
        }
    }
}
