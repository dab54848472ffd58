//! `bonded import` of a directory that somebody else wrote.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::house::{House, text};
use crate::witness::holds_no;

const SECRET: &str = "canary-of-a-private-key";

#[test]
fn a_file_with_the_id_of_another_workspaces_note_does_not_touch_that_note() {
    let house = House::open(&json!({}));
    let eve = house.user("eve", None);
    let hers = eve.workspace("hers");
    let body = json!({ "workspace_id": hers, "title": "hers", "markdown": "as she wrote it" });
    let note = text(&eve.post("/api/notes", &body).is(201)["note_id"]);
    let file = format!("---\nid: {note}\ntitle: taken\n---\noverwritten\n");
    house.person.write(house.person.path("given/a.md"), file);
    let given = house.person.path("given").display().to_string();
    for (new, changed) in [(1, 0), (0, 0)] {
        let done = house.bonded(&["import", &given]);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(
            done.stderr
                .contains(&format!("{new} new, {changed} changed")),
            "{done:?}"
        );
        assert!(done.stderr.contains("another workspace"), "{done:?}");
    }
    let shown = eve.get(&format!("/api/notes/{note}")).is(200);
    assert_eq!(
        (&shown["markdown"], &shown["version"]),
        (&json!("as she wrote it"), &json!(1))
    );
    let list = house
        .owner
        .get(&format!("/api/notes?workspace_id={}", house.workspace()))
        .is(200);
    assert_eq!(list["notes"][0]["title"], "taken");
    // The command line means the notes of one workspace by an id, too.
    let edited = house.bonded(&["note", "edit", &note, "overwritten"]);
    assert_ne!(edited.code, Some(0), "{edited:?}");
    assert_eq!(eve.get(&format!("/api/notes/{note}")).is(200)["version"], 1);
}

#[test]
fn links_pipes_and_giants_in_a_given_directory_become_no_notes() {
    let house = House::open(&json!({}));
    let person = &house.person;
    person.write(person.home().join(".ssh/id"), SECRET);
    person.write(person.path("given/plain.md"), "a plain note\n");
    let given = person.path("given");
    for (to, name) in [
        (person.home().join(".ssh/id"), "key.md"),
        (house.data("owner-token"), "token.md"),
        (person.home().join(".ssh"), "dir.md"),
        ("/dev/zero".into(), "zero.md"),
    ] {
        symlink(to, given.join(name)).expect("a link");
    }
    let piped = person.shell(&format!("mkfifo {}/pipe.md", given.display()));
    assert_eq!(piped.code, Some(0), "{piped:?}");
    let done = house.bonded(&["import", &given.display().to_string()]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("1 new"), "{done:?}");
    let token = std::fs::read_to_string(house.data("owner-token")).expect("it is there");
    let listed = house
        .owner
        .get(&format!("/api/notes?workspace_id={}", house.workspace()));
    let search = house.owner.get(&format!(
        "/api/search?workspace_id={}&q=canary",
        house.workspace()
    ));
    holds_no(SECRET, &[&listed.body, &search.body, &done.stderr]);
    holds_no(token.trim(), &[&listed.body, &done.stderr]);
    let giant = std::fs::File::create(given.join("giant.md")).expect("it can be made");
    giant.set_len(1 << 40).expect("a file may have a hole");
    let refused = house.bonded(&["import", &given.display().to_string()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("not imported: giant.md"),
        "{refused:?}"
    );
}

#[test]
fn no_name_of_a_file_forges_a_line_of_the_summary_and_the_summary_stays_short() {
    let house = House::open(&json!({}));
    let person = &house.person;
    let given = person.path("given");
    person.write(given.join("plain.md"), "a plain note\n");
    let forged = "0 new, 0 changed, 777 unchanged";
    for name in [format!("x\n{forged}\n.md"), format!("y.a\n{forged}")] {
        symlink("plain.md", given.join(&name)).expect("a link");
        person.write(given.join(format!("{name}.a\n{forged}")), "no note");
    }
    for number in 0..300 {
        let ending = "e".repeat(200);
        person.write(given.join(format!("f.{ending}{number}")), "");
    }
    let done = house.bonded(&["import", &given.display().to_string()]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let is_forged = done.stderr.lines().any(|line| line.starts_with(forged));
    assert!(!is_forged, "{}", done.stderr);
    assert!(
        done.stderr.contains("\nleft out: x\\u{a}0 new")
            || done.stderr.starts_with("left out: x\\u{a}0 new"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("other extensions"), "{}", done.stderr);
    let longest = done.stderr.lines().map(str::len).max();
    assert!(longest < Some(6_000), "{longest:?}");
}

#[test]
fn an_export_writes_only_into_a_directory_that_holds_nothing() {
    let house = House::open(&json!({}));
    let person = &house.person;
    let body = json!({ "workspace_id": house.workspace(), "title": "one", "markdown": "text" });
    house.owner.post("/api/notes", &body).is(201);
    person.write(person.path("precious"), SECRET);
    person.make_dir(&person.path("out"));
    symlink(person.path("precious"), person.path("out/one.md")).expect("a link");
    let out = person.path("out").display().to_string();
    assert_ne!(house.bonded(&["export", &out]).code, Some(0));
    let kept = std::fs::read_to_string(person.path("precious")).expect("it is there");
    assert_eq!(kept, SECRET);
}
