//! What a person is shown of a call that waits.
//!
//! A file tool is shown as the diff that it would make, a command as it would run, anything else by its arguments.
//! What is shown is what would happen, so that it is compared with what would happen when the answer comes. All of it
//! was written by a model: every letter can be seen, and what is left out is said and must be looked at first.

use bonded_host::letters::written_out;
use bonded_host::shapes::text::{counted, grouped};
use bonded_host::shapes::waiting::change::{Change, DiffKind, DiffLine, LineLength, change_of};
use bonded_host::shapes::waiting::command::{CommandCall, CommandTerms, command_of};
use bonded_host::shapes::waiting::note_of;
use bonded_kernel::{Run, WaitingCall};
use serde_json::Value;

use super::paint::{Ink, Paint};
use crate::render::style;

/// A person looks at so many unasked.
const ROWS_MAX: usize = 20;
/// Nobody reads a longer line of a command or of arguments.
const LINE_CHARS_MAX: usize = 2_000;
/// A narrower screen has no right column.
const COLUMNS_MIN: usize = 60;
/// A line that is wider is hard to read across.
const COLUMNS_MAX: usize = 100;

/// What would happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A file becomes another.
    Change(Change),
    /// The call cannot succeed, for this reason; with its arguments.
    Failure(String, String),
    /// A command runs.
    Command(CommandCall, CommandTerms),
    /// Anything else, by its arguments.
    Arguments(String),
}

/// A line on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) ink: Ink,
    pub(super) text: String,
    is_cut: bool,
}

impl Row {
    fn new(ink: Ink, text: impl Into<String>) -> Self {
        Self {
            ink,
            text: text.into(),
            is_cut: false,
        }
    }
}

/// A call as it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) subject: Subject,
    pub(super) tool: String,
    turn: u32,
    why: String,
    agent: Option<String>,
    note: Option<&'static str>,
}

impl Look {
    /// As it is at this moment. `is_called` says that the run is that of an agent which another run called.
    pub(super) fn of(run: &Run, call: &WaitingCall, is_called: bool) -> Self {
        let agent = run.config().agent.as_ref().filter(|_| is_called);
        Self {
            subject: subject(run, call),
            tool: written_out(&call.tool),
            turn: call.turn,
            why: written_out(&call.why),
            agent: agent.map(|agent| written_out(&agent.name)),
            note: note_of(call),
        }
    }

    /// Whether a diff is shown.
    pub(super) fn is_diff(&self) -> bool {
        matches!(self.subject, Subject::Change(_))
    }

    /// What it is about, in a few words.
    pub(super) fn title(&self) -> String {
        match &self.subject {
            Subject::Change(change) => format!("{} {}", self.tool, written_out(change.path())),
            Subject::Failure(..) | Subject::Command(..) | Subject::Arguments(_) => {
                self.tool.clone()
            }
        }
    }

    /// The first line: the call on the left, what asked on the right.
    pub(super) fn header(&self, columns: usize, paint: Paint) -> String {
        let mut facts = vec![];
        if let Subject::Change(change) = &self.subject {
            let (added, removed) = change.counts();
            facts.push(format!("+{added} -{removed}"));
        }
        facts.extend(self.agent.iter().map(|agent| format!("agent {agent}")));
        let rule = self.why.strip_prefix("the policy asks for ");
        facts.extend(rule.map(|rule| format!("asked by --ask {rule}")));
        facts.push(format!("turn {}", self.turn));
        let (left, right) = (self.title(), paint.words(&facts.join(" · ")));
        let room = columns.min(COLUMNS_MAX);
        let used = 2 + width(&left) + width(&right);
        let mark = paint.of(Ink::Yellow, "?");
        let mut header = match columns >= COLUMNS_MIN && used + 2 <= room {
            true => {
                let gap = " ".repeat(room - used);
                format!("{mark} {left}{gap}{}\n", paint.of(Ink::Dim, &right))
            }
            false => format!("{mark} {left}\n  {}\n", paint.of(Ink::Dim, &right)),
        };
        if rule.is_none() {
            let why = format!("  asked because {}", self.why);
            header.push_str(&format!("{}\n", paint.of(Ink::Dim, &why)));
        }
        header
    }

    /// As many rows as a person looks at unasked, and whether that is all of it.
    pub(super) fn rows(&self) -> (Vec<Row>, bool) {
        let mut rows = self.all(LineLength::Readable);
        let left_out = rows.len().saturating_sub(ROWS_MAX);
        let is_cut = left_out > 0 || rows.iter().any(|row| row.is_cut);
        rows.truncate(ROWS_MAX);
        if left_out > 0 {
            let more = counted(left_out, "more line");
            rows.push(Row::new(Ink::Dim, format!("… {more}; press d to see all")));
        }
        rows.extend(self.terms());
        (rows, !is_cut)
    }

    /// Everything, with nothing left out.
    pub(super) fn whole(&self) -> Vec<Row> {
        let mut rows = self.all(LineLength::Whole);
        rows.extend(self.terms());
        rows
    }

    fn all(&self, length: LineLength) -> Vec<Row> {
        let lines = |text: &str, first: &str, next: &str| lines(text, (first, next), length);
        match &self.subject {
            Subject::Change(change) => change.lines(length).into_iter().map(diff_row).collect(),
            Subject::Command(command, _) => {
                let mut rows = lines(&spelled(command), "$ ", "> ");
                rows.iter_mut().for_each(|row| row.ink = Ink::Bold);
                if let Some(stdin) = &command.stdin {
                    rows.extend(lines(stdin, "< ", "< "));
                }
                rows
            }
            Subject::Failure(_, arguments) | Subject::Arguments(arguments) => {
                lines(arguments, "", "")
            }
        }
    }

    /// What holds for the call besides what it says itself.
    fn terms(&self) -> Vec<Row> {
        let mut rows = vec![];
        match &self.subject {
            Subject::Failure(why, _) => {
                rows.push(Row::new(Ink::Yellow, format!("this call will fail: {why}")));
            }
            Subject::Command(command, terms) => rows.push(Row::new(Ink::Dim, held(command, terms))),
            Subject::Change(_) | Subject::Arguments(_) => {}
        }
        rows.extend(self.note.map(|note| Row::new(Ink::Yellow, note)));
        rows
    }
}

fn subject(run: &Run, call: &WaitingCall) -> Subject {
    let pretty = || match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
        Err(_) => call.arguments.to_string(),
    };
    if let Some((command, terms)) = command_of(run, call) {
        return Subject::Command(command, terms);
    }
    match change_of(run, call) {
        Some(Ok(change)) => Subject::Change(change),
        Some(Err(why)) => Subject::Failure(why, pretty()),
        None => Subject::Arguments(pretty()),
    }
}

fn diff_row(line: DiffLine) -> Row {
    Row {
        ink: match line.kind {
            DiffKind::Hunk | DiffKind::Note => Ink::Dim,
            DiffKind::Same => Ink::Plain,
            DiffKind::Removed => Ink::Red,
            DiffKind::Added => Ink::Green,
        },
        text: line.text,
        is_cut: line.is_cut,
    }
}

/// The lines of a text with every letter to be seen, and a mark before the first and each that follows.
fn lines(text: &str, (first, next): (&str, &str), length: LineLength) -> Vec<Row> {
    let lines = text.split('\n').enumerate();
    let row = |(at, line): (usize, &str)| {
        let mark = if at == 0 { first } else { next };
        let chars = line.chars().count();
        let is_cut = length == LineLength::Readable && chars > LINE_CHARS_MAX;
        let kept: String = match is_cut {
            true => line.chars().take(LINE_CHARS_MAX).collect(),
            false => line.to_owned(),
        };
        let more = match is_cut {
            true => format!("… ({} characters)", grouped(chars as u64)),
            false => String::new(),
        };
        Row {
            ink: Ink::Plain,
            text: format!("{mark}{}{more}", written_out(&kept)),
            is_cut,
        }
    };
    lines.map(row).collect()
}

/// The line for the shell as it is; a program with its arguments as a shell would have to be told.
fn spelled(command: &CommandCall) -> String {
    let Some(args) = &command.args else {
        return command.command.clone();
    };
    let words = std::iter::once(&command.command).chain(args);
    let words: Vec<String> = words.map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&b);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn held(command: &CommandCall, terms: &CommandTerms) -> String {
    let mut dir = terms.dir.clone();
    if let Some(home) = std::env::home_dir()
        && let Ok(below) = std::path::Path::new(&terms.dir).strip_prefix(&home)
    {
        let below = below.to_string_lossy();
        dir = format!("~/{below}").trim_end_matches('/').to_owned();
    }
    if let Some(cwd) = command.cwd.as_deref().filter(|cwd| *cwd != ".") {
        dir = format!("{dir}/{cwd}");
    }
    let shell = match &command.args {
        Some(_) => " · without a shell",
        None => "",
    };
    let level = terms.level.as_str();
    let as_far = match terms.is_best_effort {
        true => " as far as this machine can",
        false => "",
    };
    let network = match terms.has_network {
        true => "network",
        false => "no network",
    };
    let most = lasting(terms.timeout_ms);
    let dir = written_out(&dir);
    format!("in {dir}{shell} · sandbox {level}{as_far}, {network} · at most {most}")
}

fn lasting(ms: u64) -> String {
    match (ms / 60_000, ms / 1_000 % 60, ms % 1_000) {
        (0, 0, ms) => format!("{ms} ms"),
        (0, s, _) => format!("{s} s"),
        (min, 0, _) => format!("{min} min"),
        (min, s, _) => format!("{min} min {s} s"),
    }
}

/// Columns, as far as they can be known.
pub(super) fn width(text: &str) -> usize {
    style::columns(text)
}
