//! How many runs go on at once, how many wait for that, and whose turn it is.
//!
//! Each caller has a line of its own, and the lines take turns: whoever asks much waits for himself. Some places are kept
//! for callers that have no run at all.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bonded_host::CancellationToken;
use bonded_kernel::Hash;
use bonded_telemetry::QueueFigures;
use tokio::sync::oneshot;

use super::access::Caller;
use super::refusal::AgentRefusal;

/// So many requests of a caller may wait for each run that goes on.
const WAITING_PER_RUN: usize = 10;

/// Cheap to clone; all clones are the same places.
#[derive(Clone, Debug)]
pub(super) struct Places(Arc<Mutex<CallerLines>>);

/// All lines, behind one lock that is held for a moment only.
#[derive(Debug)]
struct CallerLines {
    /// How many runs go on at once.
    concurrency: usize,
    /// How many callers there may be.
    callers: usize,
    /// How many go on.
    running: usize,
    /// Callers that have neither a run nor a request are not in it.
    of_callers: BTreeMap<Hash, CallerLine>,
    /// The caller that had the last turn.
    last: Option<Hash>,
    /// Gives each request a number of its own.
    numbers: u64,
}

/// The requests of one caller.
#[derive(Debug, Default)]
struct CallerLine {
    /// How many of the caller's runs go on.
    running: usize,
    /// In the order in which they came.
    waiting: VecDeque<Waiting>,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    number: u64,
    since: Instant,
    turn: oneshot::Sender<Running>,
}

/// A place in the line.
#[derive(Debug)]
pub(super) struct PlaceInLine {
    /// Tells it from the others of its caller.
    number: u64,
    /// Whose it is.
    caller: Hash,
    /// The right to run, when it comes.
    turn: oneshot::Receiver<Running>,
    /// Where it stands in line.
    places: Places,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    /// Whose run it is.
    caller: Hash,
    /// Where the place is given back.
    places: Places,
}

impl Places {
    /// Places for so many runs of so many callers.
    pub(super) fn new(concurrency: usize, callers: usize) -> Self {
        Self(Arc::new(Mutex::new(CallerLines {
            concurrency: concurrency.max(1),
            callers: callers.max(1),
            running: 0,
            of_callers: BTreeMap::new(),
            last: None,
            numbers: 0,
        })))
    }

    /// Stands in line, unless the caller's is too long.
    pub(super) fn admit(&self, caller: Caller) -> Result<PlaceInLine, AgentRefusal> {
        let (sender, turn) = oneshot::channel();
        let number = {
            let mut lines = self.lock();
            let longest = lines.concurrency.saturating_mul(WAITING_PER_RUN + 1);
            lines.numbers += 1;
            let number = lines.numbers;
            let line = lines.of_callers.entry(caller.0).or_default();
            if line.running + line.waiting.len() >= longest {
                return Err(AgentRefusal::busy());
            }
            line.waiting.push_back(Waiting {
                number,
                since: Instant::now(),
                turn: sender,
            });
            number
        };
        self.give_turns();
        Ok(PlaceInLine {
            number,
            caller: caller.0,
            turn,
            places: self.clone(),
        })
    }

    /// Lets those run whose turn it is.
    /// The lock is let go of before a turn is given: whoever is gone drops it at once, which takes the lock again.
    fn give_turns(&self) {
        loop {
            let mut lines = self.lock();
            let Some((caller, turn)) = lines.next() else {
                return;
            };
            drop(lines);
            let places = self.clone();
            // Whoever does not wait any more drops the turn, and with it gives the place back.
            let _gone = turn.send(Running { caller, places });
        }
    }

    /// How many wait and run, and how long the first has waited.
    pub(super) fn figures(&self, name: &str) -> QueueFigures {
        let lines = self.lock();
        let waiting = lines.of_callers.values().flat_map(|line| &line.waiting);
        let oldest = waiting.clone().map(|it| it.since).min();
        QueueFigures {
            name: name.to_owned(),
            queued: waiting.count() as u64,
            driven: lines.running as u64,
            oldest_s: oldest.map_or(0.0, |since| since.elapsed().as_secs_f64()),
        }
    }

    /// A panic while it was held leaves numbers that are as good as any.
    fn lock(&self) -> MutexGuard<'_, CallerLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerLines {
    /// Takes the next one out of its line, if there is room for a run of its caller.
    fn next(&mut self) -> Option<(Hash, oneshot::Sender<Running>)> {
        let last = self.last;
        let after = self
            .of_callers
            .keys()
            .filter(|caller| Some(**caller) > last);
        let before = self
            .of_callers
            .keys()
            .filter(|caller| Some(**caller) <= last);
        let mut callers = after.chain(before).copied();
        let caller = callers.find(|caller| self.may_run(caller))?;
        let line = self.of_callers.get_mut(&caller)?;
        let turn = line.waiting.pop_front()?.turn;
        line.running += 1;
        self.running += 1;
        self.last = Some(caller);
        Some((caller, turn))
    }

    /// Up to half of the places are kept, one for each caller that has no run.
    fn may_run(&self, caller: &Hash) -> bool {
        let Some(line) = self.of_callers.get(caller) else {
            return false;
        };
        let free = self.concurrency.saturating_sub(self.running);
        if line.waiting.is_empty() || free == 0 {
            return false;
        }
        let at_work = self.of_callers.values().filter(|line| line.running > 0);
        let idle = self.callers.saturating_sub(at_work.count());
        line.running == 0 || free > idle.min(self.concurrency / 2)
    }

    /// A caller with nothing left is dropped, so that the map does not grow with callers that came once.
    fn forget(&mut self, caller: Hash) {
        let line = self.of_callers.get(&caller);
        if line.is_some_and(|line| line.running == 0 && line.waiting.is_empty()) {
            self.of_callers.remove(&caller);
        }
    }
}

impl PlaceInLine {
    /// Waits until it is this one's turn; `None` if it was cancelled before.
    pub(super) async fn wait(mut self, cancel: &CancellationToken) -> Option<Running> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            running = &mut self.turn => running.ok(),
        }
    }
}

impl Drop for PlaceInLine {
    /// Leaves the line, wherever it stood.
    fn drop(&mut self) {
        let mut lines = self.places.lock();
        if let Some(line) = lines.of_callers.get_mut(&self.caller) {
            line.waiting.retain(|it| it.number != self.number);
        }
        lines.forget(self.caller);
    }
}

impl Drop for Running {
    /// Gives the place back, and the next one its turn.
    fn drop(&mut self) {
        {
            let mut lines = self.places.lock();
            lines.running -= 1;
            if let Some(line) = lines.of_callers.get_mut(&self.caller) {
                line.running -= 1;
            }
            lines.forget(self.caller);
        }
        self.places.give_turns();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Caller = Caller(Hash::ZERO);

    #[tokio::test]
    async fn those_that_wait_run_in_order_and_those_beyond_the_bound_are_refused() {
        let places = Places::new(1, 1);
        let cancel = CancellationToken::new();
        let first = places.admit(ONE).expect("the line is empty");
        let first = first.wait(&cancel).await.expect("nobody is before it");
        let mut line: Vec<PlaceInLine> = (0..WAITING_PER_RUN)
            .map(|_| places.admit(ONE).expect("there is room in the line"))
            .collect();
        assert!(places.admit(ONE).is_err());

        let second = line.remove(0).wait(&cancel);
        let mut second = std::pin::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(first);
        let second = second.await.expect("its turn has come");
        assert!(places.admit(ONE).is_ok());

        cancel.cancel();
        assert!(line.remove(0).wait(&cancel).await.is_none());
        drop(second);
    }

    #[tokio::test]
    async fn a_caller_that_asks_much_waits_for_himself() {
        let places = Places::new(4, 2);
        let cancel = CancellationToken::new();
        let (much, little) = (Caller(Hash::of(b"much")), Caller(Hash::of(b"little")));
        let mut of_much: Vec<PlaceInLine> = (0..44)
            .map(|_| places.admit(much).expect("his line has room"))
            .collect();
        assert!(places.admit(much).is_err());
        let mut running = vec![];
        for place in of_much.drain(..3) {
            running.push(place.wait(&cancel).await.expect("there is room"));
        }
        let mut fourth = std::pin::pin!(of_much.remove(0).wait(&cancel));
        assert!(
            futures_util::poll!(fourth.as_mut()).is_pending(),
            "one is kept"
        );
        let first = places.admit(little).expect("his line is empty");
        let first = first.wait(&cancel).await.expect("a place was kept");
        let second = places.admit(little).expect("his line has room");
        let mut second = std::pin::pin!(second.wait(&cancel));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        // The lines take turns: one of the forty before him comes first at most.
        running.truncate(1);
        assert!(futures_util::poll!(second.as_mut()).is_ready());
        drop(first);
    }

    #[tokio::test]
    async fn whoever_does_not_wait_any_more_keeps_no_place() {
        let places = Places::new(1, 1);
        let cancel = CancellationToken::new();
        let first = places.admit(ONE).expect("the line is empty");
        // Its turn has come, and nobody takes it.
        drop(first);
        let second = places.admit(ONE).expect("the line is empty");
        let running = second.wait(&cancel).await.expect("the place is free");
        drop(running);
        assert!(places.lock().of_callers.is_empty());
    }
}
