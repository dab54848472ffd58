//! Files of notes.
//!
//! A file is whatever its sender says it is, so that nothing here is ever shown by a browser: it is downloaded, with a
//! type that says nothing.

use std::io;

use bonded_kernel::{EventId, Hash, NoteId};
use bonded_workspace::attachments::{KeptContent, sniffed};
use bonded_workspace::store::ListedAttachment;
use bonded_workspace_rules::{Attachment, Change, Code, Permission};

use bonded_web::body_room::HeldBytes;

use super::notes::no_note;
use crate::json_api::answer::{CreatedJson, FileAnswer, NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{AttachmentAnswer, Attachments};

/// Whoever may not write is refused before anything of the file is kept.
pub(in crate::workspace) async fn attach(
    mut ask: WorkspaceAsk,
) -> Result<CreatedJson<AttachmentAnswer>, ApiRefusal> {
    let note_id: NoteId = ask.id("note_id")?;
    let note = ask.site.store.note(note_id).await?;
    let note = note.filter(|note| note.deleted_at.is_none());
    let note = note.ok_or_else(|| no_note(note_id))?;
    permit(&ask, note.workspace_id, Permission::WriteNotes).await?;
    let name = ask.query.text("name").unwrap_or_default().to_owned();
    let content = ask.take_raw();
    let (content_type, bytes) = (sniffed(&content), content.len() as u64);
    let (hash, kept) = match ask.site.store.is_shared() {
        true => (ask.site.store.keep_content(content.to_vec()).await?, None),
        false => {
            let kept = keep_file(&ask, content).await?;
            (kept.hash, Some(kept))
        }
    };
    let change = Change::Attach(Attachment {
        note_id,
        name,
        content_type: content_type.to_owned(),
        bytes,
        hash,
    });
    let written = ask.write(change).await?;
    if let Some(kept) = kept {
        kept.settle();
    }
    let event = written.events.into_iter().next();
    let event = event.ok_or_else(not_kept)?;
    let listed = ListedAttachment {
        event,
        removed_at: None,
    };
    Ok(CreatedJson(answer(&listed)?))
}

/// Pending until its event is there.
async fn keep_file(ask: &WorkspaceAsk, content: HeldBytes) -> Result<KeptContent, ApiRefusal> {
    let files = ask.site.attachments.clone();
    let kept = tokio::task::spawn_blocking(move || files.keep(&content)).await;
    kept.map_err(|_| not_kept())?.map_err(|error| {
        tracing::error!("error: an attachment cannot be kept: {error}");
        not_kept()
    })
}

/// From the shared store, else from its file.
async fn content(ask: &WorkspaceAsk, hash: Hash, bytes: u64) -> io::Result<Vec<u8>> {
    if ask.site.store.is_shared() {
        let found = ask.site.store.content(hash).await;
        let found = found.map_err(io::Error::other)?;
        return found.ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    let files = ask.site.attachments.clone();
    let read = tokio::task::spawn_blocking(move || files.read(&hash, bytes)).await;
    read.map_err(io::Error::other)?
}

fn not_kept() -> ApiRefusal {
    ApiRefusal::internal("the file cannot be kept; the log of the server says why")
}

fn answer(listed: &ListedAttachment) -> Result<AttachmentAnswer, ApiRefusal> {
    AttachmentAnswer::of(listed)
        .ok_or_else(|| ApiRefusal::internal("the store names an attachment whose file is missing"))
}

/// Without those that were removed.
pub(in crate::workspace) async fn list(
    ask: WorkspaceAsk,
) -> Result<OkJson<Attachments>, ApiRefusal> {
    let note_id: NoteId = ask.id("note_id")?;
    let note = ask.site.store.note(note_id).await?;
    let note = note.ok_or_else(|| no_note(note_id))?;
    permit(&ask, note.workspace_id, Permission::ReadNotes).await?;
    let listed = ask.site.store.attachments(note_id).await?;
    let attachments = listed.iter().map(answer).collect::<Result<_, _>>()?;
    Ok(OkJson(Attachments { attachments }))
}

/// What was removed can still be had: the history names it.
pub(in crate::workspace) async fn download(ask: WorkspaceAsk) -> Result<FileAnswer, ApiRefusal> {
    let id: EventId = ask.id("attachment_id")?;
    let missing = || {
        let message = format!("there is no attachment {id}");
        ApiRefusal::new(Code::AttachmentNotFound, message)
    };
    let found = ask.site.store.attachment(id).await?;
    let event = found.ok_or_else(missing)?.event;
    permit(&ask, event.workspace_id, Permission::ReadNotes).await?;
    let attachment = event.event.attachment().ok_or_else(missing)?.clone();
    let read = content(&ask, attachment.hash, attachment.bytes).await;
    let content = read.map_err(|error| {
        tracing::error!("error: attachment {id} cannot be read: {error}");
        ApiRefusal::internal("the file cannot be read; the log of the server says why")
    })?;
    let name = event.event.attachment().map(|it| it.name.clone());
    Ok(FileAnswer {
        name: name.unwrap_or_default(),
        content,
    })
}

/// The file is no more in the list of its note; its content stays.
pub(in crate::workspace) async fn remove(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let attachment_id: EventId = ask.id("attachment_id")?;
    ask.write(Change::RemoveAttachment { attachment_id })
        .await?;
    Ok(NoContent)
}
