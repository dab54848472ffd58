//! `bonded undo`: the directory of a run becomes what it was.
//!
//! All of it or nothing: what a person changed since is never overwritten, and what is in the way is named, with how to go
//! on. The run is held meanwhile, so that no process resumes it.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::changes::recorded::{Node, Obstacle, PathChange, Undone, Wanted};
use bonded_host::changes::{RunChanges, shown};
use bonded_host::shapes::text::{grouped, short_id};
use serde_json::{Value, json};

use super::diff::{notes, say_settled, what};
use crate::args::UndoArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};

/// More files are not named in an error.
const NAMED_MAX: usize = 20;

/// Nothing is asked: an undo can be undone.
pub(crate) async fn undo(args: &UndoArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let (store, run) = settings::find_run_to_steer(store, &args.run).await?;
    let changes = RunChanges::load(&*store, &run).await?;
    let wanted = match (args.redo, args.turn) {
        (true, _) => Wanted::Redo,
        (false, None) => Wanted::All,
        (false, Some(turn)) => {
            changes.check_turn(turn)?;
            Wanted::FromTurn(turn)
        }
    };
    say_settled(changes.settle()?);
    if args.dry_run {
        return dry_run(args, &changes, &wanted);
    }
    let undone = changes.undo(&*store, &wanted, args.partial).await?;
    match undone {
        Undone::Nothing => nothing(args, &changes)?,
        Undone::Refused(obstacles) => return Err(refused(&changes, &obstacles)),
        Undone::Done {
            changes: made,
            left,
            leftovers,
        } => {
            tell(args, &changes, &made, &left);
            for path in &leftovers.directories {
                let path = shown(path);
                output::stderr(&format!(
                    "note: {path}/ stays, because it holds other files"
                ));
            }
            for path in &leftovers.written {
                let path = shown(path);
                output::stderr(&format!(
                    "note: a program wrote to a file while it was exchanged; what it wrote is in {path}"
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing that is recorded: what is not is said.
fn nothing(args: &UndoArgs, changes: &RunChanges) -> Result<(), CliError> {
    if args.json {
        output::object(&json!({ "runId": changes.run, "done": [], "left": [] }));
    }
    let what = if args.redo { "redo" } else { "undo" };
    output::stderr(&format!(
        "nothing to {what}: the files are as they were before"
    ));
    if !args.redo {
        notes(changes, &changes.files(args.turn)?);
    }
    Ok(())
}

fn dry_run(args: &UndoArgs, changes: &RunChanges, wanted: &Wanted) -> Result<ExitCode, CliError> {
    let plan = changes.plan(wanted)?;
    let (made, obstacles) = plan.map_or_else(Default::default, |it| (it.changes, it.obstacles));
    if !args.partial && !obstacles.is_empty() {
        return Err(refused(changes, &obstacles));
    }
    if made.is_empty() && obstacles.is_empty() {
        nothing(args, changes)?;
        return Ok(ExitCode::SUCCESS);
    }
    show(args, changes, &made, &obstacles);
    Ok(ExitCode::SUCCESS)
}

fn tell(args: &UndoArgs, changes: &RunChanges, made: &[PathChange], left: &[Obstacle]) {
    show(args, changes, made, left);
    let run = short_id(&changes.run);
    let files = made
        .iter()
        .filter(|it| !is_directory(&it.from) && !is_directory(&it.to))
        .count();
    let files = match files {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    match args.redo {
        true => output::stderr(&format!("took the undo of run {run} back: {files}")),
        false => output::stderr(&format!(
            "undid run {run}: {files}; take it back: bonded undo {run} --redo"
        )),
    }
    for (tool, calls) in &changes.unrecorded {
        let tool = shown(Path::new(tool));
        output::stderr(&format!(
            "note: changes by {tool} ({calls}) are not recorded and were not undone"
        ));
    }
}

fn show(args: &UndoArgs, changes: &RunChanges, made: &[PathChange], left: &[Obstacle]) {
    if args.json {
        let done: Vec<Value> = made
            .iter()
            .map(
                |it| json!({ "path": it.path.to_string_lossy(), "change": what(&it.from, &it.to) }),
            )
            .collect();
        let left: Vec<Value> = left
            .iter()
            .map(|it| json!({ "path": it.path().to_string_lossy(), "reason": reason(changes, it) }))
            .collect();
        return output::object(&json!({ "runId": changes.run, "done": done, "left": left }));
    }
    for change in made {
        let what = match what(&change.from, &change.to) {
            "changed" => "restored",
            what => what,
        };
        output::stdout(&format!("{what:<17} {}", shown(&change.path)));
    }
    for obstacle in left {
        let path = shown(obstacle.path());
        output::stdout(&format!(
            "{:<17} {path}: {}",
            "left",
            reason(changes, obstacle)
        ));
    }
}

fn is_directory(node: &Node) -> bool {
    matches!(node, Node::Directory { .. })
}

/// Every file that is in the way, and what to do about it.
fn refused(changes: &RunChanges, obstacles: &[Obstacle]) -> CliError {
    let run = short_id(&changes.run);
    let count = match obstacles.len() {
        1 => "1 file is in the way".to_owned(),
        count => format!("{count} files are in the way"),
    };
    let message = format!("run {run} was not undone: {count}");
    let named = obstacles.iter().take(NAMED_MAX);
    let mut error = CliError::new(Code::UndoRefused, message);
    for obstacle in named {
        let path = shown(obstacle.path());
        error = error.hint(format!("{path}: {}", reason(changes, obstacle)));
    }
    if let Some(more) = obstacles.len().checked_sub(NAMED_MAX).filter(|it| *it > 0) {
        error = error.hint(format!("and {more} more"));
    }
    error.hint(format!(
        "undo everything else: bonded undo {run} --partial; what the run did: bonded diff {run}"
    ))
}

/// Why a file cannot be undone, and what differs.
fn reason(changes: &RunChanges, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::ChangedSince { path, left, found } => since(changes, path, left, found),
        Obstacle::ChangedBetween { .. } => "something else changed it while the run worked".into(),
        Obstacle::NotKept { bytes, .. } => {
            let bytes = grouped(*bytes);
            format!("not undoable: its {bytes} bytes were not kept")
        }
        Obstacle::OtherKind { .. } => {
            "not undoable: it was something else before, such as a directory".into()
        }
        Obstacle::Unreachable { why, .. } => format!("it cannot be reached: {why}"),
        Obstacle::OfAnother { uid, .. } => {
            format!("it belonged to user {uid}, and only that user or root can give it back")
        }
    }
}

fn since(changes: &RunChanges, path: &Path, left: &Node, found: &Node) -> String {
    match (left, found) {
        (_, Node::Absent) => "removed since the run".into(),
        (Node::Absent, _) => "created again since the run removed it".into(),
        (Node::File(left), Node::File(found)) if left.hash == found.hash => {
            let mode = |mode: Option<u32>| mode.map_or("?".into(), |mode| format!("{mode:04o}"));
            let (was, is) = (mode(left.mode), mode(found.mode));
            format!("its mode was changed since the run: {was} to {is}")
        }
        (Node::File(_), Node::File(now)) => match changes.lines_since(path, left) {
            Some((added, removed)) => {
                format!("changed since the run: {added} lines added, {removed} removed")
            }
            None => format!("changed since the run: {} bytes now", grouped(now.bytes)),
        },
        (_, Node::File(_)) => "replaced by a file since the run".into(),
        (_, Node::Directory { .. }) => "replaced by a directory since the run".into(),
        (_, Node::Link { .. }) => "replaced by a link since the run".into(),
        (_, Node::Other) => "replaced by something else since the run".into(),
    }
}
