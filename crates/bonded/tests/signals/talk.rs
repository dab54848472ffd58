//! `mcp`: a client over stdio whose server is sent a signal; the runs are gone on with from the command line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::agents;
use crate::model::TOOL;
use crate::moments::{each, signalled};
use crate::place::{Place, finish, start};

pub(crate) const CALLS: u64 = 2;

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn hello() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client })
}

pub(crate) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// A call of the agent that has something counted.
pub(crate) fn count(id: u64) -> Value {
    let arguments = json!({ "prompt": format!("count {id}") });
    request(
        id,
        "tools/call",
        &json!({ "name": "counter", "arguments": arguments }),
    )
}

/// Starts the server and has a client that greets it, calls and reads to the end. Gives what keeps the stream open.
fn begin(
    place: &Place,
    agent: &[String],
) -> (
    Child,
    thread::JoinHandle<Vec<Value>>,
    std::process::ChildStdin,
) {
    let words = [vec!["mcp".to_owned()], agent.to_vec()].concat();
    let mut child = start(place.command(&words).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let stdout = child.stdout.take().expect("stdout is a pipe");
    // A server that is gone already reads nothing.
    let mut tell = |message: Value| drop(stdin.write_all(format!("{message}\n").as_bytes()));
    tell(request(0, "initialize", &hello()));
    tell(initialized());
    (1..=CALLS).for_each(|id| tell(count(id)));
    let reader = thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let mut heard = vec![];
        for message in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            heard.push(message);
            if answered(&heard) == CALLS {
                break;
            }
        }
        heard
    });
    (child, reader, stdin)
}

fn answered(heard: &[Value]) -> u64 {
    heard
        .iter()
        .filter(|it| it["id"].as_u64() > Some(0))
        .count() as u64
}

#[test]
fn a_server_over_stdio_that_is_sent_any_signal_leaves_runs_that_go_on() {
    let undisturbed = || {
        let (place, agent) = agents::place();
        let (child, reader, stdin) = begin(&place, &agent);
        assert_eq!(answered(&reader.join().expect("it only reads")), CALLS);
        drop(stdin);
        assert_eq!(finish(child).code, Some(0));
    };
    each("mcp", undisturbed, |signal, _, after| {
        let (place, agent) = agents::place();
        let (child, reader, stdin) = begin(&place, &agent);
        if matches!(signal, Signal::HUP | Signal::PIPE) {
            thread::sleep(after);
            kill_process(Pid::from_child(&child), signal).expect("it can be signalled");
            let is_before_anybody_listens = place.listed().is_empty();
            let heard = reader.join().expect("it only reads");
            assert!(
                answered(&heard) == CALLS || is_before_anybody_listens,
                "{heard:?}"
            );
            drop(stdin);
            finish(child);
        } else {
            let ended = signalled(child, signal, after);
            drop(stdin);
            let is_due = match signal {
                Signal::INT | Signal::TERM => matches!(ended.code, Some(0) | None),
                _ => ended.code.is_none(),
            };
            assert!(is_due, "{ended:?}");
        }
        check(&place);
    });
}

/// Every run that began comes to its end.
pub(crate) fn check(place: &Place) {
    for run in place.listed() {
        assert_ne!(run.status, "cancelled", "nobody has cancelled it");
        let before = place.log(&run.id);
        if run.status != "succeeded" {
            let resumed = place.bonded(&["resume", &run.id, "--trust"]);
            assert_eq!(resumed.code, Some(0), "{resumed:?}");
        }
        let after = place.log(&run.id);
        assert_eq!(
            after.get(..before.len()),
            Some(&before[..]),
            "entries were lost"
        );
        assert_eq!(place.status(&run.id).as_deref(), Some("succeeded"));
        place.passes_the_audit(&run.id);
    }
    place.check_witness(TOOL, agents::counted(place));
}
