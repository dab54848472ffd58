//! What a person says after a run began: another goal once it has ended, or words while it is at work.

use std::sync::Arc;

use super::pursuit::Used;
use super::{LastTurn, Run, RunPhase};
use crate::config::OverallLimits;
use crate::event::GoalGiven;
use crate::id::RunId;
use crate::model::Message;
use crate::progress::Progress;
use crate::termination::TerminationKind;
use crate::text::Text;
use crate::time::Millis;

/// What the model is shown for a call that was left when the run ended.
const LEFT: &str = "(tool failed: not executed: the run had ended)";

/// Why a run takes no other goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoalRefused {
    /// What a person says now is heard as words.
    #[error("it has not ended")]
    NotEnded,
    /// It works in loops: no request goes on from what was said before.
    #[error("it works in loops, and has no conversation to continue")]
    Loops,
    /// It ended before its first turn, and would do so again.
    #[error("it could not begin: {why}")]
    NeverBegan {
        /// What it could not be given.
        why: Text,
    },
    /// It did what it may not do, and does not bear that.
    #[error("it was ended because of a call that it may not make")]
    Denied,
    /// Its caller has taken its answer and gone on.
    #[error("it is a call of run {caller}")]
    Called {
        /// The run that called it.
        caller: RunId,
    },
    /// Its plan has judged it, and its copy of the tree is gone.
    #[error("it is for an item of plan {plan}")]
    OfPlan {
        /// The id of the plan.
        plan: String,
    },
    /// Whoever asks the server again is given its answer again.
    #[error("it is the answer to a client of a server")]
    Served,
    /// Nothing is asked, and nothing was said that the model has not heard.
    #[error("the goal is empty")]
    Blank,
}

impl Run {
    /// Whether the run can be given another goal.
    ///
    /// Whatever ended it, except where it would end in the same way before the model is heard: an answer, a limit, a
    /// cancellation and a provider that failed leave a conversation that can be continued.
    pub fn takes_goal(&self) -> Result<(), GoalRefused> {
        let config = self.config();
        let Some(termination) = self.termination() else {
            return Err(GoalRefused::NotEnded);
        };
        if let Some(parent) = &config.parent {
            let caller = parent.run.clone();
            return Err(GoalRefused::Called { caller });
        }
        if let Some(item) = &config.item {
            let plan = item.plan.clone();
            return Err(GoalRefused::OfPlan { plan });
        }
        if config.served.is_some() {
            return Err(GoalRefused::Served);
        }
        if !self.converses() {
            return Err(GoalRefused::Loops);
        }
        if let Some(why) = self.setup.started.refused.clone() {
            return Err(GoalRefused::NeverBegan { why });
        }
        match termination.kind {
            TerminationKind::Denied => Err(GoalRefused::Denied),
            TerminationKind::Done
            | TerminationKind::Blocked
            | TerminationKind::TurnsExhausted
            | TerminationKind::NoProgress
            | TerminationKind::Cancelled
            | TerminationKind::Fatal
            | TerminationKind::BudgetExhausted
            | TerminationKind::TimedOut => Ok(()),
        }
    }

    /// Whether the run can be given this goal.
    pub fn takes(&self, given: &GoalGiven) -> Result<(), GoalRefused> {
        self.takes_goal()?;
        match given.goal.trim().is_empty() && self.unheard().is_empty() {
            true => Err(GoalRefused::Blank),
            false => Ok(()),
        }
    }

    /// What a person said that the model has not been shown yet.
    pub fn unheard(&self) -> &[Text] {
        &self.dialogue.said
    }

    /// Whether what a person says now reaches the model: the run is a conversation, and has not ended.
    pub fn hears(&self) -> bool {
        self.termination().is_none() && self.profile().conduct().hears
    }

    pub(super) fn person_spoke(&mut self, text: &Text) {
        if self.hears() {
            self.dialogue.said.push(text.clone());
        }
    }

    /// A turn is over: what a person said meanwhile stands in the next. In the last turn, which goes on, there is no next.
    pub(super) fn hear_person(&mut self) {
        if self.dialogue.said.is_empty() || self.dialogue.has_exchange() {
            return;
        }
        self.standing.heard_person();
        self.tally.progress = Progress::new(self.config().edition);
        self.say_what_was_said();
    }

    fn say_what_was_said(&mut self) {
        for text in std::mem::take(&mut self.dialogue.said) {
            self.push(Message::user(text), None);
        }
    }

    /// The run goes on with another goal, from what was said before.
    pub(super) fn goal_given(&mut self, given: &GoalGiven, at: Millis) {
        if self.termination().is_none() {
            return;
        }
        self.tally.watch.resume(at);
        let offered = self.brief(self.turn).offer;
        self.close_what_was_said();
        let goal = self.goal_of(given);
        self.say_what_was_said();
        if !given.goal.trim().is_empty() {
            let text = given.goal.clone();
            self.push(Message::user(text), None);
        }
        let message = self.messages().len().saturating_sub(1);
        let began = Used {
            turns: self.turn,
            elapsed_ms: self.elapsed_ms(),
            spend: self.spend(),
        };
        self.pursuit = self.pursuit.next(goal, message, given, began);
        self.take_settings(given);
        self.last_turn = LastTurn::new(self.config().limits.turns_max);
        self.tally.progress = Progress::new(self.config().edition);
        self.standing = self.standing.with_another_goal(&self.setup.started.config);
        self.dialogue.summaries.begin_goal(given.sums_up);
        self.targets.attempts.turn_over();
        self.delivery = Default::default();
        self.phase = RunPhase::Between;
        if self.brief(self.turn.saturating_add(1)).offer != offered {
            // What the provider counted last was without the tools that are offered again.
            self.tally.ledger.uncount();
        }
    }

    /// What is asked: the goal, after what the model has not heard.
    fn goal_of(&self, given: &GoalGiven) -> Text {
        let said = self.unheard().iter().chain([&given.goal]);
        let mut parts = said.filter(|it| !it.trim().is_empty());
        match (parts.next(), parts.next()) {
            (Some(only), None) => only.clone(),
            _ => {
                let said = self.unheard().iter().chain([&given.goal]);
                let parts: Vec<&str> = said.map(|it| it.trim()).collect();
                parts.join("\n\n").trim().into()
            }
        }
    }

    /// Whatever was open when the run ended is closed: a provider takes no conversation with a call that has no answer.
    fn close_what_was_said(&mut self) {
        self.scratch = Default::default();
        self.oversight.review = Default::default();
        self.dialogue.close();
        for call_id in self.dialogue.calls_without_answer() {
            let text = LEFT.into();
            self.push(
                Message::Tool {
                    call_id,
                    text,
                    images: vec![],
                },
                None,
            );
        }
    }

    fn take_settings(&mut self, given: &GoalGiven) {
        self.setup.overall = given.overall.unwrap_or(self.setup.overall);
        let limits = self.pursuit.bounds(&self.setup.overall);
        let config = &mut Arc::make_mut(&mut self.setup.started).config;
        config.limits = limits;
        if let Some(policy) = &given.policy {
            // What a run that reads only was begun with, its tools and its sandbox, is for no other.
            let reads_only = config.reads_only();
            let mut policy = policy.clone();
            policy.reads_only |= reads_only;
            config.policy = Some(policy);
        }
        if let Some(targets) = &given.targets {
            config.targets.clone_from(targets);
            self.take_targets();
        }
    }

    /// Other models count in their own way, and have their own windows.
    fn take_targets(&mut self) {
        let (started, catalog) = (&self.setup.started, &self.setup.catalog);
        self.targets = super::Targets::begin(&started.config);
        self.meter = super::Meter::begin(started, catalog);
        let messages = self.dialogue.conversation.messages();
        self.meter
            .count_anew(started, catalog, &self.found, messages);
        self.outputs.uncounted();
        self.tally.ledger.uncount();
    }
}

/// What may be used over all goals of a run.
pub(super) fn overall(config: &crate::config::RunConfig) -> OverallLimits {
    let said = config.overall;
    said.unwrap_or_else(|| OverallLimits::of(&config.limits))
}
