//! `serve --mcp`: a session over HTTP whose server is sent a signal; the runs are gone on with from the command line.

use std::thread;

use bonded_testkit::http::Reply;
use rustix::process::Signal;

use crate::model::ANSWER;
use crate::moments::each;
use crate::served::{Scene, post};
use crate::talk::{CALLS, check, count, hello, initialized, request};

const ACCEPTS: &str = "Accept: application/json, text/event-stream";

/// Greets the server and has all calls made at once; gives how many were answered.
fn talk(address: &str) -> Option<u64> {
    let hello = request(0, "initialize", &hello());
    let greeted = post(address, "/mcp", ACCEPTS, &hello)?;
    let session = greeted.header("mcp-session-id")?;
    let headers = format!("{ACCEPTS}\r\nMcp-Session-Id: {session}");
    post(address, "/mcp", &headers, &initialized())?;
    let answered = thread::scope(|scope| {
        let call = |id| post(address, "/mcp", &headers, &count(id)).filter(is_answer);
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
fn is_answer(reply: &Reply) -> bool {
    let last = reply.events().pop();
    last.is_some_and(|it| it["result"]["content"][0]["text"] == ANSWER)
}

fn undisturbed() {
    let scene = Scene::new("30");
    let (server, address) = scene.begin();
    assert_eq!(talk(&address), Some(CALLS));
    assert_eq!(server.end(Signal::TERM).code, Some(0));
}

#[test]
fn a_server_over_http_that_is_sent_any_signal_leaves_runs_that_go_on() {
    each("serve --mcp", undisturbed, |signal, rng, after| {
        let stop_after: &&str = rng.one_of(&["0", "1", "30"]);
        let scene = Scene::new(stop_after);
        let (server, address) = scene.begin();
        let ended = thread::scope(|scope| {
            let talking = scope.spawn(|| talk(&address));
            thread::sleep(after);
            server.signal(signal);
            if !matches!(signal, Signal::HUP | Signal::PIPE) {
                return Some(server.finish());
            }
            let answered = talking.join().expect("clients only ask");
            assert_eq!(answered, Some(CALLS), "{signal:?} changes nothing");
            server.end(Signal::KILL);
            None
        });
        if let Some(ended) = ended {
            Scene::check_end(signal, &ended);
        }
        check(&scene.place);
    });
}
