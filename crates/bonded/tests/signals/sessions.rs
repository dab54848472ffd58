//! `serve --mcp`: a session over HTTP whose server is sent a signal; the runs are gone on with from the command line.

use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::model::ANSWER;
use crate::moments::{each, signalled};
use crate::place::finish;
use crate::served::{Scene, post};
use crate::talk::{CALLS, check, count, hello, initialized, request};

const ACCEPTS: &str = "Accept: application/json, text/event-stream\r\n";

/// Greets the server and has all calls made at once; gives how many were answered.
fn talk(address: &str) -> Option<u64> {
    let (head, _) = post(
        address,
        "/mcp",
        ACCEPTS,
        &request(0, "initialize", &hello()),
    )?;
    let mut lines = head.lines();
    let session = lines.find_map(|line| line.strip_prefix("mcp-session-id: "))?;
    let headers = format!("{ACCEPTS}Mcp-Session-Id: {session}\r\n");
    post(address, "/mcp", &headers, &initialized())?;
    let answered = thread::scope(|scope| {
        let call =
            |id| post(address, "/mcp", &headers, &count(id)).filter(|(_, body)| is_answer(body));
        let calls: Vec<_> = (1..=CALLS)
            .map(|id| scope.spawn(move || call(id)))
            .collect();
        let answers = calls
            .into_iter()
            .filter_map(|it| it.join().expect("a client only asks"));
        answers.count()
    });
    u64::try_from(answered).ok()
}

/// Whether the last event of a stream is what the agent said.
fn is_answer(events: &str) -> bool {
    let mut lines = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let last = lines
        .next_back()
        .and_then(|it| serde_json::from_str::<Value>(it).ok());
    last.is_some_and(|it| it["result"]["content"][0]["text"] == ANSWER)
}

fn undisturbed() {
    let scene = Scene::new("30");
    let (child, address) = scene.begin();
    assert_eq!(talk(&address.expect("the server starts")), Some(CALLS));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be signalled");
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn a_server_over_http_that_is_sent_any_signal_leaves_runs_that_go_on() {
    each("serve --mcp", undisturbed, |signal, rng, after| {
        let stop_after: &&str = rng.one_of(&["0", "1", "30"]);
        let scene = Scene::new(stop_after);
        let (child, address) = scene.begin();
        let address = address.expect("the server starts");
        let pid = Pid::from_child(&child);
        let ended = thread::scope(|scope| {
            let talking = scope.spawn(|| talk(&address));
            if !matches!(signal, Signal::HUP | Signal::PIPE) {
                return Some(signalled(child, signal, after));
            }
            thread::sleep(after);
            kill_process(pid, signal).expect("it can be signalled");
            let answered = talking.join().expect("clients only ask");
            assert_eq!(answered, Some(CALLS), "{signal:?} changes nothing");
            kill_process(pid, Signal::KILL).expect("it can be signalled");
            finish(child);
            None
        });
        if let Some(ended) = ended {
            Scene::check_end(signal, &ended);
        }
        check(&scene.place);
    });
}
