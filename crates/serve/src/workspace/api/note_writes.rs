//! Notes as they are written. Every write says which version it was made for.
//!
//! Whether a write is allowed, and whether it fits the version, is decided in the transaction; these handlers only
//! translate.

use bonded_kernel::NoteId;
use bonded_workspace_rules::{Change, NewNote, NoteEdit, NoteWrite, PatchOp};

use crate::json_api::answer::{CreatedJson, NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::handler::{OptionalBody, RequiredBody};
use crate::workspace::{dto, ids};

/// The id is drawn here; a repetition with the same key gets the note that was made first.
pub(in crate::workspace) async fn create(
    ask: WorkspaceAsk,
    body: RequiredBody<dto::NewNote>,
) -> Result<CreatedJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let written = ask
        .write(Change::CreateNote(NewNote {
            note_id: ids::note(),
            workspace_id: body.workspace_id.0,
            title: body.title,
            markdown: body.markdown,
            note_kind: body.note_kind,
            access_scope: body.access_scope.map(Into::into).unwrap_or_default(),
            keywords: body.keywords.unwrap_or_default(),
            metadata: body.metadata.unwrap_or_default(),
        }))
        .await?;
    Ok(CreatedJson((&written.outcome).try_into()?))
}

/// A change without any field is refused: it would be a version that differs in nothing.
pub(in crate::workspace) async fn update(
    ask: WorkspaceAsk,
    body: RequiredBody<dto::NoteEdit>,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let edit = NoteEdit {
        title: body.title,
        markdown: body.markdown,
        patch: body.patch_ops.map(patch),
        note_kind: body.note_kind,
        access_scope: body.access_scope.map(Into::into),
        keywords: body.keywords,
        metadata: body.metadata.unwrap_or_default(),
    };
    if edit == NoteEdit::default() {
        return Err(ApiRefusal::bad(
            "nothing to change: give a field beside base_version",
        ));
    }
    edited(&ask, body.base_version, edit).await
}

/// The same as a change with a title alone.
pub(in crate::workspace) async fn retitle(
    ask: WorkspaceAsk,
    body: RequiredBody<dto::TitleEdit>,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let edit = NoteEdit {
        title: Some(body.title),
        ..NoteEdit::default()
    };
    edited(&ask, body.base_version, edit).await
}

/// From the words of the wire.
fn patch(ops: Vec<dto::PatchOp>) -> Vec<PatchOp> {
    ops.into_iter().map(PatchOp::from).collect()
}

/// For all changes that name a version in their body.
async fn edited(
    ask: &WorkspaceAsk,
    base_version: u64,
    edit: NoteEdit,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let change = Change::UpdateNote(NoteWrite {
        note_id: ask.id("note_id")?,
        base_version,
        edit,
    });
    changed(ask, change).await
}

/// Answers with the note as it stands after the write.
async fn changed(ask: &WorkspaceAsk, change: Change) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let written = ask.write(change).await?;
    Ok(OkJson((&written.outcome).try_into()?))
}

/// The note can be had back; what it was stays readable.
pub(in crate::workspace) async fn delete(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    ask.write(Change::DeleteNote {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
    })
    .await?;
    Ok(NoContent)
}

/// Without a body, whatever version it has.
pub(in crate::workspace) async fn undelete(
    ask: WorkspaceAsk,
    body: OptionalBody<dto::Undelete>,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let note_id: NoteId = ask.id("note_id")?;
    let change = Change::UndeleteNote {
        note_id,
        base_version: body.base_version,
    };
    changed(&ask, change).await
}

/// The version stands in the query, because the body is the value.
pub(in crate::workspace) async fn set_metadata(
    ask: WorkspaceAsk,
    body: RequiredBody<dto::MetadataValue>,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let change = Change::SetMetadata {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
        key: ask.param("key").to_owned(),
        value: body.value,
    };
    changed(&ask, change).await
}

/// A key that is not there is no error.
pub(in crate::workspace) async fn delete_metadata(
    ask: WorkspaceAsk,
) -> Result<NoContent, ApiRefusal> {
    ask.write(Change::DeleteMetadata {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
        key: ask.param("key").to_owned(),
    })
    .await?;
    Ok(NoContent)
}

/// None makes the change in any case.
fn base_version(ask: &WorkspaceAsk) -> Result<Option<u64>, ApiRefusal> {
    ask.query
        .read("base_version", "the version that the change was made for")
}
