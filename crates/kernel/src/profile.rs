//! What a run is: plain, a conversation, an agent's, or one that works in loops. Whatever differs between them is asked here and answered in
//! the module of each: a new profile is one more module, and the compiler names every question that it must answer.

mod agent;
mod conduct;
mod conversation;
mod looping;
mod plain;

use std::sync::Arc;

pub(crate) use agent::ReadReport;
use agent::Reporting;
pub(crate) use conduct::Conduct;
use conversation::Conversing;
use looping::Looping;
pub use looping::{LoopAudit, OperationOutcome, OperationSummary, RunAudit};
pub(crate) use looping::{LoopOp, TurnLeft, is_own_code};
use plain::Plain;

use crate::config::{
    AgentConfig, LoopConfig, ReportSpec, RunConfig, Spelling, SubAgent, Vocabulary, Writing,
};
use crate::edition::Edition;
use crate::event::{Answer, Call, DecisionMade, Outcome, RejectReason, RunStarted, ToolFinished};
use crate::memory::{Memory, MemoryEdit};
use crate::model::Offer;
use crate::prompt::{self, Brief};
use crate::report::{Report, SyntheticReason, report_tool_spec};
use crate::retry::Attempts;
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;
use crate::time::Millis;
use crate::tool::{BadCatalog, Catalog, ToolSpec};
use crate::tool_search::{FoundTools, defer};

/// What a run is, by its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile<'a> {
    /// Ends with a call of `done`, or with a text that is said twice.
    Plain,
    /// Ends with a text that stands without a call, and goes on with what the person asks next.
    Conversation,
    /// Ends with a report.
    Agent(&'a AgentConfig),
    /// Has a memory in place of a conversation, and ends when it is idle.
    Loop(&'a LoopConfig),
}

/// The turn that a request is made for.
#[derive(Clone, Copy)]
pub(crate) struct TurnView<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) catalog: &'a Catalog,
    /// Which of the tools that have to be found were found.
    pub(crate) found: &'a FoundTools,
    pub(crate) turn: u32,
    /// The last turn of the run, as it stands now.
    pub(crate) last_turn: u32,
    /// Whether the turn must end the run.
    pub(crate) is_last: bool,
    /// Whether the context is full.
    pub(crate) is_forced: bool,
}

impl<'a> Profile<'a> {
    pub(crate) fn of(config: &'a RunConfig) -> Self {
        match (&config.looping, &config.agent) {
            (Some(looping), _) => Self::Loop(looping),
            (None, Some(agent)) => Self::Agent(agent),
            (None, None) if config.conversation => Self::Conversation,
            (None, None) => Self::Plain,
        }
    }

    /// What holds for every run of this profile.
    pub(crate) fn conduct(self) -> &'static Conduct {
        match self {
            Self::Plain => &plain::CONDUCT,
            Self::Conversation => &conversation::CONDUCT,
            Self::Agent(_) => &agent::CONDUCT,
            Self::Loop(_) => &looping::CONDUCT,
        }
    }

    /// How calls are written in the replies.
    pub(crate) fn writing(self) -> Writing<'a> {
        match self {
            Self::Plain | Self::Conversation => Writing::Calls(Spelling::NATIVE),
            Self::Agent(config) => Writing::Calls(agent::spelling(config)),
            Self::Loop(config) => Writing::Instructions(config),
        }
    }

    /// What marks the tags that calls are written as and answered by, where they may be.
    pub(crate) fn nonce(self) -> Option<&'a str> {
        match self {
            Self::Agent(agent) => Some(&agent.nonce),
            Self::Plain | Self::Conversation | Self::Loop(_) => None,
        }
    }

    /// How many tokens the tools hold at most that are sent though they may wait; `None` where all are sent.
    pub(crate) fn deferred_above(self) -> Option<u64> {
        match self {
            Self::Agent(agent) => agent.deferred_above,
            Self::Plain | Self::Conversation | Self::Loop(_) => None,
        }
    }

    /// The agents that may be called.
    pub(crate) fn agents(self) -> &'a [SubAgent] {
        match self {
            Self::Agent(agent) => &agent.agents,
            Self::Plain | Self::Conversation | Self::Loop(_) => &[],
        }
    }

    /// Whether the log keeps what the model wrote.
    pub(crate) fn keeps_text(self) -> bool {
        match self {
            Self::Plain | Self::Conversation | Self::Agent(_) => true,
            Self::Loop(config) => config.keeps_text,
        }
    }

    /// What goes with a request, besides these notices.
    pub(crate) fn brief(self, asked: &TurnView<'_>, notices: Vec<Arc<str>>) -> Brief {
        match self {
            Self::Plain => plain::brief(asked, notices),
            Self::Conversation => conversation::brief(asked, notices),
            Self::Agent(config) => agent::brief(config, asked, notices),
            Self::Loop(_) => looping::brief(notices),
        }
    }

    /// What the last request offers, and what it explains besides.
    pub(crate) fn last_request(self, asked: &TurnView<'_>) -> (Offer, Option<String>) {
        match self {
            Self::Agent(config) => agent::last_request(config, asked),
            Self::Conversation => (Offer::None, None),
            Self::Plain | Self::Loop(_) => (Offer::TerminalOnly, None),
        }
    }

    /// A stub as it is shown at its longest.
    pub(crate) fn longest_stub(self, stub: String) -> String {
        match self {
            Self::Agent(config) => agent::longest_stub(config, stub),
            Self::Plain | Self::Conversation | Self::Loop(_) => stub,
        }
    }

    /// What the next request says of a decision that does nothing.
    pub(crate) fn nothing_done(
        self,
        decision: &DecisionMade,
        edition: Edition,
    ) -> Option<&'static str> {
        match self {
            Self::Plain => plain::nothing_done(decision, edition),
            Self::Conversation => conversation::nothing_done(decision),
            Self::Agent(_) => agent::nothing_done(decision, edition),
            Self::Loop(_) => None,
        }
    }

    /// What a rejected reply is answered with in the next request.
    pub(crate) fn rejection(self, reason: RejectReason, calls: &[Call]) -> Arc<str> {
        let own = match self {
            Self::Plain => plain::rejection(reason),
            Self::Conversation => conversation::rejection(reason),
            Self::Agent(_) => agent::rejection(reason),
            Self::Loop(_) => return looping::rejection(calls),
        };
        own.map_or_else(|| prompt::rejection(reason, calls), Into::into)
    }

    /// How long no provider is asked after so many failures in one turn, whichever it is.
    pub(crate) fn pause_ms(self, failures_before: u32) -> Option<u64> {
        match self {
            Self::Plain | Self::Conversation | Self::Agent(_) => None,
            Self::Loop(_) => Some(looping::retry_ms(failures_before)),
        }
    }

    /// How a run ends that a provider refuses for good.
    pub(crate) fn refused_for_good(self, reason: String) -> Termination {
        match self {
            Self::Plain | Self::Conversation | Self::Agent(_) => {
                Termination::new(TerminationKind::Fatal, reason)
            }
            Self::Loop(_) => looping::refused_for_good(reason),
        }
    }

    /// How a run ends whose request fits no window, where that cannot change any more.
    pub(crate) fn overflow(self) -> Option<Termination> {
        match self {
            Self::Plain | Self::Conversation | Self::Agent(_) => None,
            Self::Loop(_) => Some(looping::overflow()),
        }
    }

    /// What a run lacks whose turns are used up.
    pub(crate) fn ends_with(self) -> &'static str {
        match self {
            Self::Plain | Self::Agent(_) | Self::Loop(_) => "a call of done",
            Self::Conversation => "an answer",
        }
    }
}

/// That of the first model: what the tools hold is much the same in all.
fn vocabulary(config: &RunConfig) -> Vocabulary {
    let window = config.targets.first().and_then(|target| target.window);
    window.map(|window| window.vocabulary).unwrap_or_default()
}

impl Catalog {
    /// Checks the tools that a host offers, and adds `done`.
    pub fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Result<Self, BadCatalog> {
        Self::of_specs(specs.into_iter().chain([plain::done_spec()]).collect())
    }

    /// Checks the tools that an agent has, and adds the one for its report.
    pub fn reporting(
        specs: impl IntoIterator<Item = ToolSpec>,
        report: &ReportSpec,
    ) -> Result<Self, BadCatalog> {
        let report = report_tool_spec(report);
        Self::of_specs(specs.into_iter().chain([report]).collect())
    }

    /// Checks the tools of a run, and adds those that the kernel itself answers.
    pub fn of_run(
        specs: impl IntoIterator<Item = ToolSpec>,
        config: &RunConfig,
    ) -> Result<Self, BadCatalog> {
        Self::of_run_deferring(specs, config, |_| false)
    }

    /// The same where tools that `may_wait` are found by a search, should they hold more than the run sends.
    pub fn of_run_deferring(
        specs: impl IntoIterator<Item = ToolSpec>,
        config: &RunConfig,
        may_wait: impl Fn(&ToolSpec) -> bool,
    ) -> Result<Self, BadCatalog> {
        let is_admitted = |spec: &ToolSpec| config.admits(spec);
        let specs = specs.into_iter().filter(is_admitted).collect();
        let specs = match Profile::of(config).deferred_above() {
            Some(tokens_max) => defer(specs, may_wait, vocabulary(config), tokens_max),
            None => specs,
        };
        let client_tools = config.client_tools.iter().flat_map(|tools| tools.specs());
        let client_tools = client_tools.filter(is_admitted);
        let beside = || config.own_tools.specs().into_iter().chain(client_tools);
        match Profile::of(config) {
            Profile::Plain => Self::new(specs.into_iter().chain(beside())),
            // What is said without a call is the answer.
            Profile::Conversation => Self::of_specs(specs.into_iter().chain(beside()).collect()),
            Profile::Agent(agent) => {
                Self::reporting(specs.into_iter().chain(beside()), &agent.report)
            }
            // Such a run ends when it is idle: there is nothing to call for that.
            Profile::Loop(_) => Self::of_specs(specs.into_iter().chain(LoopOp::specs()).collect()),
        }
    }
}

/// How a run stands as what it is.
#[derive(Clone, Debug)]
pub(crate) enum ProfileState {
    Plain(Plain),
    Conversation(Conversing),
    Agent(Reporting),
    Loop(Box<Looping>),
}

/// Whether a turn begins.
pub(crate) enum Begin {
    Now,
    /// The run rests first.
    Later,
    /// The run ends in place of it.
    End(Termination),
}

impl ProfileState {
    pub(crate) fn begin(started: &RunStarted, run: &str, at: Millis) -> Self {
        match Profile::of(&started.config) {
            Profile::Plain => Self::Plain(Plain::default()),
            Profile::Conversation => Self::Conversation(Conversing::default()),
            Profile::Agent(agent) => Self::Agent(Reporting::begin(agent)),
            Profile::Loop(config) => {
                Self::Loop(Box::new(Looping::begin(config, &started.goal, run, at)))
            }
        }
    }

    /// How a run stands that goes on with another goal.
    pub(crate) fn with_another_goal(&self, config: &RunConfig) -> Self {
        match (Profile::of(config), self) {
            (Profile::Plain, _) => Self::Plain(Plain::default()),
            (Profile::Conversation, _) => Self::Conversation(Conversing::default()),
            (Profile::Agent(agent), _) => Self::Agent(Reporting::begin(agent)),
            // It takes no other goal.
            (Profile::Loop(_), looping) => looping.clone(),
        }
    }

    /// A person has spoken: what the model said before is no answer to that.
    pub(crate) fn heard_person(&mut self) {
        match self {
            Self::Plain(plain) => *plain = Plain::default(),
            Self::Conversation(conversing) => *conversing = Conversing::default(),
            Self::Agent(_) | Self::Loop(_) => {}
        }
    }

    /// The memory, where the run has one.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.looping().map(Looping::memory)
    }

    /// The system text of this turn, where it is not that of the run.
    pub(crate) fn system(&self) -> Option<&Text> {
        self.looping().map(Looping::system)
    }

    /// When the next turn may begin, where it does not begin at once.
    pub(crate) fn rest_until(&self) -> Option<Millis> {
        self.looping().map(Looping::rest_until)
    }

    /// What is kept of the run for whoever checks it.
    pub(crate) fn audit(&self, turn: u32, termination: Option<&Termination>) -> Option<LoopAudit> {
        Some(self.looping()?.audit(turn, termination))
    }

    /// The instruction that the kernel itself carries out, if a call is one.
    pub(crate) fn op(&self, tool: &str) -> Option<LoopOp> {
        self.looping().and_then(|_| LoopOp::of(tool))
    }

    /// Carries out an instruction of a reply.
    pub(crate) fn carry_out(&self, op: LoopOp, calls: &[Call], at: usize) -> Option<ToolFinished> {
        self.looping()?.carry_out(op, calls, at)
    }

    /// The one message of the next turn, where that is made anew.
    pub(crate) fn compose(&mut self, started: &RunStarted) -> Option<Text> {
        Some(self.looping_mut()?.compose(&started.system, &started.goal))
    }

    /// Whether the turn after this one begins.
    pub(crate) fn begins(&self, turn: u32, last_turn: u32, now: Millis, woke: bool) -> Begin {
        match self {
            Self::Plain(plain) => plain.begins(),
            Self::Conversation(conversing) => conversing.begins(),
            Self::Agent(_) => Begin::Now,
            Self::Loop(looping) => looping.begins(turn, last_turn, now, woke),
        }
    }

    /// How a run ends that did what is not borne.
    pub(crate) fn denial(&self) -> Option<Termination> {
        self.looping()?.denial()
    }

    /// How a run ends whose turn came to nothing as often as it may, where no other turn follows.
    pub(crate) fn gives_up(&self, attempts: &Attempts, attempts_max: u32) -> Option<Termination> {
        self.looping()?.gives_up(attempts, attempts_max)
    }

    /// Takes a decision in, and says whether it is a text that may be the answer.
    pub(crate) fn decided(&mut self, decision: &DecisionMade, edition: Edition) -> bool {
        match self {
            Self::Plain(plain) => return plain.decided(decision, edition),
            Self::Conversation(conversing) => return conversing.decided(decision),
            Self::Agent(_) => {}
            Self::Loop(looping) => looping.decided(&decision.answer, &decision.calls),
        }
        false
    }

    /// A reply was rejected. `takes_prose` says whether its text may be the report.
    pub(crate) fn rejected(&mut self, reason: RejectReason, answer: &Answer, takes_prose: bool) {
        match self {
            Self::Plain(_) | Self::Conversation(_) => {}
            Self::Agent(reporting) => reporting.rejected(reason, answer, takes_prose),
            Self::Loop(looping) => looping.rejected(reason),
        }
    }

    /// Shows what came of a call in the next turn, where no conversation does.
    pub(crate) fn tell(&mut self, call: &Call, text: &Text, outcome: Outcome) -> bool {
        let Some(looping) = self.looping_mut() else {
            return false;
        };
        looping.tell(call, text, outcome);
        true
    }

    pub(crate) fn finished(
        &mut self,
        turn: u32,
        calls: &[Call],
        at: usize,
        finished: &ToolFinished,
    ) {
        if let Some(looping) = self.looping_mut() {
            looping.finished(turn, calls, at, finished);
        }
    }

    pub(crate) fn refused(&mut self, turn: u32, call: &Call) {
        if let Some(looping) = self.looping_mut() {
            looping.refused(turn, call);
        }
    }

    /// A turn is over, and leaves this where the next is made from it.
    pub(crate) fn turn_over(&mut self, now: Millis) -> Option<TurnLeft> {
        Some(self.looping_mut()?.turn_over(now))
    }

    /// Takes in what a person changed. Says whether there is a memory.
    pub(crate) fn edited(&mut self, edit: &MemoryEdit) -> bool {
        let Some(looping) = self.looping_mut() else {
            return false;
        };
        looping.edited(edit);
        true
    }

    pub(crate) fn ended(&mut self, at: Millis) {
        if let Some(looping) = self.looping_mut() {
            looping.ended(at);
        }
    }

    /// Why the model stopped.
    pub(crate) fn stopped(&mut self, answer: &Answer, calls: &[Call]) {
        if let Some(reporting) = self.reporting_mut() {
            reporting.stopped(answer, calls);
        }
    }

    /// Counts reports, and says whether one could not even be read.
    pub(crate) fn count_reports(&mut self, calls: &[Call]) -> bool {
        self.reporting_mut().is_some_and(|it| it.count(calls))
    }

    pub(crate) fn report_failed(&mut self, turn: u32) {
        if let Some(reporting) = self.reporting_mut() {
            reporting.failed(turn);
        }
    }

    /// Reads the report of a call, where the run has one to give.
    pub(crate) fn read_report(&self, edition: Edition, call: &Call) -> Option<ReadReport> {
        Some(self.reporting()?.read(edition, call))
    }

    /// The report that stood in a text: better than none.
    pub(crate) fn fallback(&self) -> Option<&Report> {
        self.reporting()?.fallback()
    }

    /// The text that it stood in.
    pub(crate) fn fallback_text(&self) -> Option<&Text> {
        self.reporting().map(Reporting::fallback_text)
    }

    /// Whether the model has written once more a text that may be the report.
    pub(crate) fn has_repeated_prose(&self) -> bool {
        self.reporting().is_some_and(Reporting::has_repeated_prose)
    }

    /// The report of a run whose turns are used up, where it has one to give.
    pub(crate) fn report_of_turns(
        &self,
        turn: u32,
        is_full: bool,
        cause: Option<&str>,
    ) -> Option<Report> {
        Some(self.reporting()?.of_turns(turn, is_full, cause))
    }

    /// The report of a run that a limit has ended, where it has one to give.
    pub(crate) fn report_of_limit(&self, turn: u32, cause: &str) -> Option<Report> {
        let reason = SyntheticReason::LimitReached;
        Some(self.reporting()?.synthetic(reason, turn, Some(cause)))
    }

    fn looping(&self) -> Option<&Looping> {
        match self {
            Self::Plain(_) | Self::Conversation(_) | Self::Agent(_) => None,
            Self::Loop(looping) => Some(looping),
        }
    }

    fn looping_mut(&mut self) -> Option<&mut Looping> {
        match self {
            Self::Plain(_) | Self::Conversation(_) | Self::Agent(_) => None,
            Self::Loop(looping) => Some(looping),
        }
    }

    fn reporting(&self) -> Option<&Reporting> {
        match self {
            Self::Agent(reporting) => Some(reporting),
            Self::Plain(_) | Self::Conversation(_) | Self::Loop(_) => None,
        }
    }

    fn reporting_mut(&mut self) -> Option<&mut Reporting> {
        match self {
            Self::Agent(reporting) => Some(reporting),
            Self::Plain(_) | Self::Conversation(_) | Self::Loop(_) => None,
        }
    }
}
