//! What holds for a run from its first entry to its last: who it is, how it began, which tools it has. Only another goal
//! changes some of its settings.

use std::sync::Arc;

use super::goals::overall;
use super::pursuit::Pursuit;
use crate::config::{OverallLimits, RunConfig, SubAgent, Target};
use crate::context::{DROPPED, REFUSED};
use crate::decode::xml::Slot;
use crate::entry::Entry;
use crate::event::{Call, Event, Outcome, RunStarted};
use crate::id::{GoalId, RunId};
use crate::model::Message;
use crate::money::{Money, Price};
use crate::own_tools::OwnTool;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::prompt::xml::{ToolResponse, tool_response};
use crate::text::Text;
use crate::tool::{Catalog, ToolEffect, is_terminal};

/// What a run began with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) id: RunId,
    pub(crate) goal_id: GoalId,
    /// As the log has it.
    pub(crate) began: Arc<RunStarted>,
    /// With what later goals changed of the settings.
    pub(crate) started: Arc<RunStarted>,
    /// What may be used over all goals.
    pub(super) overall: OverallLimits,
    pub(crate) catalog: Catalog,
}

impl Setup {
    /// `None` where the entry begins no run.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let Event::RunStarted(started) = &entry.event else {
            return None;
        };
        let overall = overall(&started.config);
        let began = Arc::new(RunStarted::clone(started));
        let bounds = Pursuit::first(&began.goal, &began.config.limits).bounds(&overall);
        let mut started = Arc::clone(&began);
        if bounds != began.config.limits {
            Arc::make_mut(&mut started).config.limits = bounds;
        }
        Some(Self {
            id: entry.run.clone(),
            goal_id: entry.goal.clone(),
            catalog: began.catalog()?.clone(),
            overall,
            began,
            started,
        })
    }

    pub(crate) fn config(&self) -> &RunConfig {
        &self.started.config
    }

    /// What the run is.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile::of(self.config())
    }

    /// Whether requests go on from what was said before.
    pub(crate) fn converses(&self) -> bool {
        self.profile().conduct().converses
    }

    /// The agent that a tool stands for, if it stands for one.
    pub(crate) fn sub_agent(&self, tool: &str) -> Option<&SubAgent> {
        let mut agents = self.profile().agents().iter();
        agents.find(|agent| agent.tool == tool)
    }

    /// Whether the calls of a tool are executed by whoever asked for the run.
    pub(crate) fn is_client_tool(&self, tool: &str) -> bool {
        let client_tools = self.config().client_tools.as_ref();
        client_tools.is_some_and(|tools| tools.has(tool))
    }

    /// The tool of the kernel that a call is of, if it is of one.
    pub(crate) fn own_tool(&self, tool: &str) -> Option<OwnTool> {
        self.config().own_tools.of(tool)
    }

    /// How much is kept of an output to read on in; `None` where the run does not offer that.
    pub(crate) fn paged_bytes_max(&self) -> Option<u64> {
        self.config().own_tools.output_kept_bytes_max
    }

    /// What a call does at worst.
    pub(crate) fn effect_of(&self, tool: &str) -> ToolEffect {
        let spec = self.catalog.spec(tool);
        spec.map_or(ToolEffect::Write, |spec| spec.effect)
    }

    /// Whether a call can change something by itself. An agent that is called is asked about its own
    /// calls: it begins as marked as its caller is.
    pub(crate) fn changes_something(&self, tool: &str) -> bool {
        let reads = self.effect_of(tool) == ToolEffect::Read;
        !is_terminal(tool) && !reads && self.sub_agent(tool).is_none()
    }

    /// Whether two calls of one reply may be executed at the same time, whichever comes first.
    pub(crate) fn are_apart(&self, one: &Call, other: &Call) -> bool {
        let is_agent = |call: &Call| self.sub_agent(&call.tool).is_some();
        let is_read = |call: &Call| self.effect_of(&call.tool).is_read();
        match (is_agent(one), is_agent(other)) {
            (true, true) => return true,
            // Nobody knows what an agent looks at, and it may have to be called again after it has waited.
            (true, false) => return is_read(other),
            (false, true) => return is_read(one),
            (false, false) => {}
        }
        let resource = |call: &Call| self.catalog.spec(&call.tool)?.resource.clone();
        match (resource(one), resource(other)) {
            (Some(one_of), Some(other_of)) if one_of == other_of => is_read(one) && is_read(other),
            _ => true,
        }
    }

    /// Whether what a call returns may change what the policy says of the next one.
    pub(crate) fn may_mark(&self, policy: &Policy, call: &Call) -> bool {
        policy.is_untrusted(&call.tool) || self.sub_agent(&call.tool).is_some()
    }

    /// What a target's requests cost, where that is known.
    pub(super) fn price(&self, target: u32) -> Option<Price> {
        self.target(target)?.price
    }

    /// Whether a provider's bill is not the last word: a person said what its requests cost, or it says nothing, as a
    /// server does that knows no prices.
    pub(super) fn doubts(&self, target: u32, billed: Money) -> bool {
        let target = self.target(target);
        let is_by_person = target.is_some_and(|it| it.price_listed.is_none());
        self.config().edition.doubts_bills() && (is_by_person || billed == Money::default())
    }

    /// A target as it was configured.
    fn target(&self, index: u32) -> Option<&Target> {
        self.config().targets.get(index as usize)
    }

    /// What the model is shown of a call. A stub does not repeat the request, and neither does a report.
    pub(super) fn answer(
        &self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
    ) -> Message {
        let (Some(_), Some(nonce)) = (&call.tag, self.profile().nonce()) else {
            return Message::Tool {
                call_id: call.id.clone(),
                text: text.clone(),
                images: vec![],
            };
        };
        let slot = Slot::of_id(&call.id);
        let is_stub = [DROPPED, REFUSED].contains(&text.as_str());
        // Its results name what was asked.
        let is_batch = self.own_tool(&call.tool) == Some(OwnTool::Batch);
        let response = ToolResponse {
            nonce,
            slot,
            tool: &sendable_name(&call.tool),
            status: match outcome {
                Outcome::Ok => "ok",
                Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => "failed",
            },
            duration_ms: latency_ms,
            request: match is_stub || is_batch || slot == Slot::Final {
                true => "",
                false => &call.arguments,
            },
            response: text,
        };
        Message::user(tool_response(&response))
    }
}

/// Providers refuse a conversation that names a tool as no tool can be named.
pub(super) fn sendable_name(tool: &Arc<str>) -> Arc<str> {
    let is_sendable = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    if (1..=64).contains(&tool.len()) && tool.chars().all(|c| is_sendable(&c)) {
        return tool.clone();
    }
    let sendable: String = tool.chars().filter(is_sendable).take(64).collect();
    if sendable.is_empty() {
        "unnamed".into()
    } else {
        sendable.into()
    }
}
