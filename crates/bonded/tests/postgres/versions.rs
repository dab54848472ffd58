//! Programs of two versions on one store.

use bonded_testkit::place::{call, done};
use serde_json::json;

use crate::shop::Shop;

/// The first two bytes of an append are the version of its first entry.
fn set_format(shop: &Shop, format: u16) {
    let byte = format.to_le_bytes()[0];
    shop.database.sql(&format!(
        "ALTER TABLE bonded.step DISABLE TRIGGER append_only; \
         UPDATE bonded.step SET body = set_byte(body, 0, {byte}) \
             WHERE run = (SELECT run FROM bonded.run WHERE id = 'newer'); \
         ALTER TABLE bonded.step ENABLE TRIGGER append_only; \
         UPDATE bonded.drive SET ready = now() WHERE state = 0"
    ));
}

#[test]
fn a_run_of_a_newer_version_stays_queued_for_workers_that_can_read_it() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let echo = call("run", json!({ "command": "echo once >> ran" }));
    shop.queue("newer", &[echo.clone(), done("ok")], &[]);
    let own = "SELECT get_byte(body, 0) FROM bonded.step";
    let own: u16 = shop.database.sql(own).parse().expect("it is a number");
    set_format(&shop, own + 1);
    shop.queue("older", &[echo, done("ok")], &[]);
    shop.place.bonded(&["worker", "--once"]).succeeds();
    let state = "SELECT state || ' ' || coalesce(why, '') FROM bonded.drive JOIN bonded.run USING (run) WHERE id = 'newer'";
    let state = shop.database.sql(state);
    assert!(state.starts_with("0 "), "it is queued: {state}");
    let expected = format!("has format {}", own + 1);
    assert!(state.contains(&expected), "it says why: {state}");
    assert_eq!(shop.lines("ran"), ["once"], "the other one was driven");
    // A worker that can read it, as this one can when the log is of its own version again.
    set_format(&shop, own);
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.place.statuses(), ["succeeded", "succeeded"]);
    shop.place.passes_the_audit("newer");
}
