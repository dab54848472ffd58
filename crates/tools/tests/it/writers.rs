//! Many writers of few files, in one process and in several: whatever was told to be ok is in the file.

use std::path::Path;
use std::process::{Command, Stdio};

use bonded_kernel::{Mask, Outcome};
use futures_util::future::join_all;
use serde_json::json;

use crate::world::World;

/// In the process of a test: which of the writers it is, and where.
const PART: &str = "WRITE_AS_PART";

const FILES: usize = 4;
const WRITERS: usize = 64;
const CALLS: usize = 160;

/// Where a sync costs nothing, if there is such a place: this is about order.
fn fast_place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::tempdir_in(memory);
    made.or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// The file that a writer has a line in, where it counts its edits.
fn file_of(writer: usize) -> String {
    format!("f{}", writer % FILES)
}

fn lay_out(dir: &Path) {
    for file in 0..FILES {
        let lines = (0..WRITERS).filter(|writer| writer % FILES == file);
        let text: String = lines.map(|writer| format!("<{writer}>0</>\n")).collect();
        std::fs::write(dir.join(format!("f{file}")), text).expect("it can be written");
    }
}

/// Appends and edits in turns; every call must be ok.
async fn work_as(world: &World, writer: usize) {
    let path = file_of(writer);
    for at in 0..CALLS / 2 {
        let line = format!("[{writer}:{at}]\n");
        let old = format!("<{writer}>{at}</>");
        let new = format!("<{writer}>{}</>", at + 1);
        for (tool, arguments) in [
            ("append", json!({ "path": path, "content": line })),
            ("edit", json!({ "path": path, "old": old, "new": new })),
        ] {
            let call = world.invocation(tool, &arguments);
            let output = world.registry.invoke(&call, &Mask::default()).await;
            assert_eq!(output.outcome, Outcome::Ok, "{}", output.text);
        }
    }
}

fn check(dir: &Path) {
    let texts: Vec<String> = (0..FILES)
        .map(|file| std::fs::read_to_string(dir.join(format!("f{file}"))).expect("it is there"))
        .collect();
    for writer in 0..WRITERS {
        let text = &texts[writer % FILES];
        let counted = format!("<{writer}>{}</>\n", CALLS / 2);
        assert_eq!(
            text.matches(&counted).count(),
            1,
            "edits of {writer} are lost"
        );
        for at in 0..CALLS / 2 {
            let line = format!("[{writer}:{at}]\n");
            assert_eq!(
                text.matches(&line).count(),
                1,
                "{line} is lost or twice there"
            );
        }
    }
    let entries = std::fs::read_dir(dir).expect("it is there").count();
    assert_eq!(entries, FILES, "something is left over");
}

#[tokio::test]
async fn ten_thousand_calls_of_64_writers_in_one_process_are_all_kept() {
    let place = fast_place();
    lay_out(place.path());
    let world = World::at(place.path());
    join_all((0..WRITERS).map(|writer| work_as(&world, writer))).await;
    check(place.path());
}

#[tokio::test]
async fn ten_thousand_calls_of_64_writers_in_8_processes_are_all_kept() {
    const PROCESSES: usize = 8;
    const NAME: &str = "writers::ten_thousand_calls_of_64_writers_in_8_processes_are_all_kept";
    if let Ok(part) = std::env::var(PART) {
        let (number, dir) = part.split_once(':').expect("a number and a place");
        let number: usize = number.parse().expect("a number");
        let world = World::at(Path::new(dir));
        let own = (0..WRITERS).filter(|writer| writer / (WRITERS / PROCESSES) == number);
        join_all(own.map(|writer| work_as(&world, writer))).await;
        return;
    }
    let place = fast_place();
    lay_out(place.path());
    let program = std::env::current_exe().expect("it is known");
    let children: Vec<_> = (0..PROCESSES)
        .map(|part| {
            Command::new(&program)
                .args(["--exact", NAME])
                .env(PART, format!("{part}:{}", place.path().display()))
                .stdout(Stdio::null())
                .spawn()
                .expect("it can be started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    check(place.path());
}

#[tokio::test]
async fn of_two_writers_from_one_snapshot_exactly_one_is_told_ok() {
    let world = World::new();
    for _ in 0..200 {
        world.put("f", "old");
        let read = world.ok("read", json!({ "path": "f" })).await;
        let write = |content: &str| json!({ "path": "f", "content": content, "expected_hash": read["hash"] });
        let (a, b) = tokio::join!(
            world.call("write", write("a")),
            world.call("write", write("b"))
        );
        let winner = match (a.outcome, b.outcome) {
            (Outcome::Ok, Outcome::Failed) => "a",
            (Outcome::Failed, Outcome::Ok) => "b",
            both => panic!("{both:?}"),
        };
        assert_eq!(world.get("f"), winner);
    }
}

#[tokio::test]
async fn whoever_appends_by_other_means_meanwhile_loses_nothing() {
    let world = World::new();
    world.put("f", "");
    let path = world.path("f");
    let stranger = std::thread::spawn(move || {
        use std::io::Write as _;
        for at in 0..500 {
            let file = std::fs::OpenOptions::new().append(true).open(&path);
            let line = format!("stranger {at}\n");
            let mut file = file.expect("it is there");
            file.write_all(line.as_bytes()).expect("it can be written");
        }
    });
    for at in 0..100 {
        world
            .ok(
                "append",
                json!({ "path": "f", "content": format!("ours {at}\n") }),
            )
            .await;
    }
    stranger.join().expect("it only appends");
    let text = world.get("f");
    assert_eq!(
        text.lines().filter(|line| line.starts_with("ours")).count(),
        100
    );
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("stranger"))
            .count(),
        500
    );
}
