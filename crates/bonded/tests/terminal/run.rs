//! A run from its first line to its last: widths, colours, letters, and where no terminal reads.

use serde_json::{Value, json};

use crate::place::{Place, call, done};
use crate::screen::{at, check, command, without_durations};
use crate::terminal::{Size, Terminal};

/// A run that looks around, meets a failing test, edits and ends.
pub(crate) fn leap(place: &Place) -> String {
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
        ("run-60", Size(60, 40)),
        ("run-59", Size(59, 40)),
        ("run-39", Size(39, 40)),
        ("run-20", Size(20, 60)),
    ] {
        let place = Place::new();
        let mut terminal = leap_run(&place, &[], size);
        let code = terminal.wait_for_end();
        let screen = terminal.coloured();
        assert_eq!(code, Some(0), "{screen}");
        check(name, &screen);
    }
}

#[test]
fn what_happens_again_is_one_line_with_its_count() {
    let place = Place::new();
    let list = || call("list", json!({}));
    let script = place.script(&[
        list(),
        list(),
        list(),
        call("read", json!({ "path": "x" })),
        done("ok"),
    ]);
    let words = ["run", "--no-progress", "0", "--model", &script, "go"];
    let (_, screen) = at(&place, &words, Size::USUAL).end();
    assert_eq!(screen.matches("✓ list").count(), 1, "{screen}");
    assert!(screen.contains("✓ list . ×3"), "{screen}");
}

#[test]
fn a_terminal_that_does_not_know_its_size_is_drawn_on_as_a_usual_one() {
    let place = Place::new();
    let mut terminal = leap_run(&place, &[], Size(0, 0));
    assert_eq!(terminal.wait_for_end(), Some(0));
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    let list = bytes.lines().find(|line| line.contains(" list ."));
    let list = list.unwrap_or_default().trim_end();
    assert!(list.contains(&" ".repeat(40)), "{list:?} in {bytes:?}");
}

#[test]
fn what_is_refused_or_denied_says_why_and_the_run_goes_on() {
    let place = Place::new();
    let script = place.script(&[
        call("run", json!({ "command": "rm -rf build" })),
        call("remove", json!({ "path": "build" })),
        call("list", json!({})),
        call("read", json!({ "file": "leap.sh" })),
        call("write", json!({ "path": "../outside", "content": "x" })),
        done("Nothing was removed."),
    ]);
    let words = [
        "run", "--id", "refused", "--deny", "run", "--model", &script, "Tidy up.",
    ];
    let mut terminal = at(&place, &words, Size::USUAL);
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    check("refused", &terminal.coloured());
}

/// The name of a screen, flags, and variables.
type LookRow<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

#[test]
fn nothing_but_the_letters_changes_without_colour_and_without_unicode() {
    let rows: [LookRow<'_>; 4] = [
        ("no-color", &[], &[("NO_COLOR", "1")]),
        ("ascii", &["--ascii"], &[]),
        ("plain", &["--plain"], &[]),
        ("dumb", &[], &[("TERM", "dumb")]),
    ];
    for (name, flags, variables) in rows {
        let place = Place::new();
        let script = leap(&place);
        let fixed = ["run", "--id", "leap", "--model", &script];
        let mut command = command(&place, &[&fixed[..], flags, &["go"]].concat());
        command.envs(variables.iter().copied());
        let mut terminal = Terminal::start(&command, Size::USUAL);
        terminal.wait_for_end();
        let bytes = terminal.bytes();
        let screen = terminal
            .coloured()
            .replace(&place.work().display().to_string(), "DIR");
        let is_plain = ["plain", "dumb"].contains(&name);
        // Between other separators than ours times are told by their words.
        let row = |row: &str| match is_plain || row.contains(" done - ") {
            true => without_durations(row),
            false => row.to_owned(),
        };
        let rows: Vec<String> = screen.lines().map(row).collect();
        check(name, &rows.join("\n"));
        if is_plain {
            assert!(
                !bytes.contains(&0x1b),
                "{name}: {}",
                String::from_utf8_lossy(&bytes)
            );
            assert!(bytes.is_ascii(), "{name}");
        }
    }
}

#[test]
fn the_flag_has_colour_where_no_terminal_reads() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let run = |flags: &[&str]| {
        let fixed = ["run", "--model", &script];
        place.bonded(&[&fixed[..], flags, &["go"]].concat())
    };
    assert!(!run(&[]).stderr.contains('\u{1b}'));
    assert!(
        !run(&["--color", "always"]).stdout.contains('\u{1b}'),
        "the answer is data"
    );
}

#[test]
fn whatever_a_model_or_a_tool_writes_only_the_program_drives_the_terminal() {
    let place = Place::new();
    let hostile = "\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{1b}[31mred\u{9b}5n\r\u{202e}";
    let evil = json!({ "text": hostile, "calls": [{ "tool": "run", "arguments": { "command": "printf '\\033[2J\\033[6nevil\\n' >&2; exit 3" } }] });
    let script = place.script(&[evil, done(hostile)]);
    let mut terminal = at(&place, &["run", "--model", &script, "go"], Size::USUAL);
    terminal.wait_for_end();
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    for banned in [
        "\u{1b}[2J",
        "\u{1b}]",
        "\u{1b}[6n",
        "\u{7}",
        "\u{9b}",
        "\u{202e}",
        "\u{1b}[31mred",
    ] {
        assert!(!bytes.contains(banned), "{banned:?} in {bytes:?}");
    }
    assert!(bytes.contains("evil") && bytes.contains("red"), "{bytes:?}");
}

#[test]
fn where_no_terminal_reads_each_event_is_a_line_and_stdout_has_the_answer_alone() {
    let place = Place::new();
    let script = leap(&place);
    let mut command = command(&place, &["run", "--id", "leap", "--model", &script, "go"]);
    let run = crate::place::finish(crate::place::start(&mut command));
    assert_eq!(
        run.stdout,
        "Fixed leap.sh: years that can be divided by 400 are leap years.\n"
    );
    let lines: Vec<String> = run
        .stderr
        .lines()
        .map(|line| {
            let line = line.replace(&place.work().display().to_string(), "DIR");
            let is_clock =
                |it: &&str| it.len() == 8 && it.bytes().filter(|b| *b == b':').count() == 2;
            match line.split_once(' ').filter(|(clock, _)| is_clock(clock)) {
                Some((_, rest)) => format!("CLOCK {}", without_durations(rest)),
                None => line,
            }
        })
        .collect();
    check("no-terminal", &lines.join("\n"));
}

#[test]
fn the_two_streams_never_share_a_line() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), done("the answer")]);
    for _ in 0..5 {
        let (_, screen) = at(&place, &["run", "--model", &script, "go"], Size::USUAL).end();
        assert!(screen.lines().any(|line| line == "the answer"), "{screen}");
    }
}
