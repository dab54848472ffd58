//! Changes of notes.
//!
//! Every change of a text needs the version that it was made for, so that nobody overwrites what they have not seen.
//! What an agent writes is stamped with its run; those names are refused in what people and agents write themselves.

use bonded_kernel::{Millis, NoteId};
use serde_json::{Value, json};

use super::note_fields::{
    check_length, checked_keywords, checked_kind, checked_scope, checked_title,
};
use super::permit::permit;
use crate::actor::Actor;
use crate::change::View;
use crate::event::{NoteCreated, NoteUpdated, WorkspaceEvent};
use crate::metadata::{self, check_key, check_metadata};
use crate::note::{DEFAULT_KIND, MARKDOWN_BYTES_MAX, Metadata, Note, title_from_clock};
use crate::note_write::{NewNote, NoteEdit, NoteWrite};
use crate::patch::{BadPatch, patched};
use crate::refused::Refused;
use crate::role::Permission;

/// The stamp is put on after the check of names, which would refuse it otherwise.
pub(super) fn create_note(
    view: &View,
    new: &NewNote,
    actor: &Actor,
    now: Millis,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    permit(view, new.workspace_id, actor, Permission::WriteNotes)?;
    check_own_names(&new.metadata, actor)?;
    Ok(vec![create(view, &stamped_new(new, actor), now)?])
}

/// Whoever may not write does not hear whether the version was right.
pub(super) fn update_note(
    view: &View,
    write: &NoteWrite,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    writable(view, write.note_id, actor)?;
    check_own_names(&write.edit.metadata, actor)?;
    Ok(vec![update(view, &stamped_write(write, actor))?])
}

/// A version may be left out; then the note is deleted as it is.
pub(super) fn delete_note(
    view: &View,
    note_id: NoteId,
    base_version: Option<u64>,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    check_version(writable(view, note_id, actor)?, base_version)?;
    Ok(vec![WorkspaceEvent::NoteDeleted { note_id }])
}

/// A note that is not deleted is refused, so that nobody takes a mistake for a success.
pub(super) fn undelete_note(
    view: &View,
    note_id: NoteId,
    base_version: Option<u64>,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    Ok(vec![undelete(view, note_id, base_version, actor)?])
}

/// The whole metadata is checked as it would be, because its bounds are about all of it.
pub(super) fn set_metadata(
    view: &View,
    note_id: NoteId,
    base_version: Option<u64>,
    (key, value): (&str, &Value),
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let note = writable(view, note_id, actor)?;
    check_version(note, base_version)?;
    let set = Metadata::from([(key.to_owned(), value.clone())]);
    check_own_names(&set, actor)?;
    let mut all = note.metadata.clone();
    all.extend(set);
    check_metadata(&all)?;
    Ok(vec![WorkspaceEvent::NoteMetadataSet {
        note_id,
        key: key.to_owned(),
        value: value.clone(),
    }])
}

/// A key that is not there comes to no event.
pub(super) fn delete_metadata(
    view: &View,
    note_id: NoteId,
    base_version: Option<u64>,
    key: &str,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let note = writable(view, note_id, actor)?;
    check_version(note, base_version)?;
    check_key(key)?;
    if !note.metadata.contains_key(key) {
        return Ok(vec![]);
    }
    let key = key.to_owned();
    Ok(vec![WorkspaceEvent::NoteMetadataDeleted { note_id, key }])
}

/// The note, if it is there and the actor may write to it.
pub(super) fn writable<'a>(
    view: &'a View,
    note_id: NoteId,
    actor: &Actor,
) -> Result<&'a Note, Refused> {
    let missing = Refused::NoteNotFound { note_id };
    let note = view.note.as_ref().ok_or_else(|| missing.clone())?;
    permit(view, note.workspace_id, actor, Permission::WriteNotes)?;
    if note.deleted_at.is_some() {
        return Err(missing);
    }
    Ok(note)
}

/// The conflict carries the note as it is, so that a client can merge without asking again.
fn check_version(note: &Note, expected: Option<u64>) -> Result<(), Refused> {
    match expected {
        Some(expected_version) if expected_version != note.version => {
            Err(Refused::VersionConflict {
                expected_version,
                current: Box::new(note.clone()),
            })
        }
        _ => Ok(()),
    }
}

/// It has a permission check of its own, because `writable` finds no deleted notes.
fn undelete(
    view: &View,
    note_id: NoteId,
    base_version: Option<u64>,
    actor: &Actor,
) -> Result<WorkspaceEvent, Refused> {
    let note = view
        .note
        .as_ref()
        .ok_or(Refused::NoteNotFound { note_id })?;
    permit(view, note.workspace_id, actor, Permission::WriteNotes)?;
    check_version(note, base_version)?;
    if note.deleted_at.is_none() {
        return Err(Refused::bad(format!("note {note_id} is not deleted")));
    }
    Ok(WorkspaceEvent::NoteUndeleted { note_id })
}

/// The event of a new note, whoever makes it: a person who applies a proposal makes what the agent wrote.
/// The caller has checked the permission. An id that is taken is refused, even by a deleted note.
pub(super) fn create(view: &View, new: &NewNote, now: Millis) -> Result<WorkspaceEvent, Refused> {
    if view.note.is_some() {
        return Err(Refused::bad(format!(
            "there is a note {} already; choose another id",
            new.note_id
        )));
    }
    check_length(&new.markdown)?;
    check_metadata(&new.metadata)?;
    let title = match new.title.as_deref().map(str::trim) {
        None | Some("") => title_from_clock(now),
        Some(title) => checked_title(title)?,
    };
    Ok(WorkspaceEvent::NoteCreated(Box::new(NoteCreated {
        note_id: new.note_id,
        title,
        markdown: new.markdown.as_str().into(),
        note_kind: checked_kind(new.note_kind.as_deref().unwrap_or(DEFAULT_KIND))?,
        access_scope: checked_scope(new.access_scope)?,
        keywords: checked_keywords(&new.keywords)?,
        metadata: new.metadata.clone(),
    })))
}

/// The event of a changed note, its version checked.
/// The caller has checked the permission. A change of the title alone has an event of its own, so that whoever follows
/// titles need not look at texts.
pub(super) fn update(view: &View, write: &NoteWrite) -> Result<WorkspaceEvent, Refused> {
    let (note_id, edit) = (write.note_id, &write.edit);
    let note = view
        .note
        .as_ref()
        .filter(|note| note.deleted_at.is_none())
        .ok_or(Refused::NoteNotFound { note_id })?;
    check_version(note, Some(write.base_version))?;
    let mut all = note.metadata.clone();
    all.extend(edit.metadata.clone());
    check_metadata(&all)?;
    if let (Some(title), true) = (&edit.title, is_title_only(edit)) {
        let title = checked_title(title.trim())?;
        return Ok(WorkspaceEvent::NoteTitleChanged { note_id, title });
    }
    let title = edit.title.as_deref().map(str::trim);
    Ok(WorkspaceEvent::NoteUpdated(Box::new(NoteUpdated {
        note_id,
        title: title.map(checked_title).transpose()?,
        markdown: edited_markdown(note, edit)?.map(Into::into),
        note_kind: edit.note_kind.as_deref().map(checked_kind).transpose()?,
        access_scope: edit.access_scope.map(checked_scope).transpose()?,
        keywords: edit.keywords.as_deref().map(checked_keywords).transpose()?,
        metadata: edit.metadata.clone(),
    })))
}

/// No other field is given, metadata included.
fn is_title_only(edit: &NoteEdit) -> bool {
    let without_title = NoteEdit {
        title: None,
        ..edit.clone()
    };
    without_title == NoteEdit::default()
}

/// A patch is applied to the text of the version that was checked before. None where the text stays.
fn edited_markdown(note: &Note, edit: &NoteEdit) -> Result<Option<String>, Refused> {
    let markdown = match (&edit.markdown, &edit.patch) {
        (Some(_), Some(_)) => {
            return Err(Refused::bad("give the whole text or a patch, not both"));
        }
        (Some(markdown), None) => markdown.clone(),
        (None, Some(ops)) => match patched(&note.markdown, ops, MARKDOWN_BYTES_MAX) {
            Err(BadPatch::TooLong { bytes_max }) => {
                return Err(Refused::NoteTooLarge {
                    bytes: bytes_max + 1,
                });
            }
            patched => patched?,
        },
        (None, None) => return Ok(None),
    };
    check_length(&markdown)?;
    Ok(Some(markdown))
}

/// What an agent did is said by the kernel alone, so that nobody else can say it.
fn check_own_names(metadata: &Metadata, actor: &Actor) -> Result<(), Refused> {
    let taken = match actor {
        Actor::User { .. } | Actor::Agent { .. } => {
            metadata.keys().find(|key| metadata::is_agents(key))
        }
        Actor::System => None,
    };
    match taken {
        Some(key) => Err(Refused::bad(format!(
            "metadata key {key:?} says what an agent did and is set by bonded; choose another"
        ))),
        None => Ok(()),
    }
}

/// Does nothing for people and for the system.
pub(super) fn stamp(metadata: &mut Metadata, actor: &Actor, operation: &str) {
    if let Actor::Agent { run_id, .. } = actor {
        metadata.insert(metadata::AGENT_RUN_ID.into(), json!(run_id));
        metadata.insert(metadata::AGENT_OPERATION.into(), json!(operation));
    }
}

/// The note with what the kernel says about its maker.
pub(super) fn stamped_new(new: &NewNote, actor: &Actor) -> NewNote {
    let mut new = new.clone();
    stamp(&mut new.metadata, actor, "create");
    if matches!(actor, Actor::Agent { .. }) {
        let made = metadata::CREATED_BY_AGENT.into();
        new.metadata.insert(made, json!(true));
    }
    new
}

/// The same for a change; that the note was made by an agent stays as it was.
pub(super) fn stamped_write(write: &NoteWrite, actor: &Actor) -> NoteWrite {
    let mut write = write.clone();
    stamp(&mut write.edit.metadata, actor, "update");
    write
}

/// Whether an agent may propose this at all.
pub(super) fn check_proposed(metadata: &Metadata, actor: &Actor) -> Result<(), Refused> {
    check_own_names(metadata, actor)
}
