//! How a run ended, for people: outcome and figures, or cause and the next command.

use std::collections::BTreeSet;

use bonded_host::RunResult;
use bonded_kernel::{AttemptFailed, Entry, Event, FailureClass, Outcome, Run, TerminationKind};
use serde_json::Value;

use super::layout::{self, dollars};
use super::live::seconds;
use crate::style::{Look, Paint, Styled, Symbol, prose_columns, wrapped};
use bonded_host::shapes::text::{brief, counted, grouped, short_id};

/// Of a reason or a failure; the log has all of it.
const REASON_CHARS: usize = 400;

/// What is known of a run that has ended.
pub(crate) struct Ending<'a> {
    run: &'a Run,
    result: &'a RunResult,
    /// The files that its tools have written.
    files: usize,
    /// How often its provider failed in the same way before it ended.
    attempts: usize,
}

impl<'a> Ending<'a> {
    pub(crate) fn of(run: &'a Run, result: &'a RunResult, entries: &[Entry]) -> Self {
        let is_goal = |entry: &Entry| matches!(entry.event, Event::GoalGiven(_));
        let begun = entries.iter().rposition(is_goal).unwrap_or(0);
        let entries = &entries[begun..];
        Self {
            run,
            result,
            files: files_written(entries).len(),
            attempts: last_attempts(entries),
        }
    }

    /// Turns, time, tokens, cost and files, as far as they say something: those of the goal that it ended with. Tokens that may have been used beside those
    /// that were counted stand apart.
    pub(crate) fn figures(&self) -> Vec<String> {
        let (run, result) = (self.run, self.result);
        let before = run.spend_before();
        let ((used, paid), (used_before, paid_before)) = (result.spend.used(), before.used());
        let tokens = used.total().saturating_sub(used_before.total());
        let paid = paid.minus(paid_before);
        let elapsed_ms = result.elapsed_ms.saturating_sub(run.elapsed_before_ms());
        let elapsed = std::time::Duration::from_millis(elapsed_ms);
        let turns = result.turns.saturating_sub(run.turns_before());
        let mut figures = vec![counted(turns as usize, "turn"), seconds(elapsed)];
        let held = result.spend.held.usage.total();
        let held = held.saturating_sub(before.held.usage.total());
        let more = match held {
            0 => String::new(),
            held => format!(" (up to {} more)", grouped(held)),
        };
        figures.push(format!("{} tokens{more}", grouped(tokens)));
        if paid.0 > 0 {
            figures.push(dollars(paid));
        }
        if self.files > 0 {
            figures.push(format!("{} edited", counted(self.files, "file")));
        }
        figures
    }

    /// The word for how it ended.
    fn outcome(&self) -> &'static str {
        match self.result.termination {
            TerminationKind::Done => "done",
            TerminationKind::Blocked => "blocked",
            TerminationKind::Cancelled => "cancelled",
            TerminationKind::Fatal => "failed",
            TerminationKind::TurnsExhausted
            | TerminationKind::NoProgress
            | TerminationKind::BudgetExhausted
            | TerminationKind::TimedOut
            | TerminationKind::Denied => "stopped",
        }
    }

    /// Why there is no answer. What a provider failed with last is named unless the reason says it already.
    pub(crate) fn cause(&self) -> String {
        let reason = brief(&self.result.reason, REASON_CHARS);
        let mut cause = match self.result.termination {
            TerminationKind::Done | TerminationKind::Blocked => reason,
            TerminationKind::Cancelled if reason.starts_with("cancelled") => reason,
            TerminationKind::Cancelled => format!("cancelled: {reason}"),
            TerminationKind::Fatal => format!("failed: {reason}"),
            TerminationKind::TurnsExhausted => {
                format!("stopped: turn limit. {}", sentence(&reason))
            }
            TerminationKind::NoProgress => format!("stopped: no progress. {}", sentence(&reason)),
            TerminationKind::BudgetExhausted => format!("stopped: budget. {}", sentence(&reason)),
            TerminationKind::TimedOut => self.out_of_time(),
            TerminationKind::Denied => format!("stopped: denied. {}", sentence(&reason)),
        };
        if let Some(failure) = &self.result.last_failure {
            let (_, message) = failure.split_once(": ").unwrap_or_default();
            if !self.result.reason.contains(message) {
                let failure = brief(failure, REASON_CHARS);
                cause.push_str(&format!("; the last failure was {failure}"));
            }
        }
        if self.attempts > 1 {
            cause.push_str(&format!(" ({} attempts)", self.attempts));
        }
        cause
    }

    fn out_of_time(&self) -> String {
        if self.run.goals() > 1 {
            return format!("stopped: time limit. {}", sentence(&self.result.reason));
        }
        let limit = self.run.config().limits.elapsed_ms_max.unwrap_or_default();
        let limit = seconds(std::time::Duration::from_millis(limit));
        format!("stopped: time limit of {limit} reached")
    }

    /// What a person may do about it.
    fn next(&self) -> Option<String> {
        let (id, turn) = (short_id(&self.result.run), self.result.turns.max(1));
        let fork = format!("bonded fork {id} --turn {turn}");
        match self.result.termination {
            TerminationKind::Done | TerminationKind::Blocked => None,
            TerminationKind::Denied | TerminationKind::BudgetExhausted => None,
            TerminationKind::NoProgress => Some(format!("Try another model: {fork} -m MODEL")),
            TerminationKind::TurnsExhausted => Some(self.go_on(id, &fork)),
            TerminationKind::Fatal | TerminationKind::TimedOut | TerminationKind::Cancelled => {
                Some(format!("Start again from turn {turn}: {fork}"))
            }
        }
    }

    /// A run that takes another goal goes on from where it stands.
    fn go_on(&self, id: &str, fork: &str) -> String {
        let turns = self.run.limits_of_goal().turns_max;
        match self.run.takes_goal() {
            Ok(()) => {
                format!("Continue: bonded run --continue {id} --max-turns {turns} \"continue\"")
            }
            Err(_) => format!("Go further: {fork} --max-turns {}", turns.saturating_mul(2)),
        }
    }

    /// For a terminal that has shown the run, with the command that shows more of it.
    pub(crate) fn rows(&self, terminal: usize, look: &Look) -> Vec<Styled> {
        let id = short_id(&self.result.run);
        let details = [id.to_owned(), format!("details: bonded show {id}")];
        self.rows_with(&details, terminal, look)
    }

    /// For a terminal that shows the run already.
    pub(crate) fn last_rows(&self, terminal: usize, look: &Look) -> Vec<Styled> {
        self.rows_with(&[], terminal, look)
    }

    /// Fields of the last line come with the figures of a run that failed.
    fn rows_with(&self, last: &[String], terminal: usize, look: &Look) -> Vec<Styled> {
        let figures = self.figures();
        let is_done = self.result.is_success();
        let mut rows = vec![];
        let mut below: Vec<(Paint, String)> = vec![];
        if is_done {
            let figures: Vec<_> = figures.into_iter().map(|it| (Paint::Plain, it)).collect();
            let first = Styled::new()
                .with(Paint::Green, look.symbol(Symbol::Good))
                .text(" done");
            rows.extend(layout::fields(first, &figures, terminal, look));
        } else {
            rows.extend(self.failed_rows(terminal, look));
            below.extend(figures.into_iter().map(|it| (Paint::Dim, it)));
        }
        let mut last = last.iter().map(|it| (Paint::Dim, it.clone()));
        let mut fields: Vec<(Paint, String)> = last.next().into_iter().collect();
        fields.append(&mut below);
        fields.extend(last);
        if !fields.is_empty() {
            let first = Styled::new().text("  ").dim(&fields.remove(0).1);
            rows.extend(layout::fields(first, &fields, terminal, look));
        }
        rows
    }

    fn failed_rows(&self, terminal: usize, look: &Look) -> Vec<Styled> {
        let symbol = match self.result.termination {
            TerminationKind::Cancelled => Symbol::Stopped,
            TerminationKind::Done
            | TerminationKind::Blocked
            | TerminationKind::TurnsExhausted
            | TerminationKind::NoProgress
            | TerminationKind::Fatal
            | TerminationKind::BudgetExhausted
            | TerminationKind::TimedOut
            | TerminationKind::Denied => Symbol::Bad,
        };
        let mark = look.symbol(symbol);
        let room = prose_columns(terminal).saturating_sub(mark.chars().count() + 1);
        let mut rows: Vec<Styled> = vec![];
        for row in wrapped(&self.cause(), room) {
            rows.push(match rows.is_empty() {
                true => Styled::new()
                    .with(super::narration::paint_of(symbol), mark)
                    .text(" ")
                    .text(&row),
                false => Styled::new().text("  ").text(&row),
            });
        }
        rows.extend(self.next().map(|next| Styled::new().text("  ").text(&next)));
        rows
    }

    /// In words: the figures of every run, and then, where there is no answer, the cause.
    pub(crate) fn words(&self) -> (String, Option<String>) {
        let id = short_id(&self.result.run);
        let (outcome, figures) = (self.outcome(), self.figures().join(", "));
        let cause = (!self.result.is_success()).then(|| self.failure_words());
        (format!("run {id} {outcome}: {figures}"), cause)
    }

    /// Why there is no answer, in one line.
    pub(crate) fn failure_words(&self) -> String {
        let id = short_id(&self.result.run);
        let next = self.next().map(|next| format!(" ({next})"));
        format!("run {id}: {}{}", self.cause(), next.unwrap_or_default())
    }
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// By the tools that write files, where they changed something. What commands did is not known.
fn files_written(entries: &[Entry]) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for entry in entries {
        let Event::ToolFinished(finished) = &entry.event else {
            continue;
        };
        let writes = ["edit", "write", "append"].contains(&&*finished.tool);
        if !writes || finished.outcome != Outcome::Ok {
            continue;
        }
        let output: Value = serde_json::from_str(&finished.output).unwrap_or_default();
        if let (Some(path), false) = (output["path"].as_str(), output["unchanged"] == true) {
            files.insert(path.to_owned());
        }
    }
    files
}

/// How often the same failure happened since a provider answered last.
fn last_attempts(entries: &[Entry]) -> usize {
    let mut last: Option<&AttemptFailed> = None;
    let mut count = 0;
    for entry in entries.iter().rev() {
        if let Event::AttemptFailed(failed) = &entry.event {
            if failed.class == FailureClass::Interrupted {
                continue;
            }
            let last = last.get_or_insert(failed);
            let is_same = (last.class, &last.message) == (failed.class, &failed.message);
            count += usize::from(is_same);
        } else if matches!(
            entry.event,
            Event::DecisionMade(_) | Event::ReplyRejected { .. }
        ) {
            break;
        }
    }
    count
}
