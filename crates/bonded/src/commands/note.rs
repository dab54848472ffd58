//! `bonded note`: notes on a terminal, directly on the store.
//!
//! For whoever has the files: there is no login, and what is written is written by the system in the notes'
//! history. Changes are based on the version that was read, so that a server or an agent which writes at the same
//! time is never overwritten unseen. Answers for programs are on stdout, words about them on stderr.

use std::process::ExitCode;

use bonded_host::regular;
use bonded_workspace::store::{NoteFilter, NoteSort, Page, SearchQuery, WriteOutcome};
use bonded_workspace_rules::{Change, NewNote, Note, NoteEdit, NoteWrite};

use crate::args::{
    NoteAddArgs, NoteArgs, NoteCommand, NoteEditArgs, NoteHistoryArgs, NoteListArgs,
    NoteSearchArgs, NoteShowArgs,
};
use crate::editor::{Edited, Editor};
use crate::error::{CliError, Code, store_error};
use crate::output;
use crate::render::table::{self, Side};
use crate::workspace::notebook::Notebook;
use bonded_host::shapes::text;
use bonded_serve::workspace::{ids, shown};

/// Far more than a note takes; how long one may be is told by whoever keeps it.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Deleting is not final: a deleted note can be brought back by its id.
pub(crate) async fn note(args: &NoteArgs) -> Result<ExitCode, CliError> {
    let notes = Notebook::open(&args.place).await?;
    match &args.command {
        NoteCommand::List(args) => list(&notes, args).await?,
        NoteCommand::Show(args) => show(&notes, args).await?,
        NoteCommand::Add(args) => add(&notes, args).await?,
        NoteCommand::Edit(args) => edit(&notes, args).await?,
        NoteCommand::History(args) => history(&notes, args).await?,
        NoteCommand::Search(args) => search(&notes, args).await?,
        NoteCommand::Delete(args) => {
            let note = notes.note(&args.note).await?;
            let (note_id, base_version) = (note.note_id, Some(note.version));
            notes
                .write(Change::DeleteNote {
                    note_id,
                    base_version,
                })
                .await?;
            output::stderr(&format!(
                "deleted {:?}; `bonded note undelete {note_id}` restores it",
                note.title
            ));
        }
        NoteCommand::Undelete(args) => {
            let note = notes.note(&args.note).await?;
            let (note_id, base_version) = (note.note_id, Some(note.version));
            notes
                .write(Change::UndeleteNote {
                    note_id,
                    base_version,
                })
                .await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The last written first. A title is cut for the table and whole in JSON.
async fn list(notes: &Notebook, args: &NoteListArgs) -> Result<(), CliError> {
    let filter = NoteFilter {
        workspace: notes.workspace.workspace_id,
        note_kind: args.kind.clone(),
        keyword: None,
        folder: None,
        include_deleted: args.deleted,
        sort: NoteSort::Updated,
        page: Page {
            limit: args.limit,
            offset: 0,
        },
    };
    let listed = notes.store.notes(filter).await.map_err(store_error)?;
    if args.json {
        for note in &listed {
            output::stdout(&shown::note_summary(note).to_string());
        }
        return Ok(());
    }
    if listed.is_empty() {
        output::stderr("no notes yet; write one with `bonded note add TITLE TEXT`");
        return Ok(());
    }
    let titles = [
        ("NOTE", Side::Left),
        ("VERSION", Side::Right),
        ("UPDATED", Side::Left),
        ("KIND", Side::Left),
        ("TITLE", Side::Left),
    ];
    let rows = listed.iter().map(|note| {
        let deleted = if note.deleted_at.is_some() {
            " (deleted)"
        } else {
            ""
        };
        [
            note.note_id.to_string(),
            note.version.to_string(),
            text::local_time(note.updated_at),
            note.note_kind.clone(),
            format!("{}{deleted}", text::brief(&note.title, 80)),
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}

/// A version of the past is shown as the history has it; the markdown goes to stdout as it is, without its last
/// line feeds.
async fn show(notes: &Notebook, args: &NoteShowArgs) -> Result<(), CliError> {
    let mut note = notes.note(&args.note).await?;
    if let Some(version) = args.at_version {
        let past = notes
            .store
            .note_at(note.note_id, version)
            .await
            .map_err(store_error)?;
        note = past.ok_or_else(|| {
            let message = format!(
                "NOTE_NOT_FOUND: {:?} has versions 1 to {}",
                note.title, note.version
            );
            CliError::new(Code::Refused, message)
        })?;
    }
    match args.json {
        true => output::stdout(&shown::note(&note).to_string()),
        false => output::stdout(note.markdown.trim_end_matches('\n')),
    }
    Ok(())
}

/// The id is on stdout alone, so that a script can go on with it.
async fn add(notes: &Notebook, args: &NoteAddArgs) -> Result<(), CliError> {
    let mut edited = None;
    let markdown = match (&args.text, Editor::at_terminal()) {
        (Some(text), _) => read_text(text)?,
        (None, None) => String::new(),
        (None, Some(editor)) => {
            let Some(written) = editor.edit("")? else {
                output::stderr("nothing was written; there is no new note");
                return Ok(());
            };
            edited.insert(written).text.clone()
        }
    };
    let new = NewNote {
        note_id: ids::note(),
        workspace_id: notes.workspace.workspace_id,
        title: args.title.clone(),
        markdown,
        note_kind: args.kind.clone(),
        access_scope: Default::default(),
        keywords: args.keywords.clone(),
        metadata: Default::default(),
    };
    let written = notes.write(Change::CreateNote(new)).await;
    let written = written.map_err(|error| kept(edited, error))?;
    if let WriteOutcome::Note(note) = &written.outcome {
        report("wrote", note);
        output::stdout(&note.note_id.to_string());
    }
    Ok(())
}

fn report(what: &str, note: &Note) {
    output::stderr(&format!(
        "{what} {:?}, version {}",
        note.title, note.version
    ));
}

/// A text as the argument says it: itself, stdin, or a file.
/// `@` and `-` are asked for by the person, so that any path may be named; the bound keeps a device from filling
/// memory.
fn read_text(argument: &str) -> Result<String, CliError> {
    let path = match argument {
        "-" => "/dev/stdin",
        _ => match argument.strip_prefix('@') {
            Some(path) => path,
            None => return Ok(argument.to_owned()),
        },
    };
    let read = std::fs::File::open(path).and_then(|file| regular::text_of(file, TEXT_BYTES_MAX));
    read.map_err(|error| CliError::new(Code::Usage, format!("cannot read {path}: {error}")))
}

/// With a base version that the person gives, a note that was changed since then is refused; without one, what was
/// read a moment before is the base.
async fn edit(notes: &Notebook, args: &NoteEditArgs) -> Result<(), CliError> {
    let note = notes.note(&args.note).await?;
    let mut edit = NoteEdit {
        title: args.title.clone(),
        markdown: args.text.as_deref().map(read_text).transpose()?,
        keywords: args.keywords.clone(),
        ..NoteEdit::default()
    };
    let mut edited = None;
    if edit == NoteEdit::default() {
        let message = "nothing to change: give a text, --title or --keywords, or set EDITOR";
        let editor = Editor::of_variables();
        let editor = editor.ok_or_else(|| CliError::new(Code::Usage, message))?;
        let Some(written) = editor.edit(&note.markdown)? else {
            output::stderr(&format!("{:?} is unchanged", note.title));
            return Ok(());
        };
        edit.markdown = Some(edited.insert(written).text.clone());
    }
    let change = Change::UpdateNote(NoteWrite {
        note_id: note.note_id,
        base_version: args.base_version.unwrap_or(note.version),
        edit,
    });
    let written = notes.write(change).await;
    let written = written.map_err(|error| kept(edited, error))?;
    if let WriteOutcome::Note(note) = &written.outcome {
        report("changed", note);
    }
    Ok(())
}

/// A text of an editor that was refused is not lost.
fn kept(edited: Option<Edited>, error: CliError) -> CliError {
    match edited {
        Some(edited) => edited.kept(error),
        None => error,
    }
}

async fn history(notes: &Notebook, args: &NoteHistoryArgs) -> Result<(), CliError> {
    let note = notes.note(&args.note).await?;
    let page = Page {
        limit: args.limit,
        offset: 0,
    };
    let events = notes
        .store
        .history(note.note_id, page)
        .await
        .map_err(store_error)?;
    let titles = [
        ("VERSION", Side::Right),
        ("WHEN", Side::Left),
        ("WHAT", Side::Left),
        ("BY", Side::Left),
    ];
    let rows = events.iter().map(|event| {
        [
            event
                .version
                .map(|version| version.to_string())
                .unwrap_or_default(),
            text::local_time(event.at),
            event.event.name().to_owned(),
            shown::actor_name(&event.actor),
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}

async fn search(notes: &Notebook, args: &NoteSearchArgs) -> Result<(), CliError> {
    let query = SearchQuery {
        workspace: notes.workspace.workspace_id,
        query: args.words.join(" "),
        note_kind: None,
        sort: Default::default(),
        page: Page {
            limit: args.limit,
            offset: 0,
        },
    };
    let found = notes.store.search_text(query).await.map_err(store_error)?;
    for hit in &found.hits {
        match args.json {
            true => output::stdout(&shown::hit(hit).to_string()),
            false => {
                output::stdout(&format!("{}  {}", hit.note.note_id, hit.note.title));
                output::stdout(&format!("    {}", plain(&hit.snippet)));
            }
        }
    }
    if found.hits.is_empty() {
        output::stderr("nothing was found");
    }
    Ok(())
}

/// A snippet without its marks.
/// Snippets are made for pages: they have marks around what was found, and the signs of HTML written out. The
/// ampersand comes last, or what stands written out in a note would be read twice.
fn plain(snippet: &str) -> String {
    let marks = [
        ("<mark>", ""),
        ("</mark>", ""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    marks.iter().fold(snippet.to_owned(), |text, (mark, sign)| {
        text.replace(mark, sign)
    })
}
