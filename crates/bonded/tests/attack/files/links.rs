//! Links, pipes, devices and names that are no names.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lgetxattr, lsetxattr, mknodat};
use serde_json::{Value, json};

use super::{all_ok, all_refused, append, edit, play, read, text, write};
use crate::person::{Person, call};
use crate::witness::{Canary, absent};

fn every_call(path: &str) -> Vec<Value> {
    vec![
        read(path),
        call("list", json!({ "path": path })),
        call("search", json!({ "path": path, "pattern": "." })),
        write(path, "evil"),
        append(path, "evil"),
        edit(path, "secret", "evil"),
    ]
}

#[test]
fn no_path_leads_out_of_the_working_directory() {
    let person = Person::new();
    let work = person.work();
    let canary = Canary::put(&person, person.path("outside"), "secret");
    person.write(work.join("a/f"), "here");
    for (target, name) in [
        ("../../outside", "to_file"),
        ("../..", "up"),
        ("/etc", "etc"),
        ("/proc/self/root", "magic"),
        ("/proc/self/cwd", "cwd"),
        ("up", "chain"),
        ("../../new", "dangling"),
        ("../../../outside", "a/deep"),
    ] {
        symlink(target, work.join(name)).expect("it can be made");
    }
    let outside = canary.path().display().to_string();
    let paths = [
        "../../outside",
        "a/../../../outside",
        &outside,
        "to_file",
        "up/outside",
        "chain/outside",
        "etc/passwd",
        "magic/etc/passwd",
        "cwd/a/f",
        "dangling",
        "a/deep",
    ];
    let calls: Vec<Value> = paths.iter().flat_map(|path| every_call(path)).collect();
    all_refused(&play(&person, &[], &calls), "outside_directory");
    canary.lives();
    absent(person.path("new"));
}

#[test]
fn a_file_that_has_a_name_outside_is_not_written() {
    let person = Person::new();
    let canary = Canary::put(&person, person.path("outside"), "secret");
    std::fs::hard_link(canary.path(), person.work().join("inside")).expect("it can be made");
    let calls = [
        append("inside", "evil"),
        edit("inside", "secret", "evil"),
        write("inside", "evil"),
    ];
    all_refused(&play(&person, &[], &calls), "hard_linked");
    canary.lives();
    assert_eq!(
        std::fs::metadata(canary.path())
            .expect("it is there")
            .nlink(),
        2
    );
}

#[test]
fn all_names_of_a_file_stay_its_names() {
    let person = Person::new();
    let work = person.work();
    person.write(work.join("one"), "1");
    person.make_dir(&work.join("deep/er"));
    std::fs::hard_link(work.join("one"), work.join("deep/er/two")).expect("it can be made");
    let calls = [
        append("one", "2"),
        edit("deep/er/two", "12", "34"),
        write("one", "345"),
        append("deep/er/two", "6"),
    ];
    all_ok(&play(&person, &[], &calls));
    let stat = |name: &str| std::fs::metadata(work.join(name)).expect("it is there");
    let (one, two) = (stat("one"), stat("deep/er/two"));
    assert_eq!((one.ino(), one.nlink()), (two.ino(), 2));
    assert_eq!(text(work.join("one")), "3456");
}

#[test]
fn attributes_stay_and_lent_rights_go() {
    let person = Person::new();
    let file = person.work().join("f");
    person.write(&file, "1");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o4750)).expect("it can be set");
    let flags = XattrFlags::empty();
    lsetxattr(&file, "user.note", b"kept", flags).expect("it can be set");
    all_ok(&play(&person, &[], &[edit("f", "1", "2"), write("f", "3")]));
    let mut value = [0_u8; 16];
    let size = lgetxattr(&file, "user.note", &mut value[..]).expect("it is there");
    assert_eq!(&value[..size], b"kept");
    let mode = std::fs::metadata(&file).expect("it is there").mode() & 0o7777;
    assert_eq!((mode, text(&file).as_str()), (0o750, "3"));
}

#[test]
fn nobody_waits_at_a_pipe_or_a_device() {
    let person = Person::new();
    let work = person.work();
    mknodat(CWD, work.join("pipe"), FileType::Fifo, Mode::RWXU, 0).expect("it can be made");
    person.own(&work.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket")).expect("a socket");
    person.own(&work.join("socket"));
    for name in ["pipe", "socket"] {
        let calls: Vec<Value> = every_call(name)
            .into_iter()
            .filter(|it| it["calls"][0]["tool"] != "list")
            .collect();
        all_refused(&play_as(&person, name, &calls), "not_a_file");
    }
    let all = play_as(&person, "all", &[call("search", json!({ "pattern": "." }))]);
    all_ok(&all);
}

/// A run of another name.
fn play_as(person: &Person, id: &str, calls: &[Value]) -> Vec<String> {
    let mut lines = calls.to_vec();
    lines.push(crate::person::done());
    let script = person.script(&lines);
    let ran = person.bonded(&["run", "--id", id, "--model", &script, "goal"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    super::outcomes(person, id, calls.len())
}

#[test]
fn long_names_and_deep_trees_are_refused_or_written_and_nothing_is_left() {
    let person = Person::new();
    let work = person.work();
    let long = "n".repeat(300);
    let calls = [
        write(&long, "x"),
        write(&format!("new/{long}/f"), "x"),
        write(&"d/".repeat(3000), "x"),
        append(&format!("new/{long}"), "x"),
    ];
    all_refused(&play(&person, &[], &calls), "bad_path");
    let deep = format!("{}f", "d/".repeat(400));
    all_ok(&play_as(
        &person,
        "deep",
        &[write(&deep, "x"), append(&deep, "y")],
    ));
    assert_eq!(text(work.join(Path::new(&deep))), "xy");
    let left: Vec<_> = std::fs::read_dir(&work).expect("it is there").collect();
    assert!(left.len() <= 2, "{left:?}");
}

#[test]
fn a_write_that_drops_most_of_a_file_says_so_and_a_read_past_the_end_is_refused() {
    let person = Person::new();
    person.write(person.work().join("f"), "x".repeat(10_000));
    let calls = [
        call("read", json!({ "path": "f", "offset": 2 })),
        write("f", "short"),
    ];
    let outcomes = play(&person, &[], &calls);
    all_refused(&outcomes[..1], "past_end");
    let shown = super::show(&person, "run", &["--turn", "2"]).stdout;
    assert!(
        shown.contains("the file had 10000 bytes and has 5 now"),
        "{shown}"
    );
}
