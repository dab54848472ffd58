//! Versions of a note held against each other, an old one taken up again, and what keywords there are.

use std::time::{Duration, Instant};

use bonded_workspace::store::Page;
use bonded_workspace_rules::{Change, Code, Note, NoteEdit, NoteWrite, Permission, StoredEvent};
use similar::{ChangeTag, TextDiff};

use super::notes::{no_note, readable, workspace_asked};
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{
    self, DiffHunk, DiffLine, DiffSide, Id, KeywordCount, Keywords, LineKind, NoteDiff, Rollback,
};
use crate::workspace::handler::RequiredBody;

/// A coarser comparison is as true.
const COMPARED_TIME: Duration = Duration::from_millis(500);
/// Equal lines around what differs.
const CONTEXT_LINES: usize = 3;

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
    let (hunks, is_exact) = hunks(&old.0.markdown, &new.0.markdown);
    Ok(OkJson(NoteDiff {
        note_id: Id(note.note_id),
        from: DiffSide::of(&old.0, old.1.as_ref()),
        to: DiffSide::of(&new.0, new.1.as_ref()),
        hunks,
        is_exact,
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

/// What differs, line by line, and whether there was time to find the smallest difference.
fn hunks(old: &str, new: &str) -> (Vec<DiffHunk>, bool) {
    let begun = Instant::now();
    let diff = TextDiff::configure()
        .timeout(COMPARED_TIME)
        .diff_lines(old, new);
    let is_exact = begun.elapsed() < COMPARED_TIME;
    let groups = diff.grouped_ops(CONTEXT_LINES);
    let hunks = groups.iter().filter_map(|ops| {
        let first = ops.first()?;
        let changes = ops.iter().flat_map(|op| diff.iter_changes(op));
        let lines = changes.map(|change| DiffLine {
            kind: match change.tag() {
                ChangeTag::Equal => LineKind::Same,
                ChangeTag::Delete => LineKind::Removed,
                ChangeTag::Insert => LineKind::Added,
            },
            text: change.value().trim_end_matches('\n').to_owned(),
        });
        Some(DiffHunk {
            from_line: first.old_range().start as u64 + 1,
            to_line: first.new_range().start as u64 + 1,
            lines: lines.collect(),
        })
    });
    (hunks.collect(), is_exact)
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
