//! What a person is shown of a call that waits.
//!
//! A file tool is shown as the diff that it would make, a command as it would run, anything else by its arguments.
//! What is shown is what would happen, so that it is compared with what would happen when the answer comes. All of it
//! was written by a model: every letter can be seen, and what is left out is said and must be looked at first.

use bonded_host::letters::written_out;
use bonded_host::shapes::text::{counted, grouped};
use bonded_host::shapes::waiting::change::{DiffKind, DiffLine, FileChange, LineLength, change_of};
use bonded_host::shapes::waiting::command::{CommandCall, CommandTerms, command_of};
use bonded_host::shapes::waiting::note_of;
use bonded_kernel::{Run, WaitingCall};
use serde_json::Value;

use crate::style::{self, Paint, Styled, Symbol, columns};

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
pub(crate) enum Proposal {
    /// A file becomes another.
    Change(FileChange),
    /// The call cannot succeed, for this reason; with its arguments.
    Failure(String, String),
    /// A command runs.
    Command(CommandCall, CommandTerms),
    /// Anything else, by its arguments.
    Arguments(String),
}

/// A line on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallLine {
    pub(crate) paint: Paint,
    pub(crate) text: String,
    is_cut: bool,
}

impl CallLine {
    fn new(paint: Paint, text: impl Into<String>) -> Self {
        Self {
            paint,
            text: text.into(),
            is_cut: false,
        }
    }
}

/// A call as it is looked at.
#[derive(Clone, Debug)]
pub(crate) struct CallView {
    pub(crate) subject: Proposal,
    pub(crate) tool: String,
    turn: u32,
    why: String,
    agent: Option<String>,
    note: Option<&'static str>,
}

impl CallView {
    /// As it is at this moment. `is_called` says that the run is that of an agent which another run called.
    pub(crate) fn of(run: &Run, call: &WaitingCall, is_called: bool) -> Self {
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
    pub(crate) fn is_diff(&self) -> bool {
        matches!(self.subject, Proposal::Change(_))
    }

    /// What it is about, in a few words.
    pub(crate) fn title(&self) -> String {
        match &self.subject {
            Proposal::Change(change) => format!("{} {}", self.tool, written_out(change.path())),
            Proposal::Failure(..) | Proposal::Command(..) | Proposal::Arguments(_) => {
                self.tool.clone()
            }
        }
    }

    /// The first line: the call on the left, what asked on the right.
    pub(crate) fn header(&self, terminal: usize, look: &style::Look) -> Vec<Styled> {
        let mut facts = vec![];
        if let Proposal::Change(change) = &self.subject {
            let (added, removed) = change.counts();
            facts.push(format!("+{added} -{removed}"));
        }
        facts.extend(self.agent.iter().map(|agent| format!("agent {agent}")));
        let rule = self.why.strip_prefix("the policy asks for ");
        facts.extend(rule.map(|rule| format!("asked by --ask {rule}")));
        facts.push(format!("turn {}", self.turn));
        let right = facts.join(&look.separator());
        let mark = Styled::new().with(Paint::Yellow, look.symbol(Symbol::Ask));
        let left = mark.text(" ").text(&self.title());
        let room = terminal.min(COLUMNS_MAX);
        let used = left.columns() + columns(&right);
        let mut header = match terminal >= COLUMNS_MIN && used + 2 <= room {
            true => vec![left.gap(room - used).dim(&right)],
            false => vec![left, Styled::new().text("  ").dim(&right)],
        };
        if rule.is_none() {
            header.push(Styled::new().dim(&format!("  asked because {}", self.why)));
        }
        header
    }

    /// As many rows as a person looks at unasked, and whether that is all of it.
    pub(crate) fn rows(&self, look: &style::Look) -> (Vec<CallLine>, bool) {
        let mut rows = self.all(LineLength::Readable);
        let left_out = rows.len().saturating_sub(ROWS_MAX);
        let is_cut = left_out > 0 || rows.iter().any(|row| row.is_cut);
        rows.truncate(ROWS_MAX);
        if left_out > 0 {
            let more = counted(left_out, "more line");
            let cut = look.symbol(Symbol::Ellipsis);
            let text = format!("{cut} {more}; press d to see all");
            rows.push(CallLine::new(Paint::Dim, text));
        }
        rows.extend(self.terms(look));
        (rows, !is_cut)
    }

    /// Everything, with nothing left out.
    pub(crate) fn whole(&self, look: &style::Look) -> Vec<CallLine> {
        let mut rows = self.all(LineLength::Whole);
        rows.extend(self.terms(look));
        rows
    }

    fn all(&self, length: LineLength) -> Vec<CallLine> {
        let lines = |text: &str, first: &str, next: &str| lines(text, (first, next), length);
        match &self.subject {
            Proposal::Change(change) => change.lines(length).into_iter().map(diff_row).collect(),
            Proposal::Command(command, _) => {
                let mut rows = lines(&spelled(command), "$ ", "> ");
                rows.iter_mut().for_each(|row| row.paint = Paint::Bold);
                if let Some(stdin) = &command.stdin {
                    rows.extend(lines(stdin, "< ", "< "));
                }
                rows
            }
            Proposal::Failure(_, arguments) | Proposal::Arguments(arguments) => {
                lines(arguments, "", "")
            }
        }
    }

    /// What holds for the call besides what it says itself.
    fn terms(&self, look: &style::Look) -> Vec<CallLine> {
        let mut rows = vec![];
        match &self.subject {
            Proposal::Failure(why, _) => {
                rows.push(CallLine::new(
                    Paint::Yellow,
                    format!("this call will fail: {why}"),
                ));
            }
            Proposal::Command(command, terms) => {
                rows.push(CallLine::new(Paint::Dim, held(command, terms, look)));
            }
            Proposal::Change(_) | Proposal::Arguments(_) => {}
        }
        rows.extend(self.note.map(|note| CallLine::new(Paint::Yellow, note)));
        rows
    }
}

fn subject(run: &Run, call: &WaitingCall) -> Proposal {
    let pretty = || match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
        Err(_) => call.arguments.to_string(),
    };
    if let Some((command, terms)) = command_of(run, call) {
        return Proposal::Command(command, terms);
    }
    match change_of(run, call) {
        Some(Ok(change)) => Proposal::Change(change),
        Some(Err(why)) => Proposal::Failure(why, pretty()),
        None => Proposal::Arguments(pretty()),
    }
}

fn diff_row(line: DiffLine) -> CallLine {
    CallLine {
        paint: match line.kind {
            DiffKind::Hunk | DiffKind::Note => Paint::Dim,
            DiffKind::Same => Paint::Plain,
            DiffKind::Removed => Paint::Red,
            DiffKind::Added => Paint::Green,
        },
        text: line.text,
        is_cut: line.is_cut,
    }
}

/// The lines of a text with every letter to be seen, and a mark before the first and each that follows.
fn lines(text: &str, (first, next): (&str, &str), length: LineLength) -> Vec<CallLine> {
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
        CallLine {
            paint: Paint::Plain,
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

fn held(command: &CommandCall, terms: &CommandTerms, look: &style::Look) -> String {
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
    let shell = command.args.as_ref().map(|_| "without a shell".to_owned());
    let fields = std::iter::once(format!("in {dir}")).chain(shell).chain([
        format!("sandbox {level}{as_far}, {network}"),
        format!("at most {most}"),
    ]);
    let fields: Vec<String> = fields.collect();
    fields.join(&look.separator())
}

fn lasting(ms: u64) -> String {
    match (ms / 60_000, ms / 1_000 % 60, ms % 1_000) {
        (0, 0, ms) => format!("{ms} ms"),
        (0, s, _) => format!("{s} s"),
        (min, 0, _) => format!("{min} min"),
        (min, s, _) => format!("{min} min {s} s"),
    }
}
