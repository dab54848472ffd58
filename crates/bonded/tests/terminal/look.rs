//! What a run looks like: colours, widths, the live line, its end.
//!
//! Screens are files in `screens`, with the letter of a row's colour before it. Times are replaced by words. `BLESS=1`
//! writes them anew; look at what it wrote.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, call, done, never};
use crate::provider::{self, Provider};
use crate::terminal::{Size, Terminal};

const END: &str = "details: bonded show";

/// Durations differ each time; the columns that they take do not.
fn without_times(row: &str) -> String {
    let fields: Vec<String> = row.split(" · ").map(without_time).collect();
    fields.join(" · ")
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
        false => format!("{taken} TIME").trim_start().to_owned(),
    }
}

/// Holds a screen against its file.
#[track_caller]
fn check(name: &str, coloured: &str) {
    let screen: Vec<String> = coloured.lines().map(without_times).collect();
    let screen = screen.join("\n") + "\n";
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/terminal/screens/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("made");
        std::fs::write(&path, &screen).expect("the screen can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(screen, wanted, "{name}:\n{screen}");
}

/// The program with a locale, as people have one.
fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("LANG", "C.UTF-8").env("TZ", "UTC");
    command
}

fn at(place: &Place, arguments: &[&str], size: Size) -> Terminal {
    Terminal::start(&command(place, arguments), size)
}

/// A run that looks around, meets a failing test, edits and ends.
fn leap(place: &Place) -> String {
    place.write(
        "work/leap.sh",
        "year=$1\nif [ $((year % 100)) -ne 0 ]; then\n  echo leap\nfi\n",
    );
    place.write(
        "work/test.sh",
        "echo 'FAIL  2000 should be leap, got common'\nexit 1\n",
    );
    let said = |mut line: Value, text: &str| {
        line["text"] = text.into();
        line
    };
    place.script(&[
        said(call("list", json!({})), "I'll run the test, then read the script."),
        call("run", json!({ "command": "sh test.sh" })),
        call("read", json!({ "path": "leap.sh" })),
        said(
            call("edit", json!({ "path": "leap.sh", "old": "if [ $((year % 100)) -ne 0 ]; then", "new": "if [ $((year % 100)) -ne 0 ] || [ $((year % 400)) -eq 0 ]; then" })),
            "The century rule lacks the exception for 400.",
        ),
        call("read", json!({ "path": "no-such-file" })),
        done("Fixed leap.sh: years that can be divided by 400 are leap years."),
    ])
}

fn leap_run(place: &Place, flags: &[&str], size: Size) -> Terminal {
    let script = leap(place);
    let fixed = ["run", "--id", "leap", "--model", &script];
    at(
        place,
        &[
            &fixed[..],
            flags,
            &["The test fails. Find the bug and fix it."],
        ]
        .concat(),
        size,
    )
}

#[test]
fn a_run_is_a_line_for_each_call_with_the_answer_once_and_the_next_command() {
    for (name, size) in [
        ("run", Size::USUAL),
        ("run-200", Size(200, 40)),
        ("run-59", Size(59, 40)),
        ("run-39", Size(39, 40)),
        ("run-20", Size(20, 60)),
    ] {
        let place = Place::new();
        let terminal = leap_run(&place, &[], size);
        terminal.wait_until("the end", |screen| {
            screen.replace('\n', " ").contains("bonded show")
        });
        let screen = terminal.coloured();
        let (code, _) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        check(name, &screen);
    }
}
