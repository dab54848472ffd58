//! The log of a run as the updates of a session.
//!
//! A session that is loaded is shown by the same rules as one that is watched, so that an editor which was closed shows what
//! it showed before. Every kind of event is named: a new one must be thought of here.

use std::path::{Path, PathBuf};

use bonded_host::changes::recorded::{ChangedBy, Node, Record};
use bonded_host::shapes::text::brief;
use bonded_kernel::{
    Call, DONE, DecisionMade, Entry, Event, FINAL_REPORT, Outcome, RejectReason, RunId, SkipReason,
    ToolFinished, Verdict,
};
use serde_json::{Value, json};

use super::spoken::ReplyPlace;
use super::wire::chunk;
use crate::render::call::called;

/// A longer output is cut: the editor's panel is no file viewer.
const OUTPUT_CHARS_MAX: usize = 16_000;
/// A larger file is named and not shown.
const DIFF_BYTES_MAX: usize = 1024 * 1024;

const MODEL: &str = "agent_message_chunk";
const THOUGHT: &str = "agent_thought_chunk";
const PERSON: &str = "user_message_chunk";

/// Turns entries into updates, and knows what was shown of the reply that is being written.
#[derive(Debug)]
pub(super) struct LogProjection {
    run: RunId,
    dir: PathBuf,
    /// Whether what the person said is shown too: who has just typed it has it on the screen.
    tells_goals: bool,
    /// The reply that is asked for.
    current: ReplyPlace,
    /// The last one that is over.
    over: ReplyPlace,
    /// What was shown of the reply before it was accepted.
    shown: String,
    /// What came of replies before the log said that they were asked for.
    early: Vec<(ReplyPlace, String)>,
    /// What the model said last.
    last: String,
}

impl LogProjection {
    pub(super) fn new(run: RunId, dir: &Path) -> Self {
        Self {
            run,
            dir: dir.to_owned(),
            tells_goals: false,
            current: (0, 0),
            over: (0, 0),
            shown: String::new(),
            early: vec![],
            last: String::new(),
        }
    }

    /// For a session that is loaded: the person's own words belong to it.
    pub(super) fn tell_goals(&mut self, tells_goals: bool) {
        self.tells_goals = tells_goals;
    }

    /// What the model said last, as it was shown.
    pub(super) fn last(&self) -> &str {
        &self.last
    }

    /// A piece of a reply that is being written. It is shown after all that came before it in the log.
    pub(super) fn piece(&mut self, place: ReplyPlace, text: String) -> Option<Value> {
        if place <= self.over {
            return None;
        }
        if place != self.current {
            self.early.push((place, text));
            return None;
        }
        self.shown.push_str(&text);
        Some(message(place, &text))
    }

    fn asked(&mut self, place: ReplyPlace) -> Vec<Value> {
        self.current = place;
        self.shown.clear();
        let early = std::mem::take(&mut self.early);
        let pieces = early.into_iter();
        pieces
            .filter_map(|(place, text)| self.piece(place, text))
            .collect()
    }

    /// Nothing comes of what was shown of the reply.
    fn abandoned(&mut self) -> Option<Value> {
        self.over = self.current;
        let is_visible = !self.shown.trim().is_empty();
        is_visible.then(|| {
            chunk(
                THOUGHT,
                "The reply above was cut off, and is asked for again.",
            )
        })
    }

    /// What an entry has to show. `record` has what file tools changed.
    pub(super) fn entry(&mut self, entry: &Entry, record: Option<&Record>) -> Vec<Value> {
        let turn = entry.turn;
        match &entry.event {
            Event::RunStarted(started) => self.person(&started.goal),
            Event::GoalGiven(given) => self.person(&given.goal),
            Event::PersonSpoke { text } => self.person(text),
            Event::AttemptStarted { attempt, .. } => self.asked((turn, *attempt)),
            Event::AttemptFailed(failed) => {
                let mut updates: Vec<Value> = self.abandoned().into_iter().collect();
                let why = format!(
                    "The model could not be asked: {}",
                    brief(&failed.message, 300)
                );
                updates.push(chunk(THOUGHT, &why));
                updates
            }
            Event::ReplyRejected { reason, .. } => {
                let mut updates: Vec<Value> = self.abandoned().into_iter().collect();
                updates.push(chunk(THOUGHT, rejected(*reason)));
                updates
            }
            Event::DecisionMade(decision) => self.decision(turn, decision),
            Event::ToolInvoked { call, .. } => {
                vec![update(turn, *call, "in_progress", json!({}))]
            }
            Event::ToolFinished(finished) => vec![self.finished(turn, finished, record)],
            Event::CallReviewed(reviewed) => match &reviewed.verdict {
                Verdict::Approved => vec![],
                Verdict::Denied { reason } => {
                    let by = &reviewed.by;
                    let text = match reason.is_empty() {
                        true => format!("denied by {by}"),
                        false => format!("denied by {by}: {reason}"),
                    };
                    vec![update(turn, reviewed.call, "failed", content(&text))]
                }
            },
            Event::CallSkipped { call, reason, .. } => {
                vec![update(turn, *call, "failed", content(skipped(*reason)))]
            }
            Event::ProgressReported { progress, .. } => vec![chunk(THOUGHT, progress)],
            Event::ContextSummarised(_) => {
                vec![chunk(
                    THOUGHT,
                    "The conversation so far was summed up to make room.",
                )]
            }
            Event::ContextCompacted(_) => {
                vec![chunk(
                    THOUGHT,
                    "Old outputs of tools were left out to make room.",
                )]
            }
            Event::RunResumed {}
            | Event::TargetLearned { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::TurnFailed { .. }
            | Event::ReviewAsked { .. }
            | Event::MemoryEdited(_)
            | Event::RunEnded(_) => vec![],
        }
    }

    fn person(&self, text: &str) -> Vec<Value> {
        match self.tells_goals {
            true => vec![chunk(PERSON, text)],
            false => vec![],
        }
    }

    /// The rest of the text that was shown while it was written, or all of it; then the calls.
    fn decision(&mut self, turn: u32, decision: &DecisionMade) -> Vec<Value> {
        let mut updates = vec![];
        let thought = decision.answer.reasoning.trim();
        if !thought.is_empty() {
            updates.push(chunk(THOUGHT, thought));
        }
        let text = &*decision.answer.text;
        // Calls that are written in the text are shown as calls.
        let has_tags = decision.calls.iter().any(|call| call.tag.is_some());
        // What was written and what is kept differ where a secret stood in it.
        let rest = text.strip_prefix(self.shown.as_str()).unwrap_or_default();
        if !rest.trim().is_empty() && !has_tags {
            updates.push(message(self.current, rest));
        }
        self.over = self.current;
        self.shown.clear();
        if !text.trim().is_empty() {
            self.last = text.to_owned();
        }
        for (at, call) in decision.calls.iter().enumerate() {
            // That is the answer, and shown as such.
            if *call.tool != *FINAL_REPORT && *call.tool != *DONE {
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                updates.push(self.begun(turn, at, call));
            }
        }
        updates
    }

    fn begun(&self, turn: u32, at: u32, call: &Call) -> Value {
        let mut update = tool_call(turn, at, &call.tool, &call.arguments, &self.dir);
        update["sessionUpdate"] = "tool_call".into();
        if let Some(refusal) = &call.refused {
            update["status"] = "failed".into();
            update["content"] = content(&refusal.message)["content"].clone();
        }
        update
    }

    fn finished(&self, turn: u32, finished: &ToolFinished, record: Option<&Record>) -> Value {
        let status = match finished.outcome {
            Outcome::Ok => "completed",
            Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => "failed",
        };
        let diffs = record.map(|record| self.diffs(turn, finished.call, record));
        let more = match diffs.filter(|diffs| !diffs.is_empty()) {
            Some(diffs) => json!({ "content": diffs }),
            None => content(&cut(&finished.output)),
        };
        update(turn, finished.call, status, more)
    }

    /// What a call changed, exactly, from the record that an undo goes by.
    fn diffs(&self, turn: u32, call: u32, record: &Record) -> Vec<Value> {
        let is_its = |by: &ChangedBy| match by {
            ChangedBy::Call {
                run,
                turn: in_turn,
                call: at,
                ..
            } => (run, *in_turn, *at) == (&self.run, turn, call),
            ChangedBy::Undo { .. } | ChangedBy::Redo { .. } => false,
        };
        let sets = record.sets().filter(|(set, _)| is_its(&set.by));
        let changes = sets.flat_map(|(set, _)| &set.changes);
        let text = |node: &Node| {
            let bytes = record.content(&node.content()?).ok()??;
            (bytes.len() <= DIFF_BYTES_MAX).then_some(())?;
            String::from_utf8(bytes).ok()
        };
        let diffs = changes.filter_map(|change| {
            let new = text(&change.to)?;
            Some(json!({
                "type": "diff",
                "path": self.dir.join(&change.path).to_string_lossy(),
                "oldText": text(&change.from),
                "newText": new,
            }))
        });
        diffs.collect()
    }
}

/// A call as it is announced, and as the person is asked about it.
pub(super) fn tool_call(turn: u32, at: u32, tool: &str, arguments: &str, dir: &Path) -> Value {
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
    let mut call = json!({
        "toolCallId": call_id(turn, at),
        "title": called(tool, arguments),
        "name": tool,
        "kind": kind(tool),
        "status": "pending",
        "rawInput": parsed,
    });
    let path = parsed["path"].as_str().filter(|path| !path.is_empty());
    if let Some(path) = path.filter(|_| kind(tool) != "other") {
        call["locations"] = json!([{ "path": dir.join(path) }]);
    }
    call
}

/// The content of an update that is one text.
pub(super) fn content(text: &str) -> Value {
    json!({ "content": [{ "type": "content", "content": { "type": "text", "text": text } }] })
}

/// Unique in the session, and the same whenever it is loaded.
fn call_id(turn: u32, at: u32) -> String {
    format!("{turn}.{at}")
}

fn update(turn: u32, at: u32, status: &str, mut more: Value) -> Value {
    more["sessionUpdate"] = "tool_call_update".into();
    more["toolCallId"] = call_id(turn, at).into();
    more["status"] = status.into();
    more
}

fn message((turn, attempt): ReplyPlace, text: &str) -> Value {
    let mut update = chunk(MODEL, text);
    update["messageId"] = format!("{turn}.{attempt}").into();
    update
}

/// What the editor draws beside it. Tools of servers may do anything.
fn kind(tool: &str) -> &'static str {
    match tool {
        "read" => "read",
        "list" | "search" => "search",
        "append" | "edit" | "write" => "edit",
        "run" => "execute",
        _ => "other",
    }
}

fn cut(output: &str) -> String {
    match output.char_indices().nth(OUTPUT_CHARS_MAX) {
        Some((end, _)) => format!("{}\n… (cut; bonded show has all of it)", &output[..end]),
        None => output.to_owned(),
    }
}

fn rejected(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::Empty => "The reply was empty, and is asked for again.",
        RejectReason::Filtered => "The provider withheld the reply, and it is asked for again.",
        RejectReason::NoCall | RejectReason::Malformed | RejectReason::CutOff => {
            "The reply could not be used, and is asked for again."
        }
    }
}

fn skipped(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::AfterTheEnd | SkipReason::BesideTheReport => "not executed: the run had ended",
        SkipReason::ContextBudget => "not executed: there was no room left in the context",
        SkipReason::Untrusted => "not executed: the policy denies it after untrusted data",
        SkipReason::SecretNotKept => "not executed: its arguments held a secret",
    }
}
