//! What is kept: links of notes that are called otherwise, a workspace's one owner, what was deleted, and rules as they
//! were read.

use serde_json::{Value, json};

use crate::server::{Server, code};

fn id(value: &Value, field: &str) -> String {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("{value}"))
        .to_owned()
}

#[test]
fn a_note_that_is_renamed_is_still_what_links_of_before_lead_to() {
    let server = Server::start();
    let target = id(&server.note("Old name", "text"), "note_id");
    let source = id(&server.note("Source", "see [[old name]]"), "note_id");
    let rename = |version: u64, title: &str| {
        let body = json!({ "base_version": version, "title": title });
        let path = format!("/api/notes/{target}/title");
        let renamed = server.owner.patch(&path, &body);
        assert_eq!(renamed.status, 200, "{renamed:?}");
    };
    let backlinks = |note: &str| -> Vec<Value> {
        let listed = server
            .owner
            .get(&format!("/api/notes/{note}/backlinks"))
            .json();
        let listed = listed["backlinks"].as_array().cloned();
        listed
            .unwrap_or_default()
            .iter()
            .map(|it| it["note_id"].clone())
            .collect()
    };
    rename(1, "New name");
    rename(2, "Newest name");
    assert_eq!(backlinks(&target), [json!(source)]);
    let shown = server.owner.get(&format!("/api/notes/{source}")).json();
    assert_eq!(
        (&shown["markdown"], &shown["version"]),
        (&json!("see [[old name]]"), &json!(1)),
        "nobody wrote to it"
    );
    // Whoever has the name now is meant by it.
    let heir = id(&server.note("Old name", "another"), "note_id");
    assert_eq!(backlinks(&heir), [json!(source)]);
    assert!(backlinks(&target).is_empty());
    assert_eq!(
        server.owner.delete(&format!("/api/notes/{heir}")).status,
        204
    );
    assert_eq!(backlinks(&target), [json!(source)]);
}

#[test]
fn a_word_with_a_star_finds_what_begins_like_it() {
    let server = Server::start();
    server.note("Meetings", "about meetings");
    server.note("Meeting", "a meeting");
    server.note("Other", "met somebody");
    let workspace = server.workspace();
    let found = |query: &str| {
        let path = format!("/api/search?workspace_id={workspace}&q={query}");
        let found = server.owner.get(&path);
        assert_eq!(found.status, 200, "{found:?}");
        found.json()["total"].clone()
    };
    for (query, total) in [
        ("meeting", 1),
        ("meeting*", 2),
        ("me*", 3),
        ("meeting*+about", 1),
        ("zzz*", 0),
        ("*", 0),
        ("**", 0),
    ] {
        assert_eq!(found(query), total, "{query}");
    }
    let refused = server.owner.get(&format!(
        "/api/search?workspace_id={workspace}&q=x&project_id=1"
    ));
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (400, "BAD_REQUEST")
    );
}

#[test]
fn a_rule_has_a_name_and_is_changed_as_it_was_read() {
    let server = Server::start();
    let rule = json!({
        "workspace_id": server.workspace(),
        "name": "Tidy up",
        "trigger": "manual",
        "action_json": { "kind": "kjxlkj_agent" },
    });
    let made = server.owner.post("/api/automation/rules", &rule);
    assert_eq!(
        (made.status, &made.json()["name"]),
        (201, &json!("Tidy up")),
        "{made:?}"
    );
    let path = format!("/api/automation/rules/{}", id(&made.json(), "rule_id"));
    let body = json!({ "base_version": 1, "name": "Tidy up daily" });
    let changed = server.owner.patch(&path, &body);
    assert_eq!(
        (changed.status, &changed.json()["version"]),
        (200, &json!(2)),
        "{changed:?}"
    );
    let stale = server
        .owner
        .patch(&path, &json!({ "base_version": 1, "enabled": false }));
    assert_eq!(
        (stale.status, code(&stale).as_str()),
        (409, "VERSION_CONFLICT")
    );
    let details = &stale.json()["details"];
    assert_eq!(
        (&details["expected_version"], &details["current_version"]),
        (&json!(1), &json!(2))
    );
    let kept = server.owner.get(&path).json();
    assert_eq!(
        (&kept["enabled"], &kept["name"]),
        (&json!(true), &json!("Tidy up daily"))
    );
    let stale = server.owner.delete(&format!("{path}?base_version=1"));
    assert_eq!(code(&stale), "VERSION_CONFLICT");
    // The same request again is the same answer, although the rule has another version by then.
    let key = "\r\nIdempotency-Key: again";
    for _ in 0..2 {
        let named = server
            .owner
            .keyed("PATCH", &path, key, &json!({ "name": "Third" }));
        assert_eq!(
            (named.status, &named.json()["version"]),
            (200, &json!(3)),
            "{named:?}"
        );
    }
    let nameless = server.owner.patch(&path, &json!({ "name": null }));
    assert_eq!(
        (nameless.status, nameless.json().get("name")),
        (200, None),
        "{nameless:?}"
    );
    for wrong in [json!(""), json!("two\nlines"), json!(7)] {
        let refused = server.owner.patch(&path, &json!({ "name": wrong }));
        assert_eq!(code(&refused), "RULE_INVALID", "{refused:?}");
    }
}

#[test]
fn a_workspace_has_one_owner_who_hands_it_over_and_never_just_goes() {
    let server = Server::start();
    let workspace = server.workspace();
    let (ada, client) = server.user("ada", Some("editor"));
    let members = format!("/api/workspaces/{workspace}/members");
    let roles = || -> Vec<Value> {
        let listed = client.get(&members).json();
        let listed = listed["members"].as_array().cloned().unwrap_or_default();
        let mut roles: Vec<Value> = listed.iter().map(|it| it["role"].clone()).collect();
        roles.sort_by_key(Value::to_string);
        roles
    };
    let listed = server.owner.get(&members).json();
    let all = listed["members"].as_array().expect("a list");
    let own = all
        .iter()
        .find(|it| it["role"] == "owner")
        .expect("an owner");
    let own = id(own, "user_id");
    let left = server.owner.delete(&format!("{members}/{own}"));
    assert_eq!(left.status, 400, "{left:?}");
    let less = server
        .owner
        .post(&members, &json!({ "user_id": own, "role": "admin" }));
    assert_eq!(less.status, 400, "{less:?}");
    let taken = client.post(&members, &json!({ "user_id": ada, "role": "owner" }));
    assert_eq!(code(&taken), "ROLE_FORBIDDEN");
    let handed = server
        .owner
        .post(&members, &json!({ "user_id": ada, "role": "owner" }));
    assert_eq!(handed.status, 200, "{handed:?}");
    assert_eq!(roles(), ["admin", "owner"]);
    let renamed = client.patch(
        &format!("/api/workspaces/{workspace}"),
        &json!({ "name": "Hers" }),
    );
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!(server.owner.delete(&format!("{members}/{own}")).status, 204);
    assert_eq!(roles(), ["owner"]);
}

#[test]
fn a_deleted_workspace_can_be_had_back_by_its_owner_alone() {
    let server = Server::start();
    let workspace = server.workspace();
    let (_, admin) = server.user("ada", Some("admin"));
    let note = id(&server.note("Kept", "text"), "note_id");
    let path = format!("/api/workspaces/{workspace}");
    let gone = server.owner.patch(&path, &json!({ "state": "deleted" }));
    assert_eq!(gone.status, 200, "{gone:?}");
    assert_eq!(
        code(&server.owner.get(&format!("/api/notes/{note}"))),
        "WORKSPACE_NOT_FOUND"
    );
    let listed =
        |client: &crate::server::Client| client.get("/api/workspaces").json()["workspaces"].clone();
    assert_eq!(listed(&admin), json!([]));
    assert_eq!(listed(&server.owner)[0]["state"], "deleted");
    let refused = admin.patch(&path, &json!({ "state": "active" }));
    assert_eq!(code(&refused), "WORKSPACE_NOT_FOUND");
    let back = server.owner.patch(&path, &json!({ "state": "active" }));
    assert_eq!(back.status, 200, "{back:?}");
    assert_eq!(admin.get(&format!("/api/notes/{note}")).status, 200);
}
