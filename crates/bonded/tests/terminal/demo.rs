//! The demo shows its point on every terminal, and the picture in the README is a part of it.

use std::ops::Range;

use crate::place::Place;
use crate::screen::{at, check, hold, without_dates, without_spinner};
use crate::terminal::{Size, Terminal};

/// What stands in the place of the directory and of the head of the log, which differ each time.
const DIRECTORY: (&str, &str) = ("bonded-demo-", "3f2a9c");
const HEAD: &str = "43205f25c1b8e0d97a6f4e2b90c3d8175be64a0f2d19c7836e5f0ab4d2c81793";

fn played(columns: u16) -> Terminal {
    let place = Place::new();
    let mut terminal = at(&place, &["demo", "--fast"], Size(columns, 100));
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    terminal
}

/// With the directory and the head that every demo has here.
fn without_names(screen: &str) -> String {
    let (before, name) = DIRECTORY;
    let mut parts = screen.split(before);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(&format!("{before}{name}{}", &part[name.len()..]));
    }
    let (before, after) = text.split_once(" head").expect("the demo verifies its run");
    // It may be broken between two rows.
    let mut head = HEAD.chars();
    let replaced = after
        .chars()
        .map(|letter| match letter.is_ascii_hexdigit() {
            true => head.next().unwrap_or(letter),
            false => letter,
        });
    let after: String = replaced.collect();
    format!("{before} head{after}")
}

#[test]
fn the_demo_fits_the_terminal_and_shows_its_diff() {
    for columns in [60, 80, 200] {
        let screen = played(columns).coloured();
        check(
            &format!("demo-{columns}"),
            &without_dates(&without_spinner(&without_names(&screen))),
        );
    }
}

/// A duration as it is on some machine, in the columns of the one that was measured.
fn with_times(row: &str) -> String {
    let took = match row {
        row if row.contains("waiting for") => "0 s",
        row if row.contains(" done") => "3 s",
        row if row.contains(" run sh") => "20 ms",
        _ => "1 ms",
    };
    let Some(measured) = duration_in(row) else {
        return row.to_owned();
    };
    let (before, after) = (&row[..measured.start], &row[measured.end..]);
    let left = before.trim_end();
    match after.is_empty() {
        // It ends at the right, whatever it takes.
        true => {
            let width = measured.end - left.len();
            format!("{left}{took:>width$}")
        }
        false => format!("{before}{took}{after}"),
    }
}

/// Where a row has a number of seconds or milliseconds.
fn duration_in(row: &str) -> Option<Range<usize>> {
    let is_figure = |letter: char| letter.is_ascii_digit() || letter == '.';
    row.match_indices(" ms")
        .chain(row.match_indices(" s"))
        .find_map(|(end, unit)| {
            let start = row[..end].trim_end_matches(is_figure).len();
            let end_of_unit = end + unit.len();
            let is_word = row[end_of_unit..].starts_with(|letter: char| letter.is_alphanumeric());
            (start < end && !is_word).then_some(start..end_of_unit)
        })
}

/// `cargo xtask picture` draws it from this file.
#[test]
fn the_picture_in_the_readme_is_what_the_program_draws() {
    let painted = without_spinner(&without_names(&played(80).painted()));
    let rows = painted.lines();
    let rows = rows.skip_while(|row| !row.contains("$ bonded run"));
    let rows: Vec<String> = rows.map(with_times).collect();
    let last = rows.iter().position(|row| row.contains("replay matches"));
    let last = last.expect("the demo replays its run");
    hold("picture", &(rows[..=last].join("\n") + "\n"));
}
