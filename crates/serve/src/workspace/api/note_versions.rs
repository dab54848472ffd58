//! Versions of a note held against each other, an old one taken up again, and what keywords there are.

use bonded_host::line_diff::{LineChange, LineHunk, line_diff};
use bonded_workspace::store::Page;
use bonded_workspace_rules::{Change, Code, Note, NoteEdit, NoteWrite, Permission, StoredEvent};

use super::notes::{no_note, readable, workspace_asked};
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{
    self, DiffHunk, DiffLine, DiffSide, Id, KeywordCount, Keywords, LineKind, NoteDiff, Rollback,
};
use crate::workspace::handler::RequiredBody;

/// Two versions in any order.
pub(in crate::workspace) async fn diff(ask: WorkspaceAsk) -> Result<OkJson<NoteDiff>, ApiRefusal> {
    let note = readable(&ask).await?;
    let asked = |name: &'static str| {
        let version = ask.query.read::<u64>(name, "a version of the note")?;
        version.ok_or_else(|| {
            ApiRefusal::bad("from and to are needed in the query: versions of the note")
        })
    };
    let (from, to) = (asked("from")?, asked("to")?);
    let (old, new) = (at(&ask, &note, from).await?, at(&ask, &note, to).await?);
    let diff = line_diff(&old.0.markdown, &new.0.markdown);
    Ok(OkJson(NoteDiff {
        note_id: Id(note.note_id),
        from: DiffSide::of(&old.0, old.1.as_ref()),
        to: DiffSide::of(&new.0, new.1.as_ref()),
        is_exact: diff.is_exact,
        hunks: diff.hunks.iter().map(shown).collect(),
    }))
}

/// The note at a version, and the event that made it so.
async fn at(
    ask: &WorkspaceAsk,
    note: &Note,
    version: u64,
) -> Result<(Note, Option<StoredEvent>), ApiRefusal> {
    let store = &ask.site.store;
    let past = store.note_at(note.note_id, version).await?;
    let past = past.ok_or_else(|| no_version(note, version))?;
    // The list has the newest first.
    let page = Page {
        limit: 1,
        offset: note.version.saturating_sub(version),
    };
    let event = store.history(note.note_id, page).await?.pop();
    Ok((past, event.filter(|event| event.version == Some(version))))
}

fn no_version(note: &Note, version: u64) -> ApiRefusal {
    let (id, current) = (note.note_id, note.version);
    let message = format!("note {id} has no version {version}; it has 1 to {current}");
    ApiRefusal::new(Code::NoteNotFound, message)
}

/// As the page shows it, without the ends of lines.
fn shown(hunk: &LineHunk<'_>) -> DiffHunk {
    let lines = hunk.lines.iter().map(|change| {
        let (kind, text) = match change {
            LineChange::Same(text) => (LineKind::Same, text),
            LineChange::Removed(text) => (LineKind::Removed, text),
            LineChange::Added(text) => (LineKind::Added, text),
        };
        let text = text.trim_end_matches('\n').to_owned();
        DiffLine { kind, text }
    });
    DiffHunk {
        from_line: hunk.first.0 as u64,
        to_line: hunk.first.1 as u64,
        lines: lines.collect(),
    }
}

/// An old version becomes the newest again; nothing of the history is lost.
pub(in crate::workspace) async fn rollback(
    ask: WorkspaceAsk,
    body: RequiredBody<Rollback>,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let body = body.read()?;
    let note = readable(&ask).await?;
    permit(&ask, note.workspace_id, Permission::WriteNotes).await?;
    let past = ask.site.store.note_at(note.note_id, body.version).await?;
    let past = past.ok_or_else(|| no_version(&note, body.version))?;
    if note.deleted_at.is_some() {
        return Err(no_note(note.note_id));
    }
    let change = Change::UpdateNote(NoteWrite {
        note_id: note.note_id,
        base_version: body.base_version,
        edit: NoteEdit {
            title: Some(past.title),
            markdown: Some(past.markdown.as_str().to_owned()),
            note_kind: Some(past.note_kind),
            keywords: Some(past.keywords),
            ..NoteEdit::default()
        },
    });
    let written = ask.write(change).await?;
    Ok(OkJson((&written.outcome).try_into()?))
}

/// The most used first.
pub(in crate::workspace) async fn keywords(
    ask: WorkspaceAsk,
) -> Result<OkJson<Keywords>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let counted = ask.site.store.keyword_counts(workspace_id).await?;
    let keywords = counted
        .into_iter()
        .map(|(keyword, count)| KeywordCount { keyword, count });
    Ok(OkJson(Keywords {
        keywords: keywords.collect(),
    }))
}
