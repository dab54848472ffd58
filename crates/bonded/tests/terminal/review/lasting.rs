//! "Always": each scope holds for what was shown, in this run and this process alone.

use serde_json::json;

use super::{KEYS, approved, asked, command, ends_well, holds, person};
use super::{place, press, press_until, verdicts};
use crate::place::{Place, call};
use crate::terminal::{CTRL_C, Size, Terminal};

/// Asks for "always" at the question that stands, and gives what is offered.
#[track_caller]
fn offered(terminal: &Terminal) -> String {
    const OFFER: &str = "always in this run:";
    let before = terminal.screen().matches(OFFER).count();
    let is_offered = |screen: &str| screen.matches(OFFER).count() > before;
    let screen = press_until(terminal, "a", OFFER, is_offered);
    let (_, offer) = screen.rsplit_once(OFFER).expect("it is offered");
    offer.trim().to_owned()
}

/// Chooses a scope of "always" at the question that stands.
#[track_caller]
fn always(terminal: &Terminal, number: &str, shows: &str) {
    offered(terminal);
    press(terminal, number, shows);
}

fn by(scope: &str, is_first: bool) -> (serde_json::Value, String) {
    let always = if is_first { "always" } else { "said always" };
    approved(&format!("{} ({always}: {scope})", person()))
}

#[test]
fn this_command_is_the_same_command_and_no_other() {
    let place = place();
    let lines = [command("touch a"), command("touch a"), command("touch a b")];
    let terminal = asked(&place, &lines);
    always(&terminal, "1", "(this command, this run)");
    terminal.wait_for("$ touch a b");
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
    let said = verdicts(&place);
    assert_eq!(
        said[..2],
        [by("this command", true), by("this command", false)]
    );
    assert_eq!(said.len(), 3);
    holds(&place);
}

#[test]
fn a_pattern_holds_for_commands_that_begin_so_and_for_no_second_one_behind_them() {
    let place = place();
    let lines = [
        command("touch -c a"),
        command("touch b"),
        command("touch c; touch d"),
    ];
    let terminal = asked(&place, &lines);
    let offer = "1 this command   2 touch *   3 every command";
    assert_eq!(offered(&terminal), offer);
    press(
        &terminal,
        "2",
        &format!("✓ approved by {} (touch *, this run)", person()),
    );
    terminal.wait_for("(touch *, this run): run touch b");
    terminal.wait_for("$ touch c; touch d");
    assert_eq!(offered(&terminal), "1 this command   3 every command");
    terminal.type_keys("2");
    let is_back = |screen: &str| screen.matches(KEYS).count() == 3;
    press_until(&terminal, "\u{1b}", "the keys again", is_back);
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
    let said = verdicts(&place);
    assert_eq!(said[..2], [by("touch *", true), by("touch *", false)]);
    assert!(place.work().join("b").exists() && !place.work().join("c").exists());
    holds(&place);
}

#[test]
fn every_command_holds_for_whatever_comes() {
    let place = place();
    let terminal = asked(&place, &[command("touch a"), command("touch b; touch c")]);
    always(&terminal, "3", "(every command, this run)");
    ends_well(terminal);
    assert_eq!(
        verdicts(&place),
        [by("every command", true), by("every command", false)]
    );
    assert!(place.work().join("c").exists());
}

#[test]
fn a_file_a_directory_and_every_edit_are_scopes_and_what_is_protected_is_asked_about_again() {
    let write = |path: &str| call("write", json!({ "path": path, "content": "x\n" }));
    for (number, scope, asked_again) in [
        ("1", "src/a", "src/b"),
        ("2", "src/*", "other/c"),
        ("3", "every write", ".git/config"),
    ] {
        let place = Place::new();
        let paths = ["src/a", "src/a", "src/b", "other/c", ".git/config"];
        let lines: Vec<_> = paths.iter().map(|path| write(path)).collect();
        let terminal = asked(&place, &lines);
        always(&terminal, number, &format!("({scope}, this run)"));
        terminal.wait_for(&format!("? write {asked_again}"));
        press(&terminal, CTRL_C, "Resume: bonded resume run");
        assert_eq!(terminal.end().0, Some(130));
        assert!(!place.work().join(asked_again).exists());
        let said = verdicts(&place);
        assert_eq!(said[0], by(scope, true), "{number}");
        let rest = &said[1..];
        assert!(rest.iter().all(|it| *it == by(scope, false)), "{said:?}");
    }
}

#[test]
fn a_run_that_is_resumed_asks_again() {
    let place = place();
    let lines = [
        command("touch a"),
        call("write", json!({ "path": "b", "content": "x" })),
        command("touch a"),
    ];
    let terminal = asked(&place, &lines);
    always(&terminal, "3", "(every command, this run)");
    terminal.wait_for("? write b");
    press(&terminal, CTRL_C, "Resume: bonded resume run");
    assert_eq!(terminal.end().0, Some(130));
    let resumed = Terminal::start(&place.command(&["resume", "run"]), Size::USUAL);
    resumed.wait_for("? write b");
    press(&resumed, "y", "$ touch a");
    press(&resumed, "y", "the answer");
    ends_well(resumed);
    holds(&place);
}
