//! The primary is lost under load, and its standby takes its place.

use bonded_testkit::patience::wait_until;
use bonded_testkit::postgres::{Database, PostgresServer};
use rustix::process::Signal;

use crate::fleet::{check_all, lines, wait_while_runs_end};
use crate::shop::Shop;

const RUNS: usize = 12;
const WORKERS: usize = 3;

#[test]
fn workers_go_on_at_the_standby_and_repeat_nothing_when_the_primary_is_lost() {
    let Some(primary) = PostgresServer::start(&[]) else {
        return;
    };
    let primary: &'static PostgresServer = Box::leak(Box::new(primary));
    let standby: &'static PostgresServer = Box::leak(Box::new(primary.synchronous_standby()));
    let database = primary.database();
    let name = database.name.clone();
    let address = database.address_on_either(standby, "app");
    let mut shop = Shop::at(database, &format!("{address}?bonded_lease_ms=10000"));
    shop.place.write("work/note", "a note");
    let ids: Vec<String> = (0..RUNS).map(|n| format!("r{n}")).collect();
    for id in &ids {
        shop.queue(id, &lines(id), &["--no-progress", "0"]);
    }
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| shop.worker(&["--concurrent", "3"]))
        .collect();
    wait_until("they are in the middle", || shop.lines("ran").len() >= RUNS);
    primary.kill_with_all();
    standby.promote();
    shop.database = Database {
        server: standby,
        name,
    };
    wait_while_runs_end(&shop);
    for worker in &workers {
        assert!(worker.ended().is_none(), "it goes on: {:?}", worker.told());
    }
    check_all(&shop, &ids);
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
}
