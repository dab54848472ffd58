//! Sessions: prompts follow each other, are stopped, outlive the process, and are loaded as they were.

use bonded_testkit::patience::wait_until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::editor::{Editor, start, words};
use crate::place::{Place, call, of_kind, with};

#[test]
fn prompts_of_a_session_are_goals_of_one_run() {
    let place = Place::new();
    let lines = [
        with(call("list", json!({})), "text", "Let me look."),
        words("There is nothing."),
        with(words("Still nothing."), "expect", json!(["and now?"])),
    ];
    let mut editor = start(&place, &lines, &[]);
    let session = editor.session(&place);
    assert_eq!(
        place.listed().len(),
        0,
        "a session without a prompt is not kept"
    );
    assert_eq!(editor.prompt(&session, "what is here?"), "end_turn");
    assert_eq!(editor.said(), "Let me look.There is nothing.");
    let calls = editor.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (&calls[0]["kind"], &calls[0]["status"]),
        (&json!("search"), &json!("completed"))
    );
    assert_eq!(editor.prompt(&session, "and now?"), "end_turn");
    assert_eq!(editor.said(), "Let me look.There is nothing.Still nothing.");
    // Nobody tells the editor what was typed in it.
    assert_eq!(editor.chunks("user_message_chunk"), "");
    let entries = place.entries(&session);
    assert_eq!(of_kind(&entries, "goal_given").len(), 1);
    assert_eq!(of_kind(&entries, "run_ended").len(), 2);
    editor.close().succeeds();
    place.passes_the_audit(&session);
}

#[test]
fn a_prompt_is_stopped_and_the_session_goes_on() {
    let place = Place::new();
    let slow = call("run", json!({ "command": "echo x > begun; sleep 600" }));
    let mut editor = start(&place, &[slow, words("Hello.")], &["--no-ask"]);
    let session = editor.session(&place);
    let id = editor.begin_prompt(&session, "wait");
    let begun = place.work().join("begun");
    wait_until("the command runs", || begun.exists());
    let busy = editor.refused("session/prompt", crate::editor::prompt(&session, "me too"));
    assert_eq!(busy["code"], -32600, "{busy}");
    editor.notify("session/cancel", json!({ "sessionId": session }));
    let reply = editor.reply(id);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply}");
    assert_eq!(editor.prompt(&session, "hello?"), "end_turn");
    assert_eq!(editor.said(), "Hello.");
    editor.close().succeeds();
    place.passes_the_audit(&session);
}

/// What an editor shows of a session: the pieces of a text are one text.
fn shown(editor: &Editor) -> Vec<Value> {
    let mut shown: Vec<Value> = vec![];
    for update in &editor.updates {
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        match shown.last_mut() {
            Some(last) if is_text && last["messageId"] == update["messageId"] => {
                let both = [&*last, update].map(|it| it["content"]["text"].as_str().unwrap_or(""));
                last["content"]["text"] = both.concat().into();
            }
            _ if is_text || update["toolCallId"].is_string() => shown.push(update.clone()),
            _ => {}
        }
    }
    shown
}

#[test]
fn a_session_outlives_the_process_and_is_loaded_as_it_was_shown() {
    let place = Place::new();
    let lines = [
        call("write", json!({ "path": "a.txt", "content": "one\n" })),
        words("Written."),
        words("You are welcome."),
    ];
    let mut editor = start(&place, &lines, &["--no-ask"]);
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "write a file"), "end_turn");
    let before = shown(&editor);
    let diff = editor.calls()[0]["content"][0].clone();
    let path = place.work().join("a.txt");
    assert_eq!(
        diff,
        json!({ "type": "diff", "path": path, "oldText": null, "newText": "one\n" })
    );
    editor.signal(Signal::KILL);
    let mut editor = start(&place, &lines, &["--no-ask"]);
    let listed = editor.ask("session/list", json!({ "cwd": place.work() }));
    assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    assert_eq!(listed["sessions"][0]["title"], "write a file");
    let load = json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] });
    editor.ask("session/load", load);
    assert_eq!(editor.chunks("user_message_chunk"), "write a file");
    assert_eq!(shown(&editor), before);
    assert_eq!(editor.prompt(&session, "thank you"), "end_turn");
    assert!(
        editor.said().ends_with("You are welcome."),
        "{}",
        editor.said()
    );
    editor.close().succeeds();
    assert_eq!(std::fs::read_to_string(path).ok().as_deref(), Some("one\n"));
    place.passes_the_audit(&session);
}

#[test]
fn what_a_killed_process_had_under_way_is_ended_and_not_repeated() {
    let place = Place::new();
    let lines = [
        call("run", json!({ "command": "echo x >> witness; sleep 600" })),
        words("It was interrupted."),
    ];
    let mut editor = start(&place, &lines, &["--no-ask"]);
    let session = editor.session(&place);
    editor.begin_prompt(&session, "run it");
    let witness = place.work().join("witness");
    wait_until("the command runs", || {
        std::fs::read_to_string(&witness).is_ok_and(|it| it == "x\n")
    });
    editor.signal(Signal::KILL);
    drop(editor);
    let mut editor = start(&place, &lines, &["--no-ask"]);
    let resume = json!({ "sessionId": session, "cwd": place.work() });
    editor.ask("session/resume", resume);
    assert_eq!(editor.prompt(&session, "what happened?"), "end_turn");
    assert_eq!(editor.said(), "It was interrupted.");
    editor.close().succeeds();
    assert_eq!(
        std::fs::read_to_string(&witness).ok().as_deref(),
        Some("x\n")
    );
    place.passes_the_audit(&session);
}

#[test]
fn an_editor_that_is_closed_leaves_a_run_that_can_be_resumed() {
    let place = Place::new();
    let lines = [with(words("Here."), "delay_ms", 3_000)];
    let mut editor = start(&place, &lines, &[]);
    let session = editor.session(&place);
    editor.begin_prompt(&session, "wait");
    place.wait_for_entry(&session, 1, "attempt_started");
    editor.close().succeeds();
    assert_eq!(place.statuses(), ["interrupted"]);
    let resumed = place.bonded(&["resume", &session]);
    resumed.succeeds();
    assert_eq!(resumed.stdout.trim(), "Here.");
    place.passes_the_audit(&session);
}

#[test]
fn a_failed_reply_is_told_and_the_next_one_is_shown() {
    let place = Place::new();
    let fail = json!({ "fail": "network", "message": "the line is down" });
    let mut editor = start(&place, &[fail, words("Back again.")], &[]);
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    let thoughts = editor.chunks("agent_thought_chunk");
    assert!(thoughts.contains("the line is down"), "{thoughts}");
    assert_eq!(editor.said(), "Back again.");
    let fatal = editor.refused("session/prompt", crate::editor::prompt(&session, "more"));
    assert!(
        fatal["message"]
            .as_str()
            .is_some_and(|it| it.contains("2 replies")),
        "{fatal}"
    );
    editor.close().succeeds();
}

#[test]
fn limits_end_a_prompt_in_words() {
    let place = Place::new();
    let lines: Vec<Value> = (0..9)
        .map(|nth| call("list", json!({ "path": format!("{nth}") })))
        .collect();
    let mut editor = start(&place, &lines, &["--max-turns", "2"]);
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "look around"), "max_turn_requests");
    assert!(editor.said().contains("Stopped: "), "{}", editor.said());
    editor.close().succeeds();
}
