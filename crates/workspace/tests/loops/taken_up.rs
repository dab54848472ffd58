//! Runs that are taken up by a process that did not begin them.

use bonded_host::CancellationToken;
use bonded_host::memory_file::{MemoryFile, MemoryFileState};
use bonded_kernel::{Memory, RunId};
use bonded_workspace::Performs as _;
use serde_json::json;

use crate::world::{IDLE, World, world};

const COUNTS: &str = "<ram_add><key>count</key><value>1</value></ram_add>\
    <state_add><state>idle</state></state_add>";

impl World {
    /// The file as a run left it in the middle, because its process died before it wrote the end.
    fn behind(&self, run: &str) {
        let before = json!({ "run_id": run, "user_request": "tidy up", "state": "planning" });
        let before = Memory::read(&before.to_string()).expect("an object");
        let written = MemoryFile::new(self.memory_path()).write(&before, run, None);
        assert_eq!(written.expect("it is written"), MemoryFileState::Unchanged);
    }

    async fn take_up(&self, run: &str) {
        let order = self.order(run);
        let taken = self.keeper().drive(order, CancellationToken::new()).await;
        taken.expect("it has ended");
    }
}

#[tokio::test]
async fn the_memory_of_a_run_that_ended_in_its_log_alone_is_written_when_it_is_taken_up() {
    let world = world().await;
    world.run("one", &[COUNTS]).await;
    world.behind("one");
    world.take_up("one").await;
    assert_eq!(world.memory(), json!({ "count": 1, "state": "idle" }));
}

#[tokio::test]
async fn a_run_that_ended_long_ago_leaves_the_memory_of_those_after_it_and_what_a_person_wrote() {
    let world = world().await;
    world.run("one", &[COUNTS]).await;
    world.run("two", &[IDLE]).await;
    world.behind("two");
    let two = world.memory();
    world.take_up("one").await;
    assert_eq!(world.memory(), two);
    std::fs::write(world.memory_path(), r#"{"by": "hand"}"#).expect("a person may write");
    world.take_up("two").await;
    assert_eq!(world.memory(), json!({ "by": "hand" }));
}

#[tokio::test]
async fn the_memory_of_the_first_run_is_written_where_no_file_ever_was() {
    let world = world().await;
    world.run("one", &[COUNTS]).await;
    for end in ["", ".kept"] {
        let mut path = world.memory_path().into_os_string();
        path.push(end);
        std::fs::remove_file(path).expect("it was written");
    }
    world.take_up("one").await;
    assert_eq!(world.memory(), json!({ "count": 1, "state": "idle" }));
}

#[tokio::test]
async fn a_file_whose_writer_nobody_knows_is_left_alone() {
    let world = world().await;
    world.run("one", &[COUNTS]).await;
    for writer in ["a run of another store", "gone"] {
        world.behind(writer);
        let before = world.memory();
        world.take_up("one").await;
        assert_eq!(world.memory(), before, "{writer}");
    }
}

#[tokio::test]
async fn a_run_that_is_given_up_leaves_its_memory_in_the_file() {
    let world = world().await;
    world.run("one", &[COUNTS]).await;
    world.behind("one");
    let run = RunId::new("one").expect("a name");
    let before = world.memory();
    world.keeper().abandon(&run, false).await;
    assert_eq!(world.memory(), before, "another run is driven with it");
    world.keeper().abandon(&run, true).await;
    assert_eq!(world.memory(), json!({ "count": 1, "state": "idle" }));
}

#[tokio::test]
async fn the_memory_of_a_run_that_never_wrote_the_file_is_written_over_that_of_the_run_before() {
    let world = world().await;
    world.run("one", &[IDLE]).await;
    let files = ["", ".kept"].map(|end| {
        let mut path = world.memory_path().into_os_string();
        path.push(end);
        let content = std::fs::read(&path).expect("it was written");
        (path, content)
    });
    world.run("two", &[COUNTS]).await;
    for (path, content) in files {
        std::fs::write(path, content).expect("it can be written");
    }
    world.take_up("one").await;
    assert_eq!(world.memory(), json!({ "state": "idle" }));
    world.take_up("two").await;
    assert_eq!(world.memory(), json!({ "count": 1, "state": "idle" }));
    world.take_up("one").await;
    assert_eq!(world.memory(), json!({ "count": 1, "state": "idle" }));
}
