//! The calls of a reply that are under way or wait for their turn, in the order of the reply.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::row::{Canvas, seconds};
use crate::style::{Paint, Styled, Symbol};

/// So many have a row of their own; the rest is counted.
const SHOWN_MAX: usize = 8;
/// On the lowest terminal: the first of them, and how many there are besides.
const SHOWN_MIN: usize = 2;

/// A call that a reply asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallAsked {
    /// Its place in the reply, from 0.
    pub(crate) place: u32,
    /// In words.
    pub(crate) what: String,
    /// How long it may take, where it says so itself.
    pub(crate) limit_ms: Option<u64>,
}

/// Those of one reply that have not come to their end.
#[derive(Debug, Default)]
pub(super) struct Calls {
    turn: u32,
    open: Vec<OpenCall>,
    /// Those of a turn that have ended. The log is read later than this is told, so that a short call may have ended
    /// before it is known.
    ended: (u32, BTreeSet<u32>),
}

#[derive(Debug)]
struct OpenCall {
    asked: CallAsked,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// A call before it uses the same thing.
    Queued,
    Running {
        since: Instant,
        /// When it last put something out.
        heard: Option<Instant>,
    },
    /// Its result is told after those of the calls before it.
    Ended { took: Duration },
}

impl Calls {
    /// The calls of a new reply.
    pub(super) fn expect(&mut self, turn: u32, asked: Vec<CallAsked>) {
        let open = asked.into_iter().map(|asked| OpenCall {
            asked,
            stage: Stage::Queued,
        });
        (self.turn, self.open) = (turn, open.collect());
    }

    fn stage_of(&mut self, place: u32) -> Option<&mut Stage> {
        let mut open = self.open.iter_mut();
        Some(&mut open.find(|call| call.asked.place == place)?.stage)
    }

    pub(super) fn begin(&mut self, place: u32) {
        let has_ended = self.ended.0 == self.turn && self.ended.1.contains(&place);
        if let Some(stage) = self.stage_of(place) {
            let (since, heard, took) = (Instant::now(), None, Duration::ZERO);
            *stage = match has_ended {
                true => Stage::Ended { took },
                false => Stage::Running { since, heard },
            };
        }
    }

    /// It has put something out.
    pub(super) fn hear(&mut self, turn: u32, place: u32) {
        let is_this = turn == self.turn;
        if let Some(Stage::Running { heard, .. }) = self.stage_of(place).filter(|_| is_this) {
            *heard = Some(Instant::now());
        }
    }

    /// It has ended, and is not told yet.
    pub(super) fn end(&mut self, turn: u32, place: u32) {
        if self.ended.0 != turn {
            self.ended = (turn, BTreeSet::new());
        }
        self.ended.1.insert(place);
        let is_this = turn == self.turn;
        if let Some(stage) = self.stage_of(place).filter(|_| is_this)
            && let Stage::Running { since, .. } = *stage
        {
            let took = since.elapsed();
            *stage = Stage::Ended { took };
        }
    }

    /// What came of it is told.
    pub(super) fn remove(&mut self, place: u32) {
        self.open.retain(|call| call.asked.place != place);
    }

    /// The one that is under way where there is no other, with what is said of it.
    pub(super) fn only(&self, limit_ms: u64) -> Option<(&str, Vec<String>)> {
        match self.open.as_slice() {
            [call] => Some((&call.asked.what, call.fields(limit_ms))),
            [] | [_, ..] => None,
        }
    }

    /// A row for each, as many as fit into so many rows.
    pub(super) fn rows(&self, spinner: &str, limit_ms: u64, canvas: &Canvas<'_>) -> Vec<Styled> {
        let most = (canvas.rows / 2).clamp(SHOWN_MIN, SHOWN_MAX);
        let shown = match self.open.len() > most {
            true => most - 1,
            false => most,
        };
        let (first, rest) = self.open.split_at(shown.min(self.open.len()));
        let rows = first.iter().map(|call| call.row(spinner, limit_ms, canvas));
        let mut rows: Vec<Styled> = rows.collect();
        if !rest.is_empty() {
            let dot = canvas.look.symbol(Symbol::Dot);
            let more = match rest.len() {
                1 => "1 more call".to_owned(),
                count => format!("{count} more calls"),
            };
            rows.push(Styled::new().dim(&format!("{dot} {more}")));
        }
        rows
    }
}

impl OpenCall {
    /// The most important first.
    fn fields(&self, limit_ms: u64) -> Vec<String> {
        match self.stage {
            Stage::Queued => vec!["queued".into()],
            Stage::Running { since, heard } => {
                let limit_ms = self.asked.limit_ms.unwrap_or(limit_ms).min(limit_ms);
                let (since, limit) = (
                    seconds(since.elapsed()),
                    seconds(Duration::from_millis(limit_ms)),
                );
                let heard = heard.map(|at| format!("last output {} ago", seconds(at.elapsed())));
                let fields = std::iter::once(format!("{since} of {limit}")).chain(heard);
                fields.collect()
            }
            Stage::Ended { took } => vec![format!("ended after {}", seconds(took))],
        }
    }

    fn row(&self, spinner: &str, limit_ms: u64, canvas: &Canvas<'_>) -> Styled {
        let (paint, symbol) = match self.stage {
            Stage::Running { .. } => (Paint::Cyan, spinner),
            Stage::Queued | Stage::Ended { .. } => (Paint::Dim, canvas.look.symbol(Symbol::Dot)),
        };
        let text = match self.stage {
            Stage::Running { .. } => Paint::Plain,
            Stage::Queued | Stage::Ended { .. } => Paint::Dim,
        };
        let symbol = Styled::new().with(paint, symbol);
        canvas.row(symbol, text, &self.asked.what, &self.fields(limit_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Look;

    const LOOK: Look = Look {
        color: false,
        ascii: false,
        plain: false,
        terminal: true,
    };

    fn asked(count: u32) -> Vec<CallAsked> {
        let asked = (0..count).map(|place| CallAsked {
            place,
            what: format!("run command-{place}"),
            limit_ms: None,
        });
        asked.collect()
    }

    fn expected(asked: Vec<CallAsked>) -> Calls {
        let mut calls = Calls::default();
        calls.expect(1, asked);
        calls
    }

    fn drawn(calls: &Calls, columns: usize, rows: usize) -> Vec<String> {
        let canvas = Canvas {
            columns,
            rows,
            look: &LOOK,
        };
        let rows = calls.rows("*", 300_000, &canvas);
        rows.iter().map(|row| row.render(&LOOK)).collect()
    }

    #[test]
    fn calls_stand_in_their_order_with_what_each_is_doing() {
        let mut calls = expected(asked(4));
        calls.begin(0);
        calls.begin(2);
        calls.hear(1, 2);
        calls.begin(3);
        calls.end(1, 3);
        let wanted = [
            "* run command-0 · 0 s of 5 min",
            "· run command-1 · queued",
            "* run command-2 · 0 s of 5 min · last output 0 s ago",
            "· run command-3 · ended after 0 s",
        ];
        assert_eq!(drawn(&calls, 80, 40), wanted);
        calls.remove(0);
        assert_eq!(drawn(&calls, 80, 40), wanted[1..]);
        let dropped = "* run command-2 · 0 s of 5 min";
        assert_eq!(drawn(&calls, 40, 40)[1], dropped);
    }

    #[test]
    fn a_call_that_ended_before_the_log_was_read_is_not_shown_as_running() {
        let mut calls = Calls::default();
        calls.end(2, 1);
        calls.expect(1, asked(2));
        calls.begin(1);
        assert_eq!(drawn(&calls, 80, 40)[1], "* run command-1 · 0 s of 5 min");
        calls.expect(2, asked(2));
        calls.begin(1);
        assert_eq!(
            drawn(&calls, 80, 40)[1],
            "· run command-1 · ended after 0 s"
        );
    }

    #[test]
    fn a_low_terminal_has_fewer_rows_and_says_how_many_calls_are_left_out() {
        let mut calls = expected(asked(20));
        calls.begin(0);
        for (rows, wanted) in [(40, 8), (10, 5), (3, 2), (1, 2)] {
            let drawn = drawn(&calls, 80, rows);
            assert_eq!(drawn.len(), wanted);
            let more = 20 - (wanted - 1);
            assert_eq!(drawn[wanted - 1], format!("· {more} more calls"));
        }
    }

    #[test]
    fn a_call_may_allow_itself_less_time_but_not_more() {
        for (own, wanted) in [(Some(1_000), "0 s of 1 s"), (Some(900_000), "0 s of 5 min")] {
            let mut asked = asked(1);
            asked[0].limit_ms = own;
            let mut calls = expected(asked);
            calls.begin(0);
            let (what, fields) = calls.only(300_000).expect("there is one");
            assert_eq!((what, fields), ("run command-0", vec![wanted.to_owned()]));
        }
    }
}
