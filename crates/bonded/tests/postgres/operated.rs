//! Workers under the eyes of those who operate them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use bonded_testkit::http::{self, Reply};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done, parse};
use bonded_testkit::postgres::PASSWORD;
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::json;

use crate::shop::Shop;

/// What a proxy does with connections.
const OPEN: u8 = 0;
/// They are closed, and new ones too.
const CUT: u8 = 1;
/// They stay, and nothing goes through.
const SILENT: u8 = 2;

/// Stands between a worker and its server.
#[derive(Default)]
struct Proxy(AtomicU8);

impl Proxy {
    /// Gives the port that it listens on.
    fn start(self: &Arc<Self>, server: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let proxy = Arc::clone(self);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if proxy.is(CUT) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    return;
                };
                proxy.carry(&client, &server);
                proxy.carry(&server, &client);
            }
        });
        port
    }

    fn is(&self, state: u8) -> bool {
        self.0.load(Ordering::SeqCst) == state
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::SeqCst);
    }

    /// Pieces that come while it is silent are delivered when it is open again, or never.
    fn carry(self: &Arc<Self>, from: &TcpStream, to: &TcpStream) {
        let clone = |stream: &TcpStream| stream.try_clone().expect("it can be cloned");
        let (mut from, mut to, proxy) = (clone(from), clone(to), Arc::clone(self));
        thread::spawn(move || {
            let mut piece = [0; 64 * 1024];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                while proxy.is(SILENT) {
                    thread::yield_now();
                }
                if proxy.is(CUT) || to.write_all(&piece[..length]).is_err() {
                    break;
                }
            }
            let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

fn get(address: &str, path: &str) -> Reply {
    let asked = http::ask(address, &format!("GET {path}"), "", None);
    asked.expect("the worker answers")
}

fn figure(address: &str, name: &str) -> String {
    let figures = get(address, "/metrics").body;
    let line = figures.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_default().trim().to_owned()
}

fn worker(place: &Place, flags: &[&str]) -> (Process, String) {
    let words = [&["worker", "--listen", "127.0.0.1:0"], flags].concat();
    let (worker, address) = Process::serve(&mut place.command(&words));
    worker.line_with("worker of");
    (worker, address)
}

#[test]
fn a_worker_whose_server_is_cut_off_or_silent_is_not_ready_until_it_is_back() {
    let Some(shop) = Shop::new(60_000) else {
        return;
    };
    let proxy = Arc::new(Proxy::default());
    let port = proxy.start(shop.database.server.port());
    let name = &shop.database.name;
    let address =
        format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}?bonded_lease_ms=60000");
    let place = Place::with_store(&address);
    let (worker, address) = worker(&place, &["--log-format", "json"]);
    assert_eq!(get(&address, "/readyz").status, 200);
    for state in [CUT, SILENT] {
        proxy.set(state);
        wait_until("it is not ready", || get(&address, "/readyz").status == 503);
        assert_eq!(get(&address, "/readyz").json()["status"], "not_ready");
        assert_eq!(get(&address, "/healthz").status, 200, "it lives");
        assert_eq!(figure(&address, "bonded_ready "), "0");
        proxy.set(OPEN);
        wait_until("it is ready again", || {
            get(&address, "/readyz").status == 200
        });
    }
    shop.queue("r", &[done("ok")], &[]);
    worker.line_with("run r: succeeded");
    assert_eq!(
        figure(&address, "bonded_runs_taken_up_total{how=\"resumed\"} "),
        "1"
    );
    worker.end(Signal::TERM).succeeds();
    let told = worker.told();
    assert!(
        told.iter().any(|line| parse(line)["run"] == "r"),
        "{told:?}"
    );
    assert!(!told.concat().contains(PASSWORD));
}

#[test]
fn a_worker_that_drains_says_so_and_its_queues_are_measured() {
    let Some(shop) = Shop::new(60_000) else {
        return;
    };
    let command = "echo begun >> ran; while [ ! -e go ]; do sleep 0.05; done";
    let lines = [call("run", json!({ "command": command })), done("ok")];
    shop.queue("r", &lines, &[]);
    shop.queue("later", &[done("ok")], &[]);
    let (worker, address) = worker(&shop.place, &["--concurrent", "1"]);
    wait_until("the call is under way", || shop.lines("ran") == ["begun"]);
    assert_eq!(get(&address, "/readyz").status, 200);
    let queue = |state: &str| {
        let name = format!("bonded_queue_runs{{queue=\"default\",state=\"{state}\"}} ");
        figure(&address, &name)
    };
    assert_eq!((queue("queued"), queue("driven")), ("1".into(), "1".into()));
    let oldest = || figure(&address, "bonded_queue_oldest_seconds{queue=\"default\"} ");
    let first: f64 = oldest().parse().expect("it is a number");
    wait_until("it grows older", || {
        oldest().parse().is_ok_and(|it: f64| it > first)
    });
    assert_eq!(figure(&address, "bonded_runs_driven "), "1");
    worker.signal(Signal::TERM);
    worker.wait_until_told("stopping");
    wait_until("it is not ready", || get(&address, "/readyz").status == 503);
    assert_eq!(
        get(&address, "/readyz").json()["reason"],
        "the process is stopping"
    );
    assert_eq!(get(&address, "/healthz").status, 200);
    shop.place.write("work/go", "");
    worker.finish().succeeds();
}

#[test]
fn a_lease_that_is_lost_is_counted() {
    let Some(shop) = Shop::new(2_000) else {
        return;
    };
    let lines = [
        call("run", json!({ "command": "echo begun >> ran; sleep 600" })),
        done("ok"),
    ];
    shop.queue("r", &lines, &[]);
    let (_worker, address) = worker(&shop.place, &[]);
    wait_until("the call is under way", || shop.lines("ran") == ["begun"]);
    assert_eq!(figure(&address, "bonded_leases_lost_total "), "0");
    shop.database
        .sql("UPDATE bonded.worker SET dead = true RETURNING id");
    wait_until("it is counted", || {
        figure(&address, "bonded_leases_lost_total ") == "1"
    });
    wait_until("it is driven no more", || {
        figure(&address, "bonded_runs_driven ") == "0"
    });
}

#[test]
fn a_worker_that_other_machines_can_reach_needs_a_token_for_its_figures() {
    let place = Place::with_store("postgres://app@127.0.0.1:9/none");
    let refused = place.bonded(&["worker", "--listen", "0.0.0.0:0"]);
    refused.fails_with(4, "usage");
    assert!(
        refused.stderr.contains("--metrics-token-file"),
        "{}",
        refused.stderr
    );
}
