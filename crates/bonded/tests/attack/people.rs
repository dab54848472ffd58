//! What a person at a terminal is shown and asked: it is what runs, and no stranger's letters drive the terminal.

use serde_json::{Value, json};

use crate::person::{Done, Person, call, done};
use crate::terminal::{Sent, at_terminal, pressing};
use crate::witness::absent;

/// What takes a terminal over: the clipboard, the title, a clean screen, in seven and in eight bits, and letters that
/// turn the line round.
const TAKING: &str = "\u{1b}]52;c;cm0gLXJmIH4=\u{7}\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{9d}0;owned\u{9c}\u{202e}\r";

/// Named at the end of the question about a call, after the sign for it.
const KEYS: &str = " help";

/// Fails where something that a stranger wrote drives the terminal. The program's own line of progress uses a few
/// sequences of its own to move and to clear its line.
#[track_caller]
fn drives_nothing(sent: &Sent) {
    for part in [
        "\u{1b}]",
        "\u{1b}[2J",
        "\u{9b}",
        "\u{9d}",
        "\u{7}",
        "\u{202e}",
    ] {
        assert!(!sent.text.contains(part), "{part:?} in {:?}", sent.text);
    }
    assert!(sent.text.contains("owned"), "it was shown: {:?}", sent.text);
}

fn write_call(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

/// A run that waits with its first write.
fn waiting(person: &Person, lines: &[Value]) -> Done {
    let paused = person.run(&["--ask", "write"], lines);
    assert_eq!(paused.code, Some(6), "{paused:?}");
    paused
}

fn digest(shown: &str) -> String {
    let line = shown
        .lines()
        .find_map(|it| it.trim().strip_prefix("digest"));
    line.expect("what waits has a digest").trim().to_owned()
}

#[test]
fn the_answer_of_a_run_drives_no_terminal() {
    let person = Person::new();
    let script = person.script(&[call("done", json!({ "reason": format!("well {TAKING}") }))]);
    let sent = at_terminal(
        &mut person.command(&["run", "--id", "run", "--model", &script, "go"]),
        "",
        "",
    );
    assert_eq!(sent.code, Some(0), "{sent:?}");
    drives_nothing(&sent);
}

#[test]
fn the_answer_of_a_run_into_a_file_is_what_was_answered() {
    let person = Person::new();
    let said = format!("well {TAKING} end");
    let ran = person.run(&[], &[call("done", json!({ "reason": said }))]);
    assert_eq!(ran.stdout, format!("{said}\n"));
}

#[test]
fn what_a_log_holds_drives_no_terminal_however_it_is_shown() {
    let person = Person::new();
    let goal = format!("goal {TAKING}");
    let script = person.script(&[
        json!({ "text": format!("said {TAKING}"), "calls": [
            { "tool": format!("tool {TAKING}"), "arguments": {} },
            { "tool": "run", "arguments": { "command": format!("printf '%s' 'out {TAKING}'") } },
            { "tool": "read", "arguments": { "path": format!("file {TAKING}") } },
        ] }),
        json!({ "fail": "model", "message": format!("provider {TAKING}") }),
        call("done", json!({ "reason": format!("ended {TAKING}") })),
    ]);
    let sent = at_terminal(
        &mut person.command(&["run", "--id", "run", "--model", &script, &goal]),
        "",
        "",
    );
    assert_eq!(sent.code, Some(0), "{sent:?}");
    drives_nothing(&sent);
    for words in [
        &["show", "run"][..],
        &["show", "run", "--turn", "1"],
        &["show", "run", "--json"],
        &["runs"],
        &["runs", "--json"],
    ] {
        let sent = at_terminal(&mut person.command(words), "", "");
        assert_eq!(sent.code, Some(0), "{sent:?}");
        drives_nothing(&sent);
        // The colours are the program's own, and there is nothing else.
        let own = ["0", "1", "2", "31", "32", "33", "36"];
        let bare = own.iter().fold(sent.text, |text, code| {
            text.replace(&format!("\u{1b}[{code}m"), "")
        });
        assert!(!bare.contains('\u{1b}'), "{words:?}: {bare:?}");
        let sent = at_terminal(person.command(words).env("NO_COLOR", "1"), "", "");
        assert!(!sent.text.contains('\u{1b}'), "{words:?}: {:?}", sent.text);
    }
}

#[test]
fn errors_that_quote_a_stranger_drive_no_terminal() {
    let person = Person::new();
    // There is a store to look into.
    person.run(&[], &[done()]);
    person.write(
        person.work().join(".ai-agent.json"),
        format!("{{\"owned{}\": 1}}", "\\u001b]0;x\\u0007"),
    );
    for words in [
        &["show", "owned\u{1b}]0;x\u{7}"][..],
        &["run", "--model", "owned\u{1b}[2J/x", "go"],
        &["explain", "owned\u{9b}2J"],
        &["config", "check"],
    ] {
        let sent = at_terminal(&mut person.command(words), "", "");
        assert!(
            !sent.text.contains('\u{1b}') && !sent.text.contains('\u{9b}'),
            "{words:?}: {sent:?}"
        );
        assert!(!sent.text.contains('\u{7}'), "{words:?}: {sent:?}");
        assert!(sent.text.contains("owned"), "{words:?} is quoted: {sent:?}");
    }
}

#[test]
fn a_server_that_fails_with_sequences_on_its_stderr_drives_no_terminal() {
    let person = Person::new();
    person.write(person.path("taking"), TAKING);
    let taking = person.path("taking").display().to_string();
    let server = json!({ "type": "stdio", "command": "sh", "sandbox": "full", "args": ["-c", format!("cat {taking} >&2; exit 1")] });
    let config = json!({ "mcpServers": { "docs": server } });
    let file = person.home().join("mine.json");
    person.write(&file, config.to_string());
    person.write(
        person.home().join("mine.ai"),
        "---\ntools: docs\nmodels: script/x\n---\nBe brief.\n",
    );
    let script = person.script(&[done()]);
    let words = [
        "run",
        "--trust",
        "--sandbox",
        "full",
        "--agent",
        "../mine.ai",
        "--config",
        file.to_str().expect("a path"),
        "--model",
        &script,
        "--verbose",
        "--trace-mcp",
        "go",
    ];
    let sent = at_terminal(&mut person.command(&words), "", "");
    drives_nothing(&sent);
}

#[test]
fn what_a_variable_or_a_configuration_says_drives_no_terminal() {
    let person = Person::new();
    let config = json!({ "defaults": { "system": format!("owned {TAKING}") }, "providers": { "p": {
        "type": "openai", "baseUrl": "http://127.0.0.1:1/owned\u{1b}]0;x\u{7}" } } });
    person.write(person.home().join("mine.json"), config.to_string());
    let mine = person.home().join("mine.json").display().to_string();
    let mut show = person.command(&["config", "show", "--config", &mine]);
    let sent = at_terminal(&mut show, "", "");
    assert!(
        !sent.text.contains('\u{1b}') && !sent.text.contains('\u{9b}'),
        "{sent:?}"
    );
    assert!(sent.text.contains("owned"), "it was shown: {sent:?}");
    let mut doctor = person.command(&["doctor"]);
    doctor.env("BONDED_MODEL", format!("owned{TAKING}"));
    let sent = at_terminal(&mut doctor, "", "");
    drives_nothing(&sent);
}

#[test]
fn nothing_is_approved_where_nobody_looked() {
    let person = Person::new();
    waiting(&person, &[write_call("a", "one"), done()]);
    let unseen = person.bonded(&["approve", "run"]);
    assert_eq!(unseen.code, Some(4), "{unseen:?}");
    assert!(unseen.stderr.contains("error[look-first]"), "{unseen:?}");
    let by_place = person.bonded(&["approve", "run", "--call", "0"]);
    assert_eq!(by_place.code, Some(4), "{by_place:?}");
    absent(person.work().join("a"));
}

#[test]
fn an_approval_does_not_reach_the_call_of_another_turn() {
    let person = Person::new();
    let lines = [
        write_call("harmless", "one"),
        write_call("harmful", "two"),
        done(),
    ];
    let looked = digest(&waiting(&person, &lines).stderr);
    // Somebody else judges the first meanwhile; the second waits at the same place of its turn.
    let denied = person.bonded(&["deny", "run"]);
    assert_eq!(denied.code, Some(6), "{denied:?}");
    let late = person.bonded(&["approve", "run", "--call", "0", "--digest", &looked]);
    assert_eq!(late.code, Some(4), "{late:?}");
    assert!(late.stderr.contains("error[other-call]"), "{late:?}");
    assert!(
        late.stderr.contains(r#""path":"harmful""#),
        "the new one is shown: {late:?}"
    );
    absent(person.work().join("harmful"));
    absent(person.work().join("harmless"));
}

#[test]
fn the_same_call_in_another_run_has_another_digest() {
    let person = Person::new();
    let first = digest(&waiting(&person, &[write_call("a", "one"), done()]).stderr);
    let script = person.script(&[write_call("a", "one"), done()]);
    let other = person.bonded(&[
        "run", "--id", "other", "--model", &script, "--ask", "write", "the goal",
    ]);
    assert_ne!(digest(&other.stderr), first);
    let refused = person.bonded(&["approve", "other", "--digest", &first]);
    assert!(refused.stderr.contains("error[other-call]"), "{refused:?}");
    absent(person.work().join("a"));
}

#[test]
fn of_many_who_approve_and_deny_at_once_one_is_heard() {
    let person = Person::new();
    let looked = digest(&waiting(&person, &[write_call("a", "one"), done()]).stderr);
    let approve = ["approve", "run", "--no-resume", "--digest", &looked];
    let deny = ["deny", "run", "--no-resume", "--digest", &looked];
    let all: Vec<_> = (0..8)
        .map(|at| {
            crate::person::start(&mut person.command(if at % 2 == 0 { &approve } else { &deny }))
        })
        .collect();
    let codes = all
        .into_iter()
        .map(|child| crate::person::finish(child).code);
    assert_eq!(codes.filter(|code| *code == Some(0)).count(), 1);
    let log = person.bonded(&["show", "run", "--json"]).stdout;
    assert_eq!(log.matches("call_reviewed").count(), 1, "{log}");
}

#[test]
fn at_a_terminal_the_call_is_shown_before_the_question() {
    let person = Person::new();
    waiting(&person, &[write_call("a", "one"), done()]);
    let stopped = pressing(&mut person.command(&["approve", "run"]), KEYS, &["\u{3}"]);
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    absent(person.work().join("a"));
    let agreed = pressing(&mut person.command(&["approve", "run"]), KEYS, &["y"]);
    assert_eq!(agreed.code, Some(0), "{agreed:?}");
    let shown = agreed.text.find("+one").expect("it is shown");
    assert!(shown < agreed.text.find(KEYS).expect("it is asked"));
    assert!(person.work().join("a").exists());
}

#[test]
fn letters_that_nobody_sees_are_written_out_before_an_approval() {
    let person = Person::new();
    let hidden = [
        '\u{2800}',
        '\u{34f}',
        '\u{1d173}',
        '\u{a0}',
        '\u{200d}',
        '\u{200c}',
        '\u{202e}',
        '\u{2066}',
        '\u{e0041}',
        '\u{fe0f}',
        '\u{e0100}',
        '\u{3164}',
        '\u{115f}',
        '\u{ad}',
        '\u{180e}',
        '\u{feff}',
        '\u{2003}',
        '\u{3000}',
    ];
    let path: String = hidden.iter().map(|c| format!("x{c}")).collect();
    let paused = waiting(&person, &[write_call(&path, "one"), done()]);
    for letter in hidden {
        assert!(!paused.stderr.contains(letter), "{:x}", u32::from(letter));
        let written = format!("\\u{{{:x}}}", u32::from(letter));
        assert!(
            paused.stderr.contains(&written),
            "{written} in {}",
            paused.stderr
        );
    }
}

#[test]
fn the_one_of_two_equal_keys_that_runs_is_the_one_that_is_shown() {
    let person = Person::new();
    let arguments = r#"{"path":"harmless","content":"c","p\u0061th":"other"}"#;
    let line = json!({ "calls": [{ "tool": "write", "arguments": arguments }] });
    let paused = waiting(&person, &[line, done()]);
    assert!(!paused.stderr.contains("harmless"), "{paused:?}");
    assert!(paused.stderr.contains(r#""path":"other""#), "{paused:?}");
    let digest = digest(&paused.stderr);
    person.bonded(&["approve", "run", "--digest", &digest]);
    assert!(
        person.work().join("other").exists(),
        "what was shown is what ran"
    );
    absent(person.work().join("harmless"));
}

#[test]
fn a_person_is_told_that_long_arguments_are_cut_and_is_not_asked_about_what_is_not_shown() {
    let person = Person::new();
    let content = format!("{} and then the harmful end", "x".repeat(10_000));
    let paused = waiting(&person, &[write_call("a", &content), done()]);
    assert!(paused.stderr.contains("characters are shown"), "{paused:?}");
    let mut approve = person.command(&["approve", "run"]);
    let cut = pressing(&mut approve, KEYS, &["y", "\u{3}"]);
    assert_eq!(cut.code, Some(130), "{cut:?}");
    assert!(cut.text.contains("not all of it is shown"), "{cut:?}");
    absent(person.work().join("a"));
    let mut approve = person.command(&["approve", "run", "--full"]);
    let whole = pressing(&mut approve, KEYS, &["y"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.text.contains("the harmful end"), "{whole:?}");
}

#[test]
fn what_waits_drives_no_terminal_when_it_is_looked_at() {
    let person = Person::new();
    waiting(
        &person,
        &[write_call(&format!("owned {TAKING}"), "one"), done()],
    );
    let looked = pressing(&mut person.command(&["approve", "run"]), KEYS, &["n"]);
    drives_nothing(&looked);
    assert!(looked.text.contains("\\u{1b}]0;owned"), "{looked:?}");
}
