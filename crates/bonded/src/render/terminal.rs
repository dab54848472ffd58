//! A run at a terminal: its entries become lines, and what is under way stands below them.

use std::sync::Arc;

use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::short_id;
use bonded_kernel::{Entry, Event, RunId, RunStarted};

use super::failures::{FailureTold, Failures};
use super::live::{Drawing, Live};
use super::progress::{ends_reply, failures};
use super::style::{Look, Paint, Stream, Styled, Symbol};
use super::told::{self, Remark, Teller, Told};
use crate::output;

/// Draws as long as it is there.
pub(crate) struct TerminalRun {
    live: Arc<Live>,
    teller: Teller,
    failures: Failures,
    /// What the model said last, where all of it was shown.
    prose: Option<String>,
    _drawing: Drawing,
}

impl TerminalRun {
    pub(crate) fn new(run: &RunId, look: Look) -> Self {
        let live = Live::new(run, look);
        Self {
            _drawing: Drawing::begin(&live),
            live,
            teller: Teller::default(),
            failures: failures(&look),
            prose: None,
        }
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(crate) fn prose(&self) -> Option<&str> {
        self.prose.as_deref()
    }

    pub(crate) fn remember(&mut self, entry: &Entry) {
        let _told_before = self.teller.told(entry);
        let _told_before = self.failures.told(entry);
        self.take(entry);
        if let Event::RunStarted(started) = &entry.event {
            self.heading(&entry.run, started);
        }
    }

    /// What was streamed is not told again: it stands there already, also where nothing came of it.
    pub(crate) fn show(&mut self, entry: &Entry) {
        if let Event::RunStarted(started) = &entry.event {
            self.heading(&entry.run, started);
        }
        let streamed = match ends_reply(entry) {
            true => self.live.end_reply(entry.turn),
            false => None,
        };
        for failure in self.failures.told(entry) {
            self.tell_failure(&failure);
        }
        if streamed.is_some() {
            self.discarded(entry);
        }
        let mut told = self.teller.told(entry);
        if matches!(entry.event, Event::TurnFailed { .. }) {
            // The failures that led to it are told together, or by the end.
            told.clear();
        }
        for told in told {
            match told {
                Told::Prose(_) if streamed.is_some() => self.prose.clone_from(&streamed),
                Told::Prose(text) => {
                    self.prose = Some(text.clone());
                    self.live.tell_told(Told::Prose(text));
                }
                told @ (Told::Call(_) | Told::Remark(_)) => self.live.tell_told(told),
            }
        }
        self.take(entry);
    }

    /// The rows below say what is under way.
    fn take(&self, entry: &Entry) {
        match Activity::of(entry) {
            Activity::Started(started) => self.live.start(started),
            Activity::Asking {
                attempt,
                target,
                summary,
            } => self.live.ask(entry.turn, attempt, target, summary),
            Activity::Answered(usage) => {
                self.live.spend(usage);
                self.live.expect(entry.turn, self.teller.asked());
            }
            Activity::Calling { call, .. } => self.live.begin_call(call),
            Activity::CallOver { call } => self.live.end_call(call),
            Activity::Failed(_) => {
                let failed = self.failures.last().unwrap_or_default();
                self.live.fail(failed.to_owned());
            }
            Activity::Progress(_) | Activity::Ended | Activity::Quiet => {}
        }
    }

    fn heading(&self, run: &RunId, started: &RunStarted) {
        let look = self.live.look();
        let config = &started.config;
        let models: Vec<String> = config
            .targets
            .iter()
            .map(|target| format!("{}/{}", target.provider, target.model))
            .collect();
        let parts = [short_id(run), &models.join(", "), &home_short(&config.dir)];
        let line = parts.join(&look.separator());
        let room = Stream::Err.size().0.saturating_sub(1);
        output::styled(&Styled::new().dim(&line).cut(room, look), look);
    }

    fn tell_failure(&self, failure: &FailureTold) {
        let times = match failure.count {
            1 => String::new(),
            count => format!(" {}{count}", self.live.look().symbol(Symbol::Times)),
        };
        self.live.tell_told(Told::Remark(Remark {
            symbol: Symbol::Warning,
            text: format!("{}{times}", failure.text),
        }));
    }

    /// A text that nothing came of stays, with the reason below it.
    fn discarded(&mut self, entry: &Entry) {
        let why = if let Event::AttemptFailed(failed) = &entry.event {
            failed.message.to_string()
        } else if let Event::ReplyRejected { reason, answer, .. } = &entry.event {
            told::rejected(*reason, &answer.text)
        } else {
            return;
        };
        self.prose = None;
        self.failures.note_told();
        let look = self.live.look();
        let why = bonded_host::shapes::text::brief(&why, 200);
        let line = Styled::new().with(Paint::Yellow, &format!("(discarded: {why}; asking again)"));
        output::styled(&line, look);
    }
}

/// The home directory is written as people write it.
pub(crate) fn home_short(dir: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    match dir.strip_prefix(home.trim_end_matches('/')) {
        Some("") if !home.is_empty() => "~".into(),
        Some(rest) if !home.is_empty() && rest.starts_with('/') => format!("~{rest}"),
        _ => dir.to_owned(),
    }
}
