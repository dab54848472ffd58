//! A run with what only its entries say.

use std::collections::VecDeque;

use bonded_host::accounting::Bookkeeper;
use bonded_host::{Host, HostError};
use bonded_kernel::{Entry, Event, Run, RunId, replay, replay_on};
use serde::Serialize;

use super::log_parts::LogParts;

/// Of the outputs that nobody vouches for, those whose texts are given: what a call was copied from is most often near it.
const SOURCE_TEXTS_MAX: usize = 8;
const SOURCE_BYTES_MAX: usize = 32_768;
/// More are counted.
const SOURCES_MAX: usize = 1_000;

/// A run, and what was found on the way through its log.
pub(super) struct ReadRun {
    pub(super) run: Run,
    /// The text of the model's last reply.
    pub(super) reply: String,
    /// The newest first.
    pub(super) sources: VecDeque<SourceDto>,
    /// How many older ones there are.
    pub(super) sources_left: usize,
    pub(super) children: Vec<ChildDto>,
}

/// An output that nobody vouches for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Source"))]
pub(super) struct SourceDto {
    turn: u32,
    call: u32,
    tool: String,
    seq: u64,
    /// Its beginning, of the newest alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A run that a call of this one began.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Child"))]
pub(super) struct ChildDto {
    run_id: String,
    turn: u32,
    call: u32,
    tool: String,
}

impl ReadRun {
    pub(super) async fn of(host: &Host, id: &RunId) -> Result<Self, HostError> {
        let bad_log = |source| HostError::BadLog {
            run: id.clone(),
            source,
        };
        let mut parts = LogParts::new(host.store.clone(), id.clone());
        let first = parts.next().await?;
        let mut books = Bookkeeper::default();
        // Of the books only the agents are asked for, which the first entry names.
        if let Some(started) = first.first() {
            books.take(started);
        }
        let mut read = Self {
            run: replay(&first).map_err(bad_log)?,
            reply: String::new(),
            sources: VecDeque::new(),
            sources_left: 0,
            children: vec![],
        };
        first.iter().for_each(|entry| read.take(&books, entry));
        loop {
            let part = parts.next().await?;
            if part.is_empty() {
                return Ok(read);
            }
            replay_on(&mut read.run, &part).map_err(bad_log)?;
            part.iter().for_each(|entry| read.take(&books, entry));
        }
    }

    fn take(&mut self, books: &Bookkeeper, entry: &Entry) {
        if let (Some(child), Event::ToolInvoked { call, tool, .. }) =
            (books.child(entry), &entry.event)
        {
            let run_id = child.to_string();
            // A call that was made again after a crash found the run of the first time.
            self.children.retain(|it| it.run_id != run_id);
            self.children.push(ChildDto {
                run_id,
                turn: entry.turn,
                call: *call,
                tool: tool.to_string(),
            });
        }
        match &entry.event {
            Event::DecisionMade(decision) => self.reply = decision.answer.text.to_string(),
            Event::ToolFinished(finished) => {
                let policy = self.run.config().policy.as_deref();
                let is_untrusted = policy.is_some_and(|it| it.is_untrusted(&finished.tool));
                if is_untrusted || finished.marked {
                    self.add_source(SourceDto {
                        turn: entry.turn,
                        call: finished.call,
                        tool: finished.tool.to_string(),
                        seq: entry.seq,
                        text: Some(beginning(&finished.output).to_owned()),
                    });
                }
            }
            Event::RunStarted(_)
            | Event::RunResumed {}
            | Event::AttemptStarted { .. }
            | Event::AttemptFailed(_)
            | Event::TargetLearned { .. }
            | Event::ReplyRejected { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::ContextCompacted(_)
            | Event::ContextSummarised(_)
            | Event::TurnFailed { .. }
            | Event::ToolInvoked { .. }
            | Event::ProgressReported { .. }
            | Event::ReviewAsked { .. }
            | Event::CallReviewed(_)
            | Event::CallSkipped { .. }
            | Event::MemoryEdited(_)
            | Event::PersonSpoke { .. }
            | Event::RunEnded(_)
            | Event::GoalGiven(_) => {}
        }
    }

    fn add_source(&mut self, source: SourceDto) {
        self.sources.push_front(source);
        if let Some(older) = self.sources.get_mut(SOURCE_TEXTS_MAX) {
            older.text = None;
        }
        if self.sources.len() > SOURCES_MAX {
            self.sources.pop_back();
            self.sources_left += 1;
        }
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(SOURCE_BYTES_MAX.min(text.len()))]
}
