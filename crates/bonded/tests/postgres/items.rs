//! Plans whose items are worked on by workers that have nothing of the tree.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Done, finish, start};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::yard::{self, Agents, Yard, essences, item, locally, runs, state_of, writes};

const LEASE_MS: u64 = 10_000;

/// A file in three pieces, an empty one, a program, a link, an empty directory, names that are no UTF-8.
fn make_tree(root: &Path) {
    let write = |name: &str, content: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("it lies somewhere")).expect("it is made");
        std::fs::write(path, content).expect("it is written");
    };
    write("kept.txt", b"kept\n");
    write("old.txt", b"old\n");
    write("empty", b"");
    let big: Vec<u8> = (0..2_500_000u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    write("big.bin", &big);
    write("dir/deep/file", b"deep\n");
    write("tool.sh", b"#!/bin/sh\necho tool\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.join("tool.sh"), mode).expect("it is ours");
    symlink("kept.txt", root.join("link")).expect("a link is made");
    std::fs::create_dir(root.join("hollow")).expect("a directory is made");
    use std::os::unix::ffi::OsStrExt as _;
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
    std::fs::write(root.join(odd), b"odd\n").expect("it is written");
}

/// Everything that changes can be made of, in three levels.
fn good_plan() -> (Agents, Value) {
    let agents = vec![
        vec![
            writes("made.txt", "made\n"),
            runs("ln -s made.txt made-link && printf '#!/bin/sh\\n' > run.sh && chmod 755 run.sh"),
        ],
        vec![runs("rm old.txt && rm -r dir && mkdir -p new/empty")],
        vec![
            runs("cat made.txt kept.txt > both.txt && test -x run.sh && test ! -e old.txt"),
            runs("cat big.bin big.bin > bigger.bin && ./tool.sh > said"),
        ],
        vec![
            writes("last.txt", "last\n"),
            runs("mv kept.txt moved.txt; rm link"),
        ],
    ];
    let plan = json!([
        item("first", 0, json!({})),
        item(
            "second",
            1,
            json!({ "test_command": "test ! -e dir && cat made.txt; test -d new/empty" })
        ),
        item(
            "third",
            2,
            json!({
                "dependencies": ["first", "second"],
                "test_command": "test \"$(cat said)\" = tool && test $(wc -c < bigger.bin) = 5000000",
                "output_files": ["both.txt", "bigger.bin", "said"],
            })
        ),
        item(
            "fourth",
            3,
            json!({ "dependencies": ["third"], "input_files": ["both.txt"] })
        ),
    ]);
    (agents, plan)
}

fn end_all(workers: impl IntoIterator<Item = Process>) {
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
}

/// What succeeded is replayed where the tree is, of what is kept there.
fn check_replays(yard: &Yard, done: &Done) {
    for result in done.json().as_array().expect("several") {
        let Some(script) = result["proof_script"].as_str() else {
            continue;
        };
        let command = &mut yard.shop.place.command_of("sh".as_ref(), &[script]);
        finish(start(command)).succeeds();
    }
}

/// The plan comes to the same on workers as in one process.
fn check_same(agents: &Agents, plan: &Value, workers: usize) {
    let Some(yard) = Yard::new(LEASE_MS, agents) else {
        return;
    };
    make_tree(&yard.tree());
    let workers: Vec<_> = (0..workers)
        .map(|_| yard.worker(&["--concurrent", "1"]))
        .collect();
    let done = yard.work(plan, &[]);
    let found = essences(&done);
    let (expected, tree, _place) = locally(&make_tree, agents, plan);
    yard::check_same(&found, &expected);
    assert_eq!(state_of(&yard.tree()), state_of(&tree));
    assert_eq!(yard.count("bonded.object"), 0, "they go with the plan");
    check_replays(&yard, &done);
    for worker in workers {
        let copies = worker.place.path(".local/share/bonded/servers");
        worker.process.end(Signal::TERM).succeeds();
        let left = std::process::Command::new("find")
            .arg(copies)
            .args(["-name", "merged"])
            .output();
        assert_eq!(left.expect("it is found").stdout, b"", "no copy is left");
    }
}

#[test]
fn a_plan_comes_to_the_same_on_workers_that_cannot_see_its_tree() {
    let (agents, plan) = good_plan();
    check_same(&agents, &plan, 3);
}

#[test]
fn what_is_not_admitted_is_denied_where_the_tree_is_in_the_same_words() {
    let agents = vec![
        vec![writes("a", "a"), writes("b", "b"), writes("c", "c")],
        vec![writes("elsewhere.txt", "no")],
        vec![runs("printf x > \"$(printf 'bad-\\377')\"")],
        vec![runs("mkdir .git && echo x > .git/config")],
        vec![runs("mkfifo pipe")],
        vec![writes("fine.txt", "fine")],
        vec![runs("true"), runs("true"), runs("true")],
        vec![runs("false"), writes("untested.txt", "x")],
        vec![runs("for n in $(seq 300); do echo $n > many-$n; done")],
    ];
    let plan = json!([
        item("a-files", 0, json!({ "constraints": { "max_files": 2 } })),
        item("b-outside", 1, json!({ "output_files": ["inside.txt"] })),
        item("c-name", 2, json!({})),
        item("d-git", 3, json!({})),
        item("e-pipe", 4, json!({})),
        item("f-fine", 5, json!({})),
        item(
            "g-calls",
            6,
            json!({ "constraints": { "max_tool_ops": 2 } })
        ),
        item(
            "h-tests",
            7,
            json!({ "test_command": "echo not ok; exit 1" })
        ),
        item("i-many", 8, json!({})),
        item("j-blocked", 5, json!({ "dependencies": ["e-pipe"] })),
    ]);
    check_same(&agents, &plan, 2);
}

#[test]
fn an_item_waits_for_a_worker_that_makes_copies() {
    let agents = vec![vec![writes("made.txt", "made\n")]];
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let plan = json!(item("one", 0, json!({})));
    let mut command = yard.work_command(&plan, &["--plan-id", "0123456789ab", "--needs", "big"]);
    let working = start(&mut command);
    let run = "0123456789ab.one";
    let waits = |expected: &str| wait_until(expected, || yard.shop.waits_for(run) == expected);
    waits("a worker of queue items");
    let other = yard.shop.worker(&["--queue", "items"]);
    waits("a worker with big");
    let labelled = yard.shop.worker(&["--queue", "items", "--label", "big"]);
    waits("a worker that has a place for copies of trees (bonded worker --items)");
    let worker = yard.worker(&["--label", "big"]);
    finish(working).succeeds();
    end_all([other, labelled, worker.process]);
    let made = std::fs::read_to_string(yard.tree().join("made.txt"));
    assert_eq!(made.expect("it is published"), "made\n");
}

#[test]
fn a_plan_with_a_store_in_a_file_has_no_queue() {
    let place = bonded_testkit::place::Place::new();
    let plan = json!(item("one", 0, json!({})));
    let file = place
        .write("plan.json", plan.to_string())
        .display()
        .to_string();
    let script = place.script(&[bonded_testkit::place::done("ok")]);
    let done = place.bonded(&["work", &file, "--model", &script, "--queue", "items"]);
    done.fails_with(4, "usage");
}

#[test]
fn an_item_that_changes_more_than_can_be_sent_fails_and_says_so() {
    let agents = vec![vec![
        runs("truncate -s 300M huge"),
        writes("more.txt", "more\n"),
    ]];
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let worker = yard.worker(&[]);
    let done = yard.work(&json!(item("one", 0, json!({}))), &[]);
    let result = done.json();
    assert_eq!(result["status"], "failure", "{result}");
    let why = result["error"].as_str().unwrap_or_default();
    assert!(why.contains("more than can be sent"), "{result}");
    assert!(!yard.tree().join("huge").exists());
    end_all([worker.process]);
}
