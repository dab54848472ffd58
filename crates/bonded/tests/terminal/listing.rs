//! What is looked at afterwards: the list of runs, one run, and the pager.

use serde_json::{Value, json};

use crate::place::{Place, call, done};
use crate::run::leap;
use crate::screen::{at, check, command, without_dates, without_latencies};
use crate::terminal::{Size, Terminal};

/// Three runs: one that is done, one that failed, and one that waits.
fn three_runs(place: &Place) {
    let long = "Summarise the log of the last night and say which of the jobs have failed, with the reason of each of them";
    let waits = call("write", json!({ "path": "a", "content": "b" }));
    for (id, lines, flags, goal) in [
        ("first", vec![done("ok")], &[][..], "Fix the failing test"),
        ("second", vec![done("blocked: no log")], &[], long),
        ("third", vec![waits], &["--ask", "write"], "Tidy up"),
    ] {
        let script = place.script(&lines);
        let fixed = ["run", "-q", "--id", id, "--model", &script];
        place.bonded(&[&fixed[..], flags, &[goal]].concat());
    }
}

#[test]
fn the_list_of_runs_fits_the_terminal_and_the_goal_is_cut() {
    let place = Place::new();
    three_runs(&place);
    for (name, columns) in [("runs-80", 80), ("runs-140", 140), ("runs-40", 40)] {
        let mut terminal = at(&place, &["runs"], Size(columns, 20));
        terminal.wait_for_end();
        let screen = terminal.coloured();
        check(name, &without_dates(&screen));
    }
    let piped = place.bonded(&["runs"]).stdout;
    assert!(
        piped.contains("STATUS") && piped.contains("awaiting_review"),
        "{piped}"
    );
    assert!(!piped.contains('\u{1b}'));
}

#[test]
fn show_looks_like_the_run_did() {
    let place = Place::new();
    let script = leap(&place);
    place
        .bonded(&[
            "run",
            "-q",
            "--id",
            "leap",
            "--model",
            &script,
            "The test fails.",
        ])
        .succeeds();
    let mut terminal = at(&place, &["show", "leap"], Size::USUAL);
    terminal.wait_for_end();
    check(
        "show",
        &without_dates(&without_latencies(&terminal.coloured())),
    );
    let piped = place.bonded(&["show", "leap"]).stdout;
    assert!(
        piped.contains("status   succeeded") && piped.contains("decided  list"),
        "{piped}"
    );
}

#[test]
fn what_is_longer_than_the_screen_goes_through_a_pager_and_one_that_quits_is_no_error() {
    let place = Place::new();
    let mut lines: Vec<Value> = (0..30)
        .map(|at| call("read", json!({ "path": format!("f{at}") })))
        .collect();
    lines.push(done("ok"));
    let script = place.script(&lines);
    place
        .bonded(&["run", "-q", "--id", "long", "--model", &script, "go"])
        .succeeds();
    for (pager, is_whole) in [("sed 's/^/> /'", true), ("head -n 2", false)] {
        let mut show = command(&place, &["show", "long"]);
        show.env("BONDED_PAGER", pager);
        let (code, screen) = Terminal::start(&show, Size(80, 20)).end();
        assert_eq!(code, Some(0), "{pager}: {screen}");
        assert_eq!(
            screen.contains("done · 31 turns"),
            is_whole,
            "{pager}: {screen}"
        );
    }
    let mut show = command(&place, &["show", "long"]);
    show.env("PAGER", "no-such-pager-anywhere");
    let (code, screen) = Terminal::start(&show, Size(80, 20)).end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("done · 31 turns"), "{screen}");
}
