//! What a run is doing, as the live rows have it.

use std::time::{Duration, Instant};

use bonded_kernel::{Limits, Money, Price, Target};

use super::calls::Calls;
use super::row::{Canvas, seconds};
use crate::flow::Flow;
use crate::output;
use crate::render::call::size;
use crate::render::layout::{self, dollars};
use crate::render::narration::Passage;
use crate::render::servers;
use crate::style::{Look, Paint, Stream, Styled, Symbol};

/// On a narrower terminal only the symbol, the verb and the seconds are shown.
const FIELDS_MIN: usize = 40;
/// A token has about so many letters. Who wants to know it exactly waits for the provider's count.
const TOKEN_BYTES: f64 = 4.0;

/// What the run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Starting,
    Asking {
        summary: bool,
    },
    Thinking,
    Answering,
    WritingCall {
        tool: String,
        bytes: usize,
    },
    /// As far as there are calls.
    Calling,
    BackingOff {
        until: Instant,
    },
}

pub(super) struct State {
    pub(super) doing: Doing,
    pub(super) since: Instant,
    pub(super) turn: u32,
    /// The turns of earlier goals.
    pub(super) turns_before: u32,
    pub(super) attempt: u32,
    /// What may be used for the goal at hand.
    pub(super) limits: Limits,
    /// By target: the model, who is asked, and what it costs.
    pub(super) targets: Vec<Asked>,
    pub(super) target: usize,
    pub(super) cost: Money,
    /// Why nothing came of the last attempt.
    pub(super) failed: String,
    pub(super) reply: StreamedReply,
    pub(super) calls: Calls,
    /// The last passage, which may happen again.
    pub(super) held: Option<(Passage, u32)>,
    /// Once it is there, it stays.
    pub(super) is_visible: bool,
    /// The rate, and the second for which it was made out: figures that change ten times a second cannot be read.
    rate: (u64, u64),
}

pub(super) struct Asked {
    pub(super) model: String,
    pub(super) provider: String,
    pub(super) price: Option<Price>,
}

impl Asked {
    pub(super) fn of(target: &Target) -> Self {
        Self {
            model: target.model.clone(),
            provider: target.provider.clone(),
            price: target.price,
        }
    }
}

/// What is shown of the reply that is being written.
#[derive(Default)]
pub(super) struct StreamedReply {
    pub(super) turn: u32,
    attempt: u32,
    pub(super) flow: Flow,
    /// All of it, as far as it is bounded.
    pub(super) text: String,
    /// Everything that was written, thoughts and calls too.
    bytes: usize,
    pub(super) unseen_bytes: usize,
    first: Option<Instant>,
}

impl State {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            doing: Doing::Starting,
            since: now,
            turn: 0,
            turns_before: 0,
            attempt: 1,
            limits: Limits::default(),
            targets: vec![],
            target: 0,
            cost: Money::default(),
            failed: String::new(),
            reply: StreamedReply::default(),
            calls: Calls::default(),
            held: None,
            is_visible: false,
            rate: (0, 0),
        }
    }

    /// Something else is done from now on.
    pub(super) fn begin(&mut self, doing: Doing) {
        self.doing = doing;
        self.since = Instant::now();
    }

    /// The same request goes on: its time does too.
    pub(super) fn go_to(&mut self, doing: Doing) {
        match doing {
            Doing::BackingOff { .. } => self.begin(doing),
            Doing::Starting
            | Doing::Asking { .. }
            | Doing::Thinking
            | Doing::Answering
            | Doing::WritingCall { .. }
            | Doing::Calling => self.doing = doing,
        }
    }

    /// A new attempt begins the reply again.
    pub(super) fn reply_of(&mut self, turn: u32, attempt: u32) {
        if (self.reply.turn, self.reply.attempt) != (turn, attempt) {
            self.reply = StreamedReply {
                turn,
                attempt,
                ..StreamedReply::default()
            };
        }
    }

    pub(super) fn write(&mut self, bytes: usize) {
        self.reply.bytes += bytes;
        self.reply.first.get_or_insert_with(Instant::now);
    }

    pub(super) fn commit_held(&mut self, look: &Look) {
        if let Some((passage, count)) = self.held.take() {
            let rows = layout::rows(&passage, count, Stream::Err.size().0, look);
            rows.iter().for_each(|row| output::styled(row, look));
        }
    }

    /// Tokens a second since the first letter, as far as they can be guessed.
    fn rate(&mut self) -> Option<String> {
        let elapsed = self.reply.first?.elapsed();
        if elapsed < Duration::from_secs(1) {
            return None;
        }
        if self.rate.0 != elapsed.as_secs() {
            let tokens = self.reply.bytes as f64 / TOKEN_BYTES;
            self.rate = (elapsed.as_secs(), (tokens / elapsed.as_secs_f64()) as u64);
        }
        Some(format!("{} tok/s", self.rate.1))
    }

    /// What is under way: one row, or one for each of several calls.
    pub(super) fn rows(&mut self, tick: usize, canvas: &Canvas<'_>) -> Vec<Styled> {
        let spinner = canvas.look.symbol(Symbol::Spinner(tick));
        let limit_ms = self.limits.tool_timeout_ms;
        let is_narrow = canvas.columns < FIELDS_MIN;
        if self.doing == Doing::Calling && !is_narrow && self.calls.only(limit_ms).is_none() {
            return self.calls.rows(spinner, limit_ms, canvas);
        }
        let paint = match self.doing {
            Doing::BackingOff { .. } => Paint::Yellow,
            Doing::Starting
            | Doing::Asking { .. }
            | Doing::Thinking
            | Doing::Answering
            | Doing::WritingCall { .. }
            | Doing::Calling => Paint::Cyan,
        };
        let symbol = Styled::new().with(paint, spinner);
        if is_narrow {
            let (verb, since) = (self.verb(), seconds(self.since.elapsed()));
            let row = symbol.text(&format!(" {verb} {since}"));
            return vec![row.cut(canvas.room(), canvas.look)];
        }
        let (what, mut fields) = self.fields();
        fields.extend(self.limits_left());
        vec![canvas.row(symbol, Paint::Plain, &what, &fields)]
    }

    /// What is done, and what is said of it, the most important first.
    fn fields(&mut self) -> (String, Vec<String>) {
        let since = seconds(self.since.elapsed());
        match self.doing.clone() {
            Doing::Starting => {
                let waiting = servers::waiting().unwrap_or_else(|| "starting".into());
                (waiting, vec![since])
            }
            Doing::Asking { summary } => {
                let model = self.asked().map_or("the model", |asked| &asked.model);
                let what = match summary {
                    false => format!("waiting for {model}"),
                    true => format!("waiting for a summary by {model}"),
                };
                (what, vec![since])
            }
            Doing::Thinking | Doing::Answering => {
                let fields = self.rate().into_iter().chain([since]);
                let fields = fields.collect();
                (self.verb().into(), fields)
            }
            Doing::WritingCall { tool, bytes } => {
                let size = (bytes >= 1_000).then(|| size(bytes as u64));
                let fields = size.into_iter().chain(self.rate()).chain([since]);
                (format!("writing a call of {tool}"), fields.collect())
            }
            Doing::Calling => match self.calls.only(self.limits.tool_timeout_ms) {
                Some((what, fields)) => (what.to_owned(), fields),
                None => (self.verb().into(), vec![since]),
            },
            Doing::BackingOff { until } => self.backing_off(until),
        }
    }

    fn asked(&self) -> Option<&Asked> {
        self.targets.get(self.target)
    }

    fn backing_off(&self, until: Instant) -> (String, Vec<String>) {
        let left = until.saturating_duration_since(Instant::now());
        let left = left.as_millis().div_ceil(1_000);
        let (next, most) = (self.attempt + 1, self.limits.attempts_per_turn_max);
        let who = self.asked().map(|it| format!(" from {}", it.provider));
        let what = match self.failed.is_empty() {
            true => "backing off".into(),
            false => format!("backing off: {}{}", self.failed, who.unwrap_or_default()),
        };
        (what, vec![format!("attempt {next} of {most} in {left} s")])
    }

    /// What is used of what may be.
    fn limits_left(&self) -> Vec<String> {
        let mut left = vec![];
        if self.turn > 0 {
            let turn = self.turn.saturating_sub(self.turns_before);
            left.push(format!("turn {turn} of {}", self.limits.turns_max));
        }
        let (spent, most) = (self.cost, self.limits.cost_max);
        match most {
            Some(most) => left.push(format!("{} of {}", dollars(spent), dollars(most))),
            None if spent.0 > 0 => left.push(dollars(spent)),
            None => {}
        }
        left
    }

    fn verb(&self) -> &'static str {
        match &self.doing {
            Doing::Starting => "starting",
            Doing::Asking { .. } => "waiting",
            Doing::Thinking => "thinking",
            Doing::Answering => "answering",
            Doing::WritingCall { .. } => "writing",
            Doing::Calling => "running",
            Doing::BackingOff { .. } => "backing off",
        }
    }
}
