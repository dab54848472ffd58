//! Processes that want the same at the same moment.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{FOREVER_MS, call, done, finish, start, with};
use serde_json::json;

use crate::shop::Shop;

#[test]
fn of_many_processes_that_begin_one_run_one_drives_it() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let line = |n: usize| {
        call(
            "run",
            json!({ "command": format!("echo {n} >> ran; sleep 0.2") }),
        )
    };
    let lines: Vec<_> = (0..5).map(line).chain([done("ok")]).collect();
    let script = shop.place.script(&lines);
    let words = ["run", "--id", "run", "--model", &script, "the goal"];
    let all: Vec<_> = (0..6)
        .map(|_| start(&mut shop.place.command(&words)))
        .collect();
    let all: Vec<_> = all.into_iter().map(finish).collect();
    for ended in &all {
        let is_refused = ["run-held", "taken-over", "id-taken"].contains(&ended.error());
        assert!(ended.code == Some(0) || is_refused, "{ended:?}");
    }
    assert!(all.iter().any(|ended| ended.code == Some(0)), "{all:?}");
    assert_eq!(shop.lines("ran"), ["0", "1", "2", "3", "4"]);
    shop.place.passes_the_audit("run");
}

#[test]
fn a_run_is_cancelled_from_elsewhere_and_its_driver_stops() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let never = with(done("never"), "delay_ms", FOREVER_MS);
    let driver = shop.place.start_until(&[never], 1, "attempt_started");
    wait_until("it is listed as driven", || {
        shop.place.status("run").as_deref() == Some("running")
    });
    shop.place.bonded(&["cancel", "run"]).succeeds();
    let ended = finish(driver);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.says("cancelled by the user");
    assert_eq!(
        shop.database
            .sql("SELECT count(*) FROM bonded.drive WHERE worker IS NOT NULL"),
        "0"
    );
    shop.place.passes_the_audit("run");
}
