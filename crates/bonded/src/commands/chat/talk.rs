//! The run of a conversation: begun by the first message, and given each later one as its next goal.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use bonded_host::agent::AgentTools;
use bonded_host::keeping::Keeper;
use bonded_host::trust::{Stance, Trust};
use bonded_host::{CancellationToken, Goal, Host, HostError};
use bonded_kernel::{Event, GoalGiven, GoalRefused, Run, RunConfig, RunFiles, RunId, Target};

use super::shown;
use crate::agents::{self, Verbosity};
use crate::args::ChatArgs;
use crate::commands::{attend, pursue, run};
use crate::error::CliError;
use crate::refused::{self, Name};
use crate::render::progress::{RunWatcher, Sink};
use crate::render::trace::Trace;
use crate::review::Attendant;
use crate::settings::{self, RunSetup};
use crate::{goal_images, output, signals};

/// Why a run was ended that a person had stopped, and then said something else.
const STOPPED: &str = "stopped by the user";

pub(super) struct Talk<'a> {
    args: &'a ChatArgs,
    host: Host,
    tools: Arc<AgentTools>,
    trust: Arc<Trust>,
    keeper: Keeper,
    attendant: Option<Attendant>,
    /// What a run would begin with, where this command begins one.
    setup: Option<Box<RunSetup>>,
    run: Option<RunId>,
    next: NextGoal,
}

/// What the next goal of the run brings.
#[derive(Default)]
struct NextGoal {
    /// Whether the options of the command line count: they are for the first goal.
    has_options: bool,
    /// Whether the person is asked from here on about what is changed.
    asks: bool,
    targets: Option<Vec<Target>>,
    sums_up: bool,
}

/// How a run is driven.
enum TalkDrive {
    Begin(Box<Goal>),
    Pursue(Box<GoalGiven>),
    Resume,
}

impl<'a> Talk<'a> {
    /// Makes out what a run begins with, or finds the one that is continued. A person may be asked about trust.
    pub(super) async fn open(args: &'a ChatArgs, store: Option<&Path>) -> Result<Self, CliError> {
        let attendant = Attendant::here(true, store).map(Attendant::in_conversation);
        if args.continue_last || args.continue_run.is_some() {
            return Self::continued(args, store, attendant).await;
        }
        let setup = settings::prepare(&args.into())?;
        run::warn_of_half_a_tree(&setup);
        let store = settings::open_store(store)?;
        let trust = setup.workplace.trust.clone();
        let shown = Verbosity::of(&setup.options);
        let (host, tools) = agents::host(store.clone(), setup.workplace.clone(), shown);
        Ok(Self {
            args,
            host,
            tools,
            trust,
            keeper: Keeper::new(store),
            attendant,
            setup: Some(Box::new(setup)),
            run: None,
            next: NextGoal::default(),
        })
    }

    /// A run that was interrupted, or waits for the person, is continued too.
    async fn continued(
        args: &'a ChatArgs,
        store: Option<&Path>,
        attendant: Option<Attendant>,
    ) -> Result<Self, CliError> {
        settings::refuse_bound(args.into())?;
        let named = args.continue_run.as_deref();
        let (store, id) = pursue::find(named, args.dir.as_deref(), store).await?;
        let workplace = agents::bare_workplace(match args.agent.trust {
            true => Stance::Once,
            false => Stance::Refuse,
        });
        let trust = workplace.trust.clone();
        let (host, tools) =
            agents::unsealed_host(store.clone(), workplace, Verbosity::default(), vec![]);
        let run = host.load(&id).await?;
        if run.takes_goal() != Err(GoalRefused::NotEnded) {
            pursue::refuse_closed(&host, &run).await?;
        }
        settings::refuse_looser(args.into(), run.config())?;
        Ok(Self {
            args,
            host,
            tools,
            trust,
            keeper: Keeper::new(store),
            attendant,
            setup: None,
            run: Some(id),
            next: NextGoal {
                has_options: true,
                asks: !args.no_ask,
                ..NextGoal::default()
            },
        })
    }

    pub(super) fn id(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The run as it stands, once there is one.
    pub(super) async fn run(&self) -> Result<Option<Run>, CliError> {
        Ok(match &self.run {
            Some(id) => Some(self.host.load(id).await?),
            None => None,
        })
    }

    /// What the next run would be bound to, until there is one.
    pub(super) fn setup(&self) -> Option<&RunSetup> {
        self.setup.as_deref()
    }

    /// What the person asked in this run before.
    pub(super) async fn sent(&self) -> Result<Vec<String>, CliError> {
        let Some(id) = &self.run else {
            return Ok(vec![]);
        };
        let entries = self.host.store.load(id, 0).await?;
        let asked = entries.iter().filter_map(|entry| {
            if let Event::GoalGiven(given) = &entry.event {
                return Some(given.goal.to_string());
            }
            entry
                .event
                .started()
                .map(|started| started.goal.to_string())
        });
        Ok(asked.collect())
    }

    /// Says where the person is, and what holds.
    pub(super) async fn greet(&self) -> Result<(), CliError> {
        match (self.run().await?, &self.setup) {
            (Some(run), _) => shown::continued(&run, &self.asks(run.config())),
            (None, Some(setup)) => {
                setup
                    .warnings
                    .iter()
                    .for_each(|warning| output::stderr(&format!("warning: {warning}")));
                shown::greeting(setup, &self.asks(setup.config()));
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// The tools that are asked about from the next goal on.
    fn asks(&self, config: &RunConfig) -> Vec<&'static str> {
        let policy = match self.next.asks {
            true => settings::asking_policy(config),
            false => None,
        };
        shown::asked_about(policy.as_deref().or(config.policy.as_deref()))
    }

    /// Other models from the next message on.
    pub(super) async fn choose_model(&mut self, model: &str) -> Result<(), CliError> {
        if let Some(run) = self.run().await? {
            self.next.targets = Some(vec![settings::other_target(run.config(), model, None)?]);
            return Ok(());
        }
        let Some(setup) = self.setup.as_mut() else {
            return Ok(());
        };
        let target = settings::other_target(setup.config(), model, None)?;
        setup.set_targets(vec![target])
    }

    /// The models that the next message is for, where they are not those of the run.
    pub(super) fn chosen_models(&self) -> Option<&[Target]> {
        self.next.targets.as_deref()
    }

    /// The next message begins with a summary of what was said.
    pub(super) fn sum_up(&mut self) {
        self.next.sums_up = true;
    }

    /// Gives the agent a message and shows what comes of it. Whatever goes wrong is told, and the conversation stays.
    pub(super) async fn hear(&mut self, text: String) {
        let heard = match self.run.clone() {
            None => Box::pin(self.begin(text)).await,
            Some(id) => Box::pin(self.pursue(id, text)).await,
        };
        signals::end_turn();
        if let Err(error) = heard {
            shown::error(&error);
        }
    }

    /// Continues what was stopped, or waits.
    pub(super) async fn resume(&mut self, id: &RunId) -> Result<(), CliError> {
        let kept = pursue::kept(&*self.host.store, id).await?;
        let resumed = Box::pin(self.drive(id, kept, TalkDrive::Resume)).await;
        signals::end_turn();
        resumed
    }

    /// What could not begin is on record, as it is of `bonded run`; the next message begins another run.
    async fn begin(&mut self, text: String) -> Result<(), CliError> {
        let Some(setup) = &self.setup else {
            return Ok(());
        };
        setup.check(&text)?;
        let images = goal_images::of(&[], &text, setup)?;
        let goal = Goal {
            images,
            ..setup.checked_goal(text)
        };
        let kept = setup.kept().cloned().unwrap_or_default();
        let id = Host::draw_id();
        let begun = self.drive(&id, kept, TalkDrive::Begin(Box::new(goal.clone())));
        let begun = Box::pin(begun).await;
        let store = self.host.store.clone();
        if store.head(&id).await?.is_some() {
            self.run = Some(id);
            return begun;
        }
        match begun {
            Err(error) => Err(refused::keep(&*store, Name::Drawn(&id), goal, error)
                .await
                .0),
            Ok(()) => Ok(()),
        }
    }

    async fn pursue(&mut self, id: RunId, text: String) -> Result<(), CliError> {
        goal_images::none_in_a_next_goal(&text)?;
        self.host.interrupt = signals::begin_turn();
        self.end_what_was_stopped(&id).await?;
        let run = self.host.load(&id).await?;
        pursue::refuse_closed(&self.host, &run).await?;
        let given = self.given(&run, text)?;
        let kept = pursue::kept(&*self.host.store, &id).await?;
        let pursued = self.drive(&id, kept, TalkDrive::Pursue(Box::new(given)));
        let pursued = Box::pin(pursued).await;
        let goals = self.host.load(&id).await?.goals();
        if goals > run.goals() {
            self.next = NextGoal::default();
        }
        pursued
    }

    /// The limits of the goal before hold for the next one too.
    fn given(&self, run: &Run, text: String) -> Result<GoalGiven, CliError> {
        let next = &self.next;
        let mut given = match next.has_options {
            true => settings::goal_given(self.args.into(), run, text)?,
            false => GoalGiven::new(text, run.limits_of_goal().clone()),
        };
        if let Some(targets) = &next.targets {
            given.targets = Some(targets.clone());
        }
        given.sums_up = next.sums_up;
        if next.asks {
            given.policy = settings::asking_policy(run.config());
        }
        Ok(given)
    }

    /// Ends a goal that was stopped or interrupted, so that the run takes another one. A call that was under way is recorded
    /// as one whose outcome is unknown.
    async fn end_what_was_stopped(&self, id: &RunId) -> Result<(), CliError> {
        if self.host.load(id).await?.termination().is_none() {
            self.host.cancel_waiting(id, STOPPED).await?;
        }
        Ok(())
    }

    async fn drive(
        &mut self,
        id: &RunId,
        kept: RunFiles,
        drive: TalkDrive,
    ) -> Result<(), CliError> {
        self.keeper.refuse_cut(id, Some(&kept)).await?;
        let following = self.keeper.follow(id, Some(&kept))?;
        self.host.interrupt = signals::begin_turn();
        let store = self.host.store.clone();
        let is_given = |key: &str| self.args.agent.options.given.contains_key(key);
        let quiet = is_given("quiet");
        let trace = (is_given("verbose"), is_given("traceMCP"));
        let watch = |after| {
            let sink = Sink::for_conversation(quiet, id);
            let trace = Trace::new(trace.0, trace.1);
            RunWatcher::new(store.clone(), id.clone(), after, sink).tracing(trace)
        };
        let after = store.head(id).await?.map_or(0, |head| head.seq);
        let watcher = watch(after);
        self.host.live = watcher.live_sink();
        let cancel = CancellationToken::new();
        let driving = driving(&self.host, id, drive, cancel.clone());
        let driven = match run::watched(watcher, driving).await {
            Ok(first) => {
                let attendant = self.attendant.as_mut();
                let seen = attend::see_through(attendant, &mut self.host, first, watch, &cancel);
                Box::pin(seen).await
            }
            Err(error) => Err(error),
        };
        self.host.live = None;
        following.settle().await;
        // An agent has worked here: what it wrote is not what the person trusted.
        self.trust.seal();
        Box::pin(shown::turn(&self.host, id, driven)).await
    }

    /// How to continue.
    pub(super) fn farewell(&self) {
        if let Some(id) = &self.run {
            shown::farewell(id);
        }
    }

    pub(super) async fn close(self) {
        self.tools.stop().await;
    }
}

type Driving<'a> = Pin<Box<dyn Future<Output = Result<Run, HostError>> + 'a>>;

fn driving<'a>(
    host: &'a Host,
    id: &'a RunId,
    drive: TalkDrive,
    cancel: CancellationToken,
) -> Driving<'a> {
    match drive {
        TalkDrive::Begin(goal) => Box::pin(host.run(id.clone(), *goal, cancel)),
        TalkDrive::Pursue(given) => Box::pin(host.pursue(id, *given, cancel)),
        TalkDrive::Resume => Box::pin(host.resume(id, cancel)),
    }
}
