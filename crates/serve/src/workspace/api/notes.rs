//! Notes as they are read: now, as they were, and where they are linked from.

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace::store::{NoteFilter, NoteSort, Page};
use bonded_workspace_rules::{Code, Note, Permission};

use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{self, Backlinks, EventAnswer, Id, NoteHistory, NoteSummary, Notes};

/// How many come where nobody says.
pub(in crate::workspace) const LIMIT: u64 = 50;
/// No page is longer.
pub(in crate::workspace) const LIMIT_MAX: u64 = 200;

/// Which part of a long list is asked for.
pub(in crate::workspace) fn page(ask: &WorkspaceAsk) -> Result<Page, ApiRefusal> {
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

/// A page of things as clients get them, and where the next one begins.
pub(in crate::workspace) fn listing<'a, T, Item: From<&'a T>>(
    found: &'a [T],
    page: Page,
) -> (Vec<Item>, Option<u64>) {
    let limit = page.limit as usize;
    let items = found.iter().take(limit).map(Item::from).collect();
    let next = (found.len() > limit).then(|| page.offset.saturating_add(page.limit));
    (items, next)
}

/// The workspace that a list is of: the query must say it.
pub(in crate::workspace) fn workspace_asked(ask: &WorkspaceAsk) -> Result<WorkspaceId, ApiRefusal> {
    let id = ask.query.read("workspace_id", "the id of a workspace")?;
    id.ok_or_else(|| {
        ApiRefusal::bad("workspace_id is needed in the query: the workspace that is asked about")
    })
}

/// Without their texts: a list of notes must stay small.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<Notes>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let filter = NoteFilter {
        workspace: workspace_id,
        note_kind: ask.query.text("note_kind").map(str::to_owned),
        keyword: ask.query.text("keyword").map(str::to_owned),
        folder: ask.query.text("folder").map(str::to_owned),
        include_deleted: ask.query.flag("include_deleted")?,
        sort: sort(&ask)?,
        page: one_more(page),
    };
    let listed = ask.site.store.notes(filter).await?;
    let (notes, next_offset) = listing(&listed, page);
    Ok(OkJson(Notes { notes, next_offset }))
}

/// By default what was written to last is first.
fn sort(ask: &WorkspaceAsk) -> Result<NoteSort, ApiRefusal> {
    match ask.query.text("sort") {
        None | Some("updated_at") => Ok(NoteSort::Updated),
        Some("created_at") => Ok(NoteSort::Created),
        Some("title") => Ok(NoteSort::Title),
        Some(_) => Err(ApiRefusal::bad(
            "sort in the query: updated_at, created_at or title",
        )),
    }
}

/// A note that the caller may read, deleted ones included.
pub(super) async fn readable(ask: &WorkspaceAsk) -> Result<Note, ApiRefusal> {
    let note_id: NoteId = ask.id("note_id")?;
    let note = ask.site.store.note(note_id).await?;
    let note = note.ok_or_else(|| no_note(note_id))?;
    permit(ask, note.workspace_id, Permission::ReadNotes).await?;
    Ok(note)
}

/// The same words wherever a note is missing.
pub(in crate::workspace) fn no_note(note_id: NoteId) -> ApiRefusal {
    ApiRefusal::new(Code::NoteNotFound, format!("there is no note {note_id}"))
}

/// A deleted note is shown as what it is: its `deleted_at` says so.
pub(in crate::workspace) async fn show(ask: WorkspaceAsk) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let note = readable(&ask).await?;
    Ok(OkJson(dto::Note::from(&note)))
}

/// The events of the note, each with who made it.
pub(in crate::workspace) async fn history(
    ask: WorkspaceAsk,
) -> Result<OkJson<NoteHistory>, ApiRefusal> {
    let note = readable(&ask).await?;
    let page = page(&ask)?;
    let events = ask.site.store.history(note.note_id, one_more(page)).await?;
    let (versions, next_offset): (Vec<EventAnswer>, _) = listing(&events, page);
    Ok(OkJson(NoteHistory {
        note_id: Id(note.note_id),
        versions,
        next_offset,
    }))
}

/// The message says which versions there are.
pub(in crate::workspace) async fn version(
    ask: WorkspaceAsk,
) -> Result<OkJson<dto::Note>, ApiRefusal> {
    let note = readable(&ask).await?;
    let version: u64 = ask.id("version")?;
    let past = ask.site.store.note_at(note.note_id, version).await?;
    let past = past.ok_or_else(|| {
        let (id, current) = (note.note_id, note.version);
        let message = format!("note {id} has no version {version}; it has 1 to {current}");
        ApiRefusal::new(Code::NoteNotFound, message)
    })?;
    Ok(OkJson(dto::Note::from(&past)))
}

/// By title.
pub(in crate::workspace) async fn backlinks(
    ask: WorkspaceAsk,
) -> Result<OkJson<Backlinks>, ApiRefusal> {
    let note = readable(&ask).await?;
    let links = ask.site.store.backlinks(note.note_id).await?;
    Ok(OkJson(Backlinks {
        note_id: Id(note.note_id),
        backlinks: links.iter().map(NoteSummary::from).collect(),
    }))
}
