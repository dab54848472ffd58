//! What stands below the last line while a run is driven: the call that ended last, the sentence that is being
//! written, and the live line, or one for each of several calls.
//!
//! The live line says what is done, since when, how fast, and what is left of the limits. The run tells what a model
//! writes and when a command puts something out, the log tells the rest; a thread of its own draws it several times a second. So both sides only hold a
//! lock for a moment, and nothing is kept without a bound.

mod calls;
mod row;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bonded_host::{CallNews, LiveCall, LivePiece, LiveSink, LiveWait, LiveWriting};
use bonded_kernel::{GoalGiven, Money, RunId, RunStarted, Usage};

use super::layout;
use super::narration::Passage;
use crate::flow;
use crate::output;
use crate::stderr_writer::{self, DrawnRow, Picture};
use crate::style::{Look, Stream, Styled, prose_columns};
use bonded_host::shapes::text::brief;
pub(crate) use calls::CallAsked;
use row::Canvas;
pub(crate) use row::seconds;
use state::{Asked, Doing, State};

/// What is over sooner is not drawn.
const DRAWN_AFTER: Duration = Duration::from_millis(150);
/// Between two drawings of the spinner.
const SPINNER_PACE: Duration = Duration::from_millis(100);
/// Between two drawings of a text that grows.
const TEXT_PACE: Duration = Duration::from_millis(33);
/// Of one reply that was shown, so that it is not shown again; a longer one is.
const SHOWN_BYTES_MAX: usize = 1 << 20;
/// The live rows of one run.
pub(crate) struct Live {
    run: RunId,
    look: Look,
    begun: Instant,
    state: Mutex<State>,
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

    fn call(&self, call: &LiveCall<'_>) {
        if *call.run != self.run {
            return;
        }
        let calls = &mut self.lock().calls;
        match call.news {
            CallNews::Output => calls.hear(call.turn, call.call),
            CallNews::Ended => calls.end(call.turn, call.call),
        }
    }
}

fn columns_now() -> usize {
    Stream::Err.size().0
}

/// Where prose is wrapped now.
fn room() -> usize {
    prose_columns(columns_now())
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
            state: Mutex::new(State::new(now)),
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
        state.targets = started.config.targets.iter().map(Asked::of).collect();
    }

    /// What holds for the next goal.
    pub(crate) fn pursue(&self, given: &GoalGiven) {
        let mut state = self.lock();
        state.limits = given.limits.clone();
        (state.turns_before, state.cost) = (state.turn, Money::default());
        if let Some(targets) = &given.targets {
            state.targets = targets.iter().map(Asked::of).collect();
        }
    }

    pub(crate) fn ask(&self, turn: u32, attempt: u32, target: u32, summary: bool) {
        let mut state = self.lock();
        (state.turn, state.attempt) = (turn, attempt);
        state.target = target as usize;
        state.begin(Doing::Asking { summary });
    }

    /// What a reply asks for; none of it has begun.
    pub(crate) fn expect(&self, turn: u32, calls: Vec<CallAsked>) {
        self.lock().calls.expect(turn, calls);
    }

    pub(crate) fn begin_call(&self, place: u32) {
        let mut state = self.lock();
        state.calls.begin(place);
        state.begin(Doing::Calling);
    }

    pub(crate) fn end_call(&self, place: u32) {
        self.lock().calls.remove(place);
    }

    pub(crate) fn fail(&self, failed: String) {
        self.lock().failed = failed;
    }

    /// An estimate for the eye: what was really booked is in the log's last entry.
    pub(crate) fn spend(&self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let mut state = self.lock();
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

    /// Adds to the narration. A call or a remark is held back as long as it may happen again, and is drawn meanwhile.
    pub(crate) fn add_passage(&self, passage: Passage) {
        let mut state = self.lock();
        match &mut state.held {
            Some((held, count)) if held.is_same_but_for_time(&passage) => {
                *held = passage;
                *count += 1;
            }
            _ => {
                state.commit_held(&self.look);
                match passage {
                    Passage::Prose(text) => print_rows(&flow::rows(&text, room()), &self.look),
                    Passage::Asked(_) => layout::rows(&passage, 1, columns_now(), &self.look)
                        .iter()
                        .for_each(|row| output::styled(row, &self.look)),
                    Passage::Call(_) | Passage::Remark(_) => state.held = Some((passage, 1)),
                }
            }
        }
    }

    /// Prints what is held back.
    pub(crate) fn settle(&self) {
        self.lock().commit_held(&self.look);
    }
}

impl Picture for Live {
    fn rows(&self, columns: usize) -> Vec<DrawnRow> {
        let canvas = Canvas {
            columns,
            rows: Stream::Err.size().1,
            look: &self.look,
        };
        let mut state = self.lock();
        let mut rows: Vec<Styled> = vec![];
        if let Some((passage, count)) = &state.held {
            rows.extend(layout::rows(passage, *count, columns, &self.look));
        }
        let growing = state.reply.flow.growing();
        if !growing.is_empty() {
            let row = Styled::new().text(growing);
            rows.push(row.cut(columns, &self.look));
        }
        state.is_visible |= state.since.elapsed() >= DRAWN_AFTER;
        if state.is_visible {
            let tick = self.begun.elapsed().as_millis() / SPINNER_PACE.as_millis();
            rows.extend(state.rows(tick as usize, &canvas));
        }
        drawn(&rows, &self.look)
    }

    /// The call that ended last stays where it is, above what is said now.
    fn settle(&self, columns: usize) -> Vec<DrawnRow> {
        match self.lock().held.take() {
            Some((passage, count)) => drawn(
                &layout::rows(&passage, count, columns, &self.look),
                &self.look,
            ),
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
            | Doing::Calling
            | Doing::BackingOff { .. } => SPINNER_PACE,
        }
    }
}

fn drawn(rows: &[Styled], look: &Look) -> Vec<DrawnRow> {
    let drawn = rows.iter().map(|row| DrawnRow {
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
