//! `bonded note`, `bonded rule`, `bonded export` and `bonded import`.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::place::{Done, Place, finish, start};
use crate::server::Server;

/// A place with a data directory of that name.
fn place_with(names: &[&str]) -> Place {
    let place = Place::new();
    for name in names {
        let done = place.bonded(&["init", &place.path(name).display().to_string()]);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    place
}

/// Runs a command on a data directory.
fn on(place: &Place, data: &str, words: &[&str]) -> Done {
    let data = place.path(data).display().to_string();
    let (command, rest) = words.split_first().expect("there is a command");
    let all: Vec<&str> = [*command, "--data", &data]
        .iter()
        .chain(rest)
        .copied()
        .collect();
    place.bonded(&all)
}

fn ok(done: &Done) -> String {
    assert_eq!(done.code, Some(0), "{done:?}");
    done.stdout.trim_end().to_owned()
}

#[test]
fn a_note_is_written_shown_changed_searched_and_deleted() {
    let place = place_with(&["data"]);
    let id = ok(&on(
        &place,
        "data",
        &[
            "note",
            "add",
            "Shopping",
            "- milk",
            "--keywords",
            "home,food",
        ],
    ));
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", "Shopping"])),
        "- milk"
    );
    ok(&on(
        &place,
        "data",
        &["note", "edit", "shopping", "- milk and bread"],
    ));
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", &id])),
        "- milk and bread"
    );
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", &id, "--at", "1"])),
        "- milk"
    );
    let whole: Value =
        serde_json::from_str(&ok(&on(&place, "data", &["note", "show", &id, "--json"])))
            .expect("JSON");
    assert_eq!(
        (&whole["version"], &whole["keywords"]),
        (&json!(2), &json!(["home", "food"]))
    );
    assert!(ok(&on(&place, "data", &["note", "list"])).contains("Shopping"));
    assert!(ok(&on(&place, "data", &["note", "search", "bread"])).contains(&id));
    let history = ok(&on(&place, "data", &["note", "history", &id]));
    assert!(
        history.contains("note.created") && history.contains("note.updated"),
        "{history}"
    );
    let stale = on(
        &place,
        "data",
        &["note", "edit", &id, "late", "--base-version", "1"],
    );
    assert_eq!(stale.code, Some(4), "{stale:?}");
    assert!(stale.stderr.contains("VERSION_CONFLICT"), "{stale:?}");
    ok(&on(&place, "data", &["note", "delete", &id]));
    assert!(!ok(&on(&place, "data", &["note", "list"])).contains("Shopping"));
    ok(&on(&place, "data", &["note", "undelete", &id]));
    let missing = on(&place, "data", &["note", "show", "Nothing"]);
    assert_eq!(missing.code, Some(4));
    assert!(missing.stderr.contains("NOTE_NOT_FOUND"), "{missing:?}");
    let nowhere = on(&place, "nowhere", &["note", "list"]);
    assert_eq!(nowhere.code, Some(4));
    assert!(nowhere.stderr.contains("bonded init"), "{nowhere:?}");
}

#[test]
fn a_rule_is_added_listed_switched_and_launched() {
    let place = place_with(&["data"]);
    let file = place.path("rule.json");
    let rule = json!({ "trigger": "manual", "action_json": { "kind": "kjxlkj_agent" } });
    std::fs::write(&file, rule.to_string()).expect("a file can be written");
    let file = file.display().to_string();
    let id = ok(&on(&place, "data", &["rule", "add", &file]));
    assert!(ok(&on(&place, "data", &["rule", "list"])).contains("kjxlkj_agent"));
    ok(&on(&place, "data", &["rule", "disable", &id]));
    let shown: Value =
        serde_json::from_str(&ok(&on(&place, "data", &["rule", "show", &id]))).expect("JSON");
    assert_eq!(shown["enabled"], false);
    ok(&on(&place, "data", &["rule", "enable", &id]));
    let run = ok(&on(&place, "data", &["rule", "launch", &id]));
    assert!(ok(&on(&place, "data", &["rule", "runs"])).contains(&run));
    std::fs::write(place.path("rule.json"), r#"{"trigger":"never"}"#)
        .expect("a file can be written");
    let refused = on(&place, "data", &["rule", "add", &file]);
    assert_eq!(refused.code, Some(4));
    for part in ["RULE_INVALID", "/trigger", "action_json"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
}

fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir).expect("the directory is there");
    let read = |path: std::path::PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        (
            name,
            std::fs::read_to_string(&path).expect("a file can be read"),
        )
    };
    entries
        .map(|entry| read(entry.expect("an entry can be read").path()))
        .collect()
}

#[test]
fn what_is_exported_and_imported_elsewhere_is_exported_the_same() {
    let place = place_with(&["data", "other"]);
    let texts = [
        "",
        "---\nnot: fields\n---\n",
        "a\r\nb\n\n",
        "# Grüße\n\n[[One]]",
        "no newline at the end",
    ];
    for (index, text) in texts.iter().enumerate() {
        let title = format!("Note: \"{index}\" — [x] #y");
        ok(&on(
            &place,
            "data",
            &["note", "add", "--keywords", "a b,c", &title, text],
        ));
        ok(&on(
            &place,
            "data",
            &["note", "edit", &title, "--keywords", "x"],
        ));
    }
    let (first, second) = (place.path("first"), place.path("second"));
    ok(&on(
        &place,
        "data",
        &["export", &first.display().to_string()],
    ));
    let done = on(&place, "other", &["import", &first.display().to_string()]);
    assert!(
        done.stderr.contains("5 new, 0 changed, 0 unchanged"),
        "{done:?}"
    );
    ok(&on(
        &place,
        "other",
        &["export", &second.display().to_string()],
    ));
    let exported = files(&first);
    let listed = ok(&on(&place, "data", &["note", "list", "--json"]));
    for note in listed.lines().map(crate::place::parse) {
        for field in ["note_id", "title", "created_at", "updated_at"] {
            let is_there = exported
                .values()
                .any(|text| text.contains(&note[field].to_string()));
            assert!(is_there, "{field} of {note} is not exported");
        }
    }
    assert_eq!(exported.len(), texts.len());
    assert_eq!(files(&second), exported);
    let again = on(&place, "other", &["import", &first.display().to_string()]);
    assert!(
        again.stderr.contains("0 new, 0 changed, 5 unchanged"),
        "{again:?}"
    );
    let full = on(&place, "other", &["export", &second.display().to_string()]);
    assert_eq!(
        full.code,
        Some(4),
        "a directory with files is left alone: {full:?}"
    );
}

#[test]
fn a_broken_file_of_an_export_is_named_and_the_others_are_taken() {
    let place = place_with(&["data"]);
    let dir = place.path("files");
    std::fs::create_dir(&dir).expect("a directory can be made");
    std::fs::write(dir.join("a.md"), "# Good\n").expect("a file can be written");
    let broken = "---\nid: 07070707-0707-0707-0707-070707070707\nkeywords: x\n---\n";
    std::fs::write(dir.join("b.md"), broken).expect("a file can be written");
    let done = on(&place, "data", &["import", &dir.display().to_string()]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stderr.contains("not imported: b.md: "), "{done:?}");
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", "a"])),
        "# Good",
        "a plain file is named by its name"
    );
}

#[test]
fn the_terminal_and_the_server_share_one_store() {
    let server = Server::start();
    let data = server.place.path("data").display().to_string();
    let id =
        ok(&server
            .place
            .bonded(&["note", "--data", &data, "add", "From the terminal", "text"]));
    let read = server.owner.get(&format!("/api/notes/{id}"));
    assert_eq!(
        (read.status, &read.json()["title"]),
        (200, &json!("From the terminal"))
    );
    server.note("From the server", "text");
    let list = ok(&server.place.bonded(&["note", "--data", &data, "list"]));
    assert!(list.contains("From the server"), "{list}");
}

#[test]
fn an_export_that_the_disk_has_no_room_for_is_told_and_leaves_no_half_of_a_note() {
    let place = place_with(&["data"]);
    let long = place.path("long.md");
    std::fs::write(&long, "word ".repeat(60_000)).expect("a file can be written");
    let vault = place.path("vault");
    std::fs::create_dir(&vault).expect("a directory can be made");
    std::fs::rename(&long, vault.join("long.md")).expect("it can be moved");
    ok(&on(
        &place,
        "data",
        &["import", &vault.display().to_string()],
    ));
    let (out, data) = (place.path("out"), place.path("data"));
    let program = env!("CARGO_BIN_EXE_bonded");
    // What a file may grow to is less than the note has; the signal of that is not kept from the program.
    let limited = "ulimit -f 100; exec \"$@\"";
    let [out_text, data] = [&out, &data].map(|it| it.display().to_string());
    let words = [
        "-c", limited, "sh", program, "export", &out_text, "--data", &data,
    ];
    let ended = finish(start(&mut place.command_of(Path::new("sh"), &words)));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("error[output-failed]"), "{ended:?}");
    assert_eq!(files(&out), BTreeMap::new());
    let again = place.path("again").display().to_string();
    ok(&on(&place, "data", &["export", &again]));
    assert_eq!(files(Path::new(&again)).len(), 1);
}

/// Runs a command on a data directory with this editor.
fn with_editor(place: &Place, editor: &str, words: &[&str]) -> Done {
    let data = place.path("data").display().to_string();
    let words: Vec<&str> = [&["note", "--data", data.as_str()], words].concat();
    let mut command = place.command(&words);
    command.env("EDITOR", editor);
    command.env("TMPDIR", place.path("tmp"));
    finish(start(&mut command))
}

/// What editors left behind.
fn leftovers(place: &Place) -> Vec<std::path::PathBuf> {
    let listing = std::fs::read_dir(place.path("tmp")).expect("a directory");
    let files = listing.map(|entry| entry.expect("an entry").path());
    files.collect()
}

fn place_with_note() -> (Place, String) {
    let place = place_with(&["data"]);
    std::fs::create_dir(place.path("tmp")).expect("a directory can be made");
    let id = ok(&on(&place, "data", &["note", "add", "Shopping", "- milk"]));
    (place, id)
}

#[test]
fn a_note_is_changed_in_the_persons_editor_through_a_file_that_nobody_else_can_read() {
    let (place, id) = place_with_note();
    let editor = "sh -c 'stat -c %a \"$1\" > ../mode; cat \"$1\" > ../seen; printf \"%s\" \"- bread\" > \"$1\"' x";
    let done = with_editor(&place, editor, &["edit", &id[..8]]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let read = |name: &str| std::fs::read_to_string(place.path(name)).expect("a file");
    assert_eq!(
        (read("mode").trim(), read("seen").as_str()),
        ("600", "- milk")
    );
    assert_eq!(ok(&on(&place, "data", &["note", "show", &id])), "- bread");
    assert_eq!(leftovers(&place), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_editor_that_changes_nothing_empties_the_text_or_fails_changes_nothing() {
    let (place, id) = place_with_note();
    for (editor, code) in [
        ("true", 0),
        ("sh -c ': > \"$1\"' x", 0),
        ("false", 4),
        ("no-such-editor", 4),
    ] {
        let done = with_editor(&place, editor, &["edit", &id]);
        assert_eq!(done.code, Some(code), "{editor}: {done:?}");
        let note: Value =
            serde_json::from_str(&ok(&on(&place, "data", &["note", "show", &id, "--json"])))
                .expect("JSON");
        assert_eq!(
            (&note["version"], &note["markdown"]),
            (&json!(1), &json!("- milk")),
            "{editor}"
        );
        assert_eq!(
            leftovers(&place),
            Vec::<std::path::PathBuf>::new(),
            "{editor}"
        );
    }
    let unset = on(&place, "data", &["note", "edit", &id]);
    assert_eq!(unset.code, Some(4), "{unset:?}");
    assert!(unset.stderr.contains("or set EDITOR"), "{}", unset.stderr);
}

/// The other side of a new terminal, and its own side, which must stay open.
fn terminal() -> (std::fs::File, std::os::fd::OwnedFd) {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be made");
    grantpt(&own).expect("it is ours");
    unlockpt(&own).expect("it can be opened");
    let path = ptsname(&own, vec![]).expect("it has a name");
    let path = path.into_string().expect("its name is a text");
    let other = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path);
    (other.expect("it can be opened"), own)
}

#[test]
fn a_note_without_a_text_is_written_in_the_editor_at_a_terminal_and_is_empty_elsewhere() {
    let (place, _) = place_with_note();
    let data = place.path("data").display().to_string();
    let write = "sh -c 'printf \"%s\" \"- from the editor\" > \"$1\"' x";
    for (title, editor) in [("Written", write), ("Left", "true")] {
        let (other, _own) = terminal();
        let mut command = place.command(&["note", "--data", &data, "add", title]);
        command
            .env("EDITOR", editor)
            .env("TMPDIR", place.path("tmp"));
        command.stdin(other.try_clone().expect("it can be shared"));
        command.stdout(other);
        let done = finish(start(&mut command));
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let show = |title: &str| on(&place, "data", &["note", "show", title]);
    assert_eq!(ok(&show("Written")), "- from the editor");
    assert!(show("Left").stderr.contains("NOTE_NOT_FOUND"));
    let piped = with_editor(&place, write, &["add", "Piped"]);
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert_eq!(ok(&show("Piped")), "");
}

#[test]
fn a_text_that_meets_another_version_is_reported_and_kept_in_a_file_that_is_named() {
    let (place, id) = place_with_note();
    // While the editor is open, another program writes to the note.
    let program = crate::place::program().display().to_string();
    let data = place.path("data").display().to_string();
    let editor = format!(
        "sh -c '{program} note --data {data} edit {id} \"- of another\" 2> ../other; printf \"%s\" \"- mine\" > \"$1\"' x"
    );
    let done = with_editor(&place, &editor, &["edit", &id]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(done.stderr.contains("VERSION_CONFLICT"), "{}", done.stderr);
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", &id])),
        "- of another"
    );
    let kept = leftovers(&place);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read_to_string(&kept[0]).expect("a file"), "- mine");
    let named = format!("your text is kept in {}", kept[0].display());
    assert!(done.stderr.contains(&named), "{}", done.stderr);
}

#[test]
fn notes_and_rules_are_named_by_the_beginning_of_their_ids() {
    let (place, id) = place_with_note();
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", &id[..4]])),
        "- milk"
    );
    assert_eq!(
        ok(&on(
            &place,
            "data",
            &["note", "show", &id[..13].to_uppercase()]
        )),
        "- milk"
    );
    let short = on(&place, "data", &["note", "show", &id[..3]]);
    assert!(short.stderr.contains("NOTE_NOT_FOUND"), "{}", short.stderr);
    let meant = format!("did you mean \"Shopping\" ({id})?");
    let other = if id.starts_with('0') { "1" } else { "0" };
    let slips = ["Shoping".to_owned(), format!("{other}{}", &id[1..13])];
    for slip in &slips {
        let missing = on(&place, "data", &["note", "show", slip]);
        assert!(missing.stderr.contains(&meant), "{missing:?}");
    }
    // A title counts more than a beginning.
    ok(&on(
        &place,
        "data",
        &["note", "add", &id[..4], "- by its title"],
    ));
    assert_eq!(
        ok(&on(&place, "data", &["note", "show", &id[..4]])),
        "- by its title"
    );

    let rule =
        json!({ "trigger": "manual", "name": "tidy", "action_json": { "kind": "kjxlkj_agent" } });
    let file = place.write("rule.json", rule.to_string());
    let file = file.display().to_string();
    let id = ok(&on(&place, "data", &["rule", "add", &file]));
    let missing = on(&place, "data", &["rule", "show", "tydi"]);
    let meant = format!("did you mean \"tidy\" ({id})?");
    assert!(missing.stderr.contains(&meant), "{missing:?}");
    ok(&on(&place, "data", &["rule", "disable", &id[..4]]));
    let shown = ok(&on(&place, "data", &["rule", "show", &id[..4]]));
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["enabled"], false);
    let short = on(&place, "data", &["rule", "show", &id[..3]]);
    assert!(short.stderr.contains("RULE_NOT_FOUND"), "{}", short.stderr);
}

#[test]
fn a_beginning_of_several_ids_is_answered_with_all_of_them() {
    let place = place_with(&["data"]);
    let ids = [
        "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11",
        "6f1c3000-3f5b-4c1e-9d4a-0b8f5a2c7e12",
    ];
    for id in ids {
        let file = format!(
            "---\nid: \"{id}\"\ntitle: \"Note {}\"\n---\ntext of {id}",
            &id[..8]
        );
        place.write(&format!("vault/{}.md", &id[..8]), file);
    }
    let vault = place.path("vault").display().to_string();
    ok(&on(&place, "data", &["import", &vault]));
    let refused = on(&place, "data", &["note", "show", "6f1c"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    for id in ids {
        assert!(
            refused.stderr.contains(&format!("{id}  Note {}", &id[..8])),
            "{}",
            refused.stderr
        );
        let shown = ok(&on(&place, "data", &["note", "show", &id[..5]]));
        assert_eq!(shown, format!("text of {id}"));
    }
}
