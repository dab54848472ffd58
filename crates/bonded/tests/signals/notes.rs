//! `import` and `export`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::moments::{each, signalled};
use crate::place::{Done, Place, start};

const NOTES: usize = 120;

/// A vault to take in, and a data directory for it.
fn place() -> Place {
    let place = Place::new();
    let vault = place.path("vault");
    fs::create_dir(&vault).expect("a directory can be made");
    for n in 0..NOTES {
        let text = format!("# Note {n}\n\n{}", format!("line of {n}\n").repeat(40));
        fs::write(vault.join(format!("note-{n}.md")), text).expect("it can be written");
    }
    let done = place.bonded(&["init", &path(&place, "data")]);
    assert_eq!(done.code, Some(0), "{done:?}");
    place
}

fn path(place: &Place, name: &str) -> String {
    place.path(name).display().to_string()
}

fn words(place: &Place, command: &str, dir: &str) -> Vec<String> {
    let words = [command, &path(place, dir), "--data", &path(place, "data")];
    words.map(str::to_owned).to_vec()
}

fn succeeds(place: &Place, words: &[String]) -> Done {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = place.bonded(&words);
    assert_eq!(done.code, Some(0), "{done:?}");
    done
}

fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    // What was not yet written has another name, which nobody takes for a note.
    let notes = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let read = notes.map(|entry| {
        let text = fs::read_to_string(entry.path()).expect("it can be read");
        (entry.file_name().to_string_lossy().into_owned(), text)
    });
    read.collect()
}

/// It has done its work, or the signal has ended it.
fn check_end(ended: &Done) {
    assert!(matches!(ended.code, Some(0) | None), "{ended:?}");
}

#[test]
fn what_was_exported_when_a_signal_came_is_whole() {
    let place = place();
    succeeds(&place, &words(&place, "import", "vault"));
    let undisturbed = || drop(succeeds(&place, &words(&place, "export", "all")));
    each("export", undisturbed, |signal, rng, after| {
        let all = files(&place.path("all"));
        assert_eq!(all.len(), NOTES);
        let dir = format!("out-{}", rng.below(u64::MAX));
        let child = start(&mut place.command(&words(&place, "export", &dir)));
        let ended = signalled(child, signal, after);
        check_end(&ended);
        let some = files(&place.path(&dir));
        for (name, text) in &some {
            assert_eq!(all.get(name), Some(text), "{name} is not whole");
        }
        assert!(ended.code.is_none() || some.len() == NOTES);
    });
}

#[test]
fn what_was_imported_when_a_signal_came_is_whole_and_comes_once() {
    let undisturbed = || {
        let place = place();
        succeeds(&place, &words(&place, "import", "vault"));
    };
    each("import", undisturbed, |signal, _, after| {
        let place = place();
        let child = start(&mut place.command(&words(&place, "import", "vault")));
        let ended = signalled(child, signal, after);
        check_end(&ended);
        succeeds(&place, &words(&place, "import", "vault"));
        succeeds(&place, &words(&place, "export", "out"));
        let texts: Vec<String> = files(&place.path("out")).into_values().collect();
        assert_eq!(texts.len(), NOTES, "each note is there once");
        for n in 0..NOTES {
            let whole = format!("line of {n}\n").repeat(40);
            let found = texts.iter().filter(|text| text.contains(&whole)).count();
            assert_eq!(found, 1, "note {n}");
        }
    });
}

#[test]
fn a_note_and_a_rule_that_were_acknowledged_when_a_signal_came_are_there_once_and_whole() {
    let data = |place: &Place| path(place, "data");
    let rule = |place: &Place| {
        let file = place.path("rule.json");
        let text = r#"{"trigger":"manual","action_json":{"kind":"kjxlkj_agent"}}"#;
        fs::write(&file, text).expect("it can be written");
        file.display().to_string()
    };
    let text = "word ".repeat(2_000);
    let undisturbed = || {
        let place = place();
        let words = ["note", "--data", &data(&place), "add", "One", &text];
        succeeds(&place, &words.map(str::to_owned));
    };
    each("note", undisturbed, |signal, _, after| {
        let place = place();
        let (data, rule) = (data(&place), rule(&place));
        let changes: [(&[&str], &str); 2] = [
            (&["note", "--data", &data, "add", "One", &text], "note"),
            (&["rule", "--data", &data, "add", &rule], "rule"),
        ];
        for (words, command) in changes {
            let ended = signalled(start(&mut place.command(words)), signal, after);
            check_end(&ended);
            let list = [command, "--data", &data, "list"].map(str::to_owned);
            let listed = succeeds(&place, &list).stdout;
            let said = ended.stdout.trim();
            // Who was told its name finds it; who was not may find it, and no more than one.
            assert!(
                ended.code.is_none() || listed.contains(said),
                "{ended:?} {listed}"
            );
            let kind = if command == "note" {
                "One"
            } else {
                "kjxlkj_agent"
            };
            assert!(listed.matches(kind).count() <= 1, "{listed}");
        }
        let shown = place.bonded(&["note", "--data", &data, "show", "One"]);
        assert!(shown.code != Some(0) || shown.stdout.trim_end() == text.trim_end());
    });
}
