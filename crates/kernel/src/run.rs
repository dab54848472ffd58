//! A run: the state that folds out of a log. `apply` is the only way in which it changes.
//!
//! A run is a struct of parts, each with what changes it: what it began with ([`setup`]), where it stands ([`phase`]), what it
//! has said ([`dialogue`], [`outputs`]), which goal it pursues ([`pursuit`]), what its requests hold ([`meter`]), how its targets are doing ([`targets`]), what it
//! has used of its limits ([`tally`]), how it stands with its policy ([`oversight`]), and what it leaves ([`delivery`]). Events
//! that touch several of them are taken in by [`fold`].

mod answers;
mod conversation;
mod delivery;
mod dialogue;
mod fold;
mod goals;
pub(crate) mod guard;
mod last_turn;
mod memory;
mod meter;
mod output;
mod outputs;
mod oversight;
mod phase;
mod pursuit;
mod request;
mod review;
mod scratch;
mod setup;
mod summary;
mod tally;
mod targets;
mod watch;

use std::sync::Arc;

use crate::budget::{Ledger, Spend};
use crate::config::{Limits, RunConfig, SubAgent, Target};
use crate::entry::{Entry, Head};
use crate::event::Event;
use crate::id::{GoalId, RunId};
use crate::image::Image;
use crate::image_weights::ImageWeights;
use crate::model::Message;
use crate::profile::{Profile, ProfileState};
use crate::progress::Progress;
use crate::report::Report;
use crate::termination::Termination;
use crate::text::Text;
use crate::time::Millis;
use crate::tool::Catalog;
use crate::tool_search::FoundTools;

use delivery::Delivery;
use dialogue::Dialogue;
pub use fold::apply;
pub use goals::GoalRefused;
use last_turn::LastTurn;
use meter::Meter;
pub use output::ToolOutput;
pub(crate) use outputs::TURNS_KEPT;
use outputs::{Outputs, Scales};
pub(crate) use oversight::Hold;
use oversight::Oversight;
pub(crate) use phase::RunPhase;
use pursuit::Pursuit;
pub use request::request;
pub(crate) use review::Review;
pub use review::WaitingCall;
use scratch::ReplyScratch;
use setup::Setup;
use tally::{Tally, share_of};
use targets::Targets;
use watch::Stopwatch;

/// The state of a run, derived from its log and never stored.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) setup: Setup,
    pub(crate) pursuit: Pursuit,
    pub(crate) head: Head,
    pub(crate) turn: u32,
    pub(crate) phase: RunPhase,
    pub(crate) last_turn: LastTurn,
    pub(crate) dialogue: Dialogue,
    /// Tools that were not sent at first, and are by now.
    pub(crate) found: FoundTools,
    pub(crate) outputs: Outputs,
    pub(crate) scratch: ReplyScratch,
    pub(crate) meter: Meter,
    pub(crate) targets: Targets,
    pub(crate) tally: Tally,
    pub(crate) oversight: Oversight,
    /// How the run stands as what it is: plain, an agent's, or in loops.
    pub(crate) standing: ProfileState,
    delivery: Delivery,
}

/// Why entries are not the log of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLog {
    /// There is nothing to replay.
    #[error("the log is empty")]
    Empty,
    /// The first entry is another event, or has another number than 1.
    #[error("the log does not begin with run_started")]
    NoStart,
    /// The run had ended before, and was given no other goal.
    #[error("entry {seq} comes after the end of the run")]
    AfterEnd {
        /// The sequence number of the first entry that is too much.
        seq: u64,
    },
    /// It is not the next in number, or not bound to the one before by its hash.
    #[error("entry {seq} does not follow entry {after}")]
    Gap {
        /// The sequence number of the entry.
        seq: u64,
        /// The sequence number of the last entry that the run has.
        after: u64,
    },
}

impl Run {
    /// The name under which a store has its log.
    pub fn id(&self) -> &RunId {
        &self.setup.id
    }

    /// The id that follows from the goal alone: other runs may have the same.
    pub fn goal_id(&self) -> &GoalId {
        &self.setup.goal_id
    }

    /// What the person asked for when the run began; see [`goal_at_hand`](Self::goal_at_hand).
    pub fn goal(&self) -> &Text {
        &self.setup.started.goal
    }

    /// What went with the goal.
    pub fn images(&self) -> &[Image] {
        &self.setup.started.images
    }

    /// The system text that the run began with; one that works in loops makes another for each turn.
    pub fn system(&self) -> &Text {
        &self.setup.started.system
    }

    /// When the last entry was made.
    pub fn last_at(&self) -> Millis {
        self.tally.watch.last_at
    }

    /// The settings, frozen when the run began, with what came with its later goals; what targets taught since is not in
    /// them. Limits are counted from the beginning of the run, whichever goal they are for.
    pub fn config(&self) -> &RunConfig {
        self.setup.config()
    }

    /// The settings as the run began with them.
    pub fn config_begun_with(&self) -> &RunConfig {
        &self.setup.began.config
    }

    /// The tools, frozen when the run began.
    pub fn catalog(&self) -> &Catalog {
        &self.setup.catalog
    }

    /// Whether whatever a reply is checked against is quick to check with, at a glance.
    pub fn has_plain_schemas(&self) -> bool {
        self.setup.catalog.is_plain()
    }

    /// The last entry that was taken in: what the next one must follow.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The turn under way or ended last; 0 before the first.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// The conversation as the next request shows it; what was taken out or summed up is in the log alone.
    pub fn messages(&self) -> &[Message] {
        self.dialogue.messages()
    }

    /// What counts against the budget so far, agents below included.
    pub fn spend(&self) -> Spend {
        self.tally.spend()
    }

    /// The time in which a process drove the run, up to its last entry.
    pub fn elapsed_ms(&self) -> u64 {
        self.tally.elapsed_ms()
    }

    /// When the run's time is over, if it is limited and the run has not ended.
    pub fn deadline(&self) -> Option<Millis> {
        // Nobody drives a run that waits for a person.
        if self.termination().is_some() || self.waiting_call().is_some() {
            return None;
        }
        let max = self.config().limits.elapsed_ms_max;
        max.map(|max| self.tally.watch.instant_of(max))
    }

    /// Why the run ended, once it has.
    pub fn termination(&self) -> Option<&Termination> {
        self.phase.termination()
    }

    /// The agent that a tool stands for, if it stands for one.
    pub fn sub_agent(&self, tool: &str) -> Option<&SubAgent> {
        self.setup.sub_agent(tool)
    }

    /// Whether the calls of a tool are executed by whoever asked for the run.
    pub fn is_client_tool(&self, tool: &str) -> bool {
        self.setup.is_client_tool(tool)
    }

    /// The tool whose output marked the run as holding untrusted data, or what else did.
    pub fn marked_by(&self) -> Option<&Arc<str>> {
        self.oversight.marked_by.as_ref()
    }

    /// The last text of the model that stood without calls or is long, else the last at all.
    pub fn last_text(&self) -> Option<&str> {
        self.delivery.last_text()
    }

    /// What a provider failed with last, where it has not answered since.
    pub fn last_failure(&self) -> Option<&str> {
        self.delivery.last_failure()
    }

    /// What is left of the limits: nothing that this run calls may use more.
    pub fn limits_left(&self) -> Limits {
        self.tally.left_of(&self.config().limits)
    }

    /// What is left for each of the agents that are called at the same time.
    pub fn limits_left_for_each(&self) -> Limits {
        let under_way = self.phase.calls_under_way();
        let agents = under_way.filter(|call| self.sub_agent(&call.tool).is_some());
        share_of(&self.limits_left(), agents.count())
    }

    /// What the agent delivered, once it has ended.
    pub fn report(&self) -> Option<Report> {
        self.delivery.report(self.termination(), &self.standing)
    }

    fn begin(entry: &Entry) -> Option<Self> {
        let setup = Setup::of(entry)?;
        let (started, config) = (&setup.started, setup.config());
        let dialogue = Dialogue::begin(&started.goal, &started.images);
        let fixed_bytes = started.system.len() + setup.catalog.sent_at_first().len();
        let weights = ImageWeights::of(config);
        let mut run = Self {
            pursuit: Pursuit::first(&started.goal, &config.limits),
            head: entry.head(),
            turn: entry.turn,
            phase: RunPhase::Between,
            last_turn: LastTurn::new(config.limits.turns_max),
            found: FoundTools::default(),
            outputs: Outputs::default(),
            scratch: ReplyScratch::default(),
            meter: Meter::begin(started, &setup.catalog),
            targets: Targets::begin(config),
            tally: Tally {
                ledger: Ledger::new(fixed_bytes as u64, &dialogue.conversation, weights),
                progress: Progress::new(config.edition),
                watch: Stopwatch::new(entry.at),
            },
            oversight: Oversight::begin(config),
            standing: ProfileState::begin(started, entry.run.as_str(), entry.at),
            delivery: Delivery::default(),
            dialogue,
            setup,
        };
        run.compose();
        Some(run)
    }

    /// What the run is.
    pub(crate) fn profile(&self) -> Profile<'_> {
        self.setup.profile()
    }

    /// Whether requests go on from what was said before.
    pub(crate) fn converses(&self) -> bool {
        self.setup.converses()
    }

    /// A target as it is spoken to by now.
    pub(crate) fn target(&self, index: u32) -> Option<&Target> {
        self.targets.get(self.config(), index)
    }

    /// Whether the window of a target is known, from the beginning or by now.
    pub(crate) fn is_guarded(&self) -> bool {
        self.targets.is_guarded(self.config())
    }

    /// The targets as they are spoken to by now.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.targets.all(self.config())
    }

    /// What keeps a call from being executed, as the run stands now.
    pub(crate) fn hold(&self, tool: &str) -> Option<Hold> {
        self.oversight.hold(&self.setup, tool)
    }

    /// The messages to take out so that so many tokens are spared. The outputs of the last `kept` turns stay.
    pub(crate) fn to_take_out(&self, tokens: u64, kept: u32) -> Option<(Vec<u32>, u64)> {
        let scales = Scales {
            gauge: &self.meter.gauge,
            weighs_parts: self.config().edition.weighs_parts(),
        };
        self.outputs.to_take_out(self.turn, tokens, kept, scales)
    }
}

/// Rebuilds a run from its log.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// use bonded_kernel::{BadLog, replay};
///
/// let (run, step) = start(RunId::new("run-1")?, Millis(0), started);
/// let again = replay(step.entries())?;
/// assert_eq!(again.head(), run.head());
/// assert_eq!(replay(&[]).err(), Some(BadLog::Empty));
/// # Ok(())
/// # }
/// ```
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
        let is_goal = matches!(entry.event, Event::GoalGiven(_));
        if run.termination().is_some() && !is_goal {
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
