//! The reply of a run that works in loops: only its text counts, and only the instructions in it.

use std::sync::Arc;

use serde_json::Value;

use super::attrless::{
    Element, InstructionFault, InstructionRules, Problem, RAM_ADD, RAM_DELETE, RECORD_ADD,
    RECORD_UPDATE, STATE_ADD, STATE_DELETE, read_instructions,
};
use super::{Decoded, Rejected, answer};
use crate::check::{self, Decoding};
use crate::config::{LoopConfig, ScopeViolation};
use crate::event::{Answer, Call, DecisionMade, Event, Refusal, RefusalCode, RejectReason, Tag};
use crate::hash::Hash;
use crate::model::{Finish, Reply, ReplyCall};
use crate::text::Text;

/// More calls outside of the text than these are not told one by one.
const IGNORED_CALLS_MAX: usize = 8;

const DEFAULT_KIND: &str = "note";

/// What changes the run's own memory.
const MEMORY: [&str; 4] = [STATE_ADD, STATE_DELETE, RAM_ADD, RAM_DELETE];

/// What is named where no instruction is.
const REPLY: &str = "reply";

/// A reply as a log has it that keeps no replies. Only an audit makes one.
#[derive(Clone, Debug)]
pub struct RecordedReply {
    pub(crate) answer: Answer,
    pub(crate) calls: Vec<Call>,
    pub(crate) rejected: Option<RejectReason>,
    /// What was mended on the way, where the reply held a secret.
    pub(crate) repairs: Vec<Event>,
}

/// Reads the instructions of a reply and checks each.
pub(crate) fn decode(
    reply: Reply,
    how: &Decoding<'_>,
    config: &LoopConfig,
) -> Result<Decoded, Rejected> {
    let finish = reply.finish;
    let (mut answer, native) = answer::split(reply, how.model);
    let read = read_instructions(&answer.text, rules(how, config));
    let mut calls = Calls::new(how, config);
    native.iter().for_each(|call| calls.ignore(call));
    if !config.keeps_text {
        withhold(&mut answer);
    }
    let rejected = |reason, answer, calls| Rejected {
        reason,
        answer: Box::new(answer),
        calls,
    };
    if finish == Finish::ContentFilter {
        return Err(rejected(RejectReason::Filtered, answer, calls.calls));
    }
    match read {
        Ok(read) => {
            for item in read.items {
                match item {
                    Element::Instruction { tag, arguments } => calls.take(tag, &arguments),
                    Element::Dropped(fault) => calls.drop_one(&fault),
                }
            }
            calls.left_out(read.instructions_left_out, read.faults_left_out);
            Ok(decided(answer, calls.calls))
        }
        Err(fault) => {
            calls.fail(&fault, finish);
            Err(rejected(RejectReason::Malformed, answer, calls.calls))
        }
    }
}

/// Checks the instructions of a recorded reply again. What could not be read then cannot be read now either.
pub(crate) fn decode_recorded(
    recorded: RecordedReply,
    how: &Decoding<'_>,
    config: &LoopConfig,
) -> Result<Decoded, Rejected> {
    let RecordedReply {
        answer,
        calls,
        rejected,
        repairs: _,
    } = recorded;
    if let Some(reason) = rejected {
        let answer = Box::new(answer);
        return Err(Rejected {
            reason,
            answer,
            calls,
        });
    }
    let mut again = Calls::new(how, config);
    for call in calls {
        match serde_json::from_str(&call.arguments) {
            Ok(arguments) if call.tag.is_some() => again.take(&call.tool, &arguments),
            _ => again.calls.push(call),
        }
    }
    Ok(decided(answer, again.calls))
}

fn decided(answer: Answer, calls: Vec<Call>) -> Decoded {
    Decoded {
        decision: DecisionMade { answer, calls },
        repairs: vec![],
    }
}

fn rules<'a>(how: &Decoding<'a>, config: &'a LoopConfig) -> InstructionRules<'a> {
    InstructionRules {
        allowed: &config.allowed_tags,
        strict: config.strict,
        instructions_max: how.config.limits.calls_per_turn_max as usize,
    }
}

/// What the model wrote does not enter the log: its hash does.
fn withhold(answer: &mut Answer) {
    answer.withheld = Some(Hash::of(answer.text.as_bytes()));
    answer.text = Text::default();
    answer.reasoning = Text::default();
    answer.signed = None;
}

/// The calls of a reply as they are made one after the other.
struct Calls<'a> {
    how: &'a Decoding<'a>,
    config: &'a LoopConfig,
    calls: Vec<Call>,
    notes_made: u32,
    notes_changed: u32,
}

impl<'a> Calls<'a> {
    fn new(how: &'a Decoding<'a>, config: &'a LoopConfig) -> Self {
        Self {
            how,
            config,
            calls: vec![],
            notes_made: 0,
            notes_changed: 0,
        }
    }

    fn take(&mut self, tool: &str, arguments: &Value) {
        let refused = check::instruction(tool, arguments, MEMORY.contains(&tool), self.how);
        let refused = refused.or_else(|| self.out_of_scope(tool, arguments));
        self.push(tool, arguments.to_string(), refused, Some(Tag::default()));
    }

    /// What the scope says of one more note made or changed. Only those that may be are counted.
    fn out_of_scope(&mut self, tool: &str, arguments: &Value) -> Option<Refusal> {
        let scope = &self.config.scope;
        let (checked, count) = match tool {
            RECORD_ADD => {
                let kind = note_kind(arguments);
                let checked = scope.check_create(&kind, self.notes_made);
                (checked, &mut self.notes_made)
            }
            RECORD_UPDATE => {
                let checked = scope.check_edits(self.notes_changed);
                (checked, &mut self.notes_changed)
            }
            _ => return None,
        };
        match checked {
            Ok(()) => {
                *count += 1;
                None
            }
            Err(violation) => Some(out_of_scope(&violation)),
        }
    }

    fn drop_one(&mut self, fault: &InstructionFault) {
        let code = match fault.problem {
            Problem::UnknownTag | Problem::StrayClose => RefusalCode::UnknownTool,
            Problem::Attribute
            | Problem::MissingChild { .. }
            | Problem::DuplicateChild { .. }
            | Problem::EmptyChild { .. }
            | Problem::UnknownChild
            | Problem::NoChild
            | Problem::OneOf
            | Problem::BadIds
            | Problem::Unclosed
            | Problem::Declaration
            | Problem::Processing
            | Problem::Prose
            | Problem::NoElement => RefusalCode::MalformedArguments,
        };
        let fault = self.kept(fault);
        self.refuse(named(&fault), code, fault.to_string());
    }

    /// What the log keeps of a fault: a name that the model made up is a part of its reply.
    fn kept(&self, fault: &InstructionFault) -> InstructionFault {
        match self.config.keeps_text {
            true => fault.clone(),
            false => fault.without_foreign_name(),
        }
    }

    fn left_out(&mut self, instructions: usize, faults: usize) {
        let max = self.how.config.limits.calls_per_turn_max;
        if instructions > 0 {
            let message = format!(
                "{instructions} more instructions were not executed: only {max} are in one loop"
            );
            self.refuse(REPLY, RefusalCode::TooManyCalls, message);
        }
        if faults > 0 {
            let message = format!("{faults} more elements were not understood");
            self.refuse(REPLY, RefusalCode::MalformedArguments, message);
        }
    }

    fn fail(&mut self, fault: &InstructionFault, finish: Finish) {
        let fault = self.kept(fault);
        let tool = named(&fault);
        if finish == Finish::Length && fault.problem == Problem::Unclosed {
            let message = format!("{fault}. The reply was cut by its output limit: write less");
            return self.refuse(tool, RefusalCode::CutOff, message);
        }
        self.refuse(tool, RefusalCode::MalformedArguments, fault.to_string());
    }

    fn refuse(&mut self, tool: &str, code: RefusalCode, message: String) {
        let refusal = check::refusal(code, message);
        self.push(tool, String::new(), Some(refusal), Some(Tag::default()));
    }

    /// A call in the provider's own fields is none here.
    fn ignore(&mut self, call: &ReplyCall) {
        if self.calls.len() >= IGNORED_CALLS_MAX {
            return;
        }
        let message = "calls are written as instructions in the text: this one was not executed";
        let refusal = check::refusal(RefusalCode::NotOffered, message.into());
        let name: String = match self.config.keeps_text {
            true => call.tool.chars().take(64).collect(),
            false => REPLY.into(),
        };
        self.push(&name, String::new(), Some(refusal), None);
    }

    fn push(&mut self, tool: &str, arguments: String, refused: Option<Refusal>, tag: Option<Tag>) {
        let id: Arc<str> = format!("call_{}_{}", self.how.turn, self.calls.len()).into();
        self.calls.push(Call {
            id,
            original_id: None,
            tool: tool.into(),
            original_tool: None,
            arguments: arguments.into(),
            masked: false,
            refused,
            tag,
            member: None,
        });
    }
}

/// What a fault is told of as.
fn named(fault: &InstructionFault) -> &str {
    match fault.tag.as_str() {
        "" => REPLY,
        tag => tag,
    }
}

fn out_of_scope(violation: &ScopeViolation) -> Refusal {
    check::refusal(RefusalCode::OutOfScope, violation.to_string())
}

/// The kind of note that a value asks for: a JSON object may say one.
fn note_kind(arguments: &Value) -> String {
    let value = arguments["value"].as_str().unwrap_or_default();
    let note: Value = serde_json::from_str(value).unwrap_or_default();
    let kind = note.get("kind").or_else(|| note.get("note_kind"));
    let kind = kind.and_then(Value::as_str);
    kind.unwrap_or(DEFAULT_KIND).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, Scope, Writing};
    use crate::tool::Catalog;
    use crate::uuid::{RuleId, WorkspaceId};

    /// A log that says of a call that it was accepted, under settings that do not accept it.
    #[test]
    fn a_recorded_call_is_checked_as_if_it_had_just_been_read() {
        let mut scope = Scope::default_of(WorkspaceId::from_bytes([1; 16]));
        scope.max_notes_per_loop = 1;
        let config = LoopConfig::new(RuleId::from_bytes([2; 16]), scope, &[]);
        let mut run = RunConfig::new("/", vec![]);
        run.looping = Some(Box::new(config.clone()));
        let spec = crate::tool::ToolSpec {
            name: RECORD_ADD.into(),
            description: String::new(),
            schema: serde_json::json!({ "type": "object" }),
            effect: crate::tool::ToolEffect::Idempotent,
            sandbox: None,
            resource: None,
            deferred: false,
        };
        let catalog = Catalog::of_specs(vec![spec]).expect("one tool");
        let how = Decoding {
            config: &run,
            writing: Writing::Instructions(&config),
            catalog: &catalog,
            turn: 1,
            last: false,
            model: "",
        };
        let note = || serde_json::json!({ "keywords": "k", "value": "v" });
        let mut calls = Calls::new(&how, &config);
        calls.push(RECORD_ADD, note().to_string(), None, Some(Tag::default()));
        calls.push(RECORD_ADD, note().to_string(), None, Some(Tag::default()));
        let recorded = RecordedReply {
            answer: Answer::default(),
            calls: calls.calls,
            rejected: None,
            repairs: vec![],
        };
        let Ok(decoded) = decode_recorded(recorded, &how, &config) else {
            unreachable!("nothing was rejected");
        };
        let codes: Vec<Option<RefusalCode>> = decoded
            .decision
            .calls
            .iter()
            .map(|call| call.refused.as_ref().map(|refusal| refusal.code))
            .collect();
        assert_eq!(codes, [None, Some(RefusalCode::OutOfScope)]);
    }
}
