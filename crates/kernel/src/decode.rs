//! From a reply, which nothing vouches for, to a decision, which is checked.

mod answer;
pub(crate) mod repair;
pub(crate) mod xml;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::agent::{AgentConfig, Encoding};
use crate::check::{self, Checked};
use crate::config::{Limits, RunConfig};
use crate::event::{Answer, Call, DecisionMade, Event, RejectReason, Tag};
use crate::model::{Finish, Reply, ReplyCall};
use crate::report::FINAL_REPORT;
use crate::tool::Catalog;
use xml::{Slot, UnclosedFinal, XmlCall, XmlFound};

pub(crate) use repair::RepairStep;

/// What a reply is read against.
pub(crate) struct Decoding<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) catalog: &'a Catalog,
    pub(crate) turn: u32,
    /// Whether only the terminal call may be made.
    pub(crate) last: bool,
    /// The model that was asked.
    pub(crate) model: &'a str,
}

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
    if is_silent && answer.reasoning.trim().is_empty() {
        return Err(rejected(RejectReason::Empty, answer, vec![]));
    }
    let tags = how.tags(&answer.text, finish);
    let was_cut = tags.unclosed_final == Some(UnclosedFinal::Cut);
    let mut calls = Calls::new(how, finish);
    native.into_iter().for_each(|call| calls.take_native(call));
    tags.calls.into_iter().for_each(|call| calls.take_tag(call));
    let Calls { calls, repairs, .. } = calls;
    if how.config.agent.is_some() && !is_silent {
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

impl<'a> Decoding<'a> {
    fn agent(&self) -> Option<&'a AgentConfig> {
        self.config.agent.as_deref()
    }

    fn tags(&self, text: &str, finish: Finish) -> XmlFound {
        match self.agent() {
            Some(agent) if agent.encoding != Encoding::Native => {
                let offered = offered_slots(agent, &self.config.limits, self.turn, self.last);
                xml::find_tags(text, &agent.nonce, &offered, finish)
            }
            _ => XmlFound::default(),
        }
    }
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
fn offered_slots(agent: &AgentConfig, limits: &Limits, turn: u32, last: bool) -> Vec<Slot> {
    let numbered = match agent.encoding {
        Encoding::Xml if !last => numbered_slots(limits, turn),
        _ => 0..0,
    };
    numbered.map(Slot::Numbered).chain([Slot::Final]).collect()
}

/// The calls of a reply as they are checked one after the other.
struct Calls<'a> {
    how: &'a Decoding<'a>,
    finish: Finish,
    ids: BTreeSet<Arc<str>>,
    calls: Vec<Call>,
    repairs: Vec<Event>,
}

impl<'a> Calls<'a> {
    fn new(how: &'a Decoding<'a>, finish: Finish) -> Self {
        Self {
            how,
            finish,
            ids: BTreeSet::new(),
            calls: vec![],
            repairs: vec![],
        }
    }

    fn take_native(&mut self, call: ReplyCall) {
        let (id, original_id) = self.unique_id(&call.id);
        let index = self.counted();
        let mut checked = check::call(&call.tool, call.arguments, self.finish, index, self.how);
        let encoding = self.how.agent().map(|agent| agent.encoding);
        if encoding == Some(Encoding::Xml) && &*checked.tool != FINAL_REPORT {
            checked.refused = checked.refused.or_else(|| Some(check::not_a_tag()));
        }
        self.add(id, original_id, call.tool.into(), checked, None);
    }

    fn take_tag(&mut self, call: XmlCall) {
        let nonce = self.how.agent().map_or("", |agent| &agent.nonce);
        let (id, original_id) = self.unique_id(&format!("{nonce}-{}", call.slot));
        let index = self.counted();
        // What a tag holds is whole: it has an end of its own.
        let checked = match call.slot {
            Slot::Final => Checked::as_written(call.tool.as_str().into(), call.payload.into()),
            _ => check::call(&call.tool, call.payload, Finish::Stop, index, self.how),
        };
        let tag = Tag {
            format: call.format.map(Into::into),
            unclosed: !call.closed,
        };
        self.add(id, original_id, call.tool.into(), checked, Some(tag));
    }

    /// How many of the calls so far take a place under the cap: an agent's report takes none.
    fn counted(&self) -> usize {
        let is_agent = self.how.agent().is_some();
        let takes_place = |call: &&Call| !is_agent || &*call.tool != FINAL_REPORT;
        self.calls.iter().filter(takes_place).count()
    }

    fn add(
        &mut self,
        id: Arc<str>,
        original_id: Option<Arc<str>>,
        written: Arc<str>,
        checked: Checked,
        tag: Option<Tag>,
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
        self.calls.push(Call {
            id,
            original_id,
            original_tool: (written != checked.tool).then_some(written),
            tool: checked.tool,
            arguments: checked.arguments,
            refused: checked.refused,
            tag,
        });
    }

    /// A result finds its call by the id, so an id that is missing or used twice is replaced.
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
