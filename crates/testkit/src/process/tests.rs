//! Processes that are small shells.

use std::process::Stdio;

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_server_is_known_by_its_words_and_ends_with_all_of_them() {
    let script = "echo one >&2; echo listening on http://here >&2; echo two >&2; read _; echo out";
    let (process, address) = Process::serve(shell(script).stdin(Stdio::piped()));
    assert_eq!(
        (address.as_str(), process.told_first()),
        ("here", vec!["one".into()])
    );
    assert_eq!(process.line_with("w"), "two");
    drop(process.stdin());
    let done = process.finish();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "out\n"));
    assert_eq!(done.stderr, "one\nlistening on http://here\ntwo");
}

#[test]
fn one_that_ends_instead_of_listening_says_what_it_had_to_say() {
    let process = Process::begin(&mut shell("echo no >&2; exit 3"));
    assert_eq!(process.address(), Err(vec!["no".to_owned()]));
    assert_eq!(process.finish().code, Some(3));
}

#[test]
fn one_whose_stderr_is_somebody_elses_is_ended_without_waiting_for_its_words() {
    let process = Process::begin(shell("exec sleep 60").stderr(Stdio::null()));
    assert_eq!(process.end(Signal::KILL).code, None);
}
