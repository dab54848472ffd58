//! Screens are files in `screens`, with the letter of a row's colour before it. Times are replaced by words. `BLESS=1`
//! writes them anew; look at what it wrote.

use std::path::Path;
use std::process::Command;

use crate::place::Place;
use crate::provider::Provider;
use crate::terminal::{Size, Terminal};

/// Holds a screen against its file.
#[track_caller]
pub(crate) fn check(name: &str, coloured: &str) {
    let screen: Vec<String> = coloured.lines().map(without_times).collect();
    hold(name, &(screen.join("\n") + "\n"));
}

/// The same for a screen in which nothing is replaced.
#[track_caller]
pub(crate) fn hold(name: &str, screen: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/terminal/screens/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("made");
        std::fs::write(&path, screen).expect("the screen can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(screen, wanted, "{name}:\n{screen}");
}

/// The program with a locale, as people have one.
pub(crate) fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("LANG", "C.UTF-8").env("TZ", "UTC");
    command
}

pub(crate) fn at(place: &Place, arguments: &[&str], size: Size) -> Terminal {
    Terminal::start(&command(place, arguments), size)
}

/// A run that asks a provider.
pub(crate) fn asking(place: &Place, provider: &Provider, flags: &[&str], size: Size) -> Terminal {
    let url = provider.base_url();
    let fixed = [
        "run",
        "--id",
        "asks",
        "--model",
        "small",
        "--base-url",
        &url,
    ];
    at(
        place,
        &[&fixed[..], flags, &["what is a leap year?"]].concat(),
        size,
    )
}

/// Durations differ each time; the columns that they take do not.
fn without_times(row: &str) -> String {
    let fields: Vec<String> = row.split(" · ").map(without_time).collect();
    let words: Vec<String> = fields.join(" · ").split(' ').map(without_tokens).collect();
    words.join(" ")
}

/// Requests hold the directory of the test, so that their tokens differ too.
fn without_tokens(word: &str) -> String {
    match word.contains(',') && word.bytes().filter(u8::is_ascii_digit).count() >= 4 {
        true => word.replace(|letter: char| letter.is_ascii_digit(), "0"),
        false => word.to_owned(),
    }
}

fn without_time(field: &str) -> String {
    let mut words: Vec<&str> = field.split(' ').collect();
    let is_number =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let Some(unit) = words.last().copied().filter(|it| ["ms", "s"].contains(it)) else {
        return field.to_owned();
    };
    let number = words[words.len() - 2];
    if !is_number(number) {
        return field.to_owned();
    }
    words.truncate(words.len() - 2);
    let kept = words.join(" ");
    // The time stands at the right, so that a longer one takes spaces before it.
    let taken = kept.trim_end();
    let spaces = kept.len() - taken.len() + number.len() + unit.len();
    match spaces > 4 {
        true => format!("{taken}{:>width$}", "TIME", width = spaces + 2),
        false => match taken.is_empty() {
            true => "TIME".to_owned(),
            false => format!("{taken} TIME"),
        },
    }
}

/// The spinner and the rate are others each time.
pub(crate) fn without_spinner(screen: &str) -> String {
    let field = |field: &str| match field.ends_with(" tok/s") {
        true => "RATE".to_owned(),
        false => field.to_owned(),
    };
    let row = |row: &str| {
        let row = row.replace(|letter| ('\u{2800}'..='\u{28ff}').contains(&letter), "⠹");
        let fields: Vec<String> = row.split(" · ").map(field).collect();
        fields.join(" · ")
    };
    let rows: Vec<String> = screen.lines().map(row).collect();
    rows.join("\n")
}

/// Every duration in a sentence.
pub(crate) fn without_durations(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_unit =
        |word: Option<&&str>| word.is_some_and(|it| ["ms", "ms,", "ms:", "s", "s,"].contains(it));
    let mut kept = vec![];
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !word.is_empty();
        match is_number && is_unit(rest.peek().copied()) {
            true => {
                let unit = rest.next().copied().unwrap_or_default();
                kept.push(format!("TIME{}", unit.trim_start_matches(['m', 's'])));
            }
            false => kept.push((*word).to_owned()),
        }
    }
    kept.join(" ")
}

/// A date of this day, in the form that the list has.
pub(crate) fn without_dates(screen: &str) -> String {
    let word = |word: &str| match word.len() == 10 && word.matches('-').count() == 2 {
        true => "YYYY-MM-DD".to_owned(),
        false if word.len() == 5 && word.as_bytes()[2] == b':' => "HH:MM".to_owned(),
        false => word.to_owned(),
    };
    let row = |row: &str| row.split(' ').map(word).collect::<Vec<_>>().join(" ");
    screen.lines().map(row).collect::<Vec<_>>().join("\n")
}

/// A time that stands before something else.
pub(crate) fn without_latencies(screen: &str) -> String {
    let row = |row: &str| match row.split_once(" ms ") {
        Some((before, after)) => {
            let before = before.trim_end_matches(|it: char| it.is_ascii_digit());
            format!("{} TIME {after}", before.trim_end())
        }
        None => row.to_owned(),
    };
    screen.lines().map(row).collect::<Vec<_>>().join("\n")
}
