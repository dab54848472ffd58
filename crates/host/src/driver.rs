//! The driver: performs an effect, gives the result to the kernel, makes the step durable, and
//! continues.
//!
//! The order is the guarantee: an effect is given out only once the step that asks for it is durable,
//! so that a crash at any point leaves a log from which the next process knows what was begun. Nothing
//! is performed that the log does not say.
//!
//! While an effect is performed four things may end the waiting: the effect, a stop from outside,
//! another writer in the log, and the deadline. Each becomes an input to the kernel, or makes the
//! driver let go; the driver decides nothing itself.
//!
//! A driver never fights for a run. If the log has gone on without it, it takes what the log says: an
//! end is an end, and anything else means that another process drives.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

mod goal_texts;
mod memory;
mod wave;
mod withheld;

use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bonded_kernel::{self as kernel, Effect, Input, Mask, Millis, Run, Step};
use bonded_state::StoreError;
use bonded_tools::Registry;
use tokio_util::sync::CancellationToken;

use crate::accounting::child_id;
use crate::client_results::{ClientResults, waits_for_client};
use crate::counter::Counter;
use crate::error::HostError;
use crate::host::Host;
use crate::live::{LiveReply, LiveWait};
use crate::live_file::LiveFile;
use crate::long_work::off_the_runtime;
use crate::watch::WatchedRun;
pub(crate) use goal_texts::{AskedGoal, GoalTexts};
pub(crate) use memory::MemoryLink;
use wave::{CallExecutor, Wave};

/// How long what is under way may take when the process is about to end.
const LAST_MOMENT_MS: u64 = 2_000;

/// How often a step that was not committed is offered to the store again.
const APPEND_TRIES: u32 = 4;
/// Doubled with each try.
const APPEND_PAUSE_MS: u64 = 50;

/// Most effects that are quick are over by then, and need no look at the log.
const LOOK_AFTER_MS: u64 = 100;

/// A reply up to this length is read and checked in no time.
const SHORT_REPLY_BYTES: usize = 64 * 1024;

/// Drives one run to its end, or until it waits for a person or for its client.
///
/// It owns the run while it drives; what it shares with other runs is in the host.
pub(crate) struct Driver<'a> {
    pub(crate) host: &'a Host,
    pub(crate) run: Run,
    pub(crate) registry: Arc<Registry>,
    pub(crate) cancel: CancellationToken,
    pub(crate) counter: Counter,
    pub(crate) memory: MemoryLink,
    /// What was asked, where the log does not keep it as it was.
    pub(crate) asked: Option<GoalTexts>,
    /// What the calls returned that were handed out.
    pub(crate) results: Arc<ClientResults>,
    /// By how much the log's time is ahead of this process's clock: see [`Driver::now`].
    pub(crate) ahead_ms: u64,
    /// Where runs are measured.
    pub(crate) watched: Option<Box<dyn WatchedRun>>,
}

/// Why waiting for an effect ended.
enum Woken {
    Input(Input),
    /// An agent that was called waits for a person, so this run waits too.
    Paused,
    /// Somebody else wrote to the log of this run.
    LogChanged,
    /// The process is about to end.
    Interrupted,
    /// Another process may take the run over from now on.
    Lost(StoreError),
}

/// The word of whoever holds the token: a person, or the run that calls this one.
fn cancelled() -> Woken {
    Woken::Input(Input::Cancel {
        reason: "cancelled by the user".into(),
    })
}

/// Whether a step has a reply to check that is long, or schemas that are not at a glance quick to check with.
///
/// Long work would hold up every other run on the same thread.
fn takes_long(run: &Run, input: &Input) -> bool {
    let (Input::Reply { reply, .. } | Input::SecretReply { reply, .. }) = input else {
        return false;
    };
    let of_calls = reply.calls.iter().map(|call| call.arguments.len());
    let bytes = of_calls.sum::<usize>() + reply.text.len();
    bytes > SHORT_REPLY_BYTES || !run.has_plain_schemas()
}

impl<'a> Driver<'a> {
    /// Memory is kept before the effect is looked at, because writing it may bring another input and so
    /// another effect.
    pub(crate) async fn drive(mut self, first: Step) -> Result<Run, HostError> {
        let mut effect = self.commit(first).await?;
        let mut wave = None;
        loop {
            effect = self.keep_memory(effect).await?;
            match effect {
                Effect::Stop(_) => return Ok(self.run),
                Effect::Review(_) => return self.let_go().await,
                Effect::Ask { .. } | Effect::Wait { .. } | Effect::Invoke(_) => {}
            }
            if self.is_drained(&effect) || self.results.are_awaited(&self.run) {
                return self.let_go().await;
            }
            wave = self.with_calls(&effect, wave);
            let woken = self.await_effect(&effect, wave.as_mut()).await;
            self.end_called(&effect, &woken).await;
            effect = match woken {
                Woken::Input(input) => {
                    let input = self.with_edits(&effect, input).await;
                    let now = self.now();
                    let step = match takes_long(&self.run, &input) {
                        true => off_the_runtime(|| kernel::step(&mut self.run, now, input)),
                        false => kernel::step(&mut self.run, now, input),
                    };
                    self.commit(step).await?
                }
                Woken::LogChanged => self.reload(self.run.head()).await?,
                Woken::Paused | Woken::Interrupted => return self.let_go().await,
                Woken::Lost(error) => return Err(self.give_up(error)),
            };
        }
    }

    /// The time of this log. It never runs backwards: where a clock was set back between two processes, it goes on from
    /// the last entry, so that only measured time passes and every limit holds.
    pub(crate) fn now(&self) -> Millis {
        self.host.clock.now().plus(self.ahead_ms)
    }

    /// Sleeps until a moment in the time of this log.
    async fn sleep_until(&self, at: Millis) {
        let here = Millis(at.0.saturating_sub(self.ahead_ms));
        self.host.clock.sleep_until(here).await;
    }

    /// Whoever takes the run up next may be another process.
    ///
    /// The claim is released, so that the next process need not find out that this one is gone. A run
    /// that waits for a person is no error; one that was interrupted is told as such.
    async fn let_go(self) -> Result<Run, HostError> {
        self.host.store.release(self.run.id()).await?;
        let waits = self.run.waiting_call().is_some() || waits_for_client(&self.run);
        match self.host.is_ending() && !waits {
            true => Err(HostError::Interrupted {
                run: self.run.id().clone(),
            }),
            false => Ok(self.run),
        }
    }

    /// Performs the effect, unless the run is stopped from outside first.
    async fn await_effect(&self, effect: &Effect, wave: Option<&mut Wave<'_>>) -> Woken {
        // A call that has ended beside another is not one whose outcome nobody knows.
        let has_ended = wave.as_ref().is_some_and(|wave| wave.has_ended(effect));
        if self.host.interrupt.is_cancelled() && !has_ended {
            return Woken::Interrupted;
        }
        if self.cancel.is_cancelled() {
            return cancelled();
        }
        let mut performed = pin!(self.perform(effect, wave));
        let mut changed = pin!(self.log_changed());
        // Many effects are over at once: they come first, before anything is set up to wait with. Only what was lost comes
        // before: a process that was stopped for long must not even begin.
        tokio::select! {
            biased;
            error = self.host.store.lost(self.run.id()) => Woken::Lost(error),
            input = &mut performed => input.map_or(Woken::Paused, Woken::Input),
            woken = self.stopped(effect) => woken,
            () = &mut changed => Woken::LogChanged,
            () = self.out_of_time() => Woken::Input(Input::DeadlineReached),
        }
    }

    /// Whether this is the moment to hand the run on. A call that the log says was begun is made first: nobody else would
    /// know that it was not.
    fn is_drained(&self, effect: &Effect) -> bool {
        let may_wait = matches!(effect, Effect::Ask { .. } | Effect::Wait { .. });
        may_wait && self.host.drain.is_cancelled()
    }

    /// Resolves when the run is to stop. What is under way when the process is about to end has a moment to end too: a
    /// call that did is not one whose outcome nobody knows.
    async fn stopped(&self, effect: &Effect) -> Woken {
        tokio::select! {
            biased;
            () = self.host.interrupt.cancelled() => {}
            () = self.cancel.cancelled() => return cancelled(),
            () = self.host.drain.cancelled(), if matches!(effect, Effect::Wait { .. }) => {}
        }
        if !matches!(effect, Effect::Wait { .. }) {
            let last = self.host.clock.now().plus(LAST_MOMENT_MS);
            self.host.clock.sleep_until(last).await;
        }
        Woken::Interrupted
    }

    /// An agent that was called does not go on when its caller has stopped waiting for it.
    async fn end_called(&self, effect: &Effect, woken: &Woken) {
        let (Effect::Invoke(first), false) = (
            effect,
            matches!(
                woken,
                Woken::Input(Input::ToolReturned { .. })
                    | Woken::Paused
                    | Woken::Interrupted
                    | Woken::Lost(_)
            ),
        ) else {
            return;
        };
        let beside = kernel::beside(&self.run);
        let under_way = std::iter::once(first).chain(&beside);
        for invocation in under_way.filter(|it| self.run.sub_agent(it.tool()).is_some()) {
            let child = child_id(&invocation.key());
            // It may not have begun, or have ended by itself.
            let _ = self
                .host
                .cancel_tree(&child, "the calling run was stopped")
                .await;
        }
    }

    /// Resolves when the run's time is over. An alarm that comes early is set again: to leave the effect
    /// now would be to perform it twice.
    async fn out_of_time(&self) {
        let Some(deadline) = self.run.deadline() else {
            return std::future::pending().await;
        };
        while self.now() < deadline {
            self.sleep_until(deadline).await;
        }
    }

    /// Resolves when somebody else wrote to the log. An effect that is over sooner than the look would
    /// help needs none: the next append finds out. A store that was mistaken, or that cannot be asked just
    /// now, is asked again, for the same reason as with the alarm.
    async fn log_changed(&self) {
        let known = self.run.head();
        loop {
            let look = self.host.clock.now().plus(LOOK_AFTER_MS);
            self.host.clock.sleep_until(look).await;
            let woken = self.host.store.changed(self.run.id(), known.seq).await;
            if woken.is_ok() && self.head().await.is_ok_and(|head| head != known) {
                return;
            }
        }
    }

    /// `None` where nothing can come of it before a person has spoken.
    ///
    /// A stop is answered as if the run had woken; the loop ends before it gets here.
    async fn perform(&self, effect: &Effect, wave: Option<&mut Wave<'_>>) -> Option<Input> {
        Some(match effect {
            Effect::Ask { turn, attempt } => self.ask(*turn, *attempt).await,
            Effect::Wait { until } => {
                self.tell_wait(*until);
                self.sleep_until(*until).await;
                Input::Woke
            }
            Effect::Invoke(invocation) => match wave {
                Some(wave) => wave.returned(invocation.call()).await?,
                None => self.caller(&self.run).invoke(invocation).await?,
            },
            Effect::Review(_) => return None,
            Effect::Stop(_) => Input::Woke,
        })
    }

    /// Nobody is told of a wait that is over already.
    fn tell_wait(&self, until: Millis) {
        let wait_ms = until.0.saturating_sub(self.now().0);
        if let Some(sink) = self.host.live.as_ref().filter(|_| wait_ms > 0) {
            let run = self.run.id();
            sink.wait(&LiveWait { run, wait_ms });
        }
    }

    /// What hides secrets from what this run keeps and shows.
    fn mask(&self) -> Arc<Mask> {
        self.host.secrets.mask_of(self.run.config())
    }

    /// What comes back is masked before it enters the kernel, and so the log. A reply with a secret is
    /// handed over with its mask, because its calls are executed as they were meant.
    async fn ask(&self, turn: u32, attempt: u32) -> Input {
        let Some(mut request) = kernel::request(&self.run) else {
            return Input::Woke;
        };
        let (messages, system);
        if let Some(asked) = &self.asked {
            messages = asked.messages(request.messages);
            request.messages = &messages;
            system = asked.system(request.system);
            request.system = system.as_deref().unwrap_or(request.system);
        }
        let transport = &self.host.transport;
        // What the log does not keep is shown to nobody else either.
        let live = match self.run.keeps_text() {
            true => LiveFile::beside(self.host.live.as_ref(), &*self.host.store, self.run.id()),
            false => None,
        };
        let sending = match live {
            None => transport.send(&request),
            Some(sink) => {
                let mask = self.mask();
                let live = LiveReply::new(sink, mask, &self.run, turn, attempt);
                transport.send_live(&request, live)
            }
        };
        match sending.await {
            Ok(reply) => {
                let (reply, mask) = (Box::new(reply), self.mask());
                match mask.finds_in(&reply) {
                    false => Input::Reply {
                        turn,
                        attempt,
                        reply,
                    },
                    true => Input::SecretReply {
                        turn,
                        attempt,
                        reply,
                        mask,
                    },
                }
            }
            Err(mut failure) => {
                self.mask().failure(&mut failure);
                if !self.run.keeps_text() {
                    withheld::withhold(&mut failure);
                }
                Input::Failed {
                    turn,
                    attempt,
                    failure: Box::new(failure),
                }
            }
        }
    }

    /// What a call needs, borrowed from the driver.
    fn caller<'c>(&'c self, run: &'c Run) -> CallExecutor<'c> {
        CallExecutor {
            host: self.host,
            run,
            registry: &self.registry,
            cancel: &self.cancel,
            counter: &self.counter,
            results: &self.results,
        }
    }

    /// Begins the calls that are executed at the same time as the one that is up. Those that have begun go on.
    fn with_calls(&self, effect: &Effect, wave: Option<Wave<'a>>) -> Option<Wave<'a>> {
        let Effect::Invoke(first) = effect else {
            return None;
        };
        let wave = wave.filter(|wave| wave.has(first.turn(), first.call()));
        let begins = wave.is_none() && !kernel::beside(&self.run).is_empty();
        wave.or_else(|| begins.then(|| Wave::begin(self)))
    }

    /// Nothing is released: the store knows which claim was lost, and this process may hold the run under another one, for
    /// another driver.
    fn give_up(&mut self, error: StoreError) -> HostError {
        if let Some(watched) = &mut self.watched {
            watched.lost();
        }
        if let StoreError::TakenOver { run } = error {
            return HostError::TakenOver { run };
        }
        error.into()
    }

    /// Makes a step durable and gives its effect out, unless the run is lost first: calls that are under way beside it must
    /// not outlive the claim because a store does not answer.
    async fn commit(&mut self, step: Step) -> Result<Effect, HostError> {
        if step.entries().is_empty() {
            return release(step, self.run.head());
        }
        if step.before() == kernel::Head::EMPTY {
            // Nothing is held yet that could be lost.
            return self.make_durable(step).await;
        }
        let (host, id) = (self.host, self.run.id().clone());
        let lost = tokio::select! {
            biased;
            error = host.store.lost(&id) => error,
            effect = self.make_durable(step) => return effect,
        };
        Err(self.give_up(lost))
    }

    /// A store may fail before or after its commit, and another process may have written meanwhile. The
    /// log itself says which: it stands after the step, before it, or elsewhere.
    async fn make_durable(&mut self, step: Step) -> Result<Effect, HostError> {
        let mut tries = 1;
        loop {
            let error = match self.append(&step).await {
                Ok(head) => return release(step, head),
                // What the open file says is in a file that nobody finds again.
                Err(error @ StoreError::Replaced { .. }) => return Err(error.into()),
                // Whatever the log says, its effects are another's.
                Err(error @ StoreError::TakenOver { .. }) => return Err(self.give_up(error)),
                Err(error) => error,
            };
            let head = self.head().await?;
            if head == step.after() {
                if let Some(watched) = &mut self.watched {
                    watched.heard(step.entries());
                }
                return release(step, head);
            }
            if head != step.before() {
                return self.reload(step.before()).await;
            }
            if tries == APPEND_TRIES || is_lasting(&error) {
                return Err(error.into());
            }
            let pause = self.host.clock.now().plus(APPEND_PAUSE_MS << tries);
            self.host.clock.sleep_until(pause).await;
            tries += 1;
        }
    }

    /// One try, which is measured where runs are.
    async fn append(&mut self, step: &Step) -> Result<kernel::Head, StoreError> {
        let (before, entries) = (step.before(), step.entries().clone());
        let appending = self.host.store.append(before, entries);
        let Some(watched) = &mut self.watched else {
            return appending.await;
        };
        let began = Instant::now();
        let appended = appending.await;
        match &appended {
            Ok(_) => watched.durable(step.entries(), began.elapsed()),
            Err(_) => watched.not_durable(),
        }
        appended
    }

    /// A run that has no log yet stands before its first entry.
    async fn head(&self) -> Result<kernel::Head, HostError> {
        let head = self.host.store.head(self.run.id()).await?;
        Ok(head.unwrap_or(kernel::Head::EMPTY))
    }

    /// Takes the run from the log again, after another process wrote to it, from `known` on. Only an end is expected: any
    /// other entry means that another process drives the run now, and this one must let go.
    async fn reload(&mut self, known: kernel::Head) -> Result<Effect, HostError> {
        self.run = self.host.load(self.run.id()).await?;
        if let Some(watched) = &mut self.watched {
            let entries = self.host.store.load(self.run.id(), known.seq).await?;
            watched.heard(&entries);
        }
        match kernel::next(&self.run) {
            Effect::Stop(termination) => Ok(Effect::Stop(termination)),
            Effect::Ask { .. } | Effect::Wait { .. } | Effect::Invoke(_) | Effect::Review(_) => {
                Err(HostError::TakenOver {
                    run: self.run.id().clone(),
                })
            }
        }
    }
}

/// The kernel refuses to give out an effect whose step the store has not confirmed.
fn release(step: Step, durable: kernel::Head) -> Result<Effect, HostError> {
    step.release(durable)
        .map_err(|source| HostError::NotDurable { source })
}

/// Errors that another try a moment later does not cure.
fn is_lasting(error: &StoreError) -> bool {
    !matches!(
        error,
        StoreError::Conflict { .. } | StoreError::Locked { .. } | StoreError::Io { .. }
    )
}

/// The text of a panic, which is nearly always one of two types.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use bonded_kernel::{Catalog, Reply, RunConfig, RunId, RunStarted, Target};

    use super::*;

    #[test]
    fn a_long_reply_is_long_work_whether_or_not_it_holds_a_secret() {
        let target = Target::new("p", "http://127.0.0.1:9", "m");
        let config = RunConfig::new("/tmp", vec![target]);
        let catalog = Catalog::new([]).expect("no tool is as good as any");
        let started = RunStarted::new("goal".into(), "".into(), config, catalog);
        let id = RunId::new("r").expect("it is an id");
        let (run, _) = kernel::start(id, Millis(1), started);
        for (bytes, expected) in [(10, false), (SHORT_REPLY_BYTES + 1, true)] {
            let reply = Box::new(Reply {
                text: "x".repeat(bytes),
                ..Reply::default()
            });
            let (turn, attempt) = (1, 1);
            let plain = Input::Reply {
                turn,
                attempt,
                reply: reply.clone(),
            };
            let secret = Input::SecretReply {
                turn,
                attempt,
                reply,
                mask: Arc::new(Mask::new([("hunter22", "key")])),
            };
            for input in [plain, secret] {
                assert_eq!(takes_long(&run, &input), expected, "{bytes} bytes");
            }
        }
    }
}
