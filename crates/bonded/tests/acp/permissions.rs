//! Calls that change something are asked about in the editor, and nothing but a clear yes is one.

use serde_json::{Value, json};

use crate::editor::{start, words};
use crate::place::{Place, call, of_kind};

fn write(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

#[test]
fn the_person_sees_the_diff_and_their_yes_is_on_record() {
    let place = Place::new();
    place.write("work/a.txt", "old\n");
    let lines = [write("a.txt", "new\n"), words("Done.")];
    let mut editor = start(&place, &lines, &[]).answering(&["allow"]);
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "change it"), "end_turn");
    let asked = &editor.asked[0];
    let path = place.work().join("a.txt");
    let diff = json!([{ "type": "diff", "path": path, "oldText": "old\n", "newText": "new\n" }]);
    assert_eq!(asked["toolCall"]["content"], diff, "{asked}");
    assert_eq!(
        asked["toolCall"]["toolCallId"],
        editor.calls()[0]["toolCallId"]
    );
    assert_eq!(
        std::fs::read_to_string(&path).ok().as_deref(),
        Some("new\n")
    );
    editor.close().succeeds();
    let entries = place.entries(&session);
    let by = of_kind(&entries, "call_reviewed")[0]["by"].clone();
    assert!(
        by.as_str().is_some_and(|by| by.ends_with(" in A Test")),
        "{by}"
    );
}

#[test]
fn a_no_and_whatever_is_no_answer_change_nothing() {
    for answer in ["deny", "allow_always", "always-99", "", "yes"] {
        let place = Place::new();
        let lines = [write("a.txt", "new\n"), words("Understood.")];
        let mut editor = start(&place, &lines, &[]).answering(&[answer]);
        let session = editor.session(&place);
        assert_eq!(editor.prompt(&session, "change it"), "end_turn");
        assert!(!place.work().join("a.txt").exists(), "{answer}");
        assert_eq!(editor.calls()[0]["status"], "failed", "{answer}");
        editor.close().succeeds();
        place.passes_the_audit(&session);
    }
}

#[test]
fn always_holds_for_what_was_said_and_no_further() {
    let place = Place::new();
    let run = |command: &str| call("run", json!({ "command": command }));
    let lines = [
        run("echo one >> made"),
        run("echo one >> made"),
        run("echo two >> made"),
        words("Done."),
    ];
    // The first choice is this very command.
    let mut editor = start(&place, &lines, &[]).answering(&["always-0", "deny"]);
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "make it"), "end_turn");
    assert_eq!(editor.asked.len(), 2);
    let made = std::fs::read_to_string(place.work().join("made"));
    assert_eq!(made.ok().as_deref(), Some("one\none\n"));
    editor.close().succeeds();
    place.passes_the_audit(&session);
}

#[test]
fn a_turn_that_is_stopped_at_a_question_executes_nothing() {
    let place = Place::new();
    let lines = [write("a.txt", "new\n"), words("Hello.")];
    let mut editor = start(&place, &lines, &[]);
    let session = editor.session(&place);
    let id = editor.begin_prompt(&session, "change it");
    editor.wait_until(|editor| !editor.asked.is_empty());
    editor.notify("session/cancel", json!({ "sessionId": session }));
    let reply = editor.reply(id);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply}");
    assert!(!place.work().join("a.txt").exists());
    assert_eq!(editor.prompt(&session, "hello?"), "end_turn");
    editor.close().succeeds();
    place.passes_the_audit(&session);
}

#[test]
fn what_changed_while_the_person_looked_is_asked_again() {
    let place = Place::new();
    place.write("work/a.txt", "old\n");
    let lines = [write("a.txt", "new\n"), words("Done.")];
    let mut editor = start(&place, &lines, &[]);
    let session = editor.session(&place);
    let id = editor.begin_prompt(&session, "change it");
    editor.wait_until(|editor| !editor.asked.is_empty());
    place.write("work/a.txt", "of the person\n");
    // The question is the first that the program asks.
    let allow = json!({ "outcome": { "outcome": "selected", "optionId": "allow" } });
    editor.send_line(&json!({ "jsonrpc": "2.0", "id": 1, "result": allow }));
    editor.wait_until(|editor| editor.asked.len() == 2);
    assert_eq!(
        editor.asked[1]["toolCall"]["content"][0]["oldText"],
        "of the person\n"
    );
    let deny = json!({ "outcome": { "outcome": "selected", "optionId": "deny" } });
    editor.send_line(&json!({ "jsonrpc": "2.0", "id": 2, "result": deny }));
    assert_eq!(editor.reply(id)["result"]["stopReason"], "end_turn");
    let kept = std::fs::read_to_string(place.work().join("a.txt"));
    assert_eq!(kept.ok().as_deref(), Some("of the person\n"));
    editor.close().succeeds();
}

#[test]
fn what_another_process_approves_is_not_asked_any_more() {
    let place = Place::new();
    let lines = [write("a.txt", "new\n"), words("Done.")];
    let mut editor = start(&place, &lines, &[]);
    let session = editor.session(&place);
    let id = editor.begin_prompt(&session, "change it");
    editor.wait_until(|editor| !editor.asked.is_empty());
    place
        .bonded(&["deny", &session, "--no-resume", "--reason", "not now"])
        .succeeds();
    let reply = editor.reply(id);
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(!place.work().join("a.txt").exists());
    editor.close().succeeds();
}
