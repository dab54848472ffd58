//! A message as rows of a terminal, with the place of its cursor.
//!
//! Only as many rows are made as are shown: a message of a megabyte is drawn as fast as one of a line.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::masking;
use crate::render::layout::PROMPT;
use crate::style::{Paint, Styled, columns};

use super::message::MessageDraft;

/// A message is never drawn higher.
const ROWS_MAX: usize = 16;

/// What is drawn of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageRows {
    pub(super) rows: Vec<Styled>,
    /// The row of the cursor, of those that are drawn, and the columns before it.
    pub(super) cursor: (usize, usize),
}

/// The rows of a message around its cursor, on a terminal of so many columns and rows.
pub(super) fn rows(message: &MessageDraft, terminal: (usize, usize)) -> MessageRows {
    let (width, height) = terminal;
    // The last column stays free: a terminal does not say where its cursor is behind it.
    let room = width.saturating_sub(PROMPT.len() + 1).max(2);
    let shown_max = height.saturating_sub(2).clamp(1, ROWS_MAX);
    let (before, after) = message.parts();
    let (above, own_start) = before
        .rsplit_once('\n')
        .map_or((None, before), |(it, own)| (Some(it), own));
    let (own_end, below) = after
        .split_once('\n')
        .map_or((after, None), |(own, it)| (own, Some(it)));
    let mut pieces = pieces(&format!("{own_start}{own_end}"), room);
    let cursor = place(own_start, room);
    if cursor.0 == pieces.len() {
        pieces.push(String::new());
    }
    let mut at = cursor.0;
    // Above the cursor as many as may be needed, the nearest first.
    let mut higher: Vec<String> = vec![];
    for line in above.into_iter().flat_map(|it| it.rsplit('\n')) {
        if higher.len() >= shown_max {
            break;
        }
        higher.extend(self::pieces(line, room).into_iter().rev());
    }
    at += higher.len();
    let mut all: Vec<String> = higher.into_iter().rev().chain(pieces).collect();
    for line in below.into_iter().flat_map(|it| it.split('\n')) {
        if all.len() > at + shown_max {
            break;
        }
        all.extend(self::pieces(line, room));
    }
    let first = at.saturating_sub(shown_max - 1);
    let last = all.len().min(first + shown_max);
    let drawn = all[first..last].iter().enumerate().map(|(row, text)| {
        let mark = match row == 0 && first == 0 {
            true => Styled::new().with(Paint::Cyan, PROMPT),
            false => Styled::new().gap(PROMPT.len()),
        };
        mark.text(text)
    });
    MessageRows {
        rows: drawn.collect(),
        cursor: (at - first, PROMPT.len() + cursor.1),
    }
}

/// A line as it is shown, cut into rows at whole letters.
fn pieces(line: &str, room: usize) -> Vec<String> {
    let shown = shown(line);
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for letter in shown.graphemes(true) {
        let wide = columns(letter);
        if used + wide > room {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        pieces.last_mut().expect("there is one").push_str(letter);
    }
    pieces
}

/// Where a cursor stands behind this beginning of a line: the row and the columns before it.
fn place(begun: &str, room: usize) -> (usize, usize) {
    let pieces = pieces(begun, room);
    let used = pieces.last().map_or(0, |last| columns(last));
    match used >= room {
        true => (pieces.len(), 0),
        false => (pieces.len() - 1, used),
    }
}

fn shown(line: &str) -> String {
    masking::for_terminal(&line.replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Look;

    const PLAIN: Look = Look {
        color: false,
        ascii: false,
        plain: false,
        terminal: true,
    };

    /// The rows as text, with a bar at the cursor.
    fn drawn(text: &str, cursor_back: usize, terminal: (usize, usize)) -> Vec<String> {
        let mut message = MessageDraft::new(text.into());
        for _ in 0..cursor_back {
            message.left();
        }
        let view = rows(&message, terminal);
        let (row, column) = view.cursor;
        let drawn = view.rows.iter().enumerate();
        let drawn = drawn.map(|(at, line)| {
            let line = line.render(&PLAIN);
            match at == row {
                true => {
                    let before = crate::style::begun(&line, column);
                    format!("{before}|{}", &line[before.len()..])
                }
                false => line,
            }
        });
        drawn.collect()
    }

    #[test]
    fn a_message_is_wrapped_at_letters_and_the_cursor_stands_where_it_is_typed() {
        let usual = (80, 24);
        assert_eq!(drawn("", 0, usual), ["> |"]);
        assert_eq!(drawn("hello", 2, usual), ["> hel|lo"]);
        assert_eq!(drawn("one\ntwo", 4, usual), ["> one|", "  two"]);
        assert_eq!(drawn("abcdefg", 0, (8, 24)), ["> abcde", "  fg|"]);
        // A row that is full: the next letter stands in the next one.
        assert_eq!(drawn("abcde", 0, (8, 24)), ["> abcde", "  |"]);
        assert_eq!(drawn("abcdefg", 2, (8, 24)), ["> abcde", "  |fg"]);
        assert_eq!(drawn("日本語", 1, (8, 24)), ["> 日本|", "  語"]);
        assert_eq!(drawn("a\tb\u{202e}", 0, usual), ["> a    b\u{fffd}|"]);
    }

    #[test]
    fn of_a_long_message_the_rows_around_the_cursor_are_drawn() {
        let lines: Vec<String> = (1..=9).map(|nth| nth.to_string()).collect();
        let text = lines.join("\n");
        assert_eq!(drawn(&text, 0, (80, 5)), ["  7", "  8", "  9|"]);
        assert_eq!(drawn(&text, 17, (80, 5)), ["> |1", "  2", "  3"]);
        assert_eq!(drawn(&text, 8, (80, 5)), ["  3", "  4", "  5|"]);
        assert_eq!(drawn(&text, 0, (80, 1)), ["  9|"]);
    }
}
