//! How a server starts, what it makes, and when it does not start.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::place::Place;
use crate::server::{Server, code};

#[test]
fn a_first_start_makes_the_directory_and_says_where_the_token_is() {
    let server = Server::start();
    let data = server.place.path("data");
    for name in [
        "config.json",
        "agent-prompt.json",
        "owner-token",
        "workspace.db",
    ] {
        assert!(data.join(name).is_file(), "{name}");
    }
    let mode = data
        .join("owner-token")
        .metadata()
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let said = server.told.iter().any(|line| line.contains("owner-token"));
    assert!(said, "{:?}", server.told);
    assert!(server.address.starts_with("127.0.0.1:"));
    let token = std::fs::read_to_string(data.join("owner-token")).expect("it is there");
    let workspace = server.workspace();
    let (place, done) = server.stop();
    assert_eq!(done.code, Some(0), "{done:?}");
    let again = Server::start_in(place);
    assert_eq!(again.workspace(), workspace);
    let kept = std::fs::read_to_string(data.join("owner-token")).expect("it is there");
    assert_eq!(kept, token);
}

#[test]
fn a_token_whose_file_was_removed_opens_nothing_any_more() {
    let server = Server::start();
    let old = server.owner.clone();
    assert_eq!(old.get("/api/workspaces").status, 200);
    let (place, _) = server.stop();
    std::fs::remove_file(place.path("data/owner-token")).expect("a file can be removed");
    let server = Server::start_in(place);
    let old = crate::server::Client::with(&server.address, old.headers());
    assert_eq!(code(&old.get("/api/workspaces")), "INVALID_CREDENTIALS");
    assert_eq!(server.owner.get("/api/workspaces").status, 200);
    assert_eq!(
        server.workspace().len(),
        36,
        "the workspace is the same owner's"
    );
}

#[test]
fn a_broken_configuration_or_prompt_stops_the_start_with_its_code() {
    let prompt = |segments: serde_json::Value| {
        json!({ "agent_name": "kjxlkj-agent", "version": "1", "segments": segments }).to_string()
    };
    let rows = [
        ("config.json", "{".to_owned(), "config.json"),
        ("agent-prompt.json", "{".to_owned(), "PROMPT_JSON_INVALID"),
        (
            "agent-prompt.json",
            "{}".to_owned(),
            "PROMPT_SCHEMA_INVALID",
        ),
        (
            "agent-prompt.json",
            prompt(json!([])),
            "PROMPT_SCHEMA_INVALID",
        ),
        (
            "agent-prompt.json",
            prompt(json!([{ "condition": "default", "prompt": " " }])),
            "PROMPT_SEGMENT_EMPTY",
        ),
    ];
    for (name, text, expected) in rows {
        let place = Place::new();
        let data = place.path("data");
        std::fs::create_dir(&data).expect("a directory can be made");
        std::fs::write(data.join(name), &text).expect("a file can be written");
        let data = data.display().to_string();
        for words in [
            vec!["serve", "--listen", "127.0.0.1:0", "--data", &data],
            vec!["init", &data],
        ] {
            let done = place.bonded(&words);
            assert_eq!(done.code, Some(4), "{words:?} {text}: {done:?}");
            assert!(done.stderr.contains(expected), "{text}: {done:?}");
        }
    }
}

#[test]
fn init_makes_a_directory_that_a_server_takes_as_it_is() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    let first = place.bonded(&["init", &data]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let token = std::fs::read_to_string(place.path("data/owner-token")).expect("it was made");
    let again = place.bonded(&["init", &data]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let server = Server::start_in(place);
    let kept = std::fs::read_to_string(server.place.path("data/owner-token")).expect("it is there");
    assert_eq!(kept, token);
    assert_eq!(server.owner.get("/api/auth/session").status, 200);
}

#[test]
fn a_list_that_holds_anything_but_origins_stops_the_start() {
    let rows = [
        ("*", "every page of the web"),
        ("https://notes.example/", "is not an origin"),
        ("notes.example", "is not an origin"),
    ];
    for (origin, expected) in rows {
        let place = Place::new();
        std::fs::create_dir(place.path("data")).expect("a directory can be made");
        let config = json!({ "server": { "cors_allowed_origins": [origin] } }).to_string();
        std::fs::write(place.path("data/config.json"), config).expect("a file can be written");
        let data = place.path("data").display().to_string();
        let done = place.bonded(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]);
        assert_eq!(done.code, Some(4), "{done:?}");
        assert!(
            done.stderr.contains("server.cors_allowed_origins") && done.stderr.contains(expected),
            "{}",
            done.stderr
        );
    }
}
