//! A process is cut off from the server in the middle of a step of every kind, by a network that loses what it sends, what
//! it is answered, or both: whoever ends the run ends it as if nothing had happened.

use std::thread;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, of_kind};
use bonded_testkit::postgres::PASSWORD;
use bonded_testkit::process::Process;
use bonded_testkit::proxy::{Proxy, Way};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE_MS: u64 = 2_000;

/// When the network is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heals {
    /// While the lease lasts.
    Soon,
    /// When another worker has ended the run.
    Late,
}

fn lines() -> [Value; 4] {
    let echo = |word: &str| call("run", json!({ "command": format!("echo {word} >> ran") }));
    let read = call("read", json!({ "path": "note" }));
    [echo("first"), read, echo("second"), done("the answer")]
}

/// The shop, a way to its server, and the address on that way.
fn cut_shop() -> Option<(Shop, Proxy, String)> {
    let shop = Shop::new(LEASE_MS)?;
    shop.place.write("work/note", "a note");
    let proxy = Proxy::start(shop.database.server.port());
    let (port, name) = (proxy.port, &shop.database.name);
    let address =
        format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}?bonded_lease_ms={LEASE_MS}");
    Some((shop, proxy, address))
}

fn worker_at(shop: &Shop, address: &str) -> Process {
    let mut command = shop.place.command(&["worker"]);
    let worker = Process::begin(command.env("BONDED_STORE", address));
    worker.wait_until_told("worker of");
    worker
}

/// As undisturbed; of calls whose outcome is unknown none was made again.
fn check(shop: &Shop, case: &str) {
    let mut ran = shop.lines("ran");
    let made = ran.len();
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), made, "{case}: a call was made twice");
    let entries = shop.place.entries("r");
    let finished = of_kind(&entries, "tool_finished");
    let calls: Vec<_> = finished.iter().filter(|it| it["tool"] == "run").collect();
    assert_eq!(calls.len(), 2, "{case}: {finished:?}");
    for (call, word) in calls.iter().zip(["first", "second"]) {
        let was_made = ran.iter().any(|line| line == word);
        assert!(
            was_made || call["outcome"] != "ok",
            "{case}: {word} was never made"
        );
    }
    let ended = of_kind(&entries, "run_ended");
    assert_eq!(ended.len(), 1, "{case}");
    assert!(ended[0].to_string().contains("the answer"), "{case}");
    shop.place.passes_the_audit("r");
}

/// The worker that drives is cut off when it says this.
fn cut_off_at(kind: &str, flags: &[&str], way: Way, heals: Heals) {
    let Some((shop, proxy, address)) = cut_shop() else {
        return;
    };
    let case = format!("{kind}, {way:?}, {heals:?}");
    shop.queue("r", &lines(), flags);
    proxy.hold_at(&format!("{{\"{kind}\""), way);
    let cut = worker_at(&shop, &address);
    proxy.wait_until_held();
    let other = shop.worker(&[]);
    if heals == Heals::Soon {
        proxy.heal();
    }
    let asks = !flags.is_empty();
    for _ in 0..2 * usize::from(asks) {
        wait_until(&format!("{case}: it waits for a person"), || {
            shop.place.statuses() == ["awaiting_review"]
        });
        shop.place.approve("r", &[]).succeeds();
    }
    wait_until(&format!("{case}: it has ended"), || shop.open() == 0);
    let log = shop.place.log("r");
    proxy.heal();
    // Whatever it still has to say, it says.
    cut.end(Signal::TERM).succeeds();
    other.end(Signal::TERM).succeeds();
    assert_eq!(
        shop.place.log("r"),
        log,
        "{case}: it wrote to what had ended"
    );
    check(&shop, &case);
}

/// Every way at once, each with a store of its own.
fn cut_off_every_way(kind: &str, flags: &[&str]) {
    thread::scope(|scope| {
        for way in Way::ALL {
            for heals in [Heals::Soon, Heals::Late] {
                scope.spawn(move || cut_off_at(kind, flags, way, heals));
            }
        }
    });
}

macro_rules! tests {
    ($($name:ident: $kind:literal $flags:expr;)*) => {
        $(
            #[test]
            fn $name() {
                cut_off_every_way($kind, &$flags);
            }
        )*
    };
}

tests! {
    a_worker_that_is_cut_off_while_it_takes_a_run_up: "run_resumed" [];
    a_worker_that_is_cut_off_while_it_asks_a_model: "attempt_started" [];
    a_worker_that_is_cut_off_while_it_says_what_it_will_call: "tool_invoked" [];
    a_worker_that_is_cut_off_while_it_keeps_what_a_call_gave: "tool_finished" [];
    a_worker_that_is_cut_off_while_it_asks_a_person: "review_asked" ["--ask", "run"];
    a_worker_that_is_cut_off_while_it_ends_a_run: "run_ended" [];
}

#[test]
fn who_is_cut_off_while_a_run_is_queued_queues_it_once() {
    thread::scope(|scope| {
        for way in Way::ALL {
            scope.spawn(move || {
                let Some((shop, proxy, address)) = cut_shop() else {
                    return;
                };
                let script = shop.place.script(&lines());
                proxy.hold_at("{\"run_started\"", way);
                let words = ["run", "--detach", "--id", "r", "--model", &script, "go"];
                let mut command = shop.place.command(&words);
                let queuing = Process::begin(command.env("BONDED_STORE", &address));
                proxy.wait_until_held();
                let worker = shop.worker(&[]);
                // Where only the answer is lost, the run is driven before that is known.
                if way == Way::Answers {
                    wait_until("it has ended", || shop.lines("ran").len() == 2);
                }
                proxy.heal();
                queuing.finish().succeeds();
                wait_until("it has ended", || shop.open() == 0);
                worker.end(Signal::TERM).succeeds();
                assert_eq!(shop.lines("ran"), ["first", "second"]);
                check(&shop, &format!("run_started, {way:?}"));
            });
        }
    });
}

#[test]
fn a_driver_that_is_cut_off_while_it_begins_a_run_leaves_a_run_that_another_ends() {
    thread::scope(|scope| {
        for way in Way::ALL {
            scope.spawn(move || {
                let Some((shop, proxy, address)) = cut_shop() else {
                    return;
                };
                let script = shop.place.script(&lines());
                proxy.hold_at("{\"run_started\"", way);
                let words = ["run", "--id", "r", "--model", &script, "go"];
                let mut command = shop.place.command(&words);
                let driver = Process::begin(command.env("BONDED_STORE", &address));
                proxy.wait_until_held();
                // Its lease ends meanwhile, by either clock.
                let dead = "SELECT count(*) FROM bonded.worker WHERE expires > clock_timestamp()";
                wait_until("its lease has ended", || shop.database.sql(dead) == "0");
                proxy.heal();
                let ended = driver.finish();
                match ended.code {
                    Some(0) => {}
                    _ => {
                        assert!(
                            ["lease-lost", "taken-over"].contains(&ended.error()),
                            "{way:?}: {ended:?}"
                        );
                        shop.place.bonded(&["resume", "r"]).succeeds();
                    }
                }
                check(&shop, &format!("run_started, {way:?}"));
            });
        }
    });
}
