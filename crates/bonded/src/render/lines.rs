//! A run as lines: one for each event, with the time of the day for the log of a machine, without it for a person
//! who wants nothing redrawn.

use std::time::Instant;

use bonded_host::shapes::activity::Activity;
use bonded_host::shapes::text::{brief, duration, grouped};
use bonded_kernel::{Entry, Event, Millis, RunId, Target};

use super::failures::Failures;
use super::layout;
use super::live::seconds;
use super::narration::{Narrator, Passage};
use super::progress::failures;
use super::servers;
use crate::output;
use crate::style::{Look, Stream, prose_columns, wrapped};

/// Of what a model says, in the log of a machine.
const REPLY_CHARS: usize = 200;

/// Writes a line for each event.
pub(crate) struct Lines {
    look: Look,
    narrator: Narrator,
    failures: Failures,
    /// What is under way, since when, and in which turn.
    doing: (String, Instant, u32),
    models: Vec<String>,
    /// What was written last, and how often it happened since.
    last: Option<(Passage, u32)>,
}

impl Lines {
    pub(crate) fn new(_run: &RunId, look: Look) -> Self {
        Self {
            look,
            narrator: Narrator::default(),
            failures: failures(&look),
            doing: ("starting".into(), Instant::now(), 0),
            models: vec![],
            last: None,
        }
    }

    pub(crate) fn remember(&mut self, entry: &Entry) {
        let _shown_before = self.narrator.narrate(entry);
        let _shown_before = self.failures.observe(entry);
        self.take(entry);
    }

    pub(crate) fn show(&mut self, entry: &Entry) {
        for failure in self.failures.observe(entry) {
            let times = match failure.count {
                1 => String::new(),
                count => format!(" x {count}"),
            };
            let text = format!("failed: {}{times}", failure.text);
            self.say(entry.at, failure.turn, &text);
        }
        self.take(entry);
        if let Event::RunStarted(started) = &entry.event {
            let (models, dir) = (self.models.join(", "), &started.config.dir);
            self.say(entry.at, 0, &format!("started: {models} in {dir}"));
        }
        self.answered(entry);
        for passage in self.narrator.narrate(entry) {
            self.tell(entry, passage);
        }
        if entry.event.ended().is_some() {
            self.settle(entry.at, entry.turn);
        }
    }

    /// Says that the run is alive. A person who reads sees that it has not ended.
    pub(crate) fn beat(&self) {
        if !self.look.plain {
            self.say(now(), self.doing.2, &self.alive());
        }
    }

    fn alive(&self) -> String {
        let (doing, since, turn) = &self.doing;
        let servers = servers::waiting().filter(|_| *turn == 0);
        let doing = servers.as_ref().unwrap_or(doing);
        format!("{doing}, {}", seconds(since.elapsed()))
    }

    fn take(&mut self, entry: &Entry) {
        let doing = match Activity::of(entry) {
            Activity::Started(started) => {
                self.models = started.config.targets.iter().map(name_of).collect();
                return;
            }
            Activity::Asking { target, .. } => {
                let model = self.models.get(target as usize);
                format!("waiting for {}", model.map_or("the model", |it| it))
            }
            Activity::Calling { call, tool } => self.narrator.what(call, tool),
            Activity::Failed(_) => "waiting to ask again".into(),
            Activity::Answered(_)
            | Activity::CallOver { .. }
            | Activity::Progress(_)
            | Activity::Ended
            | Activity::Person(_)
            | Activity::Quiet => return,
            Activity::Goal(given) => {
                if let Some(targets) = &given.targets {
                    self.models = targets.iter().map(name_of).collect();
                }
                return;
            }
        };
        self.doing = (doing, Instant::now(), entry.turn);
    }

    /// A person who reads is shown what the model says; a machine's log says how long it took and what it used.
    fn answered(&mut self, entry: &Entry) {
        let Event::DecisionMade(decision) = &entry.event else {
            return;
        };
        if self.look.plain {
            return;
        }
        let took = duration(decision.answer.latency_ms);
        let tokens = decision.answer.usage.map(|usage| usage.total());
        let tokens = tokens.map(|tokens| format!(", {} tokens", grouped(tokens)));
        let text = format!("answered in {took}{}", tokens.unwrap_or_default());
        self.settle(entry.at, entry.turn);
        self.say(entry.at, entry.turn, &text);
    }

    /// What happens again in the same way is counted, and told when something else happens.
    fn tell(&mut self, entry: &Entry, passage: Passage) {
        if let Some((last, more)) = &mut self.last
            && layout::words(last).is_some()
            && last.is_same_but_for_time(&passage)
        {
            *more += 1;
            return;
        }
        self.settle(entry.at, entry.turn);
        match (&passage, layout::words(&passage)) {
            (_, Some(words)) => self.say(entry.at, entry.turn, &words),
            (Passage::Prose(text), None) if self.look.plain => {
                let room = prose_columns(Stream::Err.size().0);
                let rows = crate::flow::rows(text, room);
                rows.iter().for_each(|row| output::stderr(row));
            }
            (Passage::Prose(text), None) => {
                let reply = brief(text, REPLY_CHARS);
                self.say(entry.at, entry.turn, &format!("said: {reply}"));
            }
            (Passage::Asked(text), None) => {
                let asked = brief(text, REPLY_CHARS);
                self.say(entry.at, entry.turn, &format!("asked: {asked}"));
            }
            (Passage::Call(_) | Passage::Remark(_), None) => {}
        }
        self.last = Some((passage, 0));
    }

    fn settle(&mut self, at: Millis, turn: u32) {
        if let Some((passage, more @ 1..)) = self.last.take() {
            let words = layout::words(&passage).unwrap_or_default();
            let times = if more == 1 { "time" } else { "times" };
            self.say(at, turn, &format!("{words} ({more} more {times})"));
        }
    }

    /// A person needs neither the time nor the turn.
    fn say(&self, at: Millis, turn: u32, text: &str) {
        let place = match (self.look.plain, turn) {
            (true, _) => String::new(),
            (false, 0) => format!("{} ", clock(at)),
            (false, turn) => format!("{} turn {turn}: ", clock(at)),
        };
        let line = format!("{place}{}", text.replace('\n', " "));
        match self.look.plain && self.look.terminal {
            true => {
                let rows = wrapped(&line, prose_columns(Stream::Err.size().0));
                rows.iter().for_each(|row| output::stderr(row));
            }
            false => output::stderr(&line),
        }
    }
}

fn name_of(target: &Target) -> String {
    format!("{}/{}", target.provider, target.model)
}

fn now() -> Millis {
    let now = jiff::Timestamp::now().as_millisecond();
    Millis(u64::try_from(now).unwrap_or(0))
}

/// The time of the day where this machine stands.
pub(crate) fn clock(at: Millis) -> String {
    let timestamp = i64::try_from(at.0).ok();
    let timestamp = timestamp.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match timestamp {
        Some(timestamp) => {
            let local = timestamp.to_zoned(jiff::tz::TimeZone::system());
            local.strftime("%H:%M:%S").to_string()
        }
        None => at.0.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_run_that_waits_says_for_what_and_for_how_long() {
        let run = RunId::new("run").expect("a good id");
        let look = Look {
            color: false,
            ascii: true,
            plain: false,
            terminal: false,
        };
        let mut lines = Lines::new(&run, look);
        let since = Instant::now().checked_sub(Duration::from_secs(90));
        let since = since.expect("this machine has run for longer");
        lines.doing = ("waiting for openai/small".into(), since, 3);
        assert_eq!(lines.alive(), "waiting for openai/small, 1 min 30 s");
    }
}
