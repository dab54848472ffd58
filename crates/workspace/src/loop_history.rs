//! What a run of the agent did, loop by loop, as its log tells it.
//!
//! The log is folded once more, entry by entry: what the memory held after each loop is nowhere written down, because it
//! follows.

use std::collections::BTreeMap;

use bonded_kernel::{
    BadLog, Call, Entry, Event, Memory, MemoryEdit, Millis, Outcome, Run, ToolFinished, replay,
    replay_on,
};
use bonded_workspace_rules::Code;
use serde_json::Value;

/// A longer text is cut: the whole of it is in the log.
const TEXT_CHARS_MAX: usize = 500;
/// What an instruction is about is shown in one line.
const ABOUT_CHARS_MAX: usize = 100;

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRecord {
    /// Counted from 1.
    pub number: u32,
    /// When the first thing happened in it.
    pub started_at: Millis,
    /// When the last thing did; absent while it is under way.
    pub ended_at: Option<Millis>,
    /// The states that are in force after it.
    pub states: Vec<&'static str>,
    /// What the agent asked for, in order.
    pub instructions: Vec<InstructionRecord>,
    /// The memory after it.
    pub memory: BTreeMap<String, Value>,
    /// How that differs from the memory before.
    pub change: MemoryEdit,
    /// What went wrong with a request or a reply, the last of it.
    pub failure: Option<String>,
}

/// One instruction of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionRecord {
    /// Its tag.
    pub instruction: String,
    /// The key, the state or the query.
    pub about: String,
    /// What came of it.
    pub outcome: InstructionOutcome,
    /// The stable name of why it came to nothing.
    pub code: Option<String>,
    /// The same in words.
    pub message: Option<String>,
}

/// What came of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionOutcome {
    /// Nobody knows yet.
    Waiting,
    /// It did what it says.
    Done,
    /// A person is asked.
    Proposed,
    /// It may not be.
    Refused,
    /// It broke.
    Failed,
}

/// The loops of a run, in order. A run of another kind has none.
pub fn loops_of(entries: &[Entry]) -> Result<Vec<LoopRecord>, BadLog> {
    let Some((first, rest)) = entries.split_first() else {
        return Ok(vec![]);
    };
    let mut run = replay(std::slice::from_ref(first))?;
    let Some(memory) = run.memory().cloned() else {
        return Ok(vec![]);
    };
    let mut history = History {
        loops: vec![],
        before: memory,
    };
    for entry in rest {
        history.turn(entry, &run);
        replay_on(&mut run, std::slice::from_ref(entry))?;
        history.take(entry);
    }
    history.end(&run);
    Ok(history.loops)
}

struct History {
    loops: Vec<LoopRecord>,
    /// The memory when the last loop began.
    before: Memory,
}

impl History {
    /// Where an entry is the first of its turn, the turn before has ended.
    fn turn(&mut self, entry: &Entry, run: &Run) {
        let number = entry.turn;
        if number == 0 || self.loops.last().is_some_and(|it| it.number == number) {
            return;
        }
        self.settle(run, Some(entry.at));
        self.loops.push(LoopRecord {
            number,
            started_at: entry.at,
            ended_at: None,
            states: vec![],
            instructions: vec![],
            memory: BTreeMap::new(),
            change: MemoryEdit::default(),
            failure: None,
        });
    }

    /// The memory of the last loop is what the run has now.
    fn settle(&mut self, run: &Run, ended_at: Option<Millis>) {
        let (Some(last), Some(memory)) = (self.loops.last_mut(), run.memory()) else {
            return;
        };
        last.ended_at = ended_at;
        last.memory = memory.entries().clone();
        last.change = self.before.edit_to(memory);
        last.states = memory.states().iter().map(|it| it.as_str()).collect();
        self.before = memory.clone();
    }

    fn end(&mut self, run: &Run) {
        let ended_at = run
            .termination()
            .and(self.loops.last().map(|it| it.started_at));
        self.settle(run, ended_at);
    }

    fn take(&mut self, entry: &Entry) {
        let Some(last) = self.loops.last_mut() else {
            return;
        };
        match &entry.event {
            Event::DecisionMade(decision) => {
                last.instructions = decision.calls.iter().map(instruction).collect();
            }
            Event::ToolFinished(finished) => {
                if let Some(it) = last.instructions.get_mut(finished.call as usize) {
                    it.finish(finished);
                }
            }
            Event::AttemptFailed(failed) => last.failure = Some(cut(failed.message.as_str())),
            Event::ReplyRejected { reason, .. } => {
                last.failure = Some(format!("the reply was rejected: {}", reason.as_str()));
            }
            Event::TurnFailed { reason, .. } => last.failure = Some(cut(reason.as_str())),
            Event::RunEnded(_) => last.ended_at = Some(entry.at),
            Event::RunStarted(_)
            | Event::RunResumed {}
            | Event::AttemptStarted { .. }
            | Event::TargetLearned { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::ContextCompacted(_)
            | Event::ContextSummarised(_)
            | Event::ToolInvoked { .. }
            | Event::ProgressReported { .. }
            | Event::ReviewAsked { .. }
            | Event::CallReviewed(_)
            | Event::CallSkipped { .. }
            | Event::MemoryEdited(_)
            | Event::PersonSpoke { .. }
            | Event::GoalGiven(_) => {}
        }
    }
}

/// As the reply has it; what is refused at once says why.
fn instruction(call: &Call) -> InstructionRecord {
    let refusal = call.refused.as_ref();
    let code = refusal.and_then(|it| serde_json::to_value(it.code).ok());
    InstructionRecord {
        instruction: call.tool.to_string(),
        about: about(&call.arguments),
        outcome: match refusal {
            Some(_) => InstructionOutcome::Refused,
            None => InstructionOutcome::Waiting,
        },
        code: code.and_then(|it| it.as_str().map(str::to_uppercase)),
        message: refusal.map(|it| cut(it.message.as_str())),
    }
}

impl InstructionRecord {
    fn finish(&mut self, finished: &ToolFinished) {
        self.code = finished.code.as_deref().map(str::to_owned);
        self.outcome = match (finished.outcome, self.code.as_deref()) {
            (Outcome::Ok, _) => {
                let result: Value = serde_json::from_str(&finished.output).unwrap_or_default();
                match result["status"] == "proposed" {
                    true => InstructionOutcome::Proposed,
                    false => InstructionOutcome::Done,
                }
            }
            (Outcome::Failed, Some(code)) if code != Code::InternalError.as_str() => {
                InstructionOutcome::Refused
            }
            (Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted, _) => {
                InstructionOutcome::Failed
            }
        };
        if finished.outcome != Outcome::Ok {
            self.message = Some(cut(finished.output.as_str()));
        }
    }
}

/// The first of the fields that say what an instruction is about.
fn about(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let fields = ["key", "state", "query", "ids", "keywords"];
    let found = fields.iter().find_map(|field| arguments[field].as_str());
    let found = found.unwrap_or_default().lines().next().unwrap_or_default();
    found.chars().take(ABOUT_CHARS_MAX).collect()
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}
