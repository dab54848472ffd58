//! Progress on stderr, read from the log: what is shown is what is durable.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Entry, Event, Money, RunId, Usage};
use bonded_state::{Store, StoreError};
use indicatif::{ProgressBar, ProgressStyle};

use super::text::{brief, cost, tokens};
use super::trace::Trace;
use super::{json, line};
use crate::output;

/// Where the entries of a run go while it is driven.
pub(crate) enum Sink {
    Quiet,
    /// One live line on a terminal.
    Live(Box<Live>),
    /// Plain lines on stderr.
    Lines,
    /// One JSON object a line on stdout.
    Json,
}

impl Sink {
    /// A live line on a terminal, plain lines elsewhere.
    pub(crate) fn for_stderr(quiet: bool) -> Self {
        match (quiet, output::stderr_is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Live(Box::new(Live::new())),
            (false, false) => Self::Lines,
        }
    }

    fn show(&mut self, entry: &Entry) {
        match self {
            Self::Quiet => {}
            Self::Live(live) => live.show(entry),
            Self::Lines => {
                if let Some(line) = line::of(entry) {
                    output::stderr(&line);
                }
            }
            Self::Json => output::stdout(&json::entry(entry)),
        }
    }
}

/// The live line: turn, tool, tokens, cost, elapsed.
pub(crate) struct Live {
    bar: ProgressBar,
    usage: Usage,
    cost: Money,
    prices: Vec<Option<bonded_kernel::Price>>,
    target: usize,
}

impl Live {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(120));
        Self {
            bar,
            usage: Usage::default(),
            cost: Money::default(),
            prices: vec![],
            target: 0,
        }
    }

    fn show(&mut self, entry: &Entry) {
        let doing = match &entry.event {
            Event::RunStarted(started) => {
                self.prices = started.config.targets.iter().map(|t| t.price).collect();
                None
            }
            Event::AttemptStarted { target, .. } => {
                self.target = *target as usize;
                Some("asking the model".to_owned())
            }
            Event::DecisionMade(decision) => {
                self.spent(decision.answer.usage);
                None
            }
            Event::ReplyRejected { answer, .. } => {
                self.spent(answer.usage);
                None
            }
            Event::ToolInvoked { tool, .. } => Some(format!("running {tool}")),
            Event::AttemptFailed(failed) => Some(format!(
                "{}: {}",
                failed.class.as_str(),
                brief(&failed.message, 60)
            )),
            _ => None,
        };
        if let Some(line) = line::of(entry) {
            self.bar.println(line);
        }
        if let Some(doing) = doing {
            let paid = cost(self.cost).map(|cost| format!(" · {cost}"));
            let message = format!(
                "turn {} · {doing} · {}{}",
                entry.turn,
                tokens(&self.usage),
                paid.unwrap_or_default()
            );
            self.bar.set_message(message);
        }
        if matches!(entry.event, Event::RunEnded(_)) {
            self.bar.finish_and_clear();
        }
    }

    fn spent(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.usage.add(&usage);
        if let Some(Some(price)) = self.prices.get(self.target) {
            self.cost = self.cost.plus(price.of(&usage));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Follows the log of one run.
pub(crate) struct Watcher {
    store: Arc<dyn Store>,
    run: RunId,
    after: u64,
    sink: Sink,
    trace: Trace,
}

impl Watcher {
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
            self.sink = Sink::Lines;
        }
        self.trace = trace;
        self
    }

    /// Shows entries as they come, until the run has ended.
    pub(crate) async fn follow(&mut self) -> Result<(), StoreError> {
        loop {
            self.store.changed(&self.run, self.after).await?;
            if self.catch_up().await? {
                return Ok(());
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
            .is_some_and(|entry| matches!(entry.event, Event::RunEnded(_))))
    }

    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.sink, Sink::Quiet)
    }
}
