//! A run: the state that folds out of a log. `apply` is the only way in which it changes.

use std::sync::Arc;

use crate::agent::SubAgent;
use crate::budget::Ledger;
use crate::config::RunConfig;
use crate::context::{self, Context, DROPPED, REFUSED};
use crate::decode::xml::Slot;
use crate::entry::{Entry, Head};
use crate::event::{
    Answer, AttemptFailed, Call, ContextGuarded, DecisionMade, Event, GuardPoint, Outcome,
    RejectReason, Reserve, RunStarted, SkipReason, ToolFinished,
};
use crate::id::{GoalId, RunId};
use crate::model::{FailureClass, Message, MessageCall, Offer};
use crate::money::Money;
use crate::progress::Progress;
use crate::prompt::xml::{ToolResponse, tool_response};
use crate::prompt::{self, Conversation};
use crate::report::{self, FINAL_REPORT, Report};
use crate::retry::{Attempts, RETRY_AFTER_MS_MIN};
use crate::step::{ToolOutput, exceeded};
use crate::termination::Termination;
use crate::text::Text;
use crate::time::Millis;
use crate::tokens::{MESSAGE_TOKENS, estimate};
use crate::tool::{Catalog, is_terminal};

/// The state of a run, derived from its log and never stored.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) goal_id: GoalId,
    pub(crate) head: Head,
    pub(crate) turn: u32,
    pub(crate) started: Arc<RunStarted>,
    pub(crate) catalog: Catalog,
    pub(crate) phase: Phase,
    pub(crate) conversation: Conversation,
    pub(crate) notices: Vec<Arc<str>>,
    pub(crate) attempts: Attempts,
    pub(crate) ledger: Ledger,
    pub(crate) progress: Progress,
    pub(crate) watch: Stopwatch,
    pub(crate) context: Context,
    pub(crate) schema: SchemaTokens,
    /// The turn that must end the run: the limit, or sooner if the context is full or a report failed.
    pub(crate) last_turn: u32,
    /// Whether the context is full.
    pub(crate) forced: bool,
    /// Whether it was recorded that the last turn does not fit either.
    pub(crate) over: bool,
    pub(crate) reporting: Reporting,
    /// What the agent delivered at the end, as JSON.
    pub(crate) delivered: Option<Text>,
}

/// The tokens of the tools, by what is offered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SchemaTokens {
    all: u64,
    terminal: u64,
}

impl SchemaTokens {
    pub(crate) fn of(self, offer: Offer) -> u64 {
        match offer {
            Offer::All => self.all,
            Offer::WithoutTerminal => self.all.saturating_sub(self.terminal),
            Offer::TerminalOnly => self.terminal,
            Offer::None => 0,
        }
    }
}

/// How an agent's report stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reporting {
    pub(crate) attempts: u32,
    /// The turn in which a report was read and found wanting.
    pub(crate) failed_in: Option<u32>,
    /// A report that stood in the text: the last resort.
    pub(crate) fallback: Option<Box<Report>>,
    /// Why the model stopped last.
    pub(crate) last_stop: Option<Arc<str>>,
}

/// Where a run stands between two steps.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// A turn is over and the next has not begun. Seen only inside a step.
    Between,
    /// A turn is open and its next attempt has not begun: it waits for its target.
    Retrying,
    Asking {
        attempt: u32,
        target: u32,
        reserved: Reserve,
    },
    /// Call `at` is under way, or is the next one to be invoked.
    Acting {
        calls: Arc<[Call]>,
        at: usize,
        invoked: bool,
    },
    Ended(Arc<Termination>),
}

/// Time while a process drives the run.
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    pub(crate) last_at: Millis,
    segment_start: Millis,
    earlier_ms: u64,
}

impl Stopwatch {
    fn new(at: Millis) -> Self {
        Self {
            last_at: at,
            segment_start: at,
            earlier_ms: 0,
        }
    }

    fn observe(&mut self, at: Millis) {
        self.last_at = self.last_at.max(at);
    }

    /// What lies between the last entry and a resume is not counted.
    fn resume(&mut self, at: Millis) {
        self.earlier_ms += self.last_at - self.segment_start;
        self.segment_start = at.max(self.last_at);
        self.last_at = self.segment_start;
    }

    pub(crate) fn elapsed_ms(&self, now: Millis) -> u64 {
        self.earlier_ms
            .saturating_add(now.max(self.last_at) - self.segment_start)
    }

    pub(crate) fn instant_of(&self, elapsed_ms: u64) -> Millis {
        self.segment_start
            .plus(elapsed_ms.saturating_sub(self.earlier_ms))
    }
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    pub usage: crate::model::Usage,
    pub cost: Money,
    /// Requests that were answered or failed.
    pub requests: u32,
}

/// Why entries are not the log of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLog {
    #[error("the log is empty")]
    Empty,
    #[error("the log does not begin with run_started")]
    NoStart,
    #[error("entry {seq} comes after the end of the run")]
    AfterEnd { seq: u64 },
    #[error("entry {seq} does not follow entry {after}")]
    Gap { seq: u64, after: u64 },
}

impl Run {
    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn goal_id(&self) -> &GoalId {
        &self.goal_id
    }

    pub fn goal(&self) -> &Text {
        &self.started.goal
    }

    pub fn system(&self) -> &Text {
        &self.started.system
    }

    /// When the last entry was made.
    pub fn last_at(&self) -> Millis {
        self.watch.last_at
    }

    pub fn config(&self) -> &RunConfig {
        &self.started.config
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn head(&self) -> Head {
        self.head
    }

    pub fn turn(&self) -> u32 {
        self.turn
    }

    pub fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    pub fn spend(&self) -> Spend {
        self.ledger.spend()
    }

    pub fn elapsed_ms(&self) -> u64 {
        self.watch.elapsed_ms(self.watch.last_at)
    }

    /// When the run's time is over, if it is limited and the run has not ended.
    pub fn deadline(&self) -> Option<Millis> {
        match self.phase {
            Phase::Ended(_) => None,
            _ => self
                .config()
                .limits
                .elapsed_ms_max
                .map(|max| self.watch.instant_of(max)),
        }
    }

    pub fn termination(&self) -> Option<&Termination> {
        match &self.phase {
            Phase::Ended(termination) => Some(termination),
            _ => None,
        }
    }

    /// The agent that a tool stands for, if it stands for one.
    pub fn sub_agent(&self, tool: &str) -> Option<&SubAgent> {
        let agents = &self.config().agent.as_ref()?.agents;
        agents.iter().find(|agent| agent.tool == tool)
    }

    /// What the agent delivered, once it has ended.
    pub fn report(&self) -> Option<Report> {
        serde_json::from_str(self.delivered.as_ref()?).ok()
    }

    /// The last text that the model wrote, for a run that ended without an answer.
    pub fn last_text(&self) -> Option<&str> {
        self.messages()
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant { text, .. } if !text.is_empty() => Some(text.as_str()),
                _ => None,
            })
    }

    fn begin(entry: &Entry) -> Option<Self> {
        let Event::RunStarted(started) = &entry.event else {
            return None;
        };
        let catalog = started.catalog()?.clone();
        let mut conversation = Conversation::default();
        conversation.push(Message::User {
            text: started.goal.clone(),
        });
        let fixed_bytes = started.system.len() + catalog.text().len();
        let guarded = context::is_guarded(&started.config);
        let (context, schema) = match guarded {
            true => seed(started, &catalog),
            false => (Context::default(), SchemaTokens::default()),
        };
        Some(Self {
            context,
            schema,
            last_turn: started.config.limits.turns_max,
            forced: false,
            over: false,
            reporting: Reporting::default(),
            delivered: None,
            id: entry.run.clone(),
            goal_id: entry.goal.clone(),
            head: entry.head(),
            turn: entry.turn,
            ledger: Ledger::new(fixed_bytes as u64, &conversation),
            attempts: Attempts::new(&started.config.targets, started.config.agent.is_some()),
            started: Arc::new(RunStarted::clone(started)),
            catalog,
            phase: Phase::Between,
            conversation,
            notices: vec![],
            progress: Progress::default(),
            watch: Stopwatch::new(entry.at),
        })
    }

    /// Whether a turn must end the run with its terminal call.
    pub(crate) fn is_last(&self, turn: u32) -> bool {
        (self.forced || self.config().agent.is_some()) && turn >= self.last_turn
    }

    /// Whether the context is full.
    pub(crate) fn is_forced(&self) -> bool {
        self.forced
    }

    /// Makes a turn the last because the context is full.
    pub(crate) fn force(&mut self, turn: u32) {
        self.forced = true;
        self.last_turn = self.last_turn.min(turn);
    }

    fn is_guarded(&self) -> bool {
        context::is_guarded(self.config())
    }

    fn push(&mut self, message: Message, tokens: Option<u64>) {
        self.ledger.said(&message);
        if self.is_guarded() {
            let tokens = tokens.unwrap_or_else(|| context::message_tokens(&message));
            self.context.said(tokens);
        }
        self.conversation.push(message);
    }

    fn decided(&mut self, decision: &DecisionMade) {
        let answer = &decision.answer;
        self.attempts.succeeded();
        self.notices.clear();
        let mends = self.config().repairs;
        let calls = decision.calls.iter().enumerate();
        let native = calls.filter(|(at, call)| call.tag.is_none() && self.shows(*at, call));
        let calls: Vec<MessageCall> = native.map(|(_, call)| message_call(call, mends)).collect();
        self.notice(&decision.calls);
        self.push(
            Message::Assistant {
                text: answer.text.clone(),
                reasoning: answer.reasoning.clone(),
                signed: answer.signed.clone(),
                calls,
            },
            None,
        );
        self.settle(answer, &decision.calls);
        if let Some(usage) = &answer.usage {
            self.context.counted(usage);
        }
        self.count_reports(&decision.calls);
        self.progress.decided(&decision.calls);
        self.phase = Phase::Acting {
            calls: decision.calls.clone().into(),
            at: 0,
            invoked: false,
        };
        self.pass_refused();
    }

    /// Whether a call stands in the conversation. A flood of refused calls would fill the context.
    fn shows(&self, at: usize, call: &Call) -> bool {
        !self.is_guarded()
            || call.refused.is_none()
            || at < prompt::refused_shown_max(&self.config().limits)
    }

    /// What the next request says of a decision.
    fn notice(&mut self, calls: &[Call]) {
        let is_agent = self.config().agent.is_some();
        let shown = (0..).zip(calls).filter(|(at, call)| self.shows(*at, call));
        let not_shown = calls.len() - shown.count();
        // An agent that only thought goes on by itself.
        if calls.is_empty() && !is_agent {
            self.notices.push(prompt::NO_CALL.into());
        }
        if not_shown > 0 {
            self.notices.push(prompt::not_shown(not_shown));
        }
    }

    /// A report that cannot even be read leaves one more turn.
    fn count_reports(&mut self, calls: &[Call]) {
        if self.config().agent.is_none() {
            return;
        }
        let tried = calls.iter().filter(|call| &*call.tool == FINAL_REPORT);
        self.reporting.attempts += tried.clone().count() as u32;
        if tried.clone().any(|call| call.refused.is_some()) {
            self.collapse();
        }
    }

    fn collapse(&mut self) {
        self.last_turn = self.last_turn.min(self.turn.saturating_add(1));
    }

    /// Books what a request used: what the provider said, else what was reserved.
    fn settle(&mut self, answer: &Answer, calls: &[Call]) {
        self.reporting.last_stop = Some(answer.stop_reason(calls));
        self.settle_as(answer.usage, answer.cost);
    }

    fn settle_as(&mut self, reported: Option<crate::model::Usage>, billed: Option<Money>) {
        if let Phase::Asking {
            target, reserved, ..
        } = self.phase
        {
            let price = self.target_price(target);
            let priced = reported.and_then(|usage| Some(price?.of(&usage)));
            let cost = billed.or(priced);
            self.ledger.settle(target, reserved, reported, cost);
        }
    }

    fn target_price(&self, target: u32) -> Option<crate::money::Price> {
        let targets = &self.started.config.targets;
        targets.get(target as usize).and_then(|target| target.price)
    }

    /// Puts the reasons of refused calls before the model, up to the next call that can be invoked.
    fn pass_refused(&mut self) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, mut at) = (calls.clone(), *at);
        while let Some(call) = calls.get(at) {
            let Some(refusal) = &call.refused else { break };
            if self.shows(at, call) {
                let text: Text = format!("(tool failed: {})", refusal.message).into();
                let message = self.answer(call, &text, Outcome::Failed, 0);
                let has_room = exceeded(self, context::message_tokens(&message)).is_none();
                let text = if has_room { text } else { REFUSED.into() };
                self.answer_call(call, &text, Outcome::Failed, 0, None);
            }
            at += 1;
        }
        self.phase = if at == calls.len() {
            Phase::Between
        } else {
            Phase::Acting {
                calls,
                at,
                invoked: false,
            }
        };
    }

    /// Puts what came of a call before the model: where the provider has a place for it, or as a message
    /// that names the tag.
    fn answer_call(
        &mut self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
        tokens: Option<u64>,
    ) {
        let message = self.answer(call, text, outcome, latency_ms);
        let tokens = tokens.filter(|_| call.tag.is_none());
        self.push(message, tokens.map(|n| n.saturating_add(MESSAGE_TOKENS)));
    }

    /// What the model is shown of a call. A stub does not repeat the request, and neither does a report.
    fn answer(&self, call: &Call, text: &Text, outcome: Outcome, latency_ms: u64) -> Message {
        let (Some(_), Some(agent)) = (&call.tag, &self.config().agent) else {
            return Message::Tool {
                call_id: call.id.clone(),
                text: text.clone(),
            };
        };
        let slot = Slot::of_id(&call.id);
        let is_stub = [DROPPED, REFUSED].contains(&text.as_str());
        let response = ToolResponse {
            nonce: &agent.nonce,
            slot,
            tool: &sendable_name(&call.tool),
            status: match outcome {
                Outcome::Ok => "ok",
                _ => "failed",
            },
            duration_ms: latency_ms,
            request: match is_stub || slot == Slot::Final {
                true => "",
                false => &call.arguments,
            },
            response: text,
        };
        Message::User {
            text: tool_response(&response).into(),
        }
    }

    /// The tokens of the answer to the call under way, whose output has so many. The outcome is taken
    /// for the longer word: a replay of a dropped output does not know it.
    pub(crate) fn answer_tokens(&self, output: &ToolOutput, tokens: u64) -> u64 {
        let call = match &self.phase {
            Phase::Acting { calls, at, .. } => calls.get(*at),
            _ => None,
        };
        let around = call.map_or(MESSAGE_TOKENS, |call| {
            let text = output.text.as_str().into();
            let message = self.answer(call, &text, Outcome::Failed, output.latency_ms);
            context::message_tokens(&message).saturating_sub(estimate(&text))
        });
        tokens.saturating_add(around)
    }

    fn finished(&mut self, finished: &ToolFinished) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(spent) = &finished.spent {
            self.ledger.spent_below(spent);
        }
        if let Some(call) = calls.get(at) {
            self.progress
                .finished(call, finished.outcome, &finished.output);
            // A report that was accepted ends the run: nobody reads an answer to it.
            let is_report = &*call.tool == FINAL_REPORT;
            if is_report && finished.outcome != Outcome::Ok {
                self.reporting.failed_in = Some(self.turn);
                self.collapse();
            }
            if !(is_report && finished.outcome == Outcome::Ok && call.tag.is_some()) {
                let (output, outcome) = (&finished.output, finished.outcome);
                self.answer_call(call, output, outcome, finished.latency_ms, finished.tokens);
            }
        }
        self.pass(calls, at);
    }

    /// A call that was not executed because the context is full.
    fn skipped_for_context(&mut self) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(call) = calls.get(at) {
            self.answer_call(call, &DROPPED.into(), Outcome::Failed, 0, None);
        }
        self.pass(calls, at);
    }

    fn pass(&mut self, calls: Arc<[Call]>, at: usize) {
        self.phase = Phase::Acting {
            calls,
            at: at + 1,
            invoked: false,
        };
        self.pass_refused();
    }

    fn rejected(&mut self, reason: RejectReason, answer: &Answer, calls: &[Call]) {
        self.settle(answer, calls);
        self.ledger.answered(true);
        self.attempts.rejected();
        let agent = self.config().agent.clone();
        self.count_reports(calls);
        self.notices = vec![prompt::rejection(agent.is_some(), reason, calls)];
        // What a provider withheld is withheld as a whole.
        if let Some(agent) = agent
            && reason != RejectReason::Filtered
            && let Some((found, _)) = report::from_text(&agent.report, &answer.text)
        {
            self.reporting.fallback = Some(Box::new(found));
        }
        self.phase = Phase::Retrying;
    }

    fn failed(&mut self, failed: &AttemptFailed, entry: &Entry) {
        if failed.billable {
            self.settle_as(None, None);
        }
        self.ledger
            .answered(failed.class != FailureClass::Interrupted);
        let is_agent = self.config().agent.is_some();
        let floor_ms = if is_agent { RETRY_AFTER_MS_MIN } else { 0 };
        self.attempts.failed(failed, entry.at, floor_ms);
        if failed.class == FailureClass::Malformed {
            self.notices = vec![prompt::UNREADABLE.into()];
        }
        self.phase = Phase::Retrying;
    }

    fn guarded(&mut self, guarded: &ContextGuarded) {
        self.over |= !guarded.still_over.is_empty();
        match guarded.at {
            GuardPoint::TurnPreflight => {
                self.force(self.turn);
                // The turn is open from here on, though its target may not be free yet.
                self.phase = Phase::Retrying;
            }
            GuardPoint::ToolPreflight => self.force(self.turn.saturating_add(1)),
        }
    }
}

/// What the first request holds, as the host counted or as it is estimated.
fn seed(started: &RunStarted, catalog: &Catalog) -> (Context, SchemaTokens) {
    let mut context = Context::default();
    let conversation =
        || context::text_tokens(&started.system) + context::text_tokens(&started.goal);
    let counted = started.counted;
    context.said(counted.map_or_else(conversation, |it| it.conversation));
    let terminal = catalog.specs().find(|spec| is_terminal(&spec.name));
    let terminal = terminal.map_or(0, |spec| {
        estimate(&spec.name) + estimate(&spec.description) + estimate(&spec.schema.to_string())
    });
    let all = counted.map_or_else(|| estimate(catalog.text()), |it| it.schema);
    (context, SchemaTokens { all, terminal })
}

/// Arguments that are no JSON object would make later requests unreadable for some providers.
fn message_call(call: &Call, mends: bool) -> MessageCall {
    let broken = call
        .refused
        .as_ref()
        .is_some_and(|refusal| refusal.code.arguments_unreadable());
    MessageCall {
        id: call.id.clone(),
        tool: if mends {
            sendable_name(&call.tool)
        } else {
            call.tool.clone()
        },
        arguments: if broken || call.arguments.trim().is_empty() {
            "{}".into()
        } else {
            call.arguments.clone()
        },
    }
}

/// Providers refuse a conversation that names a tool as no tool can be named.
fn sendable_name(tool: &Arc<str>) -> Arc<str> {
    let is_sendable = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    if (1..=64).contains(&tool.len()) && tool.chars().all(|c| is_sendable(&c)) {
        return tool.clone();
    }
    let kept: String = tool.chars().filter(is_sendable).take(64).collect();
    if kept.is_empty() {
        "unnamed".into()
    } else {
        kept.into()
    }
}

/// Rebuilds a run from its log.
pub fn replay(entries: &[Entry]) -> Result<Run, BadLog> {
    let (first, rest) = entries.split_first().ok_or(BadLog::Empty)?;
    if first.seq != 1 {
        return Err(BadLog::NoStart);
    }
    let mut run = Run::begin(first).ok_or(BadLog::NoStart)?;
    replay_on(&mut run, rest)?;
    Ok(run)
}

/// Goes on with a replay: takes the entries in that follow what the run has.
pub fn replay_on(run: &mut Run, entries: &[Entry]) -> Result<(), BadLog> {
    for entry in entries {
        if run.termination().is_some() {
            return Err(BadLog::AfterEnd { seq: entry.seq });
        }
        if entry.seq != run.head.seq + 1 || entry.prev != run.head.hash {
            return Err(BadLog::Gap {
                seq: entry.seq,
                after: run.head.seq,
            });
        }
        apply(run, entry);
    }
    Ok(())
}

/// Takes one more entry into the run. Total: an event that does not fit changes nothing but the head.
pub fn apply(run: &mut Run, entry: &Entry) {
    run.head = entry.head();
    run.turn = entry.turn;
    match &entry.event {
        Event::RunResumed {} => run.watch.resume(entry.at),
        _ => run.watch.observe(entry.at),
    }
    match &entry.event {
        Event::RunStarted(_) | Event::RunResumed {} | Event::CallRepaired { .. } => {}
        Event::CallSkipped { reason, .. } => {
            if *reason == SkipReason::ContextBudget {
                run.skipped_for_context();
            }
        }
        Event::ToolInvoked { .. } => {
            if let Phase::Acting { invoked, .. } = &mut run.phase {
                *invoked = true;
            }
        }
        Event::AttemptStarted {
            attempt,
            target,
            reserved,
            ..
        } => {
            run.attempts.started(*attempt, *target);
            run.phase = Phase::Asking {
                attempt: *attempt,
                target: *target,
                reserved: *reserved,
            };
        }
        Event::AttemptFailed(failed) => run.failed(failed, entry),
        Event::ReplyRejected {
            reason,
            answer,
            calls,
        } => run.rejected(*reason, answer, calls),
        Event::DecisionMade(decision) => {
            run.ledger.answered(true);
            run.decided(decision);
        }
        Event::ContextGuarded(guarded) => run.guarded(guarded),
        Event::TurnFailed { .. } => {
            run.progress.turn_failed();
            run.attempts.turn_over();
            run.phase = Phase::Between;
        }
        Event::ToolFinished(finished) => run.finished(finished),
        Event::RunEnded(ended) => {
            run.delivered = ended.report.clone();
            run.phase = Phase::Ended(Arc::new(ended.termination.clone()));
        }
    }
}
