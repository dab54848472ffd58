//! A run at a terminal: its entries become lines, and what is under way stands below them.

use std::sync::Arc;

use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::short_id;
use bonded_kernel::{Entry, Event, RunId, RunStarted};

use super::failures::{FailureCount, Failures};
use super::live::{Drawing, Live};
use super::narration::{self, Narrator, Passage, Remark};
use super::progress::{ends_reply, failures};
use crate::output;
use crate::style::{Look, Paint, Stream, Styled, Symbol};

/// Draws as long as it is there.
pub(crate) struct TerminalRun {
    live: Arc<Live>,
    narrator: Narrator,
    failures: Failures,
    /// What the model said last, where all of it was shown.
    prose: Option<String>,
    /// Whether what is asked stands there already, as it was typed.
    is_typed: bool,
    _drawing: Drawing,
}

impl TerminalRun {
    pub(crate) fn new(run: &RunId, look: Look, is_typed: bool) -> Self {
        let live = Live::new(run, look);
        Self {
            _drawing: Drawing::begin(&live),
            live,
            narrator: Narrator::default(),
            failures: failures(&look),
            prose: None,
            is_typed,
        }
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(crate) fn prose(&self) -> Option<&str> {
        self.prose.as_deref()
    }

    pub(crate) fn remember(&mut self, entry: &Entry) {
        let _shown_before = self.narrator.narrate(entry);
        let _shown_before = self.failures.observe(entry);
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
        for failure in self.failures.observe(entry) {
            self.show_failure(&failure);
        }
        if streamed.is_some() {
            self.discarded(entry);
        }
        let mut passages = self.narrator.narrate(entry);
        if self.is_typed
            && matches!(
                entry.event,
                Event::RunResumed {} | Event::ReviewAsked { .. }
            )
        {
            // The question itself follows, and what is resumed is what the person answered.
            passages.clear();
        }
        if matches!(entry.event, Event::TurnFailed { .. }) {
            // The failures that led to it are told together, or by the end.
            passages.clear();
        }
        for passage in passages {
            match passage {
                Passage::Prose(_) if streamed.is_some() => self.prose.clone_from(&streamed),
                Passage::Prose(text) => {
                    self.prose = Some(text.clone());
                    self.live.add_passage(Passage::Prose(text));
                }
                Passage::Asked(_) if self.is_typed => {}
                passage @ (Passage::Asked(_) | Passage::Call(_) | Passage::Remark(_)) => {
                    self.live.add_passage(passage);
                }
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
                self.live.expect(entry.turn, self.narrator.asked());
            }
            Activity::Calling { call, .. } => self.live.begin_call(call),
            Activity::CallOver { call } => self.live.end_call(call),
            Activity::Failed(_) => {
                let failed = self.failures.last().unwrap_or_default();
                self.live.fail(failed.to_owned());
            }
            Activity::Goal(given) => self.live.pursue(given),
            Activity::Progress(_) | Activity::Ended | Activity::Person(_) | Activity::Quiet => {}
        }
    }

    fn heading(&self, run: &RunId, started: &RunStarted) {
        if self.is_typed {
            return;
        }
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

    fn show_failure(&self, failure: &FailureCount) {
        let times = match failure.count {
            1 => String::new(),
            count => format!(" {}{count}", self.live.look().symbol(Symbol::Times)),
        };
        self.live.add_passage(Passage::Remark(Remark {
            symbol: Symbol::Warning,
            text: format!("{}{times}", failure.text),
        }));
    }

    /// A text that nothing came of stays, with the reason below it.
    fn discarded(&mut self, entry: &Entry) {
        let why = if let Event::AttemptFailed(failed) = &entry.event {
            failed.message.to_string()
        } else if let Event::ReplyRejected { reason, answer, .. } = &entry.event {
            narration::rejected(*reason, &answer.text)
        } else {
            return;
        };
        self.prose = None;
        self.failures.mark_shown();
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
