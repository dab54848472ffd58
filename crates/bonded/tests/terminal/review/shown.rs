//! What is shown of a call: all of it, as it would happen, with every letter to be seen.

use serde_json::json;

use super::{KEYS, LEAP, asked, asked_in, command, edit, ends_well, place, press, verdicts};
use crate::place::{Place, call};
use crate::terminal::{Size, Terminal};

/// The rows of the question, each with its colour before it.
fn question(terminal: &Terminal) -> String {
    let screen = terminal.coloured();
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let from = rows.iter().position(|row| row.contains("|? "));
    let rows = rows.get(from.expect("it asks")..).unwrap_or_default();
    rows.join("\n")
}

fn check(name: &str, size: Size, shown: &str) {
    let path = format!(
        "{}/tests/terminal/screens/{name}-{}.txt",
        env!("CARGO_MANIFEST_DIR"),
        size.0
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{shown}\n")).expect("it can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(format!("{shown}\n"), wanted, "{path}");
}

#[test]
fn an_edit_is_shown_as_a_diff_at_every_width() {
    for columns in [60, 80, 200] {
        let place = place();
        let size = Size(columns, 40);
        let terminal = asked_in(&place, &[edit()], size);
        check("edit", size, &question(&terminal));
        press(&terminal, "n", "✗ denied by");
        ends_well(terminal);
    }
}

#[test]
fn a_command_is_shown_as_it_would_run_at_every_width() {
    let lines = [call(
        "run",
        json!({ "command": "cat\nprintf '\u{1b}[2J\u{202e}'", "stdin": "fed\n", "timeout_ms": 90_000 }),
    )];
    for columns in [60, 80, 200] {
        let place = place();
        let size = Size(columns, 40);
        let terminal = asked_in(&place, &lines, size);
        check("command", size, &question(&terminal));
        press(&terminal, "n", "✗ denied by");
        ends_well(terminal);
    }
}

#[test]
fn a_program_without_a_shell_is_spelled_so_that_every_argument_is_told_from_the_next() {
    let place = place();
    let arguments = json!({ "command": "echo", "args": ["a b", "c'd", ""], "cwd": "." });
    let terminal = asked(&place, &[call("run", arguments)]);
    let screen = terminal.screen();
    assert!(screen.contains(r"$ echo 'a b' 'c'\''d' ''"), "{screen}");
    assert!(screen.contains("without a shell"), "{screen}");
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
}

#[test]
fn a_long_diff_is_cut_and_not_approved_before_all_of_it_was_seen() {
    let place = place();
    let content: String = (1..=50).map(|at| format!("line {at}\n")).collect();
    let write = call("write", json!({ "path": "long", "content": content }));
    let terminal = asked_in(&place, &[write], Size(80, 100));
    let screen = terminal.screen();
    assert!(screen.contains("+line 18\n"), "{screen}");
    assert!(!screen.contains("+line 19\n"), "{screen}");
    assert!(
        screen.contains("… 32 more lines; press d to see all"),
        "{screen}"
    );
    press(&terminal, "y", "not all of it is shown");
    assert!(!place.work().join("long").exists());
    press(&terminal, "d", "+line 50");
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
    assert!(place.work().join("long").exists());
}

#[test]
fn a_pager_that_is_left_early_or_is_not_there_is_no_harm() {
    for (pager, shows) in [("head -1", "+49 -0"), ("/no/such/pager", "+line 49")] {
        let place = place();
        let content: String = (1..=49).map(|at| format!("line {at}\n")).collect();
        let write = call("write", json!({ "path": "long", "content": content }));
        let mut playing = super::playing(&place, &[write], super::ASKING);
        playing.env("BONDED_PAGER", pager);
        let terminal = Terminal::start(&playing, Size(80, 100));
        terminal.wait_for(KEYS);
        super::press_until(&terminal, "d", shows, |screen| {
            screen.contains(shows) && screen.matches(KEYS).count() == 2
        });
        press(&terminal, "y", "✓ approved by");
        ends_well(terminal);
    }
}

#[test]
fn a_long_line_is_cut_with_its_length_and_not_approved_before_it_was_seen() {
    let place = place();
    let content = format!("{}the end\n", "x".repeat(3_000));
    let write = call("write", json!({ "path": "long", "content": content }));
    let terminal = asked(&place, &[write]);
    let screen = terminal.screen();
    assert!(screen.contains("(3,007 characters)"), "{screen}");
    assert!(!screen.contains("the end"), "{screen}");
    press(&terminal, "y", "not all of it is shown");
    press(
        &terminal,
        "a",
        "not all of it is shown: press d to see it, then answer\n  y",
    );
    press(&terminal, "d", "the end");
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
}

#[test]
fn a_file_that_changes_while_somebody_looks_is_shown_again() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    place.write("work/leap.sh", LEAP.replace("# leap", "# another"));
    press(&terminal, "y", "edit leap.sh changed while you looked");
    terminal.wait_for("# another");
    assert_eq!(verdicts(&place), []);
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
    let now = std::fs::read_to_string(place.work().join("leap.sh")).expect("it is there");
    assert!(now.contains("# another") && now.contains("% 400"), "{now}");
}

#[test]
fn a_call_that_cannot_succeed_says_so() {
    let place = place();
    let edit = call(
        "edit",
        json!({ "path": "leap.sh", "old": "nowhere", "new": "x" }),
    );
    let terminal = asked(&place, &[edit]);
    let screen = terminal.screen();
    assert!(screen.contains("this call will fail:"), "{screen}");
    assert!(screen.contains("\"old\": \"nowhere\""), "{screen}");
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
}

#[test]
fn binary_and_large_files_say_so() {
    let place = Place::new();
    place.write("work/binary", [0xff; 100]);
    place.write("work/large", "x\n".repeat(1_000_000));
    let write = |path: &str| call("write", json!({ "path": path, "content": "small\n" }));
    let terminal = asked(&place, &[write("binary"), write("large")]);
    terminal.wait_for("replaces a binary file of 100 bytes by");
    press(
        &terminal,
        "n",
        "too large to compare: 2,000,000 bytes now, 6 bytes then",
    );
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
}

#[test]
fn no_colour_and_no_sign_is_drawn_where_nobody_wants_them() {
    let place = place();
    let mut playing = super::playing(&place, &[edit()], super::ASKING);
    playing.env("NO_COLOR", "1").env("LANG", "C");
    let terminal = Terminal::start(&playing, Size::USUAL);
    terminal.wait_for("d diff   ? help");
    press(&terminal, "n", "x denied by");
    let drawn = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!drawn.contains("\u{1b}[3") && drawn.is_ascii(), "{drawn:?}");
    ends_well(terminal);
}

#[test]
fn nothing_of_a_call_drives_the_terminal_or_hides_in_it() {
    let place = Place::new();
    let taking = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}\u{200b}";
    place.write("work/a", format!("{taking}\n"));
    let lines = [
        call(
            "write",
            json!({ "path": "a", "content": format!("new {taking}\n") }),
        ),
        command(&format!("echo {taking}")),
        call(
            "write",
            json!({ "path": format!("b{taking}"), "content": "x" }),
        ),
    ];
    let terminal = asked(&place, &lines);
    press(&terminal, "n", "$ echo ");
    press(&terminal, "n", "? write b");
    press(&terminal, "d", "a new file");
    press(&terminal, "n", "the answer");
    let drawn = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    for part in [
        "\u{1b}]",
        "\u{1b}[2J",
        "\u{9b}",
        "\u{7}",
        "\u{202e}",
        "\u{200b}",
    ] {
        assert!(!drawn.contains(part), "{part:?} in {drawn:?}");
    }
    for part in ["\\u{1b}]0;owned\\u{7}", "\\u{202e}", "\\u{200b}"] {
        assert!(drawn.contains(part), "{part:?} in {drawn:?}");
    }
    let (code, _) = terminal.end();
    assert_eq!(code, Some(0));
}
