//! `bonded diff`: what a run changed, as a patch.
//!
//! It shows what the run did, from the record of its changes, whatever became of the files since; those that are not as
//! the run left them are named on stderr, with what is not recorded.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::changes::recorded::{Node, Settled};
use bonded_host::changes::{ChangedFile, RunChanges, shown};
use bonded_host::shapes::patch;
use bonded_host::shapes::text::short_id;
use bonded_host::shapes::waiting::change::DiffKind;
use serde_json::{Value, json};

use crate::args::DiffArgs;
use crate::error::CliError;
use crate::render::pager;
use crate::style::{Look, Paint, Stream, Styled};
use crate::{output, settings};

/// It only looks, except that an undo which a crash interrupted is completed first.
pub(crate) async fn diff(args: &DiffArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let (store, run) = settings::find_run_to_read(store, &args.run).await?;
    let changes = RunChanges::load(&*store, &run).await?;
    if let Some(turn) = args.turn {
        changes.check_turn(turn)?;
    }
    say_settled(changes.settle()?);
    let files = changes.files(args.turn)?;
    match args.json {
        true => files.iter().for_each(|file| output::object(&object(file))),
        false => show(&files),
    }
    for file in files.iter().filter(|file| !file.is_as_left) {
        output::stderr(&format!(
            "note: {} is not as the run left it",
            shown(&file.net.path)
        ));
    }
    notes(&changes, &files);
    Ok(ExitCode::SUCCESS)
}

/// Says that an undo was found that had been interrupted.
pub(super) fn say_settled(settled: Settled) {
    match settled {
        Settled::Nothing => {}
        Settled::Completed => output::stderr("note: an interrupted undo of this run was completed"),
        Settled::TakenBack => output::stderr(
            "note: an interrupted undo of this run was taken back, because a file had changed since",
        ),
    }
}

fn show(files: &[ChangedFile]) {
    let look = Look::of(Stream::Out);
    if !look.terminal && !look.color {
        let lines = files.iter().flat_map(patch::lines);
        return lines.for_each(|line| output::stdout(&line.text));
    }
    let lines: Vec<patch::PatchLine> = files.iter().flat_map(patch::lines).collect();
    let lines: Vec<Styled> = lines.iter().map(drawn).collect();
    match look.redraws() {
        true => pager::show(&lines),
        false => lines
            .iter()
            .for_each(|line| output::styled_stdout(line, &look)),
    }
}

fn drawn(line: &patch::PatchLine) -> Styled {
    let paint = match line.kind {
        DiffKind::Hunk => Paint::Cyan,
        DiffKind::Same => Paint::Plain,
        DiffKind::Removed => Paint::Red,
        DiffKind::Added => Paint::Green,
        DiffKind::Note => Paint::Bold,
    };
    Styled::new().code(paint, &line.text)
}

/// What a patch does not say.
pub(super) fn notes(changes: &RunChanges, files: &[ChangedFile]) {
    let run = short_id(&changes.run);
    if changes.missing > 0 && files.is_empty() {
        output::stderr(&format!(
            "note: {} calls of run {run} changed files, and no record of that is on this machine",
            changes.missing
        ));
    } else if files.is_empty() {
        output::stderr(&format!("run {run} changed no file that is recorded"));
    }
    for (tool, calls) in &changes.unrecorded {
        let calls = match calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        output::stderr(&format!(
            "note: what {calls} of {} changed is not recorded",
            shown(Path::new(tool))
        ));
    }
}

fn object(file: &ChangedFile) -> Value {
    let counts = patch::counts(file);
    json!({
        "path": file.net.path.to_string_lossy(),
        "change": what(&file.net.from, &file.net.to),
        "asLeft": file.is_as_left,
        "addedLines": counts.map(|it| it.0),
        "removedLines": counts.map(|it| it.1),
        "before": node(&file.net.from),
        "after": node(&file.net.to),
    })
}

/// What became of a path, in a word.
pub(super) fn what(from: &Node, to: &Node) -> &'static str {
    match (from, to) {
        (Node::Absent, Node::Directory { .. }) => "directory created",
        (Node::Directory { .. }, Node::Absent) => "directory removed",
        (Node::Absent, _) => "created",
        (_, Node::Absent) => "removed",
        _ => "changed",
    }
}

fn node(node: &Node) -> Value {
    match node {
        Node::File(file) => json!({
            "bytes": file.bytes,
            "hash": file.hash.map(|hash| hash.to_string()),
            "mode": file.mode.map(|mode| format!("{mode:04o}")),
        }),
        Node::Link { target } => json!({ "link": target.to_string_lossy() }),
        Node::Directory { .. } => json!({ "directory": true }),
        Node::Absent | Node::Other => Value::Null,
    }
}
