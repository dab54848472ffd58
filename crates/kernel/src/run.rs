//! A run: the state that folds out of a log. `apply` is the only way in which it changes.

mod calls;
mod compaction;
mod conversation;
mod fold;
pub(crate) mod guard;
mod held;
mod hold;
mod last_turn;
mod limits;
mod memory;
mod output;
mod own;
mod request;
mod review;
mod said;
mod summary;
mod watch;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::Gathered;
use crate::budget::{Ledger, Spend};
use crate::config::{RunConfig, SubAgent, Target};
use crate::context::{self, Context};
use crate::entry::{Entry, Head};
use crate::event::{Call, Event, Reserve, RunStarted};
use crate::id::{GoalId, RunId};
use crate::lesson::Lessons;
use crate::model::{Message, Offer};
use crate::paging::KeptOutputs;
use crate::profile::{Profile, Standing};
use crate::progress::Progress;
use crate::prompt::Conversation;
use crate::report::Report;
use crate::retry::Attempts;
use crate::termination::Termination;
use crate::text::Text;
use crate::time::Millis;
use crate::tokens::Gauge;
use crate::tool::{Catalog, is_terminal};

use compaction::Output;
pub(crate) use compaction::TURNS_KEPT;
pub use fold::apply;
use hold::BY_CALLER;
pub(crate) use hold::Hold;
use last_turn::Exchange;
pub use output::ToolOutput;
pub use request::request;
pub(crate) use review::Review;
pub use review::WaitingCall;
use said::Said;
use summary::Summaries;
pub(crate) use watch::Stopwatch;

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
    /// Replies in a row that were of no use.
    useless: u32,
    /// What was said in the last turn, where that goes on.
    exchange: Option<Exchange>,
    pub(crate) attempts: Attempts,
    pub(crate) lessons: Lessons,
    pub(crate) ledger: Ledger,
    pub(crate) progress: Progress,
    pub(crate) watch: Stopwatch,
    pub(crate) context: Context,
    pub(crate) gauge: Gauge,
    /// The target of the request under way, and what it was estimated at.
    asked: Option<(u32, u64)>,
    pub(crate) schema: SchemaTokens,
    /// The turn that must end the run: the limit, or sooner if the context is full or a report failed.
    pub(crate) last_turn: u32,
    /// Whether the context is full.
    pub(crate) forced: bool,
    /// Whether it was recorded that the last turn does not fit either.
    pub(crate) over: bool,
    /// The results of the batch whose members run.
    pub(crate) gathered: Gathered,
    /// The outputs that can be read on in.
    pub(crate) kept: KeptOutputs,
    /// What the agent delivered at the end, as JSON.
    pub(crate) delivered: Option<Text>,
    /// The arguments of this turn's calls that held a secret, by the calls' places, as the model wrote them. They
    /// are in no log: a run that is replayed has none.
    pub(crate) unkept: BTreeMap<usize, Text>,
    /// How the call that is up next stands with the policy.
    pub(crate) review: Review,
    /// What brought untrusted data into the run, if something did.
    pub(crate) marked_by: Option<Arc<str>>,
    /// How the run stands as what it is.
    pub(crate) standing: Standing,
    said: Said,
    summaries: Summaries,
    /// The outputs in the conversation that can be taken out of it.
    outputs: Vec<Output>,
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
        under_way: UnderWay,
    },
    Ended(Arc<Termination>),
}

impl Phase {
    /// Why the run ended, if it did.
    pub(crate) fn termination(&self) -> Option<&Termination> {
        match self {
            Self::Ended(termination) => Some(termination),
            Self::Between | Self::Retrying | Self::Asking { .. } | Self::Acting { .. } => None,
        }
    }

    /// The calls that are acted upon, and the place of the one that is up.
    pub(crate) fn calls(&self) -> Option<(&Arc<[Call]>, usize)> {
        match self {
            Self::Acting { calls, at, .. } => Some((calls, *at)),
            Self::Between | Self::Retrying | Self::Asking { .. } | Self::Ended(_) => None,
        }
    }

    /// The call that is up.
    pub(crate) fn call(&self) -> Option<&Call> {
        let (calls, at) = self.calls()?;
        calls.get(at)
    }

    /// The target that is asked.
    pub(crate) fn asked(&self) -> Option<u32> {
        match self {
            Self::Asking { target, .. } => Some(*target),
            Self::Between | Self::Retrying | Self::Acting { .. } | Self::Ended(_) => None,
        }
    }
}

/// Which calls of a reply were invoked and have not ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnderWay {
    /// From the call that is up to this one, but for those that were refused.
    pub(crate) until: usize,
    /// Whether a process took the run up meanwhile: what may not be repeated is lost.
    pub(crate) taken_up: bool,
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

    /// Whether whatever a reply is checked against is quick to check with, at a glance.
    pub fn has_plain_schemas(&self) -> bool {
        self.catalog.is_plain()
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
        // Nobody drives a run that waits for a person.
        if self.termination().is_some() || self.waiting_call().is_some() {
            return None;
        }
        let max = self.config().limits.elapsed_ms_max;
        max.map(|max| self.watch.instant_of(max))
    }

    pub fn termination(&self) -> Option<&Termination> {
        self.phase.termination()
    }

    /// The agent that a tool stands for, if it stands for one.
    pub fn sub_agent(&self, tool: &str) -> Option<&SubAgent> {
        let mut agents = self.profile().agents().iter();
        agents.find(|agent| agent.tool == tool)
    }

    /// What the agent delivered, once it has ended.
    pub fn report(&self) -> Option<Report> {
        let mut report: Report = serde_json::from_str(self.delivered.as_ref()?).ok()?;
        if let Some(content) = report.content.as_mut().filter(|it| !it.is_resolved()) {
            // A long text is only named there: it is what the run ended with, or what was kept for that. What a run
            // says itself is its reason and some words.
            let said = self.termination().map(Termination::reason);
            let kept = self.standing.fallback();
            let kept = kept.and_then(|it| it.content.as_ref());
            let mut texts = [said, kept].into_iter().flatten();
            let whole = texts.find(|it| **it == *content).or(said);
            *content = whole.cloned().unwrap_or_default();
        }
        Some(report)
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
        let gauge = Gauge::of(&started.config, started.counted.is_some());
        let (context, schema) = match guarded {
            true => seed(started, &catalog, &gauge),
            false => (Context::default(), SchemaTokens::default()),
        };
        let pools_keys = Profile::of(&started.config).conduct().pools_keys;
        let mut run = Self {
            standing: Standing::begin(started, entry.run.as_str(), entry.at),
            context,
            gauge,
            asked: None,
            schema,
            last_turn: started.config.limits.turns_max,
            forced: false,
            over: false,
            gathered: Gathered::default(),
            kept: KeptOutputs::default(),
            delivered: None,
            unkept: BTreeMap::new(),
            review: Review::None,
            marked_by: begins_marked(&started.config).then(|| BY_CALLER.into()),
            id: entry.run.clone(),
            goal_id: entry.goal.clone(),
            head: entry.head(),
            turn: entry.turn,
            ledger: Ledger::new(fixed_bytes as u64, &conversation),
            lessons: Lessons::default(),
            attempts: Attempts::new(&started.config.targets, pools_keys),
            started: Arc::new(RunStarted::clone(started)),
            catalog,
            phase: Phase::Between,
            conversation,
            notices: vec![],
            useless: 0,
            exchange: None,
            said: Said::default(),
            summaries: Summaries::default(),
            outputs: vec![],
            progress: Progress::new(started.config.edition),
            watch: Stopwatch::new(entry.at),
        };
        run.compose();
        Some(run)
    }

    /// What the run is.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile::of(&self.started.config)
    }

    /// Whether requests go on from what was said before.
    pub(crate) fn converses(&self) -> bool {
        self.profile().conduct().converses
    }

    /// A target as it is spoken to by now.
    pub(crate) fn target(&self, index: u32) -> Option<&Target> {
        let taught = self.lessons.taught(index);
        taught.or_else(|| self.config().targets.get(index as usize))
    }

    /// Whether a turn must end the run with its terminal call.
    pub(crate) fn is_last(&self, turn: u32) -> bool {
        (self.forced || self.profile().conduct().reports) && turn >= self.last_turn
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
}

fn begins_marked(config: &RunConfig) -> bool {
    config.policy.as_ref().is_some_and(|it| it.begins_marked)
}

/// What the first request holds, as the host counted or as it is estimated.
fn seed(started: &RunStarted, catalog: &Catalog, gauge: &Gauge) -> (Context, SchemaTokens) {
    let estimate = |text: &str| gauge.estimate(text);
    let mut context = Context::default();
    let message = |text: &str| context::text_tokens(gauge, text);
    let conversation = || message(&started.system) + message(&started.goal);
    let counted = started.counted;
    context.said(counted.map_or_else(conversation, |it| it.conversation));
    let terminal = catalog.specs().find(|spec| is_terminal(&spec.name));
    let terminal = terminal.map_or(0, |spec| {
        estimate(&spec.name) + estimate(&spec.description) + estimate(&spec.schema.to_string())
    });
    let all = counted.map_or_else(|| estimate(catalog.text()), |it| it.schema);
    (context, SchemaTokens { all, terminal })
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
