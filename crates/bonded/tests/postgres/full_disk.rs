//! A server that takes no more, while workers drive.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done};
use rustix::process::Signal;
use serde_json::json;

use crate::shop::Shop;

/// What a server says then, from the places where it would say it: logs and their heads cannot grow.
const FULL: &str = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; \
     CREATE TRIGGER full_disk BEFORE INSERT ON bonded.step EXECUTE FUNCTION full_disk(); \
     CREATE TRIGGER full_disk BEFORE UPDATE ON bonded.drive EXECUTE FUNCTION full_disk()";

const ROOM: &str = "DROP TRIGGER full_disk ON bonded.step; DROP TRIGGER full_disk ON bonded.drive";

#[test]
fn a_worker_whose_server_is_full_says_so_and_ends_its_runs_when_there_is_room() {
    let Some(shop) = Shop::new(60_000) else {
        return;
    };
    let command = "echo begun >> ran; while [ ! -e go ]; do sleep 0.05; done";
    let second = call("run", json!({ "command": "echo second >> ran" }));
    let lines = [
        call("run", json!({ "command": command })),
        second,
        done("ok"),
    ];
    shop.queue("r", &lines, &[]);
    let worker = shop.worker(&[]);
    wait_until("the call is under way", || shop.lines("ran") == ["begun"]);
    shop.database.sql(FULL);
    shop.place.write("work/go", "");
    worker.line_with("run r: store-full");
    shop.database.sql(ROOM);
    let queued = "UPDATE bonded.drive SET ready = now() WHERE state = 0";
    wait_until("it has ended", || {
        // It is not tried again for a while, where that could be written down.
        shop.database.sql(queued);
        shop.open() == 0
    });
    assert_eq!(shop.lines("ran"), ["begun", "second"]);
    assert_eq!(shop.place.statuses(), ["succeeded"]);
    worker.end(Signal::TERM).succeeds();
    shop.place.passes_the_audit("r");
}
