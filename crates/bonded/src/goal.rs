//! Where a goal comes from: the argument itself, stdin, a file, or the lines of one.
//!
//! Whatever the source, a goal is UTF-8, not empty and bounded, and is read to its end before anything else
//! happens. With lines, ids are fixed too, because they decide whether a goal is begun or gone on with.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use bonded_host::regular;
use bonded_kernel::{Hash, RunId};
use serde::Deserialize;

use crate::error::{CliError, Code};

/// A goal is sent to the model with every request; what is larger belongs into a file that it can read.
pub(crate) const GOAL_BYTES_MAX: u64 = 1 << 20;
/// All goals of a file are held at once.
const GOALS_BYTES_MAX: u64 = 1 << 30;

/// `-` is stdin and `@` leads to a file; a goal that is `-`, or begins with `@`, must come from one of them.
pub(crate) fn read(argument: &str) -> Result<String, CliError> {
    let text = match argument {
        "-" => bounded(io::stdin().lock(), "stdin")?,
        _ => match argument.strip_prefix('@') {
            Some(path) => bounded(open(Path::new(path))?, path)?,
            None => argument.to_owned(),
        },
    };
    checked(text, "the goal")
}

/// The goal where none is given: what is piped in. At a terminal nobody waits for somebody to type it.
pub(crate) fn read_stdin() -> Result<String, CliError> {
    if io::stdin().is_terminal() {
        return Err(CliError::new(Code::Usage, "there is no goal")
            .hint("say what to do: bonded run \"fix the failing test\""));
    }
    read("-")
}

fn open(path: &Path) -> Result<File, CliError> {
    File::open(path).map_err(|error| {
        CliError::new(
            Code::BadGoal,
            format!("cannot read {}: {error}", path.display()),
        )
    })
}

/// One byte more than the most is read: what is endless ends there.
fn bounded(source: impl Read, name: &str) -> Result<String, CliError> {
    let mut bytes = vec![];
    source
        .take(GOAL_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(Code::BadGoal, format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > GOAL_BYTES_MAX {
        return Err(too_large(name));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the goal from {name} is not UTF-8: byte {at} does not belong there");
        CliError::new(Code::BadGoal, message)
    })
}

fn too_large(name: &str) -> CliError {
    let message =
        format!("{name} is larger than {GOAL_BYTES_MAX} bytes, the most that a goal may have");
    CliError::new(Code::BadGoal, message)
        .hint("put the material in a file of the working directory and name it in the goal")
}

/// Arguments and lines are bounded as well: they are sent with every request too.
fn checked(text: String, name: &str) -> Result<String, CliError> {
    if text.trim().is_empty() {
        return Err(CliError::new(Code::BadGoal, format!("{name} is empty"))
            .hint("say what to do: bonded run \"fix the failing test\""));
    }
    if text.len() as u64 > GOAL_BYTES_MAX {
        return Err(too_large(name));
    }
    Ok(text)
}

/// One line of a goal file.
/// A goal alone, or one with an id.
#[derive(Deserialize)]
#[serde(untagged)]
enum GoalLine {
    Text(String),
    Object(LineObject),
}

/// Unknown fields are refused: a slip in `id` would otherwise begin the run again under another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineObject {
    goal: String,
    id: Option<String>,
}

/// Reads a goal file whole before anything runs, so that a mistake in line 900 costs nothing. The id of
/// a line that names none follows from what it says and where: the same file gives the same ids.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<(RunId, String)>, CliError> {
    let unreadable = |error: io::Error| {
        let message = format!("cannot read {}: {error}", path.display());
        CliError::new(Code::BadGoal, message)
    };
    let text = regular::text_of(open(path)?, GOALS_BYTES_MAX).map_err(unreadable)?;
    let mut goals = vec![];
    let mut ids = std::collections::BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{} line {}", path.display(), index + 1);
        let bad = |why: String| CliError::new(Code::BadGoal, format!("{place}: {why}"));
        if line.trim().is_empty() {
            continue;
        }
        let parsed: GoalLine = serde_json::from_str(line)
            .map_err(|_| bad("not a JSON string and not {\"goal\": ..., \"id\": ...}".into()))?;
        let (goal, id) = match parsed {
            GoalLine::Text(goal) => (goal, None),
            GoalLine::Object(object) => (object.goal, object.id),
        };
        let goal = checked(goal, &place)?;
        let id = id.unwrap_or_else(|| derived_id(index, &goal));
        let id = RunId::new(&id).map_err(|error| bad(error.to_string()))?;
        if !ids.insert(id.clone()) {
            return Err(bad(format!(
                "the id {id} is already used in an earlier line"
            )));
        }
        goals.push((id, goal));
    }
    Ok(goals)
}

/// The place is part of it, so that the same goal twice is two runs; a line that is changed is a new run, and the
/// others stay.
fn derived_id(index: usize, goal: &str) -> String {
    let hash = Hash::of(goal.as_bytes()).to_string();
    format!("each-{}-{}", index + 1, &hash[..12])
}
