//! What a server says of itself: on stderr as the configuration wants it, and whether it can be written to.

use bonded_testkit::process::Process;
use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Server, code};

#[test]
fn logging_says_what_is_wanted_in_the_form_that_is_wanted() {
    let config = json!({ "logging": { "json": true, "request_log": true }, "colour": 1 });
    let place = Place::with_config(&config);
    let process = Process::begin(&mut place.serve_data());
    process.line_with("listening on http://");
    let lines = process.told();
    let first: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .take_while(|line: &Value| !said(line).starts_with("listening on http://"))
        .collect();
    let warned = first.iter().find(|line| line["level"] == "warn");
    assert!(
        warned.is_some_and(|line| said(line).contains("colour")),
        "{first:?}"
    );
    assert!(first.iter().all(|line| line["at"].is_string()), "{first:?}");
}

#[test]
fn who_wants_errors_only_hears_of_no_warning_and_no_request() {
    let place =
        Place::with_config(&json!({ "logging": { "default_level": "error" }, "colour": 1 }));
    let server = Server::start_in(place);
    assert_eq!(
        server.told,
        [] as [&str; 0],
        "the address is said in any case"
    );
    let place = Place::with_config(&json!({ "logging": { "default_level": "debug" } }));
    let server = Server::start_in(place);
    let reply = server.owner.get("/api/workspaces?nothing=1");
    assert_eq!(reply.status, 400);
    let line = server.process.line_with("request GET");
    assert!(line.contains("/api/workspaces: 400 in "), "{line}");
    assert!(
        !line.contains("nothing"),
        "what people write is not kept: {line}"
    );
}

#[test]
fn what_is_for_an_editor_is_accepted_and_said_to_mean_nothing_here() {
    let place = Place::with_config(&json!({ "editor": { "autosave_debounce_ms": 600 } }));
    let server = Server::start_in(place);
    let line = server.process.line_with("warning: ");
    assert!(
        line.contains("editor: has no effect: it is for an editor"),
        "{line}"
    );
}

#[test]
fn a_server_whose_disk_takes_nothing_in_is_not_ready_until_it_does_again() {
    let server = Server::start();
    let workspace = server.workspace();
    let write = |text: &str| {
        let body = json!({ "workspace_id": workspace, "title": "n", "markdown": text });
        server.owner.post("/api/notes", &body)
    };
    assert_eq!(write("before").status, 201);
    assert_eq!(server.nobody().get("/readyz").status, 200);
    // As full as a disk can be: no file may grow any more.
    server.process.set_disk_full(true);
    let failed = write(&"x".repeat(100_000));
    assert_eq!(
        (failed.status, code(&failed).as_str()),
        (500, "INTERNAL_ERROR"),
        "{failed:?}"
    );
    let away = server.nobody().get("/readyz");
    assert_eq!(
        (away.status, code(&away).as_str()),
        (503, "UNAVAILABLE"),
        "{away:?}"
    );
    let data = server.place.path("data").display().to_string();
    for reply in [&failed, &away] {
        assert!(!reply.json().to_string().contains(&data), "{reply:?}");
    }
    server.process.set_disk_full(false);
    assert_eq!(write("after").status, 201);
    assert_eq!(server.nobody().get("/readyz").status, 200);
    // It finds out by itself, too.
    server.process.set_disk_full(true);
    assert_eq!(write(&"x".repeat(100_000)).status, 500);
    server.process.set_disk_full(false);
    let began = std::time::Instant::now();
    while server.nobody().get("/readyz").status != 200 {
        assert!(began.elapsed().as_secs() < 60, "it is never ready again");
        std::thread::yield_now();
    }
}

fn said(line: &Value) -> String {
    line["message"].as_str().unwrap_or_default().to_owned()
}
