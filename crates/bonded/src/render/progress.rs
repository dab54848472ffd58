//! Progress on stderr, read from the log: what is shown is what is durable. Only what a model is saying just now
//! comes from the run itself, and goes when its entry is there.
//!
//! The watcher reads the store as any other process could, so that a screen never shows a step which a crash would
//! undo. It has no part in driving: where it fails, the run goes on. A live line is for a terminal; elsewhere each
//! entry is a plain line, or an object for programs.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::LiveSink;
use bonded_kernel::{Entry, Money, RunId, Usage};
use bonded_state::{Store, StoreError};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::failures::{FailureTiming, Failures};
use super::spoken::JsonLines;
use super::tail::Tail;
use super::trace::Trace;
use crate::output;
use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::{brief, cost, tokens};

/// Where the entries of a run go while it is driven.
pub(crate) enum Sink {
    /// Nothing is shown, and the log is not even read.
    Quiet,
    /// One live line on a terminal, and one of what is being said.
    Live(Box<LiveLine>),
    /// Plain lines on stderr.
    Lines(Failures),
    /// One JSON object a line on stdout.
    Json(JsonLines),
}

impl Sink {
    /// A live line on a terminal, plain lines elsewhere.
    pub(crate) fn for_stderr(quiet: bool, run: &RunId) -> Self {
        match (quiet, output::stderr_is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Live(Box::new(LiveLine::new(run))),
            (false, false) => Self::lines(),
        }
    }

    /// Lines cannot be taken back, so that a failure is shown at once.
    fn lines() -> Self {
        Self::Lines(Failures::new(FailureTiming::AtOnce))
    }

    /// Entries as JSON, and with `live` also what is being said.
    pub(crate) fn json(live: bool) -> Self {
        Self::Json(match live {
            true => JsonLines::with_live(),
            false => JsonLines::default(),
        })
    }

    /// Resolves when something was said that is to be printed.
    /// Never for what is drawn: the live line looks by itself, several times a second.
    async fn news(&self) {
        match self {
            Self::Json(lines) => lines.news().await,
            Self::Quiet | Self::Live(_) | Self::Lines(_) => std::future::pending().await,
        }
    }

    fn show(&mut self, entry: &Entry) {
        match self {
            Self::Quiet => {}
            Self::Live(live) => live.show(entry),
            Self::Lines(failures) => {
                let lines = failures.lines(entry);
                lines.iter().for_each(|line| output::stderr(line));
            }
            Self::Json(lines) => lines.show(entry),
        }
    }
}

/// The live line: turn, tool, tokens, cost, elapsed.
pub(crate) struct LiveLine {
    /// Draws from a thread of its own.
    bar: ProgressBar,
    /// Shared with the run, which appends to it, and with the drawing.
    tail: Arc<Tail>,
    failures: Failures,
    usage: Usage,
    cost: Money,
    /// By target, from the first entry; none where the watcher began after it.
    prices: Vec<Option<bonded_kernel::Price>>,
    /// The target that was asked last: its price counts for the answer.
    target: usize,
}

impl LiveLine {
    /// The second line is the tail, computed each time it is drawn, since the width of the terminal may change.
    fn new(run: &RunId) -> Self {
        let bar = ProgressBar::new_spinner();
        let tail = Arc::new(Tail::new(run.clone()));
        let shown_tail = tail.clone();
        // A last line without anything on it is not drawn at all.
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}\n{tail}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style.with_key("tail", move |_: &ProgressState, line: &mut dyn Write| {
            let (_, columns) = console::Term::stderr().size();
            // The line is written to memory.
            let _written = line.write_str(&shown_tail.line(columns.into()));
        });
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self {
            bar,
            tail,
            failures: Failures::new(FailureTiming::Once),
            usage: Usage::default(),
            cost: Money::default(),
            prices: vec![],
            target: 0,
        }
    }

    /// An entry that ends an attempt takes the tail away, so that nothing is shown twice.
    fn show(&mut self, entry: &Entry) {
        let lines = self.failures.lines(entry);
        let activity = Activity::of(entry);
        let doing = match activity {
            Activity::Started(started) => {
                self.prices = started.config.targets.iter().map(|t| t.price).collect();
                None
            }
            Activity::Asking {
                target, summary, ..
            } => {
                self.target = target as usize;
                self.tail.ask();
                Some(match summary {
                    false => "asking the model".to_owned(),
                    true => "asking the model for a summary".to_owned(),
                })
            }
            Activity::Answered(usage) => {
                self.spent(usage);
                None
            }
            Activity::Calling { tool } => Some(format!("running {tool}")),
            Activity::Progress(progress) => Some(brief(progress, 60)),
            Activity::Failed(_) => {
                let failed = self.failures.last().unwrap_or_default();
                self.tail.fail(&failed);
                Some(failed)
            }
            Activity::Ended | Activity::Quiet => None,
        };
        if activity.ends_attempt() {
            self.tail.end_turn(entry.turn);
        }
        for line in lines {
            self.bar.println(output::for_terminal(&line));
        }
        if let Some(doing) = doing {
            let paid = cost(self.cost).map(|cost| format!(" · {cost}"));
            let message = format!(
                "turn {} · {doing} · {}{}",
                entry.turn,
                tokens(&self.usage),
                paid.unwrap_or_default()
            );
            self.bar
                .set_message(output::for_terminal(&message).replace('\n', " "));
        }
        if entry.event.ended().is_some() {
            self.bar.finish_and_clear();
        }
    }

    /// An estimate for the eye: what was really booked is in the log's last entry.
    fn spent(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.usage.add(&usage);
        if let Some(Some(price)) = self.prices.get(self.target) {
            self.cost = self.cost.plus(price.of(&usage));
        }
    }
}

/// Whatever ends the watching, the terminal is left without a half-drawn line.
impl Drop for LiveLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Follows the log of one run.
pub(crate) struct RunWatcher {
    store: Arc<dyn Store>,
    run: RunId,
    /// The sequence number of the last entry that was shown.
    after: u64,
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
            sink,
            trace: Trace::default(),
        }
    }

    /// Says more of each entry. The live line would be in the way.
    pub(crate) fn tracing(mut self, trace: Trace) -> Self {
        if trace.is_on() && matches!(self.sink, Sink::Live(_)) {
            self.sink = Sink::lines();
        }
        self.trace = trace;
        self
    }

    /// Who is to be told what models are saying.
    pub(crate) fn live_sink(&self) -> Option<Arc<dyn LiveSink>> {
        match &self.sink {
            Sink::Live(live) => Some(live.tail.clone()),
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
                () = self.sink.news() => {
                    if let Sink::Json(lines) = &self.sink {
                        lines.speak(&self.run);
                    }
                }
            }
        }
    }

    /// Shows what is there; says whether the run has ended.
    pub(crate) async fn catch_up(&mut self) -> Result<bool, StoreError> {
        if matches!(self.sink, Sink::Quiet) {
            return Ok(false);
        }
        let entries = self.store.load(&self.run, self.after).await?;
        for entry in &entries {
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
}
