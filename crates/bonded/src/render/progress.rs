//! Progress on stderr, read from the log: what is shown is what is durable. Only what a model is saying just now
//! comes from the run itself.
//!
//! The watcher reads the store as any other process could, so that a screen never shows a step which a crash would
//! undo. It has no part in driving: where it fails, the run goes on. A terminal has lines and live rows below them;
//! elsewhere each event is a line, or an object for programs.

use std::sync::Arc;
use std::time::Duration;

use bonded_host::LiveSink;
use bonded_host::shapes::activity::Activity;
use bonded_kernel::{Entry, RunId};
use bonded_state::{Store, StoreError};

use super::failures::{FailureTiming, Failures};
use super::lines::Lines;
use super::spoken::JsonLines;
use super::terminal::TerminalRun;
use super::trace::Trace;
use crate::style::{Look, Stream};
use crate::{output, resumable_run};

/// A machine's log says that the run is alive, this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Where the entries of a run go while it is driven.
pub(crate) enum Sink {
    /// Nothing is shown, and the log is not even read.
    Quiet,
    /// Lines on a terminal, with live rows below them.
    Terminal(Box<TerminalRun>),
    /// A line for each event.
    Lines(Box<Lines>),
    /// One JSON object a line on stdout.
    Json(JsonLines),
}

/// How a run was shown, for what is said at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) manner: ProgressForm,
    /// What the model said last, where all of it stands on the terminal.
    pub(crate) prose: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgressForm {
    #[default]
    Quiet,
    Terminal,
    Lines,
    Json,
}

impl Sink {
    /// What stderr can show.
    pub(crate) fn for_stderr(quiet: bool, run: &RunId) -> Self {
        Self::drawn(quiet, run, false)
    }

    /// The same for a person who has just typed what is asked.
    pub(crate) fn for_conversation(quiet: bool, run: &RunId) -> Self {
        Self::drawn(quiet, run, true)
    }

    fn drawn(quiet: bool, run: &RunId, is_typed: bool) -> Self {
        let look = Look::of(Stream::Err);
        match quiet {
            true => Self::Quiet,
            false if look.redraws() => {
                Self::Terminal(Box::new(TerminalRun::new(run, look, is_typed)))
            }
            false => Self::Lines(Box::new(Lines::new(run, look))),
        }
    }

    /// Entries as JSON, and with `live` also what is being said.
    pub(crate) fn json(live: bool) -> Self {
        Self::Json(match live {
            true => JsonLines::with_live(),
            false => JsonLines::default(),
        })
    }

    /// Resolves when something is to be printed although no entry came.
    /// Never for a terminal: what is drawn there is drawn by a thread of its own.
    async fn news(&self) {
        match self {
            Self::Json(lines) => lines.news().await,
            Self::Lines(_) => tokio::time::sleep(HEARTBEAT).await,
            Self::Quiet | Self::Terminal(_) => std::future::pending().await,
        }
    }

    fn tell_news(&self, run: &RunId) {
        match self {
            Self::Json(lines) => lines.speak(run),
            Self::Lines(lines) => lines.beat(),
            Self::Quiet | Self::Terminal(_) => {}
        }
    }

    fn show(&mut self, entry: &Entry) {
        match self {
            Self::Quiet => {}
            Self::Terminal(terminal) => terminal.show(entry),
            Self::Lines(lines) => lines.show(entry),
            Self::Json(lines) => lines.show(entry),
        }
    }

    /// Takes an entry that was there before and is not shown again.
    fn remember(&mut self, entry: &Entry) {
        match self {
            Self::Terminal(terminal) => terminal.remember(entry),
            Self::Lines(lines) => lines.remember(entry),
            Self::Quiet | Self::Json(_) => {}
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::Quiet => Shown::default(),
            Self::Terminal(terminal) => Shown {
                manner: ProgressForm::Terminal,
                prose: terminal.prose().map(str::to_owned),
            },
            Self::Lines(_) => Shown {
                manner: ProgressForm::Lines,
                prose: None,
            },
            Self::Json(_) => Shown {
                manner: ProgressForm::Json,
                prose: None,
            },
        }
    }
}

/// Follows the log of one run.
pub(crate) struct RunWatcher {
    store: Arc<dyn Store>,
    run: RunId,
    /// The sequence number of the last entry that was shown.
    after: u64,
    /// Whether what came before it is known.
    remembers: bool,
    sink: Sink,
    trace: Trace,
}

impl RunWatcher {
    /// Shows the entries after sequence number `after`.
    pub(crate) fn new(store: Arc<dyn Store>, run: RunId, after: u64, sink: Sink) -> Self {
        Self {
            store,
            run,
            after,
            remembers: after == 0,
            sink,
            trace: Trace::default(),
        }
    }

    /// Says more of each entry.
    pub(crate) fn tracing(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Who is to be told what models are saying.
    pub(crate) fn live_sink(&self) -> Option<Arc<dyn LiveSink>> {
        match &self.sink {
            Sink::Terminal(terminal) => Some(terminal.live().clone()),
            Sink::Json(lines) => Some(lines.spoken()?.clone()),
            Sink::Quiet | Sink::Lines(_) => None,
        }
    }

    /// Shows entries as they come, until the run has ended.
    /// To be polled beside the run. It may be dropped at any await: what was shown is remembered.
    pub(crate) async fn follow(&mut self) -> Result<(), StoreError> {
        loop {
            self.entries_come().await?;
            if self.catch_up().await? {
                return Ok(());
            }
        }
    }

    /// Waits for entries, and prints what is said meanwhile.
    async fn entries_come(&self) -> Result<(), StoreError> {
        let mut changed = self.store.changed(&self.run, self.after);
        loop {
            tokio::select! {
                biased;
                changed = &mut changed => return changed,
                () = self.sink.news() => self.sink.tell_news(&self.run),
            }
        }
    }

    /// Shows what is there; says whether the run has ended.
    pub(crate) async fn catch_up(&mut self) -> Result<bool, StoreError> {
        if matches!(self.sink, Sink::Quiet) {
            return Ok(false);
        }
        let from = if self.remembers { self.after } else { 0 };
        let entries = self.store.load(&self.run, from).await?;
        if !entries.is_empty() {
            resumable_run::set(&self.run);
        }
        self.remembers = true;
        for entry in &entries {
            if entry.seq <= self.after {
                self.sink.remember(entry);
                continue;
            }
            let more = self.trace.lines(entry);
            more.iter().for_each(|line| output::stderr(line));
            self.sink.show(entry);
            self.after = entry.seq;
        }
        Ok(entries
            .last()
            .is_some_and(|entry| entry.event.ended().is_some()))
    }

    /// Then there is nothing to be polled.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.sink, Sink::Quiet)
    }

    /// Ends the watching: nothing is drawn any more.
    pub(crate) fn end(self) -> Shown {
        self.sink.shown()
    }
}

/// The failures of a run as its sink tells them.
pub(crate) fn failures(look: &Look) -> Failures {
    Failures::new(match look.redraws() {
        true => FailureTiming::Once,
        false => FailureTiming::AtOnce,
    })
}

/// Whether a model has said all that it says in this attempt.
pub(crate) fn ends_reply(entry: &Entry) -> bool {
    Activity::of(entry).ends_attempt()
}
