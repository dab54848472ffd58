//! Trees that cannot be worked on, and disks that do not hold what comes.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use bonded_testkit::disturbance::EndsDisturbance;

use crate::place::{Done, finish, start};
use crate::world::{World, expect_status, item, runs, script, writes};

#[track_caller]
fn refused(world: &World, code: i32, error: &str, why: &str) {
    world.agent(1, &[writes("new.txt", "x")]);
    let before = world.state();
    let refused = world.work(&item("one", 1), &[]);
    refused.fails_with(code, error);
    refused.says(why);
    before.expect_same(&world.state(), why);
    assert!(!world.kept("plans").exists(), "no plan was begun");
}

#[test]
fn a_bare_repository_is_refused() {
    let world = World::plain();
    world.git(&["init", "--quiet", "--bare", "."]);
    refused(&world, 4, "tree", "is a bare repository");
}

/// A repository with two branches that changed the same line.
fn diverged() -> World {
    let world = World::repository();
    world.git(&["switch", "--quiet", "--create", "other"]);
    world.write("kept.txt", "other\n");
    world.git(&["commit", "--quiet", "--all", "--message", "other"]);
    world.git(&["switch", "--quiet", "main"]);
    world.write("kept.txt", "main\n");
    world.git(&["commit", "--quiet", "--all", "--message", "main"]);
    world
}

#[test]
fn a_repository_in_the_middle_of_something_is_refused_with_the_way_out() {
    let table: [(&[&str], &str); 4] = [
        (&["merge", "other"], "merge"),
        (&["rebase", "other"], "rebase"),
        (&["cherry-pick", "other"], "cherry-pick"),
        (&["bisect", "start"], "bisect"),
    ];
    for (command, what) in table {
        let world = diverged();
        let _ = world.try_git(command);
        refused(&world, 4, "tree", &format!("is in the middle of a {what}"));
    }
}

#[test]
fn a_store_inside_the_tree_and_a_tree_that_is_not_there_are_refused() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let mut inside = world.work_command(&item("one", 1), &[]);
    let refused = finish(start(inside.env("BONDED_STORE", world.path("store.db"))));
    refused.fails_with(4, "tree");
    refused.says("move the store");
    world
        .work(&item("one", 1), &["--repo", "nowhere"])
        .fails_with(4, "workdir");
    world
        .work(&item("one", 1), &["--repo", "kept.txt"])
        .fails_with(4, "workdir");
}

#[test]
fn a_tree_that_is_written_all_the_time_is_frozen_whole_or_refused() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let stop = AtomicBool::new(false);
    let busy = world.path("busy.txt");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut text = String::new();
            while !stop.load(Ordering::Relaxed) {
                text.push_str("more and more\n");
                std::fs::write(&busy, &text).expect("it can be written");
            }
        });
        let writing = EndsDisturbance(&stop);
        let ended = world.work(&item("one", 1), &["--json"]);
        drop(writing);
        match ended.code {
            Some(0) => assert_eq!(world.read("new.txt").as_deref(), Some("x")),
            _ => {
                ended.fails_with(3, "tree-busy");
                assert_eq!(world.read("new.txt"), None);
            }
        }
    });
    assert_eq!(world.read("kept.txt").as_deref(), Some("kept\n"));
}

/// Runs shell commands with mounts of their own. `None`, and a word about it, where the machine does not allow that.
fn with_own_mounts(world: &World, commands: &str) -> Option<Done> {
    let own = |commands: &str| {
        let mut shell = Command::new("unshare");
        shell
            .args(["--map-root-user", "--mount", "sh", "-c", commands])
            .current_dir(world.place.path("."))
            .env("BONDED", env!("CARGO_BIN_EXE_bonded"))
            .env("BONDED_STORE", world.place.path("store.db"))
            .env("HOME", world.place.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell
    };
    let is_allowed = own("true").status().is_ok_and(|status| status.success());
    if !is_allowed {
        #[expect(clippy::print_stderr, reason = "who runs the tests should know")]
        {
            eprintln!("not run: this machine lets nobody but root mount a file system");
        }
        return None;
    }
    Some(finish(start(&mut own(commands))))
}

/// Writes the plan of one item and the script that works on it, and gives the flag that names the script.
fn prepare(world: &World, command: &str) -> String {
    let plan = world.place.path("plan.json");
    std::fs::write(plan, item("one", 1).to_string()).expect("the plan can be written");
    script(world, &[runs(command)])
}

#[test]
fn an_item_on_a_tree_that_is_read_only_fails_and_says_so() {
    let world = World::plain();
    let model = prepare(&world, "echo x > new.txt");
    let before = world.state();
    let commands = format!(
        "mount --bind work work && mount -o remount,bind,ro work && \
         exec \"$BONDED\" work plan.json --repo work --json --model {model}"
    );
    let Some(ended) = with_own_mounts(&world, &commands) else {
        return;
    };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    expect_status(&ended.json(), "failure", "Read-only file system");
    before.expect_same(&world.state(), "read-only");
}

#[test]
fn a_disk_that_is_too_small_for_what_is_published_leaves_the_tree_as_it_was() {
    let world = World::plain();
    let model = prepare(&world, "head -c 2000000 /dev/zero > large.bin");
    let commands = format!(
        "mkdir small && mount -t tmpfs -o size=1m tmpfs small && echo x > small/kept.txt && \
         \"$BONDED\" work plan.json --repo small --json --model {model}; echo $? >&2; ls -A small >&2; \
         cat small/kept.txt >&2; mount -o remount,size=8m small; \
         \"$BONDED\" work --resume --repo small --json; ls -A small >&2"
    );
    let Some(ended) = with_own_mounts(&world, &commands) else {
        return;
    };
    ended.says("No space left on device");
    ended.says("\n3\nkept.txt\nx\n");
    assert_eq!(ended.json()["status"], "success", "{ended:?}");
    assert!(ended.stderr.ends_with("kept.txt\nlarge.bin\n"), "{ended:?}");
}

#[test]
fn a_disk_that_is_too_small_for_what_is_kept_leaves_the_tree_as_it_was() {
    let world = World::plain();
    world.write("large.bin", vec![7; 600_000]);
    let model = prepare(&world, "echo x > new.txt");
    let before = world.state();
    for kilobytes in [100, 300, 700] {
        let commands = format!(
            "mkdir -p small && mount -t tmpfs -o size={kilobytes}k tmpfs small && \
             exec \"$BONDED\" --store small/store.db work plan.json --repo work --json --model {model}"
        );
        let Some(ended) = with_own_mounts(&world, &commands) else {
            return;
        };
        assert_eq!(ended.code, Some(3), "{kilobytes}: {ended:?}");
        assert!(
            ["tree-failed", "store-full"].contains(&ended.error()),
            "{ended:?}"
        );
        ended.says("No space left on device");
        before.expect_same(&world.state(), "a full disk");
    }
}

#[test]
fn an_empty_tree_can_be_worked_on_whatever_comes_of_it() {
    let world = World::plain();
    std::fs::remove_file(world.path("kept.txt")).expect("it was there");
    world.agent(1, &[writes("new.txt", "x")]);
    let failing = serde_json::json!({ "test_command": "false" });
    let result = world.result(&crate::world::with_fields(item("one", 1), failing));
    expect_status(&result, "failure", "Tests failed");
    assert_eq!(world.result(&item("two", 1))["status"], "success");
}
