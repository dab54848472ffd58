//! The runs under way, each shared by the clients that wait for it.
//!
//! A run belongs to all clients that wait for it, and to none: it is a task of its own. When the last client goes it is
//! cancelled, so that nobody pays for an answer that no one reads. A key joins the run that it has begun, even while
//! that has not reached the store yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_host::shapes::text::counted;
use bonded_host::{
    CancellationToken, ClientResults, Goal, Host, HostError, RunResult, waits_for_client,
};
use bonded_kernel::{Hash, Run, RunFiles, RunId, Usage};
use bonded_state::Store;
use bonded_telemetry::QueueFigures;
use tokio::sync::watch;

use super::access::Caller;
use super::answer::{self, Ended, Hearer};
use super::client::Client;
use super::client_tools;
use super::key::{self, Earlier, RunKey};
use super::own::Own;
use super::places::{PlaceInLine, Places};
use super::refusal::AgentRefusal;
use super::resumption::Resumption;
use super::run_queue::RunQueue;
use super::waits::Waits;
use bonded_host::keeping::Keeper;

/// One for each server.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Drives runs, and keeps their logs.
    host: Arc<Host>,
    /// Keeps what the agents' options say is to be kept of a run.
    keeper: Keeper,
    /// How many go on at once.
    places: Places,
    /// Where they wait for a worker; `None` where they are driven here.
    queue: Option<RunQueue>,
    /// Cancelled when every run is to end.
    end_all: CancellationToken,
    /// Whether the ends of runs are logged.
    tells: bool,
    /// By their ids; each at most once.
    under_way: Mutex<Drives>,
    /// How many are under way.
    count: watch::Sender<usize>,
    /// The waits for clients that are bounded.
    pub(super) waits: Waits,
    /// Held while a key is looked up and its run begun, so that no other request does the same.
    keys: tokio::sync::Mutex<()>,
}

/// Behind one lock that is never held while something is awaited.
#[derive(Debug, Default)]
struct Drives {
    /// Those that have begun and not ended, waiting ones included.
    drives: BTreeMap<RunId, Drive>,
    /// Gives each drive a number: a run that is taken up again is another drive.
    begun: u64,
}

/// A run that somebody waits for.
#[derive(Debug)]
struct Drive {
    /// Tells it from another drive of the same run.
    number: u64,
    /// How many wait.
    clients: usize,
    /// What a client brought for it to go on with.
    brought: Option<Hash>,
    /// Ends the run.
    cancel: CancellationToken,
    /// Where its end will be.
    ended: watch::Receiver<Option<Ended>>,
}

/// What a run is driven with.
struct Task {
    caller: Caller,
    id: RunId,
    work: Work,
    place: PlaceInLine,
    cancel: CancellationToken,
    ended: watch::Sender<Option<Ended>>,
}

/// What is to be done with a run.
enum Work {
    /// It begins, or goes on as it began.
    Goal(Box<Goal>),
    /// It goes on with what its client brought.
    Results {
        results: ClientResults,
        kept: Option<Box<RunFiles>>,
        used: Usage,
        brought: Hash,
    },
}

impl Work {
    fn brought(&self) -> Option<Hash> {
        match self {
            Self::Goal(_) => None,
            Self::Results { brought, .. } => Some(*brought),
        }
    }

    /// The names of the tools that the client executes, where the run begins.
    fn client_tools(&self) -> Vec<Arc<str>> {
        let Self::Goal(goal) = self else {
            return vec![];
        };
        let tools = goal.config.client_tools.as_ref();
        tools.map_or_else(Vec::new, |tools| tools.names.clone())
    }

    /// What the run had used before.
    fn used(&self) -> Usage {
        match self {
            Self::Goal(_) => Usage::default(),
            Self::Results { used, .. } => *used,
        }
    }
}

impl Drive {
    /// A run that is being cancelled cannot be joined: its clients would be told that it was cancelled.
    /// Neither can one that goes on with other results.
    fn join(&mut self, brought: Option<Hash>) -> Result<(), AgentRefusal> {
        if brought.is_some() && self.brought.is_some() && brought != self.brought {
            return Err(AgentRefusal::held(
                "this run already continues with other results",
            ));
        }
        if self.cancel.is_cancelled() {
            return Err(AgentRefusal::held("this run is being cancelled"));
        }
        self.clients += 1;
        Ok(())
    }
}

/// The name of the one queue of a server: requests that wait for their turn.
const REQUESTS: &str = "requests";

impl Runs {
    /// Nothing is under way.
    pub(super) fn new(
        host: Arc<Host>,
        places: Places,
        queue: Option<RunQueue>,
        end_all: CancellationToken,
        tells: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            keeper: Keeper::new(host.store.clone()),
            host,
            places,
            queue,
            end_all,
            tells,
            under_way: Mutex::default(),
            count: watch::Sender::default(),
            waits: Waits::default(),
            keys: tokio::sync::Mutex::default(),
        })
    }

    /// How many requests wait for their turn, and how many have it.
    pub(crate) fn queue(&self) -> QueueFigures {
        self.places.figures(REQUESTS)
    }

    /// Where the logs of runs are.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.host.store.clone()
    }

    /// For those who ask about runs and judge their calls.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Goes on with a run that had stopped, or joins whoever does already.
    pub(crate) fn go_on(
        self: &Arc<Self>,
        caller: Caller,
        id: RunId,
        goal: Goal,
    ) -> Result<Client, AgentRefusal> {
        self.start(caller, id, Work::Goal(Box::new(goal)))
    }

    /// Goes on with a run that waited for its client.
    pub(super) fn answer(
        self: &Arc<Self>,
        caller: Caller,
        resumption: Resumption,
    ) -> Result<Client, AgentRefusal> {
        let run = &resumption.run;
        let work = Work::Results {
            kept: run.config().kept.clone(),
            used: resumption.used(),
            brought: resumption.digest,
            results: resumption.results,
        };
        self.start(caller, resumption.run.id().clone(), work)
    }

    /// Begins a run, or joins the one that the key has begun before.
    /// The lock on keys is held until the run is under way: two requests with the same new key would otherwise
    /// begin two runs.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        caller: Caller,
        own: Option<&Own>,
        key: Option<RunKey>,
        goal: Goal,
    ) -> Result<Client, AgentRefusal> {
        let work = Work::Goal(Box::new(goal));
        let Some(key) = key else {
            let id = own.map_or_else(Host::draw_id, Own::draw_id);
            return self.start(caller, id, work);
        };
        let key = key.of_own(own);
        let _alone = self.keys.lock().await;
        let stored = key::stored(&*self.host.store, &key).await;
        let mut earlier = stored.map_err(|error| answer::store_failed(&error))?;
        earlier.extend(self.under_way_of(&key));
        self.start(caller, key.choose(&earlier)?, work)
    }

    /// Runs that have not reached the store yet.
    fn under_way_of(&self, key: &RunKey) -> Vec<Earlier> {
        let under_way = self.lock();
        let ids = under_way.drives.keys();
        let ids = ids.filter(|id| id.as_str().starts_with(key.prefix()));
        ids.map(|id| Earlier {
            id: id.clone(),
            is_cancelled: false,
        })
        .collect()
    }

    /// Whoever waits in line counts as under way, so that others with the same key join there.
    fn start(
        self: &Arc<Self>,
        caller: Caller,
        id: RunId,
        work: Work,
    ) -> Result<Client, AgentRefusal> {
        if self.end_all.is_cancelled() {
            return Err(AgentRefusal::stopping());
        }
        let mut under_way = self.lock();
        if let Some(drive) = under_way.drives.get_mut(&id) {
            drive.join(work.brought())?;
            return Ok(self.client(id, drive));
        }
        let place = self.places.admit(caller)?;
        let cancel = self.end_all.child_token();
        let (sender, ended) = watch::channel(None);
        under_way.begun += 1;
        let drive = Drive {
            number: under_way.begun,
            clients: 1,
            brought: work.brought(),
            cancel: cancel.clone(),
            ended,
        };
        let client = self.client(id.clone(), &drive);
        under_way.drives.insert(id.clone(), drive);
        self.count.send_modify(|count| *count += 1);
        tokio::spawn(self.clone().drive(Task {
            caller,
            id,
            work,
            place,
            cancel,
            ended: sender,
        }));
        Ok(client)
    }

    /// One more client, which was counted by the caller.
    fn client(self: &Arc<Self>, run: RunId, drive: &Drive) -> Client {
        Client {
            run,
            drive: drive.number,
            ended: drive.ended.clone(),
            runs: self.clone(),
        }
    }

    /// A client is gone; a run that nobody waits for any more is cancelled.
    pub(super) fn leave(&self, id: &RunId, number: u64) {
        let mut under_way = self.lock();
        let drive = under_way.drives.get_mut(id);
        if let Some(drive) = drive.filter(|drive| drive.number == number) {
            drive.clients -= 1;
            if drive.clients == 0 {
                drive.cancel.cancel();
            }
        }
    }

    /// The run is a task of its own: its client may be dropped, and its end must still be recorded.
    /// The drive is forgotten before its end is told: whoever asks again after an answer finds the run in the store.
    async fn drive(self: Arc<Self>, task: Task) {
        let used = task.work.used();
        let offered = task.work.client_tools();
        let ended = match task.place.wait(&task.cancel).await {
            None => Err(AgentRefusal::stopping()),
            Some(_running) => {
                let driven = match (&self.queue, task.work) {
                    (Some(queue), Work::Goal(goal)) => {
                        let submitter = queue.submitter(task.caller);
                        let (id, queueing) = (task.id.clone(), &queue.queueing);
                        let queued =
                            self.host
                                .run_queued(queueing, &submitter, id, *goal, task.cancel);
                        Box::pin(queued).await
                    }
                    (_, work) => self.kept(&task.id, work, task.cancel).await,
                };
                self.tell(&task.id, &driven);
                if let Ok(run) = &driven {
                    self.bound_wait(run);
                }
                let hearer = Hearer {
                    caller: task.caller,
                    used,
                    stopping: self.end_all.is_cancelled(),
                };
                match driven
                    .as_ref()
                    .err()
                    .and_then(|it| client_tools::taken(it, &offered))
                {
                    Some(taken) => Err(taken),
                    None => answer::of(&*self.host.store, driven, hearer).await,
                }
            }
        };
        self.lock().drives.remove(&task.id);
        task.ended.send_replace(Some(ended));
        self.count.send_modify(|count| *count -= 1);
    }

    /// For whoever runs the server.
    fn tell(&self, id: &RunId, driven: &Result<Run, HostError>) {
        if !self.tells {
            return;
        }
        match driven.as_ref().map(RunResult::of) {
            Ok(Some(result)) => tracing::info!(
                "run {id} ended as {} after {} and {} ms",
                result.termination.as_str(),
                counted(result.turns as usize, "turn"),
                result.elapsed_ms
            ),
            Ok(None) if driven.as_ref().is_ok_and(waits_for_client) => {
                tracing::info!("run {id} waits for its client");
            }
            Ok(None) => tracing::info!("run {id} needs approval"),
            Err(error) => tracing::error!("run {id} cannot be driven: {error}"),
        }
    }

    /// Drives a run and keeps it. What cannot be kept does not take the answer from the client.
    async fn kept(
        &self,
        id: &RunId,
        work: Work,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let kept = match &work {
            Work::Goal(goal) => goal.config.kept.clone(),
            Work::Results { kept, .. } => kept.clone(),
        };
        self.keeper.refuse_cut(id, kept.as_deref()).await?;
        let following = self.keeper.follow(id, kept.as_deref());
        let driven = match work {
            Work::Goal(goal) => Box::pin(self.host.run_as(id.clone(), *goal, cancel)).await,
            Work::Results { results, .. } => Box::pin(self.host.answer(id, results, cancel)).await,
        };
        match following {
            Ok(following) => following.settle().await,
            Err(error) => tracing::error!("error: {error}"),
        }
        driven
    }

    /// Waits until no run is under way.
    pub(crate) async fn ended(&self) {
        // The sender is ours, so there is always one.
        let mut count = self.count.subscribe();
        let _counted = count.wait_for(|count| *count == 0).await.map(|_| ());
    }

    /// A panic while it was held leaves the map as it was.
    fn lock(&self) -> MutexGuard<'_, Drives> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
