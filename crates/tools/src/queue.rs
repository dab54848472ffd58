//! Queues: how many calls of the tools that are bound to one may run at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// The queue of every tool that names no other. It exists always.
pub const DEFAULT_QUEUE: &str = "default";

/// Calls of tools wait for others more than they compute: a machine with few cores has room for several too.
const DEFAULT_PLACES_MIN: usize = 16;
const DEFAULT_PLACES_MAX: usize = 64;

/// The places of a queue that does not say how many it has: two for each core, from 16 to 64.
pub fn default_places(cores: usize) -> usize {
    let places = cores.saturating_mul(2);
    places.clamp(DEFAULT_PLACES_MIN, DEFAULT_PLACES_MAX)
}

/// What a tool's calls wait in, first come, first served.
#[derive(Debug)]
pub struct Queue {
    name: String,
    places: Semaphore,
    measure: Mutex<QueueMeasure>,
    teller: WaitedListener,
}

/// A call that did not get its place at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited<'a> {
    /// By its name in the configuration.
    pub queue: &'a str,
    /// By the name that the model calls it by.
    pub tool: &'a str,
    /// The calls that ran or waited when it came.
    pub before: usize,
    /// From the call until it got its place.
    pub waited_ms: u64,
}

/// Told of every call that waited, once it has its place. No event of `tracing`: it carries what a surface shows where a
/// person asked for it, in words of its own.
pub type OnWaited = Arc<dyn Fn(&Waited<'_>) + Send + Sync>;

#[derive(Clone, Default)]
struct WaitedListener(Option<OnWaited>);

impl std::fmt::Debug for WaitedListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_listener = self.0.is_some();
        f.debug_tuple("WaitedListener")
            .field(&has_listener)
            .finish()
    }
}

/// What a queue has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueMeasure {
    /// How many may run at once.
    pub concurrent: usize,
    /// Calls that have a place now.
    pub running: usize,
    /// Calls that wait for one now.
    pub waiting: usize,
    /// The most that ever waited at once.
    pub waiting_max: usize,
    /// Calls that got their place, ever.
    pub entered: u64,
    /// Of all calls that got their place, together.
    pub waited_ms_total: u64,
    /// The longest of these waits.
    pub waited_ms_max: u64,
}

/// Why queues cannot be set up, or a tool not be bound to one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// A tool that is bound to it would wait for ever.
    #[error("queue {name:?} would let nothing run; set its `concurrent` to 1 or more")]
    NoPlaces {
        /// As the configuration has it.
        name: String,
    },
    /// A tool names it, and no configuration sets it up.
    #[error("there is no queue {name:?}; the queues are {known}; add it or name one of these")]
    Unknown {
        /// As the tool names it.
        name: String,
        /// The names of those that there are, with commas.
        known: String,
    },
}

impl Queue {
    /// A queue with `concurrent` places, which nobody is told of. Most come out of [`Queues`].
    pub fn new(name: &str, concurrent: usize) -> Result<Self, QueueError> {
        if concurrent == 0 {
            return Err(QueueError::NoPlaces { name: name.into() });
        }
        let concurrent = concurrent.min(Semaphore::MAX_PERMITS);
        Ok(Self {
            name: name.into(),
            places: Semaphore::new(concurrent),
            measure: Mutex::new(QueueMeasure {
                concurrent,
                ..QueueMeasure::default()
            }),
            teller: WaitedListener::default(),
        })
    }

    /// As the configuration has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many calls may run at once. It may grow.
    pub fn concurrent(&self) -> usize {
        self.lock().concurrent
    }

    /// Gives the queue more places. It never loses one: a call that runs cannot be called back.
    fn grow_to(&self, concurrent: usize) {
        let mut measure = self.lock();
        let more = concurrent
            .min(Semaphore::MAX_PERMITS)
            .saturating_sub(measure.concurrent);
        measure.concurrent += more;
        self.places.add_permits(more);
    }

    /// What it has seen until now.
    pub fn measure(&self) -> QueueMeasure {
        *self.lock()
    }

    /// Waits for a place, which is given back when it is dropped. Dropping the future leaves the queue.
    pub async fn enter(&self) -> QueuePlace<'_> {
        let asked = Instant::now();
        let waiting = WaitingInQueue::begin(self);
        let permit = self
            .places
            .acquire()
            .await
            .expect("the semaphore is never closed");
        drop(waiting);
        let waited_ms = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut measure = self.lock();
        measure.running += 1;
        measure.entered += 1;
        measure.waited_ms_total = measure.waited_ms_total.saturating_add(waited_ms);
        measure.waited_ms_max = measure.waited_ms_max.max(waited_ms);
        QueuePlace {
            queue: self,
            _permit: permit,
        }
    }

    /// The same for a call of a tool; somebody is told if it waits.
    pub async fn enter_for(&self, tool: &str) -> QueuePlace<'_> {
        let Some(tell) = &self.teller.0 else {
            return self.enter().await;
        };
        let QueueMeasure {
            running, waiting, ..
        } = self.measure();
        let has_room = self.places.available_permits() > 0;
        let asked = Instant::now();
        let place = self.enter().await;
        if !has_room {
            let waited_ms = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
            tell(&Waited {
                queue: &self.name,
                tool,
                before: running + waiting,
                waited_ms,
            });
        }
        place
    }

    fn lock(&self) -> MutexGuard<'_, QueueMeasure> {
        // Counters are whole after every line that changes them.
        self.measure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the places of a queue.
#[derive(Debug)]
pub struct QueuePlace<'a> {
    queue: &'a Queue,
    _permit: SemaphorePermit<'a>,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        // Before the permit goes, so that the measure never shows more than may run.
        self.queue.lock().running -= 1;
    }
}

struct WaitingInQueue<'a>(&'a Queue);

impl<'a> WaitingInQueue<'a> {
    fn begin(queue: &'a Queue) -> Self {
        let mut measure = queue.lock();
        measure.waiting += 1;
        measure.waiting_max = measure.waiting_max.max(measure.waiting);
        Self(queue)
    }
}

impl Drop for WaitingInQueue<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

/// The queues of a process, by name.
#[derive(Debug, Default)]
pub struct Queues {
    by_name: Mutex<BTreeMap<String, Arc<Queue>>>,
    teller: WaitedListener,
}

impl Queues {
    /// Each queue with its number of places. A name that comes twice gets the larger number; without a
    /// number of its own, the default queue has its [`default_places`].
    pub fn new(settings: impl IntoIterator<Item = (String, usize)>) -> Result<Self, QueueError> {
        let queues = Self::default();
        queues.extend(settings)?;
        Ok(queues)
    }

    /// No queue but the default one yet; somebody is told of the calls that wait.
    pub fn telling(on_waited: OnWaited) -> Self {
        Self {
            teller: WaitedListener(Some(on_waited)),
            ..Self::default()
        }
    }

    /// Takes more settings in. A queue that is there already keeps its calls, and can only grow.
    pub fn extend(
        &self,
        settings: impl IntoIterator<Item = (String, usize)>,
    ) -> Result<(), QueueError> {
        let mut queues = self.lock();
        for (name, concurrent) in settings {
            match queues.get(&name) {
                Some(queue) => queue.grow_to(concurrent),
                None => {
                    let queue = self.queue(&name, concurrent)?;
                    queues.insert(name, queue);
                }
            }
        }
        if !queues.contains_key(DEFAULT_QUEUE) {
            let cores = available_parallelism().map_or(1, usize::from);
            let queue = self.queue(DEFAULT_QUEUE, default_places(cores))?;
            queues.insert(DEFAULT_QUEUE.into(), queue);
        }
        Ok(())
    }

    fn queue(&self, name: &str, concurrent: usize) -> Result<Arc<Queue>, QueueError> {
        let queue = Queue::new(name, concurrent)?;
        Ok(Arc::new(Queue {
            teller: self.teller.clone(),
            ..queue
        }))
    }

    /// The queue that a tool is bound to; without a name, the default one.
    pub fn get(&self, name: Option<&str>) -> Result<Arc<Queue>, QueueError> {
        let name = name.unwrap_or(DEFAULT_QUEUE);
        let queues = self.lock();
        queues.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = queues.keys().map(String::as_str).collect();
            QueueError::Unknown {
                name: name.into(),
                known: known.join(", "),
            }
        })
    }

    /// What each queue has seen, by name.
    pub fn measures(&self) -> Vec<(String, QueueMeasure)> {
        let queues = self.lock();
        let measured = queues.iter();
        measured
            .map(|(name, queue)| (name.clone(), queue.measure()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Queue>>> {
        // The map is whole after every line that changes it.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
