//! Drivers that cannot reach their server.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done};
use bonded_testkit::process::Process;
use serde_json::json;

use crate::shop::Shop;

#[test]
fn a_driver_that_is_cut_off_stops_its_calls_before_its_lease_ends() {
    let Some(shop) = Shop::new(5000) else {
        return;
    };
    let beat = "while true; do date +%s%N >> beats; sleep 0.02; done";
    let lines = [call("run", json!({ "command": beat })), done("ok")];
    let script = shop.place.script(&lines);
    let words = ["run", "--id", "run", "--model", &script, "the goal"];
    let driver = Process::begin(&mut shop.place.command(&words));
    wait_until("the command beats", || shop.lines("beats").len() > 3);
    let (server, name) = (shop.database.server, &shop.database.name);
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
    );
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    server.sql("postgres", &format!("{cut} = '{name}'"));
    let ended = driver.finish();
    ended.fails_with(3, "lease-lost");
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"),
    );
    let over = "SELECT (extract(epoch FROM expires) * 1000000000)::bigint FROM bonded.worker";
    let over: u64 = shop.database.sql(over).parse().expect("it is a time");
    let beats = shop.lines("beats");
    let last: u64 = beats[beats.len() - 1].parse().expect("it is a time");
    assert!(
        last < over,
        "the call went on for {} ms after the lease",
        (last - over) / 1_000_000
    );
    shop.finish().succeeds();
    shop.place.passes_the_audit("run");
}

#[test]
fn a_driver_whose_connections_are_cut_goes_on_when_the_server_is_back() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let line = |n: usize| {
        call(
            "run",
            json!({ "command": format!("echo {n} >> ran; sleep 0.1") }),
        )
    };
    let lines: Vec<_> = (0..20).map(line).chain([done("ok")]).collect();
    let script = shop.place.script(&lines);
    let words = ["run", "--id", "run", "--model", &script, "the goal"];
    let driver = Process::begin(&mut shop.place.command(&words));
    let name = &shop.database.name;
    for beats in [2, 6, 10] {
        wait_until("it goes on", || shop.lines("ran").len() > beats);
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
        shop.database
            .server
            .sql("postgres", &format!("{cut} = '{name}'"));
    }
    driver.finish().succeeds();
    assert_eq!(shop.lines("ran").len(), 20);
    shop.place.passes_the_audit("run");
}
