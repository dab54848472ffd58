//! Failures of providers as lines for people: what fails in the same way again and again is told once, with its count.
//!
//! A provider that is overloaded fails in the same way dozens of times, and a line for each would push everything
//! else off the screen. Failures are the same if target, class and message are. A row ends when something else
//! happens that has a line.

use bonded_kernel::{AttemptFailed, Entry, FailureClass};

use super::line;
use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::brief;

/// Of a provider's message; the log has all of it.
const DETAIL_CHARS: usize = 100;

/// When a failure is told that may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureTiming {
    /// At once, and with its count when something else happens.
    AtOnce,
    /// With its count when something else happens. A live line shows it meanwhile.
    Once,
}

/// The lines of a run's entries, with its failures told together.
#[derive(Debug)]
pub(crate) struct Failures {
    telling: FailureTiming,
    /// The targets by name.
    targets: Vec<String>,
    /// The target that is asked, by its place among the targets.
    target: u32,
    /// What failed since a provider answered last.
    row: Vec<Failure>,
    /// The place of the last of them.
    last: usize,
    /// The line of an attempt of which nobody knows yet what comes of it.
    asking: Option<String>,
}

/// One way of failing, and how often it happened in this row.
#[derive(Debug)]
struct Failure {
    target: u32,
    text: String,
    turn: u32,
    count: u32,
    /// How many of these were told.
    shown: u32,
}

impl Failure {
    /// With its count where it is more than one.
    fn text(&self) -> String {
        let times = match self.count {
            1 => String::new(),
            count => format!(" x {count}"),
        };
        format!("{}{times}", self.text)
    }

    /// Counts as shown from here on.
    fn line(&mut self) -> String {
        self.shown = self.count;
        format!("{:>3}  failed   {}", self.turn, self.text())
    }
}

impl Failures {
    pub(crate) fn new(telling: FailureTiming) -> Self {
        Self {
            telling,
            targets: vec![],
            target: 0,
            row: vec![],
            last: 0,
            asking: None,
        }
    }

    /// What failed last, with its count, as long as no provider has answered.
    pub(crate) fn last(&self) -> Option<String> {
        self.row.get(self.last).map(Failure::text)
    }

    /// The lines to show now that this entry is there.
    pub(crate) fn lines(&mut self, entry: &Entry) -> Vec<String> {
        match Activity::of(entry) {
            Activity::Started(started) => {
                let name = |it: &bonded_kernel::Target| format!("{}/{}", it.provider, it.model);
                self.targets = started.config.targets.iter().map(name).collect();
            }
            Activity::Asking {
                target, summary, ..
            } => {
                self.target = target;
                if !summary && !self.row.is_empty() {
                    self.asking = line::of(entry);
                    return vec![];
                }
            }
            Activity::Failed(failed) if failed.class != FailureClass::Interrupted => {
                return self.failed(failed, entry.turn);
            }
            Activity::Failed(_)
            | Activity::Answered(_)
            | Activity::Calling { .. }
            | Activity::Progress(_)
            | Activity::Ended
            | Activity::Quiet => {}
        }
        let Some(line) = line::of(entry) else {
            return vec![];
        };
        let mut lines = self.settle();
        lines.push(line);
        lines
    }

    /// The turn is that of the last time.
    fn failed(&mut self, failed: &AttemptFailed, turn: u32) -> Vec<String> {
        self.asking = None;
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
        let lines = match self.telling {
            FailureTiming::AtOnce => vec![failure.line()],
            FailureTiming::Once => vec![],
        };
        self.last = self.row.len();
        self.row.push(failure);
        lines
    }

    /// The target is named only where there are several.
    fn text(&self, failed: &AttemptFailed) -> String {
        let text = format!(
            "{}: {}",
            failed.class.as_str(),
            brief(&failed.message, DETAIL_CHARS)
        );
        match self.targets.get(self.target as usize) {
            Some(name) if self.targets.len() > 1 => format!("{name}: {text}"),
            _ => text,
        }
    }

    /// Ends the row: tells what was not told yet, and what was asked then.
    fn settle(&mut self) -> Vec<String> {
        let mut row = std::mem::take(&mut self.row);
        let unshown = row.iter_mut().filter(|it| it.shown < it.count);
        let lines = unshown.map(Failure::line);
        lines.chain(self.asking.take()).collect()
    }
}
