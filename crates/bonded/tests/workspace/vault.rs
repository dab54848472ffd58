//! `bonded import` of what other programs wrote: directories, fields that are not ours, files that are no notes.

use std::path::Path;

use serde_json::Value;

use crate::place::{Done, Place, parse};

const DAILY: &str = "---\ntags:\n  - daily\n  - \"#work\"\naliases: [Day one, D1]\ncreated: 2024-05-01\n\
                     nested:\n  deep: [1, {a: b}]\n---\n# Daily\n\nSee [[Plan]].\n";

fn place() -> Place {
    let place = Place::new();
    let made = place.bonded(&["init", &place.path("data").display().to_string()]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for (name, text) in [
        ("vault/Plan.md", "# Plan\n"),
        ("vault/daily/2024/Day.md", DAILY),
        ("vault/daily/Same name.md", "one\n"),
        ("vault/projects/Same name.md", "two\n"),
        ("vault/.obsidian/workspace.md", "not a note\n"),
        ("vault/picture.PNG", "not text"),
    ] {
        put(&place.path(name), text.as_bytes());
    }
    put(&place.path("vault/broken.md"), b"\xff\xfe not UTF-8");
    place
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
    std::fs::write(path, bytes).expect("a file can be written");
}

fn import(place: &Place, more: &[&str]) -> Done {
    let (data, vault) = (place.path("data"), place.path("vault"));
    let (data, vault) = (data.display().to_string(), vault.display().to_string());
    let words = ["import", "--data", &data, &vault];
    place.bonded(&[&words, more].concat())
}

fn notes(place: &Place) -> Vec<Value> {
    let data = place.path("data").display().to_string();
    let listed = place.bonded(&["note", "--data", &data, "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    listed.stdout.lines().map(parse).collect()
}

fn note(place: &Place, title: &str) -> Value {
    let data = place.path("data").display().to_string();
    let shown = place.bonded(&["note", "--data", &data, "show", "--json", title]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    parse(shown.stdout.trim())
}

#[test]
fn a_vault_is_taken_with_its_directories_and_its_fields_as_they_are() {
    let place = place();
    let done = import(&place, &[]);
    assert_eq!(done.code, Some(1), "one file is broken: {done:?}");
    for part in [
        "not imported: broken.md: it is not UTF-8 text",
        "left out: .obsidian: hidden",
        "1 .png",
        "4 new, 0 changed, 0 unchanged, 1 not imported",
    ] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
    let day = note(&place, "Day");
    assert_eq!(day["markdown"], DAILY);
    assert_eq!(day["keywords"], serde_json::json!(["daily", "work"]));
    assert_eq!(day["created_at"], "2024-05-01T00:00:00.000Z");
    assert_eq!(day["metadata"]["import.path"], "daily/2024/Day.md");
    let titles: Vec<Value> = notes(&place).iter().map(|it| it["title"].clone()).collect();
    assert_eq!(titles.iter().filter(|it| **it == "Same name").count(), 2);
}

#[test]
fn what_was_taken_before_is_found_again_and_what_was_changed_here_is_kept() {
    let place = place();
    import(&place, &[]);
    let again = import(&place, &[]);
    assert!(
        again.stderr.contains("0 new, 0 changed, 4 unchanged"),
        "{again:?}"
    );
    let data = place.path("data").display().to_string();
    let edited = place.bonded(&["note", "--data", &data, "edit", "Plan", "mine"]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    let again = import(&place, &[]);
    assert!(
        again.stderr.contains("0 new, 0 changed, 4 unchanged"),
        "the file is as it was: {again:?}"
    );
    assert_eq!(note(&place, "Plan")["markdown"], "mine");
    put(&place.path("vault/Plan.md"), b"# Plan\n\ntheirs\n");
    put(&place.path("vault/daily/2024/Day.md"), b"shorter\n");
    let both = import(&place, &[]);
    assert!(
        both.stderr
            .contains("Plan.md: both its note and the file have changed"),
        "{both:?}"
    );
    assert!(
        both.stderr.contains("0 new, 1 changed, 2 unchanged"),
        "{both:?}"
    );
    assert_eq!(note(&place, "Plan")["markdown"], "mine");
    assert_eq!(note(&place, "Day")["markdown"], "shorter\n");
    let over = import(&place, &["--overwrite"]);
    assert!(over.stderr.contains("1 changed"), "{over:?}");
    assert_eq!(note(&place, "Plan")["markdown"], "# Plan\n\ntheirs\n");
    assert_eq!(notes(&place).len(), 4);
}

#[test]
fn all_or_nothing_is_nothing_where_a_file_is_broken() {
    let place = place();
    let done = import(&place, &["--all-or-nothing"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(done.stderr.contains("broken.md"), "{done:?}");
    assert_eq!(notes(&place), [] as [Value; 0]);
    std::fs::remove_file(place.path("vault/broken.md")).expect("it can be removed");
    let done = import(&place, &["--all-or-nothing"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn an_import_that_is_killed_is_finished_by_the_next_one() {
    let place = place();
    std::fs::remove_file(place.path("vault/broken.md")).expect("it can be removed");
    // So long that they are several transactions.
    let rest = "and so on ".repeat(1500);
    for number in 0..1700 {
        put(
            &place.path(&format!("vault/many/{number}.md")),
            format!("note {number}\n{rest}\n").as_bytes(),
        );
    }
    let (data, vault) = (place.path("data"), place.path("vault"));
    let (data, vault) = (data.display().to_string(), vault.display().to_string());
    let mut child = crate::place::start(&mut place.command(&["import", "--data", &data, &vault]));
    // Somewhere in the middle: some transactions are there, others are not.
    let store = place.path("data/workspace.db");
    loop {
        let opened = rusqlite::Connection::open(&store).expect("it opens");
        let count = opened.query_row("SELECT count(*) FROM note", [], |row| row.get::<_, i64>(0));
        if count.is_ok_and(|count| count > 0)
            || child.try_wait().expect("it can be asked").is_some()
        {
            break;
        }
        std::thread::yield_now();
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    let done = import(&place, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let data = place.path("data").display().to_string();
    let listed = place.bonded(&[
        "note", "--data", &data, "list", "--json", "--limit", "10000",
    ]);
    let mut paths: Vec<String> = listed
        .stdout
        .lines()
        .map(|line| parse(line)["title"].to_string())
        .collect();
    assert_eq!(paths.len(), 1704, "{done:?}");
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 1703, "only the two of one name are alike");
}
