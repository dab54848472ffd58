//! From a reply, which nothing vouches for, to a decision, which is checked.
//!
//! A reply comes with calls in the provider's own fields, with tags in its text, or with instructions. Whatever it is, it ends
//! as a list of calls, each accepted or refused with a reason, or as a rejection that the next request tells the model.
//! Nothing that was not through here is ever executed.

mod answer;
pub(crate) mod attrless;
pub(crate) mod looped;
pub(crate) mod xml;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::batch;
use crate::check::{self, CheckedCall, Decoding};
use crate::config::{Encoding, Limits, RunConfig, Spelling, Writing};
use crate::event::{Answer, Call, DecisionMade, Event, Member, RejectReason, Tag};
use crate::model::{Finish, Reply, ReplyCall};
use crate::own_tools::OwnTool;
use crate::tool::FINAL_REPORT;
use xml::{Slot, UnclosedFinal, XmlCall, XmlFound};

use looped::RecordedReply;

/// A decision, and what was mended on the way to it.
pub(crate) struct Decoded {
    pub(crate) decision: DecisionMade,
    pub(crate) repairs: Vec<Event>,
}

/// A reply that no decision can be made from.
pub(crate) struct Rejected {
    pub(crate) reason: RejectReason,
    pub(crate) answer: Box<Answer>,
    pub(crate) calls: Vec<Call>,
}

/// Decodes a reply and checks every call in it.
pub(crate) fn decode(reply: Reply, how: &Decoding<'_>) -> Result<Decoded, Rejected> {
    match how.writing {
        Writing::Calls(spelling) => decode_calls(reply, how, spelling),
        Writing::Instructions(config) => looped::decode(reply, how, config),
    }
}

/// Checks again what a log has of a reply that it does not keep; `None` where logs keep them.
pub(crate) fn decode_recorded(
    recorded: RecordedReply,
    how: &Decoding<'_>,
) -> Option<Result<Decoded, Rejected>> {
    match how.writing {
        Writing::Calls(_) => None,
        Writing::Instructions(config) => Some(looped::decode_recorded(recorded, how, config)),
    }
}

fn decode_calls(
    reply: Reply,
    how: &Decoding<'_>,
    spelling: Spelling<'_>,
) -> Result<Decoded, Rejected> {
    let finish = reply.finish;
    let (answer, native) = answer::split(reply, how.model);
    let rejected = |reason, answer, calls| Rejected {
        reason,
        answer: Box::new(answer),
        calls,
    };
    if finish == Finish::ContentFilter {
        return Err(rejected(RejectReason::Filtered, answer, vec![]));
    }
    let is_silent = answer.text.trim().is_empty() && native.is_empty();
    let lost_calls = finish == Finish::MalformedCalls;
    if is_silent && !lost_calls && answer.reasoning.trim().is_empty() {
        return Err(rejected(RejectReason::Empty, answer, vec![]));
    }
    let tags = find_tags(&answer.text, how, spelling, finish);
    let was_cut = tags.unclosed_final == Some(UnclosedFinal::Cut);
    let mut calls = CallDecoder::new(how, spelling, finish);
    native.into_iter().for_each(|call| calls.take_native(call));
    tags.calls.into_iter().for_each(|call| calls.take_tag(call));
    let CallDecoder { calls, repairs, .. } = calls;
    if lost_calls && calls.is_empty() {
        return Err(rejected(RejectReason::Malformed, answer, calls));
    }
    if spelling.reports && !is_silent {
        let unreadable = |call: &Call| {
            call.refused
                .as_ref()
                .is_some_and(|r| r.code.arguments_unreadable())
        };
        let reason = match calls.is_empty() {
            true if was_cut => Some(RejectReason::CutOff),
            true => Some(RejectReason::NoCall),
            false => calls
                .iter()
                .all(unreadable)
                .then_some(RejectReason::Malformed),
        };
        if let Some(reason) = reason {
            return Err(rejected(reason, answer, calls));
        }
    }
    let decision = DecisionMade { answer, calls };
    Ok(Decoded { decision, repairs })
}

/// What is kept of a reply whose calls nobody asked for.
pub(crate) fn answer_of(mut reply: Reply, model: &str) -> Answer {
    if !std::mem::take(&mut reply.calls).is_empty() && reply.finish == Finish::ToolCalls {
        reply.finish = Finish::Stop;
    }
    answer::split(reply, model).0
}

fn find_tags(text: &str, how: &Decoding<'_>, spelling: Spelling<'_>, finish: Finish) -> XmlFound {
    if spelling.encoding == Encoding::Native {
        return XmlFound::default();
    }
    let offered = offered_slots(spelling.encoding, how.config, how.turn, how.last);
    let find = match spelling.quotes_are_text {
        true => xml::find_tags,
        false => xml::find_tags_reading_on,
    };
    find(text, spelling.nonce, &offered, finish)
}

/// The numbered slots of a turn: they count on from turn to turn, so that each is used once in a run.
pub(crate) fn numbered_slots(limits: &Limits, turn: u32) -> std::ops::Range<u32> {
    let each = limits.calls_per_turn_max;
    let first = turn
        .saturating_sub(1)
        .saturating_mul(each)
        .saturating_add(1);
    first..first.saturating_add(each)
}

/// The slots that a reply of a turn may use.
fn offered_slots(encoding: Encoding, config: &RunConfig, turn: u32, last: bool) -> Vec<Slot> {
    let has_tools = encoding == Encoding::Xml && !last;
    let numbered = match has_tools {
        true => numbered_slots(&config.limits, turn),
        false => 0..0,
    };
    let progress = (has_tools && config.own_tools.progress).then_some(Slot::Progress);
    let reserved = progress.into_iter().chain([Slot::Final]);
    numbered.map(Slot::Numbered).chain(reserved).collect()
}

/// A progress tag holds the sentence itself; some models write the arguments of the tool into it.
fn progress_arguments(payload: String) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(&payload).ok();
    if value.is_some_and(|value| value.get("progress").is_some()) {
        return payload;
    }
    serde_json::json!({ "progress": payload.trim() }).to_string()
}

/// What a call is called by.
struct CallName {
    id: Arc<str>,
    original_id: Option<Arc<str>>,
    /// As the model wrote it.
    tool: Arc<str>,
}

/// The calls of a reply as they are checked one after the other.
struct CallDecoder<'a> {
    how: &'a Decoding<'a>,
    spelling: Spelling<'a>,
    finish: Finish,
    ids: BTreeSet<Arc<str>>,
    calls: Vec<Call>,
    repairs: Vec<Event>,
    /// How many of the calls take a place under the cap.
    counted: usize,
    has_progress: bool,
}

impl<'a> CallDecoder<'a> {
    fn new(how: &'a Decoding<'a>, spelling: Spelling<'a>, finish: Finish) -> Self {
        Self {
            how,
            spelling,
            finish,
            ids: BTreeSet::new(),
            calls: vec![],
            repairs: vec![],
            counted: 0,
            has_progress: false,
        }
    }

    fn take_native(&mut self, call: ReplyCall) {
        let named = self.named(&call.id, &call.tool);
        let index = self.place(&call.tool);
        let mut checked = check::call(&call.tool, call.arguments, self.finish, index, self.how);
        if self.spelling.encoding == Encoding::Xml && &*checked.tool != FINAL_REPORT {
            checked.refused = checked.refused.or_else(|| Some(check::not_a_tag()));
        }
        self.take(named, checked, None);
    }

    fn take_tag(&mut self, call: XmlCall) {
        let nonce = self.spelling.nonce;
        let named = self.named(&format!("{nonce}-{}", call.slot), &call.tool);
        let index = self.place(&call.tool);
        // What a tag holds is whole: it has an end of its own.
        let check = |payload| check::call(&call.tool, payload, Finish::Stop, index, self.how);
        let checked = match call.slot {
            Slot::Final => CheckedCall::as_written(call.tool.as_str().into(), call.payload.into()),
            Slot::Progress => check(progress_arguments(call.payload)),
            Slot::Numbered(_) => check(call.payload),
        };
        let tag = Tag {
            format: call.format.map(Into::into),
            unclosed: !call.closed,
        };
        self.take(named, checked, Some(tag));
    }

    /// Adds a call; a batch after its members.
    fn take(&mut self, named: CallName, mut checked: CheckedCall, tag: Option<Tag>) {
        let own = self.how.config.own_tools.of(&checked.tool);
        if own == Some(OwnTool::Batch) && checked.refused.is_none() {
            match batch::members(&checked.arguments, self.how.config.edition) {
                Ok(members) => members
                    .into_iter()
                    .for_each(|member| self.take_member(&named.id, member, tag.clone())),
                Err(refusal) => checked.refused = Some(refusal),
            }
        }
        self.add(named, checked, tag, None);
    }

    fn take_member(&mut self, batch: &Arc<str>, written: batch::MemberCall, tag: Option<Tag>) {
        let mut named = self.named(&format!("{batch}.{}", self.calls.len()), &written.tool);
        // The model never wrote the id of a member's call; what it wrote is the member's.
        named.original_id = None;
        let index = self.place(&written.tool);
        let (tool, parameters) = (&written.tool, written.parameters);
        let mut checked = check::call(tool, parameters, Finish::Stop, index, self.how);
        let forbidden = check::not_in_batch(&checked.tool, self.how);
        checked.refused = forbidden.or(checked.refused);
        let member = Member {
            batch: batch.clone(),
            id: written.id.into(),
        };
        self.add(named, checked, tag, Some(member));
    }

    /// The place of the next call among those that the cap counts. The first progress report has none.
    fn place(&self, written: &str) -> usize {
        let tool = self.how.catalog.nearest(written);
        let is_progress = self.how.config.own_tools.of(tool) == Some(OwnTool::Progress);
        match is_progress && !self.has_progress {
            true => 0,
            false => self.counted,
        }
    }

    /// An agent's report takes no place under the cap, a batch is counted by its members, and of progress
    /// reports the first is free.
    fn count(&mut self, tool: &str) {
        let config = self.how.config;
        let takes_place = match config.own_tools.of(tool) {
            Some(OwnTool::Batch) => false,
            Some(OwnTool::Progress) => std::mem::replace(&mut self.has_progress, true),
            Some(OwnTool::Output | OwnTool::Search) | None => {
                !self.spelling.reports || tool != FINAL_REPORT
            }
        };
        self.counted += usize::from(takes_place);
    }

    fn add(
        &mut self,
        named: CallName,
        checked: CheckedCall,
        tag: Option<Tag>,
        member: Option<Member>,
    ) {
        if let Some(mended) = checked.mended {
            self.repairs.push(Event::CallRepaired {
                call: self.calls.len() as u32,
                tool: checked.tool.clone(),
                original: mended.original.into(),
                steps: mended.steps,
                result: checked.arguments.clone(),
            });
        }
        self.count(&checked.tool);
        let written = named.tool;
        self.calls.push(Call {
            id: named.id,
            original_id: named.original_id,
            original_tool: (written != checked.tool).then_some(written),
            tool: checked.tool,
            arguments: checked.arguments,
            masked: false,
            refused: checked.refused,
            tag,
            member,
        });
    }

    /// A result finds its call by the id, so an id that is missing or used twice is replaced.
    fn named(&mut self, id: &str, tool: &str) -> CallName {
        let (id, original_id) = self.unique_id(id);
        CallName {
            id,
            original_id,
            tool: tool.into(),
        }
    }

    fn unique_id(&mut self, id: &str) -> (Arc<str>, Option<Arc<str>>) {
        let written: Arc<str> = id.into();
        if !written.is_empty() && self.ids.insert(written.clone()) {
            return (written, None);
        }
        let mut made: Arc<str> = format!("call_{}_{}", self.how.turn, self.calls.len()).into();
        while !self.ids.insert(made.clone()) {
            made = format!("{made}_").into();
        }
        (made, Some(written))
    }
}
