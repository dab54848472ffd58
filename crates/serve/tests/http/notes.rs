//! Notes: written, read, changed, as they were, deleted and had back.

use serde_json::{Value, json};

use crate::server::{Client, Server, code};

fn path(note: &Value) -> String {
    format!(
        "/api/notes/{}",
        note["note_id"].as_str().expect("a note has an id")
    )
}

#[test]
fn a_note_without_a_title_is_named_after_the_clock() {
    let server = Server::start();
    let body = json!({ "workspace_id": server.workspace(), "markdown": "text" });
    let made = server.owner.post("/api/notes", &body);
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    let title = made["title"].as_str().expect("there is a title").to_owned();
    let shape: String = title
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00 00:00:00");
    assert!(
        made["created_at"]
            .as_str()
            .expect("a time")
            .starts_with(&title[..10])
    );
    assert_eq!(made["version"], 1);
    let read = server.owner.get(&path(&made)).json();
    assert_eq!(
        read, made,
        "a later read shows the same, with its workspace"
    );
}

#[test]
fn a_title_changes_and_the_id_does_not() {
    let server = Server::start();
    let note = server.note("One", "text");
    for (version, title) in [(1, "Two"), (2, "Three")] {
        let body = json!({ "base_version": version, "title": title });
        let changed = server.owner.patch(&format!("{}/title", path(&note)), &body);
        assert_eq!(changed.status, 200, "{changed:?}");
        let changed = changed.json();
        assert_eq!(changed["note_id"], note["note_id"]);
        assert_eq!(
            (&changed["title"], &changed["version"]),
            (&json!(title), &json!(version + 1))
        );
        assert_eq!(changed["markdown"], "text");
    }
    let stale = json!({ "base_version": 1, "title": "Four" });
    let refused = server
        .owner
        .patch(&format!("{}/title", path(&note)), &stale);
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (409, "VERSION_CONFLICT")
    );
}

#[test]
fn a_stale_write_changes_nothing_and_says_how_things_stand() {
    let server = Server::start();
    let note = server.note("One", "first");
    let body = json!({ "base_version": 1, "markdown": "second" });
    assert_eq!(server.owner.patch(&path(&note), &body).status, 200);
    for base in [1, 0, 7, u64::MAX] {
        let body = json!({ "base_version": base, "markdown": "third" });
        let refused = server.owner.patch(&path(&note), &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (409, "VERSION_CONFLICT")
        );
        let details = refused.json()["details"].clone();
        assert_eq!(details["expected_version"], base);
        assert_eq!(details["current_version"], 2);
        assert_eq!(details["resource_id"], note["note_id"]);
        assert_eq!(details["current_title"], "One");
        assert_eq!(details["current_markdown"], "second");
        assert!(details["updated_at"].is_string());
    }
    assert_eq!(server.owner.get(&path(&note)).json()["markdown"], "second");
}

#[test]
fn every_version_can_be_read_and_the_history_says_who_wrote_it() {
    let server = Server::start();
    let note = server.note("One", "v1");
    for version in 1..4 {
        let body = json!({ "base_version": version, "markdown": format!("v{}", version + 1) });
        assert_eq!(server.owner.patch(&path(&note), &body).status, 200);
    }
    for version in 1..=4 {
        let past = server
            .owner
            .get(&format!("{}/history/{version}", path(&note)));
        assert_eq!(past.json()["markdown"], format!("v{version}"), "{past:?}");
    }
    let history = server
        .owner
        .get(&format!("{}/history?limit=3", path(&note)))
        .json();
    let versions: Vec<_> = history["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["version"].clone())
        .collect();
    assert_eq!(versions, [4, 3, 2]);
    assert_eq!(history["next_offset"], 3);
    assert_eq!(history["versions"][0]["actor_type"], "user");
    for version in ["0", "5", "99999999999"] {
        let missing = server
            .owner
            .get(&format!("{}/history/{version}", path(&note)));
        assert_eq!(
            (missing.status, code(&missing).as_str()),
            (404, "NOTE_NOT_FOUND")
        );
    }
}

#[test]
fn a_deleted_note_is_out_of_lists_and_search_and_can_be_had_back() {
    let server = Server::start();
    let note = server.note("Walrus", "a walrus");
    let list = format!("/api/notes?workspace_id={}", server.workspace());
    let titles = |list: &str| -> Vec<String> {
        let listed = server.owner.get(list).json();
        let notes = listed["notes"]
            .as_array()
            .unwrap_or_else(|| panic!("{listed}"))
            .clone();
        notes
            .iter()
            .map(|note| note["title"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let search = format!("/api/search?q=walrus&workspace_id={}", server.workspace());
    assert_eq!(server.owner.get(&search).json()["total"], 1);
    assert_eq!(titles(&list), ["Walrus"]);
    assert_eq!(server.owner.delete(&path(&note)).status, 204);
    assert_eq!(titles(&list), [""; 0]);
    assert_eq!(titles(&format!("{list}&include_deleted=true")), ["Walrus"]);
    assert_eq!(server.owner.get(&search).json()["total"], 0);
    let deleted = server.owner.get(&path(&note)).json();
    assert!(deleted["deleted_at"].is_string(), "{deleted}");
    let body = json!({ "base_version": 2, "markdown": "more" });
    assert_eq!(
        code(&server.owner.patch(&path(&note), &body)),
        "NOTE_NOT_FOUND"
    );
    let back = server
        .owner
        .post(&format!("{}/undelete", path(&note)), &json!({}));
    assert_eq!(back.status, 200, "{back:?}");
    assert_eq!(back.json()["deleted_at"], Value::Null);
    assert_eq!(titles(&list), ["Walrus"]);
}

#[test]
fn metadata_is_set_and_deleting_it_answers_204() {
    let server = Server::start();
    let note = server.note("One", "");
    let place = format!("{}/metadata/colour", path(&note));
    let set = server
        .owner
        .put(&place, &json!({ "value": { "rgb": [1, 2, 3] } }));
    assert_eq!(set.status, 200, "{set:?}");
    assert_eq!(set.json()["metadata"]["colour"]["rgb"][1], 2);
    let deleted = server.owner.delete(&place);
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    assert_eq!(server.owner.get(&path(&note)).json()["metadata"], json!({}));
    for key in ["system.x", "Upper", "created_by_agent", "%20"] {
        let refused = server.owner.put(
            &format!("{}/metadata/{key}", path(&note)),
            &json!({ "value": 1 }),
        );
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (400, "BAD_REQUEST"),
            "{key}"
        );
    }
}

#[test]
fn links_by_title_alias_and_id_are_found_backwards() {
    let server = Server::start();
    let target = server.note("The Target", "");
    let id = target["note_id"].as_str().expect("an id").to_owned();
    server.note("A", "see [[The Target]]");
    server.note("B", "see [[the target|that one]]");
    server.note("C", &format!("see [[{id}]]"));
    server.note("D", "`[[The Target]]` is code");
    let links = server
        .owner
        .get(&format!("{}/backlinks", path(&target)))
        .json();
    let titles: Vec<_> = links["backlinks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["title"].clone())
        .collect();
    assert_eq!(titles, ["A", "B", "C"]);
}

#[test]
fn a_repeated_request_with_the_same_key_is_made_once_and_answered_the_same() {
    let server = Server::start();
    let workspace = server.workspace();
    let key = "\r\nIdempotency-Key: once";
    let body = json!({ "workspace_id": workspace, "title": "Once", "markdown": "x" });
    let first = server.owner.keyed("POST", "/api/notes", key, &body);
    assert_eq!(first.status, 201, "{first:?}");
    let again = server.owner.keyed("POST", "/api/notes", key, &body);
    assert_eq!((again.status, &again.body), (201, &first.body));
    let other = json!({ "workspace_id": workspace, "title": "Other", "markdown": "x" });
    let refused = server.owner.keyed("POST", "/api/notes", key, &other);
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (400, "BAD_REQUEST")
    );
    let list = server
        .owner
        .get(&format!("/api/notes?workspace_id={workspace}"))
        .json();
    assert_eq!(list["notes"].as_array().map(Vec::len), Some(1), "{list}");
    let (_, other_user) = server.user("ada", Some("editor"));
    let theirs = other_user.keyed("POST", "/api/notes", key, &body);
    assert_eq!(theirs.status, 201, "a key is its user's own: {theirs:?}");
    assert_ne!(theirs.json()["note_id"], first.json()["note_id"]);
}

#[test]
fn what_changes_things_needs_a_key() {
    let server = Server::start();
    let note = server.note("One", "");
    let rows: [(&str, String); 7] = [
        ("POST", "/api/notes".into()),
        ("PATCH", path(&note)),
        ("DELETE", path(&note)),
        ("PATCH", format!("{}/title", path(&note))),
        ("POST", "/api/workspaces".into()),
        ("POST", "/api/automation/rules".into()),
        (
            "POST",
            format!("/api/automation/rules/{}/launch", server.workspace()),
        ),
    ];
    for (method, path) in rows {
        for headers in ["", "\r\nIdempotency-Key: "] {
            let refused = server.owner.keyed(method, &path, headers, &json!({}));
            assert_eq!(
                (refused.status, code(&refused).as_str()),
                (400, "BAD_REQUEST"),
                "{method} {path}"
            );
            assert!(refused.body.contains("Idempotency-Key"), "{refused:?}");
        }
    }
}

#[test]
fn an_archived_workspace_can_only_be_read_and_a_deleted_one_not_even_that() {
    let server = Server::start();
    let note = server.note("One", "text");
    let workspace = format!("/api/workspaces/{}", server.workspace());
    let archived = server
        .owner
        .patch(&workspace, &json!({ "state": "archived" }));
    assert_eq!(
        (archived.status, &archived.json()["state"]),
        (200, &json!("archived"))
    );
    assert_eq!(server.owner.get(&path(&note)).status, 200);
    let body = json!({ "base_version": 1, "markdown": "more" });
    let refused = server.owner.patch(&path(&note), &body);
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (403, "WORKSPACE_FORBIDDEN")
    );
    let active = server
        .owner
        .patch(&workspace, &json!({ "state": "active" }));
    assert_eq!(active.status, 200);
    assert_eq!(server.owner.patch(&path(&note), &body).status, 200);
    let deleted = server
        .owner
        .patch(&workspace, &json!({ "state": "deleted" }));
    assert_eq!(deleted.status, 200, "{deleted:?}");
    let gone = server.owner.get(&path(&note));
    assert_eq!(
        (gone.status, code(&gone).as_str()),
        (404, "WORKSPACE_NOT_FOUND")
    );
}

#[test]
fn of_many_who_write_at_once_one_wins_each_version() {
    let server = Server::start();
    let note = server.note("Race", "0");
    let place = path(&note);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let client = Client::with(&server.address, server.owner.headers());
            let place = place.clone();
            std::thread::spawn(move || {
                let mut won = 0;
                while won < 5 {
                    let version = client.get(&place).json()["version"]
                        .as_u64()
                        .expect("a version");
                    let key = format!("\r\nIdempotency-Key: w{writer}-{won}-{version}");
                    let body = json!({ "base_version": version, "markdown": format!("{writer}") });
                    won += u32::from(client.keyed("PATCH", &place, &key, &body).status == 200);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("a writer does not panic");
    }
    assert_eq!(server.owner.get(&place).json()["version"], 1 + 8 * 5);
}
