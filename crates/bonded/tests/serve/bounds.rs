//! What a server may have of the machine, and what it does when there is no more.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rustix::process::Resource;

use crate::http;
use crate::place::Place;
use crate::served::{Served, question, report};

const BODY_BYTES: usize = 9_500_000;

/// So many bodies are together less than a server holds, and one more is too much.
const BODIES: usize = 7;

fn served(limit: &str) -> Served {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    Served::start_under(place, &["agent"], &[], limit)
}

#[test]
fn the_soft_limit_of_descriptors_is_raised_and_a_hard_one_is_told() {
    let raised = served("ulimit -Sn 64");
    assert_eq!(raised.chat(&question("agent")).status, 200);
    let limits = raised.process.about("limits");
    let line = limits.lines().find(|it| it.starts_with("Max open files"));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words[3], words[4], "{limits}");
    assert_ne!(words[3], "64", "{limits}");

    let few = served("ulimit -n 100");
    few.process
        .wait_until_told("warning: this process may open only 100 descriptors");
    // More than there are places: whoever says nothing makes room.
    let _silent: Vec<TcpStream> = (0..150).map(|_| http::connect(&few.address)).collect();
    assert_eq!(few.chat(&question("agent")).status, 200);
}

/// How much of the processor a server has used, in ticks.
fn ticks(served: &Served) -> u64 {
    let stat = served.process.about("stat");
    // The name of the program, which is in brackets, may hold anything.
    let fields = stat
        .rsplit_once(") ")
        .map(|(_, fields)| fields)
        .unwrap_or_default();
    let fields: Vec<u64> = fields
        .split(' ')
        .map(|it| it.parse().unwrap_or(0))
        .collect();
    fields[11] + fields[12]
}

#[test]
fn a_server_without_descriptors_says_so_does_not_spin_and_answers_when_there_are_some() {
    let served = served(":");
    assert_eq!(served.chat(&question("agent")).status, 200);
    let before = served.process.limit(Resource::Nofile, Some(3));
    let waiting = served.begin("/v1/chat/completions", "", &question("agent"));
    served.process.wait_until_told("cannot accept a connection");
    let begun = ticks(&served);
    thread::sleep(Duration::from_secs(1));
    let used = ticks(&served) - begun;
    assert!(used < 50, "{used} ticks in a second");
    served
        .process
        .limit(Resource::Nofile, Some(before.current.unwrap_or(1024)));
    assert_eq!(http::receive(waiting).status, 200);
}

fn threads(served: &Served) -> usize {
    let status = served.process.about("status");
    let count = status.lines().find_map(|it| it.strip_prefix("Threads:"));
    let count = count.and_then(|it| it.trim().parse().ok());
    count.expect("a process has threads")
}

#[test]
fn threads_do_not_become_more_by_those_who_ask_at_the_same_time() {
    let served = served(":");
    for round in 0..10 {
        let ask = |client: u32| {
            // A key is looked up in the log.
            let key = format!("\r\nIdempotency-Key: {client}-{round}");
            served.begin("/v1/chat/completions", &key, &question("agent"))
        };
        let asked: Vec<TcpStream> = (0..16).map(ask).collect();
        for one in asked {
            assert_eq!(http::receive(one).status, 200);
        }
    }
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let readers = (2 * processors).clamp(4, 8);
    // A reader gives its turn back before its thread can take the next. The first thread, the store's and the one that
    // writes what is told are the others.
    let most = processors + 2 * readers + 3;
    let threads = threads(&served);
    assert!(threads <= most, "{threads} threads, and {most} have work");
}

/// Sends all of a body but its end.
fn almost(served: &Served, body: &[u8]) -> TcpStream {
    let headers = "\r\nContent-Type: application/json";
    let head = served.head("POST /v1/chat/completions", headers);
    http::send_almost(&served.address, &head, body)
}

#[test]
fn bodies_that_are_too_large_together_are_refused_and_leave_room_when_they_are_gone() {
    let served = served(":");
    let body = vec![b' '; BODY_BYTES];
    let held: Vec<TcpStream> = (0..BODIES).map(|_| almost(&served, &body)).collect();
    let refused = http::receive(almost(&served, &body));
    assert_eq!((refused.status, refused.code().as_str()), (503, "no_room"));
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    drop(held);
    let mut status = 0;
    for _ in 0..100 {
        status = served.chat(&question("agent")).status;
        if status == 200 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status, 200);
}
