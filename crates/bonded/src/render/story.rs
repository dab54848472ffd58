//! A run that is looked at later, at a terminal: the same lines as while it was driven, with the turns before them.

use bonded_host::Status;
use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::{brief, grouped, short_id};
use bonded_kernel::{Entry, Event, Run, RunId};

use super::ending::Ending;
use super::failures::{FailureTiming, Failures};
use super::layout;
use super::narration::{Narrator, Passage, Remark};
use super::run_table::{minute, state};
use super::terminal::home_short;
use crate::style::{Look, Paint, Styled, Symbol, columns};
use bonded_host::RunResult;

/// The number of the turn, and a space.
const TURN_COLUMNS: usize = 4;
/// The tokens of a turn at the right, where there is room for them.
const TOKEN_COLUMNS: usize = 9;
const TOKENS_MIN: usize = 72;

/// Tells the entries of a run in order.
pub(crate) struct Story {
    look: Look,
    columns: usize,
    narrator: Narrator,
    failures: Failures,
    /// The turn whose number was shown last.
    turn: u32,
    /// Of the turn, until they are shown.
    tokens: Option<u64>,
}

impl Story {
    pub(crate) fn new(look: Look, columns: usize) -> Self {
        Self {
            look,
            columns,
            narrator: Narrator::default(),
            failures: Failures::new(FailureTiming::Once),
            turn: 0,
            tokens: None,
        }
    }

    /// Which run, how it stands, what it was for, and what it was given.
    pub(crate) fn heading(&self, run: &RunId, status: Status, entries: &[Entry]) -> Vec<Styled> {
        let started = entries.first().and_then(|entry| entry.event.started());
        let (paint, word) = state(Some(status));
        let goal = started.map(|it| brief(&it.goal, 300)).unwrap_or_default();
        let separator = self.look.separator();
        let first = Styled::new()
            .with(Paint::Bold, short_id(run))
            .text(" ")
            .with(paint, word)
            .dim(&separator)
            .with(Paint::Bold, &goal)
            .cut(self.columns, &self.look);
        let mut parts = vec![];
        if let (Some(started), Some(entry)) = (started, entries.first()) {
            let targets = started.config.targets.iter();
            parts.extend(targets.map(|it| format!("{}/{}", it.provider, it.model)));
            parts.push(home_short(&started.config.dir));
            parts.push(minute(entry.at));
        }
        let second = Styled::new().dim(&parts.join(&separator));
        vec![first, second.cut(self.columns, &self.look)]
    }

    pub(crate) fn lines(&mut self, entry: &Entry) -> Vec<Styled> {
        if let Activity::Answered(Some(usage)) = Activity::of(entry) {
            self.tokens = Some(usage.total());
        }
        let failures = self.failures.observe(entry).into_iter().map(|failure| {
            let times = match failure.count {
                1 => String::new(),
                count => format!(" {}{count}", self.look.symbol(Symbol::Times)),
            };
            Passage::Remark(Remark {
                symbol: Symbol::Warning,
                text: format!("{}{times}", failure.text),
            })
        });
        let mut passages: Vec<Passage> = failures.collect();
        passages.extend(self.narrator.narrate(entry));
        let mut lines = vec![];
        for passage in &passages {
            lines.extend(self.numbered(passage, entry.turn));
        }
        lines
    }

    /// The number stands before the first line of its turn, and the tokens after it.
    fn numbered(&mut self, passage: &Passage, turn: u32) -> Vec<Styled> {
        let has_tokens = self.columns >= TOKENS_MIN;
        let beside = TURN_COLUMNS + if has_tokens { TOKEN_COLUMNS } else { 0 };
        let rows = layout::rows(passage, 1, self.columns.saturating_sub(beside), &self.look);
        let mut lines = vec![];
        for row in rows {
            let number = match turn != self.turn && turn > 0 {
                true => format!("{turn:>3} "),
                false => " ".repeat(TURN_COLUMNS),
            };
            self.turn = turn;
            let line = Styled::new().text(&number).and(row);
            let is_call = matches!(passage, Passage::Call(_));
            lines.push(match self.tokens.take_if(|_| is_call && has_tokens) {
                Some(tokens) => {
                    let tokens = format!("{:>TOKEN_COLUMNS$}", grouped(tokens));
                    let at = self
                        .columns
                        .min(100 + beside)
                        .saturating_sub(TOKEN_COLUMNS + 1);
                    let gap = at.saturating_sub(line.columns());
                    debug_assert!(columns(&tokens) >= TOKEN_COLUMNS);
                    line.gap(gap).dim(&tokens)
                }
                None => line,
            });
        }
        lines
    }

    /// How it ended, or what goes on with it.
    pub(crate) fn end(&self, run: &RunId, status: Status, entries: &[Entry]) -> Vec<Styled> {
        let replayed: Option<Run> = bonded_kernel::replay(entries).ok();
        let result = replayed.as_ref().and_then(RunResult::of);
        if let (Some(run), Some(result)) = (&replayed, &result) {
            let mut rows = vec![];
            if result.is_success() {
                let answer = Passage::Prose(result.reason.clone());
                rows.extend(layout::rows(&answer, 1, self.columns, &self.look));
            }
            rows.extend(Ending::of(run, result, entries).last_rows(self.columns, &self.look));
            return rows;
        }
        let id = short_id(run);
        let next = match (status, plan_of(entries)) {
            (Status::Interrupted, Some(plan)) => format!("Resume: bonded work --resume {plan}"),
            (Status::Interrupted, None) => format!("Resume: bonded resume {id}"),
            (Status::AwaitingReview, _) => {
                format!("Decide: bonded approve {id}, or bonded deny {id}")
            }
            (Status::AwaitingClient, _) => {
                format!("Waits for its client; cancel: bonded cancel {id}")
            }
            (Status::Running | Status::Queued, _) => format!("Watch: bonded show {id} --follow"),
            (
                Status::Succeeded
                | Status::Failed
                | Status::TimedOut
                | Status::Cancelled
                | Status::Denied,
                _,
            ) => return vec![],
        };
        vec![Styled::new().text("  ").text(&next)]
    }
}

/// The plan whose item a run works on: its copy of the tree is the plan's, and it goes on only with that.
pub(crate) fn plan_of(entries: &[Entry]) -> Option<&str> {
    let Event::RunStarted(started) = &entries.first()?.event else {
        return None;
    };
    started.config.item.as_ref().map(|it| it.plan.as_str())
}
