//! What stands below the last line while a run is driven: the call that ended last, the sentence that is being
//! written, and the live line.
//!
//! The live line says what is done, since when, how fast, and what is left of the limits. The run tells what a model
//! writes, the log tells the rest; a thread of its own draws it several times a second. So both sides only hold a
//! lock for a moment, and nothing is kept without a bound.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bonded_host::{LivePiece, LiveSink, LiveWait, LiveWriting};
use bonded_kernel::{Limits, Money, Price, RunId, RunStarted, Usage};

use super::call::size;
use super::flow::{self, Flow};
use super::layout::{self, dollars};
use super::servers;
use super::style::{Look, Paint, Stream, Styled, Symbol, begun, columns, prose_columns};
use super::told::Told;
use crate::output;
use crate::stderr_writer::{self, Picture, Row};
use bonded_host::shapes::text::brief;

/// What is over sooner is not drawn.
const DRAWN_AFTER: Duration = Duration::from_millis(150);
/// Between two drawings of the spinner.
const SPINNER_PACE: Duration = Duration::from_millis(100);
/// Between two drawings of a text that grows.
const TEXT_PACE: Duration = Duration::from_millis(33);
/// On a narrower terminal only the symbol, the verb and the seconds are shown.
const FIELDS_MIN: usize = 40;
/// So much of a row stays free for what the terminal itself writes there, such as `^C`.
const FREE_COLUMNS: usize = 3;
/// Of one reply that was shown, so that it is not shown again; a longer one is.
const SHOWN_BYTES_MAX: usize = 1 << 20;
/// A token has about so many letters. Who wants to know it exactly waits for the provider's count.
const TOKEN_BYTES: f64 = 4.0;

/// What the run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Doing {
    Starting,
    Asking { summary: bool },
    Thinking,
    Answering,
    WritingCall { tool: String, bytes: usize },
    Calling { what: String, limit_ms: u64 },
    BackingOff { until: Instant },
}

/// The live rows of one run.
pub(crate) struct Live {
    run: RunId,
    look: Look,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    doing: Doing,
    since: Instant,
    turn: u32,
    attempt: u32,
    limits: Limits,
    /// By target: the model, who is asked, and what it costs.
    targets: Vec<Asked>,
    target: usize,
    usage: Usage,
    cost: Money,
    /// Why nothing came of the last attempt.
    failed: String,
    reply: Reply,
    /// The last thing that was told, which may happen again.
    held: Option<(Told, u32)>,
    /// Once it is there, it stays.
    is_visible: bool,
    /// The rate, and the second for which it was made out: figures that change ten times a second cannot be read.
    rate: (u64, u64),
}

struct Asked {
    model: String,
    provider: String,
    price: Option<Price>,
}

/// What is shown of the reply that is being written.
#[derive(Default)]
struct Reply {
    turn: u32,
    attempt: u32,
    flow: Flow,
    /// All of it, as far as it is bounded.
    text: String,
    /// Everything that was written, thoughts and calls too.
    bytes: usize,
    unseen_bytes: usize,
    first: Option<Instant>,
}

impl LiveSink for Live {
    /// Agents that the run calls are not shown: their turns end unseen.
    fn tell(&self, piece: &LivePiece<'_>) {
        if *piece.run != self.run {
            return;
        }
        let mut state = self.lock();
        state.reply_of(piece.turn, piece.attempt);
        state.write(piece.text.len());
        state.go_to(Doing::Answering);
        state.commit_held(&self.look);
        let reply = &mut state.reply;
        if reply.text.len() + piece.text.len() <= SHOWN_BYTES_MAX {
            reply.text.push_str(piece.text);
        }
        let rows = reply.flow.push(piece.text, room());
        print_rows(&rows, &self.look);
    }

    fn notice(&self, writing: &LiveWriting<'_>) {
        if *writing.run != self.run {
            return;
        }
        let mut state = self.lock();
        state.reply_of(writing.turn, writing.attempt);
        let more = writing.bytes.saturating_sub(state.reply.unseen_bytes);
        state.reply.unseen_bytes = writing.bytes;
        state.write(more);
        let (tool, bytes) = (writing.tool.map(|tool| brief(tool, 60)), writing.bytes);
        state.go_to(match tool {
            Some(tool) => Doing::WritingCall { tool, bytes },
            None => Doing::Thinking,
        });
    }

    /// A wait that is too long for a clock is shown as none.
    fn wait(&self, wait: &LiveWait<'_>) {
        let until = Instant::now().checked_add(Duration::from_millis(wait.wait_ms));
        if let Some(until) = until.filter(|_| *wait.run == self.run) {
            self.lock().go_to(Doing::BackingOff { until });
        }
    }
}

/// Where prose is wrapped now.
fn room() -> usize {
    prose_columns(Stream::Err.size().0)
}

fn print_rows(rows: &[String], look: &Look) {
    let styled = rows.iter().map(|row| Styled::new().text(row));
    styled.for_each(|row| output::styled(&row, look));
}

impl Live {
    pub(crate) fn new(run: &RunId, look: Look) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            run: run.clone(),
            look,
            begun: now,
            state: Mutex::new(State {
                doing: Doing::Starting,
                since: now,
                turn: 0,
                attempt: 1,
                limits: Limits::default(),
                targets: vec![],
                target: 0,
                usage: Usage::default(),
                cost: Money::default(),
                failed: String::new(),
                reply: Reply::default(),
                held: None,
                is_visible: false,
                rate: (0, 0),
            }),
        })
    }

    pub(crate) fn look(&self) -> &Look {
        &self.look
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves a state that is whole enough to be shown.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds for the whole run.
    pub(crate) fn start(&self, started: &RunStarted) {
        let mut state = self.lock();
        state.limits = started.config.limits.clone();
        let targets = started.config.targets.iter();
        state.targets = targets
            .map(|target| Asked {
                model: target.model.clone(),
                provider: target.provider.clone(),
                price: target.price,
            })
            .collect();
    }

    pub(crate) fn ask(&self, turn: u32, attempt: u32, target: u32, summary: bool) {
        let mut state = self.lock();
        (state.turn, state.attempt) = (turn, attempt);
        state.target = target as usize;
        state.begin(Doing::Asking { summary });
    }

    pub(crate) fn call(&self, what: String) {
        let mut state = self.lock();
        let limit_ms = state.limits.tool_timeout_ms;
        state.begin(Doing::Calling { what, limit_ms });
    }

    pub(crate) fn fail(&self, failed: String) {
        self.lock().failed = failed;
    }

    /// An estimate for the eye: what was really booked is in the log's last entry.
    pub(crate) fn spend(&self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let mut state = self.lock();
        state.usage.add(&usage);
        let price = state.targets.get(state.target).and_then(|it| it.price);
        if let Some(price) = price {
            state.cost = state.cost.plus(price.of(&usage));
        }
    }

    /// Ends the reply of a turn: what still grows is printed. Gives the text where all of it was shown.
    pub(crate) fn end_reply(&self, turn: u32) -> Option<String> {
        let mut state = self.lock();
        if state.reply.turn > turn || state.reply.text.is_empty() {
            return None;
        }
        let mut reply = std::mem::take(&mut state.reply);
        let rows = reply.flow.finish(room());
        print_rows(&rows, &self.look);
        Some(reply.text)
    }

    /// Tells something. A call or a note is held back as long as it may happen again, and is drawn meanwhile.
    pub(crate) fn tell_told(&self, told: Told) {
        let mut state = self.lock();
        match &mut state.held {
            Some((held, count)) if is_same(held, &told) => {
                *held = told;
                *count += 1;
            }
            _ => {
                state.commit_held(&self.look);
                match told {
                    Told::Prose(text) => print_rows(&flow::rows(&text, room()), &self.look),
                    Told::Call(_) | Told::Note(_) => state.held = Some((told, 1)),
                }
            }
        }
    }

    /// Prints what is held back.
    pub(crate) fn settle(&self) {
        self.lock().commit_held(&self.look);
    }
}

/// How long it took makes no difference.
fn is_same(one: &Told, other: &Told) -> bool {
    match (one, other) {
        (Told::Call(one), Told::Call(other)) => {
            (&one.what, &one.result) == (&other.what, &other.result)
        }
        (one, other) => one == other,
    }
}

impl State {
    /// Something else is done from now on.
    fn begin(&mut self, doing: Doing) {
        self.doing = doing;
        self.since = Instant::now();
    }

    /// The same request goes on: its time does too.
    fn go_to(&mut self, doing: Doing) {
        match doing {
            Doing::BackingOff { .. } => self.begin(doing),
            Doing::Starting
            | Doing::Asking { .. }
            | Doing::Thinking
            | Doing::Answering
            | Doing::WritingCall { .. }
            | Doing::Calling { .. } => self.doing = doing,
        }
    }

    /// A new attempt begins the reply again.
    fn reply_of(&mut self, turn: u32, attempt: u32) {
        if (self.reply.turn, self.reply.attempt) != (turn, attempt) {
            self.reply = Reply {
                turn,
                attempt,
                ..Reply::default()
            };
        }
    }

    fn write(&mut self, bytes: usize) {
        self.reply.bytes += bytes;
        self.reply.first.get_or_insert_with(Instant::now);
    }

    fn commit_held(&mut self, look: &Look) {
        if let Some((told, count)) = self.held.take() {
            let rows = layout::rows(&told, count, Stream::Err.size().0, look);
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

    /// What is done, and what is said of it, the most important first.
    fn fields(&mut self, columns: usize) -> (Paint, Vec<String>) {
        let since = seconds(self.since.elapsed());
        let asked = self.targets.get(self.target);
        let model = asked.map_or("the model", |asked| &asked.model).to_owned();
        let (mut paint, mut fields) = (Paint::Cyan, vec![]);
        match self.doing.clone() {
            Doing::Starting => match servers::waiting() {
                Some(waiting) => fields.extend([waiting, since]),
                None => fields.extend(["starting".into(), since]),
            },
            Doing::Asking { summary: false } => {
                fields.extend([format!("waiting for {model}"), since]);
            }
            Doing::Asking { summary: true } => {
                fields.extend([format!("waiting for a summary by {model}"), since]);
            }
            Doing::Thinking | Doing::Answering => {
                let verb = match self.doing == Doing::Answering {
                    true => "answering",
                    false => "thinking",
                };
                fields.push(verb.into());
                fields.extend(self.rate());
                fields.push(since);
            }
            Doing::WritingCall { tool, bytes } => {
                fields.push(format!("writing a call of {tool}"));
                fields.extend((bytes >= 1_000).then(|| size(bytes as u64)));
                fields.extend(self.rate());
                fields.push(since);
            }
            Doing::Calling { what, limit_ms } => {
                let what = begun(&output::for_terminal(&what), columns / 2).to_owned();
                let limit = seconds(Duration::from_millis(limit_ms));
                fields.extend([what, format!("{since} of {limit}")]);
            }
            Doing::BackingOff { until } => {
                paint = Paint::Yellow;
                let left = until.saturating_duration_since(Instant::now());
                let left = left.as_millis().div_ceil(1_000);
                let (next, most) = (self.attempt + 1, self.limits.attempts_per_turn_max);
                let failed = output::for_terminal(&self.failed);
                let why = begun(&failed, columns / 2).to_owned();
                let who = asked.map_or_else(String::new, |it| format!(" from {}", it.provider));
                fields.push(match why.is_empty() {
                    true => "backing off".into(),
                    false => format!("backing off: {why}{who}"),
                });
                fields.push(format!("attempt {next} of {most} in {left} s"));
            }
        }
        fields.extend(self.limits_left());
        (paint, fields)
    }

    /// What is used of what may be.
    fn limits_left(&self) -> Vec<String> {
        let mut left = vec![];
        if self.turn > 0 {
            left.push(format!("turn {} of {}", self.turn, self.limits.turns_max));
        }
        let (spent, most) = (self.cost, self.limits.cost_max);
        match most {
            Some(most) => left.push(format!("{} of {}", dollars(spent), dollars(most))),
            None if spent.0 > 0 => left.push(dollars(spent)),
            None => {}
        }
        left
    }

    /// As many fields as fit, the last dropped first.
    fn live_row(&mut self, tick: usize, columns_all: usize, look: &Look) -> Styled {
        let room = columns_all.saturating_sub(FREE_COLUMNS);
        let (paint, fields) = self.fields(columns_all);
        let spinner = look.symbol(Symbol::Spinner(tick));
        if columns_all < FIELDS_MIN {
            return self.narrow_row(spinner, paint, room, look);
        }
        let separator = look.separator();
        let mut text = String::new();
        for (nth, field) in fields.iter().enumerate() {
            let more = match nth {
                0 => field.clone(),
                _ => format!("{separator}{field}"),
            };
            if nth > 0 && columns(&text) + columns(&more) + 2 > room {
                break;
            }
            text.push_str(&more);
        }
        let row = Styled::new().with(paint, spinner).text(" ");
        row.text(&text).cut(room, look)
    }

    /// Symbol, verb, seconds.
    fn narrow_row(&self, spinner: &str, paint: Paint, room: usize, look: &Look) -> Styled {
        let verb = match &self.doing {
            Doing::Starting => "starting",
            Doing::Asking { .. } => "waiting",
            Doing::Thinking => "thinking",
            Doing::Answering => "answering",
            Doing::WritingCall { .. } => "writing",
            Doing::Calling { .. } => "running",
            Doing::BackingOff { .. } => "backing off",
        };
        let since = seconds(self.since.elapsed());
        let row = Styled::new().with(paint, spinner);
        row.text(&format!(" {verb} {since}")).cut(room, look)
    }
}

/// In whole seconds, which change once a second.
pub(crate) fn seconds(elapsed: Duration) -> String {
    let all = elapsed.as_secs();
    match all {
        0..60 => format!("{all} s"),
        60..3_600 if all.is_multiple_of(60) => format!("{} min", all / 60),
        60..3_600 => format!("{} min {} s", all / 60, all % 60),
        _ => format!("{} h {} min", all / 3_600, all / 60 % 60),
    }
}

impl Picture for Live {
    fn rows(&self, columns: usize) -> Vec<Row> {
        let mut state = self.lock();
        let mut rows: Vec<Styled> = vec![];
        if let Some((told, count)) = &state.held {
            rows.extend(layout::rows(told, *count, columns, &self.look));
        }
        let growing = state.reply.flow.growing();
        if !growing.is_empty() {
            let row = Styled::new().text(growing);
            rows.push(row.cut(columns, &self.look));
        }
        state.is_visible |= state.since.elapsed() >= DRAWN_AFTER;
        if state.is_visible {
            let tick = self.begun.elapsed().as_millis() / SPINNER_PACE.as_millis();
            rows.push(state.live_row(tick as usize, columns, &self.look));
        }
        drawn(&rows, &self.look)
    }

    /// The call that ended last stays where it is, above what is said now.
    fn settle(&self, columns: usize) -> Vec<Row> {
        match self.lock().held.take() {
            Some((told, count)) => {
                drawn(&layout::rows(&told, count, columns, &self.look), &self.look)
            }
            None => vec![],
        }
    }

    fn pace(&self) -> Duration {
        match self.lock().doing {
            Doing::Answering => TEXT_PACE,
            Doing::Starting
            | Doing::Asking { .. }
            | Doing::Thinking
            | Doing::WritingCall { .. }
            | Doing::Calling { .. }
            | Doing::BackingOff { .. } => SPINNER_PACE,
        }
    }
}

fn drawn(rows: &[Styled], look: &Look) -> Vec<Row> {
    let drawn = rows.iter().map(|row| Row {
        written: row.render(look),
        columns: row.columns(),
    });
    drawn.collect()
}

/// Draws while it is held: whatever ends the watching, the terminal is left without live rows.
pub(crate) struct Drawing(Arc<Live>);

impl Drawing {
    pub(crate) fn begin(live: &Arc<Live>) -> Self {
        stderr_writer::begin();
        stderr_writer::draw(Some(live.clone()));
        Self(live.clone())
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        // A reply that was broken off is kept as far as it was shown.
        let _shown = self.0.end_reply(u32::MAX);
        self.0.settle();
        stderr_writer::draw(None);
    }
}
