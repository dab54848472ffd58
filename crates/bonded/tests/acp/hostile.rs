//! What no library sends: the program answers with an error and goes on.

use serde_json::{Value, json};

use crate::editor::{prompt, start, words};
use crate::place::Place;

#[test]
fn requests_that_mean_nothing_are_refused_and_the_next_one_counts() {
    let place = Place::new();
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a directory can be made");
    let mut editor = start(&place, &[words("Hello.")], &[]);
    let session = editor.session(&place);
    let work = place.work();
    for (method, params, code) in [
        ("session/unknown", json!({}), -32601),
        ("session/new", json!({}), -32602),
        (
            "session/new",
            json!({ "cwd": "relative", "mcpServers": [] }),
            -32602,
        ),
        (
            "session/new",
            json!({ "cwd": place.path("missing"), "mcpServers": [] }),
            -32603,
        ),
        ("session/prompt", prompt("none", "hello"), -32002),
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": [] }),
            -32602,
        ),
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": "hello" }),
            -32602,
        ),
        (
            "session/load",
            json!({ "sessionId": "none", "cwd": work, "mcpServers": [] }),
            -32002,
        ),
        (
            "session/load",
            json!({ "sessionId": "../x", "cwd": work, "mcpServers": [] }),
            -32002,
        ),
        ("session/close", json!({ "sessionId": "none" }), -32002),
        ("session/list", json!({ "cursor": "2" }), -32602),
    ] {
        let error = editor.refused(method, params.clone());
        assert_eq!(error["code"], code, "{method} {params}: {error}");
    }
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    let load = json!({ "sessionId": session, "cwd": elsewhere, "mcpServers": [] });
    let error = editor.refused("session/load", load);
    assert_eq!(error["data"]["code"], "cannot-continue", "{error}");
    editor.close().succeeds();
}

#[test]
fn lines_that_are_no_messages_are_answered_and_skipped() {
    let place = Place::new();
    let mut editor = start(&place, &[words("Hello.")], &[]);
    for (line, code) in [
        (b"\xff\xfe\n".to_vec(), -32700),
        (b"{\n".to_vec(), -32700),
        (b"[]\n".to_vec(), -32600),
        ([vec![b'x'; 11 * 1024 * 1024], vec![b'\n']].concat(), -32600),
    ] {
        editor.send(&line);
        let answer = editor.next();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // Answers to what was never asked, and notifications that are not known.
    editor.send_line(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    editor.notify("session/cancel", json!({ "sessionId": "none" }));
    editor.notify("unknown", json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    editor.close().succeeds();
}

#[test]
fn what_a_prompt_brings_is_bounded_and_images_are_those_that_models_take() {
    let place = Place::new();
    let mut editor = start(&place, &[words("Hello.")], &[]);
    let session = editor.session(&place);
    let of = |part: Value| json!({ "sessionId": session, "prompt": [part] });
    for part in [
        json!({ "type": "text", "text": "x".repeat(5 * 1024 * 1024) }),
        json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" }),
        json!({ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }),
    ] {
        let kind = part["type"].clone();
        let error = editor.refused("session/prompt", of(part));
        assert_eq!(error["code"], -32602, "{kind}: {error}");
    }
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    editor.close().succeeds();
}

#[test]
fn a_directory_that_wants_more_than_to_tighten_is_refused_until_it_is_trusted() {
    let place = Place::new();
    let server = json!({ "mcpServers": { "t": { "command": "touch", "args": ["/tmp/never"] } } });
    place.write("work/.ai-agent.json", server.to_string());
    let mut editor = start(&place, &[words("Hello.")], &[]);
    let begin = json!({ "cwd": place.work(), "mcpServers": [] });
    let error = editor.refused("session/new", begin);
    assert_eq!(error["data"]["code"], "untrusted", "{error}");
    editor.close().succeeds();
    place.bonded(&["acp", "--trust"]).fails_with(4, "usage");
}

#[test]
fn tool_servers_of_the_editor_are_not_started_and_that_is_told() {
    let place = Place::new();
    let canary = place.path("canary");
    let mut editor = start(&place, &[words("Hello.")], &[]);
    let server = json!({ "name": "s", "command": "touch", "args": [canary], "env": [] });
    let begin = json!({ "cwd": place.work(), "mcpServers": [server] });
    let begun = editor.ask("session/new", begin);
    let session = begun["sessionId"].as_str().expect("an id").to_owned();
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    assert!(
        editor.said().contains("are not used here"),
        "{}",
        editor.said()
    );
    assert!(!canary.exists());
    editor.close().succeeds();
}

#[test]
fn an_editor_that_does_not_read_holds_up_no_run() {
    let place = Place::new();
    let long = "word ".repeat(2_000);
    let mut lines: Vec<Value> = (0..200)
        .map(|nth| {
            let call = crate::place::call("list", json!({ "path": format!("{nth}") }));
            crate::place::with(call, "text", long.as_str())
        })
        .collect();
    lines.push(words("Done."));
    let mut editor = start(
        &place,
        &lines,
        &["--max-turns", "300", "--no-progress", "0"],
    );
    let session = editor.session(&place);
    let gate = editor.gate.clone();
    let reads_nothing = gate.lock().expect("nobody panics with it");
    let id = editor.begin_prompt(&session, "look around");
    // Two megabytes are written, which no pipe holds; the run ends all the same.
    place.wait_for(&["succeeded"]);
    drop(reads_nothing);
    assert_eq!(editor.reply(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.said(), long.repeat(200) + "Done.");
    editor.close().succeeds();
}
