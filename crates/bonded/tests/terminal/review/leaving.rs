//! Whatever ends the question, the run can be resumed and the terminal is as it was.

use rustix::process::{Pid, Signal, kill_process};

use super::{KEYS, asked, edit, ends_well, holds, place, playing, press, verdicts};
use crate::place::Place;
use crate::terminal::{CTRL_C, Size, Terminal};

/// The program in a shell that looks at its terminal before and after, and keeps the exit code.
fn in_shell(place: &Place) -> Terminal {
    let script = "stty -a >../before; \"$@\"; echo $? >../code; stty -a >../after";
    let inner = playing(place, &[edit()], super::ASKING);
    let mut shell = crate::place::clean_command("sh", &place.path("."), &place.work());
    shell.args(["-c", script, "sh"]);
    shell.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    let terminal = Terminal::start(&shell, Size::USUAL);
    terminal.wait_for(KEYS);
    terminal
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).expect("it was written")
}

/// The process that the shell waits for.
fn program_in(terminal: &Terminal) -> Pid {
    let shell = terminal.pid().as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
    let children = children.expect("the system lists them");
    let first = children.split_whitespace().next().expect("there is one");
    Pid::from_raw(first.parse().expect("it is a number")).expect("it is one")
}

/// What stands in the way of nothing: the run waits, and is asked about when it is resumed.
#[track_caller]
fn waits_still(place: &Place) {
    assert_eq!(verdicts(place), []);
    let resumed = Terminal::start(&place.command(&["resume", "run"]), Size::USUAL);
    resumed.wait_for("? edit leap.sh");
    press(&resumed, "y", "✓ approved by");
    ends_well(resumed);
    holds(place);
}

#[test]
fn ctrl_c_decides_nothing_and_the_run_can_be_resumed() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    terminal.type_keys(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    let last =
        "? help\n‖ stopped: edit leap.sh still needs your approval\nResume: bonded resume run";
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    assert!(rows.join("\n").trim_end().ends_with(last), "{screen}");
    waits_still(&place);
}

#[test]
fn every_way_out_leaves_the_terminal_as_it_was() {
    type Leave = fn(&Terminal);
    let ways: [(&str, Leave, &str); 4] = [
        ("an answer", |it| drop(press(it, "n", "denied")), "0"),
        ("Ctrl-C", |it| it.type_keys(CTRL_C), "130"),
        (
            "SIGTERM",
            |it| kill_process(program_in(it), Signal::TERM).expect("it is there"),
            "143",
        ),
        (
            "SIGHUP",
            |it| kill_process(program_in(it), Signal::HUP).expect("it is there"),
            "129",
        ),
    ];
    for (what, leave, code) in ways {
        let place = place();
        let terminal = in_shell(&place);
        leave(&terminal);
        let (_, screen) = terminal.end();
        assert_eq!(read(&place, "code").trim(), code, "{what}: {screen}");
        assert_eq!(read(&place, "after"), read(&place, "before"), "{what}");
        if code != "0" {
            waits_still(&place);
        }
    }
}

#[test]
fn a_window_that_is_closed_at_the_question_leaves_a_run_that_waits() {
    let place = place();
    let mut terminal = asked(&place, &[edit()]);
    terminal.hang_up();
    let (code, _) = terminal.end();
    assert_eq!(code, Some(129));
    waits_still(&place);
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_back() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    let denied = place.bonded(&["deny", "run", "--no-resume"]);
    denied.succeeds();
    terminal.wait_for("it was answered elsewhere");
    ends_well(terminal);
    assert_eq!(verdicts(&place).len(), 1);
}

#[test]
fn in_the_background_nobody_is_asked() {
    let place = place();
    let inner = playing(&place, &[edit()], super::ASKING);
    let mut shell = crate::place::clean_command("bash", &place.path("."), &place.work());
    let script = "set -m; \"$@\" & wait $!; echo code $?";
    shell.args(["-c", script, "bash"]);
    shell.arg(inner.get_program()).args(inner.get_args());
    shell.env("BONDED_STORE", place.path("store.db"));
    let (_, screen) = Terminal::start(&shell, Size::USUAL).end();
    assert!(screen.contains("code 6"), "{screen}");
}
