//! The end of what a model is saying just now, as one line of a terminal; or what is waited for, and how long still.
//!
//! It is drawn several times a second from another thread, while the run appends. So both sides only hold a lock
//! for a moment, and the text is bounded. Models write what they like: nothing of it may move the cursor, change
//! the order of letters or take more columns than the line has, because a line that wraps would leave its upper
//! half behind each time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bonded_host::{LivePiece, LiveSink, LiveWait};
use bonded_kernel::RunId;

use crate::output;

/// More than the widest terminal shows in one line.
const KEPT_BYTES: usize = 4096;

/// Keeps the end of what the model of one run is saying. The run only appends; who draws the line looks.
pub(crate) struct Tail {
    run: RunId,
    live: Mutex<LiveText>,
}

/// What the line is made of, whichever of the two it shows.
#[derive(Default)]
struct LiveText {
    /// With the attempt: what the text belongs to.
    turn: u32,
    attempt: u32,
    text: String,
    /// What failed last.
    failed: String,
    /// When the provider is asked again; `None` while it is being asked.
    waits_until: Option<Instant>,
}

impl LiveSink for Tail {
    /// Agents that the run calls are not shown: their turns end unseen.
    /// The text is cut only when it is twice as long as what is kept: otherwise each piece would move all of it.
    fn tell(&self, piece: &LivePiece<'_>) {
        if *piece.run != self.run {
            return;
        }
        let mut live = self.lock();
        if (live.turn, live.attempt) != (piece.turn, piece.attempt) {
            live.text.clear();
            (live.turn, live.attempt) = (piece.turn, piece.attempt);
        }
        live.text.push_str(end_of(piece.text));
        if live.text.len() > 2 * KEPT_BYTES {
            let dropped = live.text.len() - end_of(&live.text).len();
            live.text.drain(..dropped);
        }
    }

    /// A wait that is too long for a clock is shown as none.
    fn wait(&self, wait: &LiveWait<'_>) {
        if *wait.run == self.run {
            let until = Instant::now().checked_add(Duration::from_millis(wait.wait_ms));
            self.lock().waits_until = until;
        }
    }
}

impl Tail {
    pub(crate) fn new(run: RunId) -> Self {
        Self {
            run,
            live: Mutex::default(),
        }
    }

    /// Forgets what was said up to this turn: its entries tell it from now on.
    pub(crate) fn end_turn(&self, turn: u32) {
        let mut live = self.lock();
        if live.turn <= turn {
            live.text.clear();
        }
    }

    /// Notes what a provider failed with.
    pub(crate) fn fail(&self, failed: &str) {
        self.lock().failed = failed.to_owned();
    }

    /// Nothing is waited for any more.
    pub(crate) fn ask(&self) {
        self.lock().waits_until = None;
    }

    /// As much of the end as fits into a line of so many columns, or what is waited for; empty if nothing is said.
    pub(crate) fn line(&self, columns: usize) -> String {
        let live = self.lock();
        let left = live
            .waits_until
            .map(|until| until.saturating_duration_since(Instant::now()));
        match left {
            Some(left) => begun(&output::masked(&waiting(left, &live.failed)), columns),
            None => fitted(&output::masked(&live.text), columns),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LiveText> {
        // A panic elsewhere leaves a text that is whole enough to be shown.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounded up, so that it never says zero seconds before the time has come.
fn waiting(left: Duration, failed: &str) -> String {
    let seconds = left.as_millis().div_ceil(1_000);
    match failed {
        "" => format!("asking again in {seconds} s"),
        failed => format!("asking again in {seconds} s, after {failed}"),
    }
}

/// As much of the beginning of a text as fits.
fn begun(text: &str, columns: usize) -> String {
    let mut room = columns.saturating_sub(5);
    let letters = text.chars().map(visible).take_while(|letter| {
        let left = room.checked_sub(columns_of(*letter));
        room = left.unwrap_or(0);
        left.is_some()
    });
    format!("    {}", letters.collect::<String>())
}

/// At a whole character.
fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(KEPT_BYTES);
    &text[text.ceil_char_boundary(from)..]
}

/// From the end, letter by letter, until the line is full: the last words are the news.
fn fitted(text: &str, columns: usize) -> String {
    const INDENT: &str = "    ";
    // A terminal may wrap a line that fills its last column.
    let mut room = columns.saturating_sub(INDENT.len() + 1);
    let mut letters: Vec<char> = vec![];
    for letter in text.trim_end().chars().rev().map(visible) {
        match room.checked_sub(columns_of(letter)) {
            Some(left) => room = left,
            None => break,
        }
        letters.push(letter);
    }
    if letters.is_empty() {
        return String::new();
    }
    letters.extend(INDENT.chars());
    letters.iter().rev().collect()
}

/// A terminal obeys control characters, and some others turn the order of letters round: none of them may
/// come from a model.
fn visible(letter: char) -> char {
    match letter {
        '\0'..='\x1f' => char::from_u32(0x2400 + letter as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => '\u{fffd}',
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}' => '\u{fffd}',
        letter => letter,
    }
}

/// The most columns that a letter takes: wide ones begin at this number, and to take a narrow one for wide only
/// makes the line shorter.
fn columns_of(letter: char) -> usize {
    if letter < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail_of(pieces: &[(&str, u32, u32, &str)]) -> Tail {
        let tail = Tail::new(RunId::new("own").expect("a good id"));
        for (run, turn, attempt, text) in pieces {
            let run = RunId::new(run).expect("a good id");
            tail.tell(&LivePiece {
                run: &run,
                turn: *turn,
                attempt: *attempt,
                text,
            });
        }
        tail
    }

    #[test]
    fn the_end_of_the_text_fills_the_line_and_never_more() {
        let cases = [
            ("", 80, ""),
            (" \n ", 80, ""),
            ("hello", 80, "    hello"),
            ("hello", 9, "    ello"),
            ("hello", 5, ""),
            ("hello", 0, ""),
            ("日本語", 9, "    本語"),
            ("日本語", 8, "    語"),
            ("one\ntwo\r\n", 80, "    one␊two"),
            ("\x1b[31mred\x07\u{9b}\u{7f}", 80, "    ␛[31mred␇\u{fffd}␡"),
            ("ab\u{202e}cd", 80, "    ab\u{fffd}cd"),
        ];
        for (text, columns, wanted) in cases {
            let line = fitted(text, columns);
            assert_eq!(line, wanted, "{text:?} in {columns}");
            let used: usize = line.chars().map(columns_of).sum();
            assert!(used < columns.max(1), "{text:?} in {columns}");
        }
    }

    #[test]
    fn only_the_last_attempt_of_the_own_run_is_kept() {
        let first = ("own", 1, 1, "first");
        let cases: [(&[_], &str); 4] = [
            (&[first, ("own", 1, 1, " and more")], "    first and more"),
            (&[first, ("own", 1, 2, "again")], "    again"),
            (&[first, ("own", 2, 1, "next")], "    next"),
            (&[first, ("called", 1, 1, "other")], "    first"),
        ];
        for (pieces, wanted) in cases {
            assert_eq!(tail_of(pieces).line(80), wanted);
        }
    }

    #[test]
    fn the_end_of_a_turn_takes_its_text_away_and_not_that_of_the_next() {
        for (ended, wanted) in [(1, "    now"), (2, ""), (3, "")] {
            let tail = tail_of(&[("own", 2, 1, "now")]);
            tail.end_turn(ended);
            assert_eq!(tail.line(80), wanted, "{ended}");
        }
    }

    #[test]
    fn a_wait_is_shown_with_its_failure_until_somebody_is_asked() {
        let tail = tail_of(&[]);
        let run = RunId::new("own").expect("a good id");
        tail.fail("network: refused x 3");
        assert_eq!(tail.line(80), "");
        let wait_ms = 3_600_000;
        tail.wait(&LiveWait { run: &run, wait_ms });
        let line = tail.line(80);
        assert!(
            line.starts_with("    asking again in 3600 s, after network: refused x 3")
                || line.contains("3599 s"),
            "{line}"
        );
        assert!(tail.line(20).chars().count() < 20);
        tail.ask();
        assert_eq!(tail.line(80), "");
    }

    #[test]
    fn however_much_is_said_little_is_kept() {
        let long = "é".repeat(100_000);
        let tail = tail_of(&[("own", 1, 1, &long)]);
        assert!(tail.lock().text.len() <= KEPT_BYTES);
        let short = [("own", 1, 1, "日本語"); 10_000];
        let tail = tail_of(&short);
        assert!(tail.lock().text.len() <= 2 * KEPT_BYTES);
        assert!(tail.line(20).ends_with("日本語"));
    }
}
