//! Notes as they are read: now, as they were, and where they are linked from.

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace::store::{NoteFilter, NoteSort, Page};
use bonded_workspace_rules::{Code, Note, Permission};
use serde_json::{Value, json};

use crate::workspace::answer::Answer;
use crate::workspace::ask::{Ask, permit};
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

const LIMIT: u64 = 50;
const LIMIT_MAX: u64 = 200;

/// Which part of a long list is asked for.
pub(in crate::workspace) fn page(ask: &Ask) -> Result<Page, Refusal> {
    Ok(Page {
        limit: ask.query.number("limit", LIMIT, 1..=LIMIT_MAX)?,
        offset: ask.query.number("offset", 0, 0..=i64::MAX as u64)?,
    })
}

/// The page with one more than is shown, which tells whether there are more.
pub(in crate::workspace) fn one_more(page: Page) -> Page {
    Page {
        limit: page.limit + 1,
        ..page
    }
}

/// A page of things, and where the next one begins.
pub(in crate::workspace) fn listing<T>(
    name: &str,
    found: &[T],
    page: Page,
    shown: impl Fn(&T) -> Value,
) -> Value {
    let limit = page.limit as usize;
    let items: Vec<Value> = found.iter().take(limit).map(shown).collect();
    let next = (found.len() > limit).then(|| page.offset.saturating_add(page.limit));
    json!({ name: items, "next_offset": next })
}

/// The workspace that a list is of: the query must say it.
pub(in crate::workspace) fn workspace_asked(ask: &Ask) -> Result<WorkspaceId, Refusal> {
    let said = ask.query.read("workspace_id", "the id of a workspace")?;
    said.ok_or_else(|| {
        Refusal::bad("workspace_id is needed in the query: the workspace that is asked about")
    })
}

pub(in crate::workspace) async fn list(ask: Ask) -> Result<Answer, Refusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let filter = NoteFilter {
        workspace: workspace_id,
        note_kind: ask.query.text("note_kind").map(str::to_owned),
        include_deleted: ask.query.flag("include_deleted")?,
        sort: sort(&ask)?,
        page: one_more(page),
    };
    let listed = ask.site.store.notes(filter).await?;
    Ok(Answer::ok(&listing(
        "notes",
        &listed,
        page,
        shown::note_summary,
    )))
}

fn sort(ask: &Ask) -> Result<NoteSort, Refusal> {
    match ask.query.text("sort") {
        None | Some("updated_at") => Ok(NoteSort::Updated),
        Some("created_at") => Ok(NoteSort::Created),
        Some("title") => Ok(NoteSort::Title),
        Some(_) => Err(Refusal::bad(
            "sort in the query: updated_at, created_at or title",
        )),
    }
}

/// A note that the caller may read, deleted ones included.
async fn readable(ask: &Ask) -> Result<Note, Refusal> {
    let note_id: NoteId = ask.id("note_id")?;
    let note = ask.site.store.note(note_id).await?;
    let note = note.ok_or_else(|| no_note(note_id))?;
    permit(ask, note.workspace_id, Permission::ReadNotes).await?;
    Ok(note)
}

pub(in crate::workspace) fn no_note(note_id: NoteId) -> Refusal {
    Refusal::new(Code::NoteNotFound, format!("there is no note {note_id}"))
}

/// A deleted note is shown as what it is: its `deleted_at` says so.
pub(in crate::workspace) async fn show(ask: Ask) -> Result<Answer, Refusal> {
    Ok(Answer::ok(&shown::note(&readable(&ask).await?)))
}

pub(in crate::workspace) async fn history(ask: Ask) -> Result<Answer, Refusal> {
    let note = readable(&ask).await?;
    let page = page(&ask)?;
    let events = ask.site.store.history(note.note_id, one_more(page)).await?;
    let mut body = listing("versions", &events, page, shown::event);
    body["note_id"] = json!(note.note_id);
    Ok(Answer::ok(&body))
}

pub(in crate::workspace) async fn version(ask: Ask) -> Result<Answer, Refusal> {
    let note = readable(&ask).await?;
    let version: u64 = ask.id("version")?;
    let past = ask.site.store.note_at(note.note_id, version).await?;
    let past = past.ok_or_else(|| {
        let (id, current) = (note.note_id, note.version);
        let message = format!("note {id} has no version {version}; it has 1 to {current}");
        Refusal::new(Code::NoteNotFound, message)
    })?;
    Ok(Answer::ok(&shown::note(&past)))
}

pub(in crate::workspace) async fn backlinks(ask: Ask) -> Result<Answer, Refusal> {
    let note = readable(&ask).await?;
    let links = ask.site.store.backlinks(note.note_id).await?;
    let shown: Vec<Value> = links.iter().map(shown::note_summary).collect();
    Ok(Answer::ok(
        &json!({ "note_id": note.note_id, "backlinks": shown }),
    ))
}
