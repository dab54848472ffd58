//! Snapshots: a run as one file outside the store.

use std::fs::File;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::reply::{echo, report};
use crate::world::World;

#[test]
fn a_snapshot_holds_the_whole_result() {
    let world = World::with_tools().says([echo("hello"), report("done")]);
    let outcome = world.run(&["--sessions-dir", "kept/here"], "do it").good();
    let name = format!("kept/here/{}.json.gz", outcome.run_id());
    let file = File::open(world.path(&name)).expect("the snapshot was written");
    let snapshot: Value =
        serde_json::from_reader(GzDecoder::new(file)).expect("a snapshot is JSON");
    assert_eq!(snapshot["version"], 1);
    assert_eq!(snapshot["reason"], "final");
    assert_eq!(snapshot["result"], outcome.result);
    let left: Vec<_> = std::fs::read_dir(world.path("kept/here"))
        .expect("the directory is there")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_snapshot_that_cannot_be_written_is_a_warning_and_the_run_is_not_harmed() {
    let world = World::new()
        .file("taken", "a file is in the way")
        .says([report("done")]);
    let outcome = world.run(&["--sessions-dir", "taken/here"], "do it").good();
    let said = "warning: cannot write the snapshot";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert_eq!(outcome.report()["content"], "done");
}
