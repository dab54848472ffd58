//! Servers that are told to stop.

use std::net::TcpStream;

use rustix::process::Signal;

use crate::http;
use crate::served::{Served, never, question, report};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn a_stop_lets_the_runs_under_way_end_and_lets_nobody_else_in() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 2_000.into();
    let served = Served::start(&[("agent", vec![slow])], &[]);
    let idle = http::connect(&served.address);
    let waiting = served.begin(CHAT, "", &question("agent"));
    served.place.wait_for(&["running"]);
    served.process.signal(Signal::TERM);
    let reply = http::receive(waiting);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(served.process.finish().code, Some(0));
    assert!(TcpStream::connect(&served.address).is_err());
    drop(idle);
}

#[test]
fn a_stop_lets_go_of_the_runs_that_take_too_long_and_their_clients_are_told() {
    let flags = ["--stop-after", "1"];
    let served = Served::start(&[("agent", vec![never()])], &flags);
    let waiting = served.begin(CHAT, "", &question("agent"));
    served.place.wait_for(&["running"]);
    served.process.signal(Signal::INT);
    let reply = http::receive(waiting);
    assert_eq!((reply.status, reply.code().as_str()), (503, "stopping"));
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    assert_eq!(served.process.finish().code, Some(0));
    assert_eq!(served.place.statuses(), ["interrupted"]);
}

#[test]
fn a_second_stop_ends_the_server_at_once_and_the_run_can_be_resumed() {
    let served = Served::start(&[("agent", vec![never()])], &[]);
    let _waiting = served.begin(CHAT, "", &question("agent"));
    served.place.wait_for(&["running"]);
    served.process.signal(Signal::TERM);
    served.process.wait_until_told("stopping after");
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.finish().code, Some(1));
    assert_eq!(served.place.statuses(), ["interrupted"]);
}

#[test]
fn the_end_of_a_session_stops_no_server_and_configuration_is_read_once() {
    let place = crate::place::Place::new();
    place.agent("agent", &vec![report("Because."); 3], "tools: builtin");
    let config = place.work().join(".ai-agent.json");
    std::fs::write(&config, r#"{ "defaults": { "maxTurns": 5 } }"#).expect("it can be written");
    let served = Served::start_in(place, &["agent"], &[]);
    let ask = |served: &Served| http::receive(served.begin(CHAT, "", &question("agent"))).status;
    assert_eq!(ask(&served), 200);
    served.process.signal(Signal::HUP);
    served.process.wait_until_told("SIGHUP");
    std::fs::write(&config, "no JSON at all").expect("it can be written");
    assert_eq!(ask(&served), 200);
    std::fs::remove_file(&config).expect("it can be removed");
    assert_eq!(ask(&served), 200);
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.finish().code, Some(0));
}
