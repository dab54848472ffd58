//! Failures of providers for people: what fails in the same way again and again is shown once, with its count.
//!
//! A provider that is overloaded fails in the same way dozens of times, and a line for each would push everything
//! else off the screen. Failures are the same if target, class and message are. A row ends when a provider answers,
//! or when the run ends.

use bonded_kernel::{AttemptFailed, Entry, FailureClass};

use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::brief;

/// Of a provider's message; the log has all of it.
const DETAIL_CHARS: usize = 100;

/// When a failure is shown that may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureTiming {
    /// At once, and with its count when the row ends.
    AtOnce,
    /// With its count when a provider has answered. A live line shows it meanwhile, and the end of the run names it.
    Once,
}

/// The failures of a run since a provider answered last.
#[derive(Debug)]
pub(crate) struct Failures {
    timing: FailureTiming,
    /// The targets by name.
    targets: Vec<String>,
    /// The target that is asked, by its place among the targets.
    target: u32,
    row: Vec<Failure>,
    /// The place of the last of them.
    last: usize,
}

/// One way of failing, and how often it happened in this row.
#[derive(Debug)]
struct Failure {
    target: u32,
    text: String,
    turn: u32,
    count: u32,
    /// How many of these were shown.
    shown: u32,
}

/// A way of failing with its count, as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FailureCount {
    /// That of the last time.
    pub(crate) turn: u32,
    pub(crate) text: String,
    pub(crate) count: u32,
}

impl Failure {
    /// Counts as shown from here on.
    fn show(&mut self) -> FailureCount {
        self.shown = self.count;
        FailureCount {
            turn: self.turn,
            text: self.text.clone(),
            count: self.count,
        }
    }
}

impl Failures {
    pub(crate) fn new(timing: FailureTiming) -> Self {
        Self {
            timing,
            targets: vec![],
            target: 0,
            row: vec![],
            last: 0,
        }
    }

    /// What failed last, as long as no provider has answered.
    pub(crate) fn last(&self) -> Option<&str> {
        self.row.get(self.last).map(|failure| &*failure.text)
    }

    /// The last failure is shown elsewhere.
    pub(crate) fn mark_shown(&mut self) {
        if let Some(failure) = self.row.get_mut(self.last) {
            failure.shown = failure.count;
        }
    }

    /// What is to be shown before this entry.
    pub(crate) fn observe(&mut self, entry: &Entry) -> Vec<FailureCount> {
        match Activity::of(entry) {
            Activity::Started(started) => {
                let name = |it: &bonded_kernel::Target| format!("{}/{}", it.provider, it.model);
                self.targets = started.config.targets.iter().map(name).collect();
                vec![]
            }
            Activity::Goal(given) => {
                let name = |it: &bonded_kernel::Target| format!("{}/{}", it.provider, it.model);
                if let Some(targets) = &given.targets {
                    self.targets = targets.iter().map(name).collect();
                }
                vec![]
            }
            Activity::Asking { target, .. } => {
                self.target = target;
                vec![]
            }
            Activity::Failed(failed) if failed.class != FailureClass::Interrupted => {
                self.failed(failed, entry.turn)
            }
            Activity::Failed(failed) if self.timing == FailureTiming::AtOnce => {
                vec![FailureCount {
                    turn: entry.turn,
                    text: self.text(failed),
                    count: 1,
                }]
            }
            Activity::Ended if self.timing == FailureTiming::Once => vec![],
            Activity::Answered(_) | Activity::Ended => self.settle(),
            Activity::Failed(_)
            | Activity::Calling { .. }
            | Activity::CallOver { .. }
            | Activity::Progress(_)
            | Activity::Person(_)
            | Activity::Quiet => vec![],
        }
    }

    fn failed(&mut self, failed: &AttemptFailed, turn: u32) -> Vec<FailureCount> {
        let (target, text) = (self.target, self.text(failed));
        let is_same = |it: &Failure| it.target == target && it.text == text;
        if let Some(at) = self.row.iter().position(is_same) {
            self.last = at;
            let failure = &mut self.row[at];
            (failure.count, failure.turn) = (failure.count + 1, turn);
            return vec![];
        }
        let mut failure = Failure {
            target,
            text,
            turn,
            count: 1,
            shown: 0,
        };
        let counts = match self.timing {
            FailureTiming::AtOnce => vec![failure.show()],
            FailureTiming::Once => vec![],
        };
        self.last = self.row.len();
        self.row.push(failure);
        counts
    }

    /// The target is named only where there are several.
    fn text(&self, failed: &AttemptFailed) -> String {
        let message = brief(&failed.message, DETAIL_CHARS);
        let text = format!("{}: {message}", failed.class.as_str());
        match self.targets.get(self.target as usize) {
            Some(name) if self.targets.len() > 1 => format!("{name}: {text}"),
            _ => text,
        }
    }

    /// Ends the row: gives what was not shown yet.
    fn settle(&mut self) -> Vec<FailureCount> {
        let mut row = std::mem::take(&mut self.row);
        let unshown = row.iter_mut().filter(|it| it.shown < it.count);
        unshown.map(Failure::show).collect()
    }
}
