//! Notes as they are written. Every write says which version it was made for.

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace_rules::{
    AccessScope, Change, Metadata, NewNote, NoteEdit, NoteWrite, PatchOp,
};
use serde::Deserialize;
use serde_json::Value;

use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::ids;
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateBody {
    workspace_id: WorkspaceId,
    title: Option<String>,
    #[serde(default)]
    markdown: String,
    note_kind: Option<String>,
    access_scope: Option<AccessScope>,
    keywords: Option<Vec<String>>,
    metadata: Option<Metadata>,
}

pub(in crate::workspace) async fn create(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: CreateBody = ask.body()?;
    let written = ask
        .write(Change::CreateNote(NewNote {
            note_id: ids::note(),
            workspace_id: body.workspace_id,
            title: body.title,
            markdown: body.markdown,
            note_kind: body.note_kind,
            access_scope: body.access_scope.unwrap_or_default(),
            keywords: body.keywords.unwrap_or_default(),
            metadata: body.metadata.unwrap_or_default(),
        }))
        .await?;
    Ok(Answer::created(&shown::outcome(&written.outcome)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateBody {
    base_version: u64,
    title: Option<String>,
    markdown: Option<String>,
    patch_ops: Option<Vec<PatchOp>>,
    note_kind: Option<String>,
    access_scope: Option<AccessScope>,
    keywords: Option<Vec<String>>,
    metadata: Option<Metadata>,
}

pub(in crate::workspace) async fn update(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: UpdateBody = ask.body()?;
    let edit = NoteEdit {
        title: body.title,
        markdown: body.markdown,
        patch: body.patch_ops,
        note_kind: body.note_kind,
        access_scope: body.access_scope,
        keywords: body.keywords,
        metadata: body.metadata.unwrap_or_default(),
    };
    if edit == NoteEdit::default() {
        return Err(Refusal::bad(
            "nothing to change: give a field beside base_version",
        ));
    }
    edited(&ask, body.base_version, edit).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TitleBody {
    base_version: u64,
    title: String,
}

pub(in crate::workspace) async fn retitle(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: TitleBody = ask.body()?;
    let edit = NoteEdit {
        title: Some(body.title),
        ..NoteEdit::default()
    };
    edited(&ask, body.base_version, edit).await
}

async fn edited(ask: &Ask, base_version: u64, edit: NoteEdit) -> Result<Answer, Refusal> {
    let change = Change::UpdateNote(NoteWrite {
        note_id: ask.id("note_id")?,
        base_version,
        edit,
    });
    changed(ask, change).await
}

async fn changed(ask: &Ask, change: Change) -> Result<Answer, Refusal> {
    let written = ask.write(change).await?;
    Ok(Answer::ok(&shown::outcome(&written.outcome)?))
}

/// The note can be had back; what it was stays readable.
pub(in crate::workspace) async fn delete(ask: Ask) -> Result<Answer, Refusal> {
    ask.write(Change::DeleteNote {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
    })
    .await?;
    Ok(Answer::nothing())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseBody {
    base_version: Option<u64>,
}

pub(in crate::workspace) async fn undelete(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: BaseBody = ask.body_or_empty()?;
    let note_id: NoteId = ask.id("note_id")?;
    let change = Change::UndeleteNote {
        note_id,
        base_version: body.base_version,
    };
    changed(&ask, change).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetadataBody {
    /// Any JSON, null too.
    value: Value,
}

pub(in crate::workspace) async fn set_metadata(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: MetadataBody = ask.body()?;
    let change = Change::SetMetadata {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
        key: ask.param("key").to_owned(),
        value: body.value,
    };
    changed(&ask, change).await
}

pub(in crate::workspace) async fn delete_metadata(ask: Ask) -> Result<Answer, Refusal> {
    ask.write(Change::DeleteMetadata {
        note_id: ask.id("note_id")?,
        base_version: base_version(&ask)?,
        key: ask.param("key").to_owned(),
    })
    .await?;
    Ok(Answer::nothing())
}

fn base_version(ask: &Ask) -> Result<Option<u64>, Refusal> {
    ask.query
        .read("base_version", "the version that the change was made for")
}
