//! What pages need of notes, reviews, people and settings.

use bonded_testkit::http::Reply;
use serde_json::{Value, json};

use crate::reviews::proposed;
use crate::server::{Client, Server, code};

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("{field} in {value}"))
}

/// Sends a file.
fn attach(client: &Client, note: &Value, name: &str, key: &str, content: &[u8]) -> Reply {
    let line = format!(
        "POST /api/notes/{}/attachments?name={name}",
        text(note, "note_id")
    );
    client.send(&line, &format!("\r\nIdempotency-Key: {key}"), content)
}

#[test]
fn two_versions_are_compared_and_an_old_one_is_taken_up_again() {
    let server = Server::start();
    let note = server.note("One", "a\nb\nc\n");
    let path = format!("/api/notes/{}", text(&note, "note_id"));
    let edit =
        json!({ "base_version": 1, "markdown": "a\nB\nc\n", "title": "Two", "keywords": ["k"] });
    server.owner.patch(&path, &edit).is(200);
    let diff = server
        .owner
        .get(&format!("{path}/diff?from=1&to=2"))
        .is(200);
    let lines: Vec<(&str, &str)> = diff["hunks"][0]["lines"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| (text(line, "kind"), text(line, "text")))
        .collect();
    assert_eq!(
        lines,
        [
            ("same", "a"),
            ("removed", "b"),
            ("added", "B"),
            ("same", "c")
        ]
    );
    assert_eq!(
        (&diff["from"]["title"], &diff["to"]["title"]),
        (&json!("One"), &json!("Two"))
    );
    assert_eq!(diff["to"]["actor_type"], "user");
    let same = server
        .owner
        .get(&format!("{path}/diff?from=2&to=2"))
        .is(200);
    assert_eq!(same["hunks"], json!([]));
    assert_eq!(
        code(&server.owner.get(&format!("{path}/diff?from=1&to=9"))),
        "NOTE_NOT_FOUND"
    );
    assert_eq!(
        code(&server.owner.get(&format!("{path}/diff?from=1"))),
        "BAD_REQUEST"
    );
    let stale = json!({ "version": 1, "base_version": 1 });
    let back = format!("{path}/rollback");
    assert_eq!(code(&server.owner.post(&back, &stale)), "VERSION_CONFLICT");
    let rolled = server
        .owner
        .post(&back, &json!({ "version": 1, "base_version": 2 }))
        .is(200);
    assert_eq!(
        (
            &rolled["version"],
            &rolled["title"],
            &rolled["markdown"],
            &rolled["keywords"]
        ),
        (&json!(3), &json!("One"), &json!("a\nb\nc\n"), &json!([]))
    );
    let unknown = json!({ "version": 9, "base_version": 3 });
    assert_eq!(code(&server.owner.post(&back, &unknown)), "NOTE_NOT_FOUND");
}

#[test]
fn keywords_are_counted_and_notes_are_listed_by_keyword_and_folder() {
    let server = Server::start();
    let workspace = server.workspace();
    for (title, keywords, folder) in [
        ("One", vec!["a", "b"], Some("x/y")),
        ("Two", vec!["a"], None),
        ("Three", vec!["c"], Some("x")),
    ] {
        let metadata = folder.map_or(json!({}), |folder| json!({ "folder": folder }));
        let body = json!({ "workspace_id": workspace, "title": title, "keywords": keywords, "metadata": metadata });
        server.owner.post("/api/notes", &body).is(201);
    }
    let counted = server
        .owner
        .get(&format!("/api/keywords?workspace_id={workspace}"))
        .is(200);
    assert_eq!(
        counted["keywords"],
        json!([{ "keyword": "a", "count": 2 }, { "keyword": "b", "count": 1 }, { "keyword": "c", "count": 1 }])
    );
    let titles = |query: &str| -> Vec<String> {
        let path = format!("/api/notes?workspace_id={workspace}&sort=title&{query}");
        let listed = server.owner.get(&path).is(200);
        let notes = listed["notes"].as_array().expect("a list").clone();
        notes
            .iter()
            .map(|note| text(note, "title").to_owned())
            .collect()
    };
    assert_eq!(titles("keyword=a"), ["One", "Two"]);
    assert_eq!(titles("folder=x"), ["Three"]);
    assert_eq!(titles("folder=x%2Fy&keyword=b"), ["One"]);
    assert!(titles("keyword=%27%20OR%201%3D1").is_empty());
}

#[test]
fn a_file_is_attached_downloaded_as_nothing_that_runs_and_removed_with_its_history() {
    let server = Server::with_config(&json!({ "server": { "max_attachment_mb": 1 } }));
    let note = server.note("One", "");
    let page = b"<html><script>alert(1)</script></html>";
    let added = attach(&server.owner, &note, "r%C3%A4t%20sel.html", "one", page).is(201);
    assert_eq!(
        (&added["content_type"], &added["name"]),
        (&json!("text/plain"), &json!("rät sel.html"))
    );
    let again = attach(&server.owner, &note, "r%C3%A4t%20sel.html", "one", page).is(201);
    assert_eq!(added["attachment_id"], again["attachment_id"]);
    let path = format!("/api/attachments/{}", text(&added, "attachment_id"));
    let got = server.owner.get(&path);
    assert_eq!((got.status, got.body.as_bytes()), (200, &page[..]));
    let expected = [
        ("content-type", "application/octet-stream"),
        (
            "content-disposition",
            "attachment; filename*=UTF-8''r%C3%A4t%20sel.html",
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ];
    for (name, value) in expected {
        assert_eq!(got.header(name), Some(value), "{got:?}");
    }
    let list = format!("/api/notes/{}/attachments", text(&note, "note_id"));
    assert_eq!(
        server.owner.get(&list).is(200)["attachments"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let large = attach(
        &server.owner,
        &note,
        "large",
        "two",
        &vec![b'x'; (1 << 20) + 1],
    );
    assert_eq!(
        (large.status, code(&large).as_str()),
        (413, "ATTACHMENT_TOO_LARGE")
    );
    for name in ["", "a%2Fb", "a%0Ab"] {
        assert_eq!(
            code(&attach(&server.owner, &note, name, "three", b"x")),
            "BAD_REQUEST"
        );
    }
    // The note itself is another matter.
    let note_path = format!("/api/notes/{}", text(&note, "note_id"));
    assert_eq!(server.owner.get(&note_path).json()["version"], 1);
    assert_eq!(server.owner.delete(&path).status, 204);
    assert_eq!(server.owner.get(&list).is(200)["attachments"], json!([]));
    assert_eq!(server.owner.get(&path).status, 200);
    let place = server.stop();
    let server = Server::start_in(place);
    assert_eq!(server.owner.get(&path).body.as_bytes(), page);
    let unknown = "/api/attachments/6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    assert_eq!(code(&server.owner.get(unknown)), "ATTACHMENT_NOT_FOUND");
    assert_eq!(code(&server.owner.delete(unknown)), "ATTACHMENT_NOT_FOUND");
}

#[test]
fn what_waits_for_a_review_is_one_queue_and_can_be_edited_before_it_is_applied() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("Changed", "one\ntwo\nthree");
    let run = proposed(&server, &note);
    let path = format!("/api/automation/operations?workspace_id={workspace}");
    let queue = server.owner.get(&path).is(200);
    assert_eq!(queue["pending"], 3);
    let operations = queue["operations"].as_array().expect("a list");
    let (new, edit) = (&operations[0], &operations[1]);
    assert_eq!(
        (&new["before"], &new["after"]["markdown"]),
        (&Value::Null, &json!("by the agent"))
    );
    assert_eq!(edit["before"]["markdown"], "one\ntwo\nthree");
    assert_eq!(edit["after"]["markdown"], "one\nTWO\nthree");
    assert_eq!(
        (&edit["is_outdated"], edit["rule_id"].is_string()),
        (&json!(false), true)
    );
    let decide = |operation: &Value, over: Value| {
        let mut decision = json!({
            "operation_id": operation["operation_id"], "digest": operation["digest"], "decision": "apply",
        });
        let over = over.as_object().expect("an object").clone();
        decision.as_object_mut().expect("an object").extend(over);
        let review = format!("/api/automation/runs/{run}/review");
        server
            .owner
            .post(&review, &json!({ "decisions": [decision] }))
    };
    let rejected = json!({ "decision": "reject", "edited": { "title": "x" } });
    assert_eq!(code(&decide(new, rejected)), "BAD_REQUEST");
    decide(
        edit,
        json!({ "edited": { "markdown": "mine\n", "keywords": ["k"] } }),
    )
    .is(200);
    let changed = server
        .owner
        .get(&format!("/api/notes/{}", text(&note, "note_id")))
        .json();
    assert_eq!(
        (
            &changed["markdown"],
            &changed["keywords"],
            &changed["version"]
        ),
        (&json!("mine\n"), &json!(["k"]), &json!(2))
    );
    let shown = server
        .owner
        .get(&format!("/api/automation/runs/{run}"))
        .json();
    let states: Vec<(&Value, &Value)> = shown["operations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["status"], &it["was_edited"]))
        .collect();
    assert_eq!(states[1], (&json!("applied"), &json!(true)));
    assert_eq!(states[0], (&json!("pending"), &json!(false)));
    // The other change was made for a version that is gone.
    let queue = server.owner.get(&path).is(200);
    assert_eq!(
        (&queue["pending"], &queue["operations"][1]["is_outdated"]),
        (&json!(2), &json!(true))
    );
    decide(new, json!({ "edited": { "title": "Mine" } })).is(200);
    let titles = server
        .owner
        .get(&format!("/api/notes?workspace_id={workspace}"))
        .json();
    assert!(titles.to_string().contains("\"Mine\""), "{titles}");
    assert_eq!(
        server
            .owner
            .get(&format!("/api/automation/runs/{run}/loops"))
            .is(200)["loops"],
        json!([])
    );
}

#[test]
fn the_settings_are_the_owners_and_show_no_secret() {
    let server = Server::with_config(&json!({ "server": { "writes_per_second_max": 77 } }));
    let (_, admin) = server.user("ada", Some("admin"));
    assert_eq!(code(&admin.get("/api/settings")), "ROLE_FORBIDDEN");
    let listed = server.owner.get("/api/settings").is(200);
    let row = |key: &str| {
        let rows = listed["settings"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["key"] == key);
        row.unwrap_or_else(|| panic!("{key} in {listed}")).clone()
    };
    let rate = row("server.writes_per_second_max");
    assert_eq!(
        (&rate["value"], &rate["source"]),
        (&json!(77), &json!("file"))
    );
    assert!(text(&rate, "from").ends_with("config.json"));
    assert_eq!(row("server.request_timeout_ms")["source"], "default");
    let key = row("OPENROUTER_API_KEY");
    assert_eq!(
        (&key["value"], &key["is_secret"], &key["is_set"]),
        (&Value::Null, &json!(true), &json!(false))
    );
}

#[test]
fn members_are_named_and_invitations_are_withdrawn() {
    let server = Server::start();
    let workspace = server.workspace();
    let invited = server
        .owner
        .post("/api/users", &json!({ "name": "eve", "invite": true }))
        .is(201);
    let members = format!("/api/workspaces/{workspace}/members");
    let set = server
        .owner
        .post(&members, &json!({ "name": "eve", "role": "viewer" }))
        .is(200);
    assert_eq!(set["user_id"], invited["user_id"]);
    let both = json!({ "name": "eve", "user_id": invited["user_id"], "role": "viewer" });
    assert_eq!(code(&server.owner.post(&members, &both)), "BAD_REQUEST");
    let nobody = json!({ "name": "nobody", "role": "viewer" });
    assert_eq!(
        code(&server.owner.post(&members, &nobody)),
        "USER_NOT_FOUND"
    );
    let until = |server: &Server| {
        let users = server.owner.get("/api/users").is(200);
        let users = users["users"].as_array().expect("a list").clone();
        let eve = users.into_iter().find(|user| user["name"] == "eve");
        eve.expect("eve is listed")["invited_until"].clone()
    };
    assert_eq!(until(&server), invited["expires_at"]);
    let path = format!("/api/users/{}/invitation", text(&invited, "user_id"));
    let (_, admin) = server.user("ada", Some("admin"));
    assert_eq!(code(&admin.delete(&path)), "ROLE_FORBIDDEN");
    assert_eq!(server.owner.delete(&path).status, 204);
    assert_eq!(until(&server), Value::Null);
    let accept = json!({ "invitation": invited["invitation"], "password": "correct horse" });
    let refused = server.nobody().post("/api/auth/invitation", &accept);
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[test]
fn an_issue_is_closed_once_with_who_and_why_and_stays_readable() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("Changed", "one\ntwo\nthree");
    // Its rule, run and store are those of the reviews.
    let _run = proposed(&server, &note);
    let recorded = crate::reviews::issue(&server);
    let list = |state: &str| {
        let path = format!("/api/issues?workspace_id={workspace}&state={state}");
        server.owner.get(&path).is(200)["issues"]
            .as_array()
            .expect("a list")
            .clone()
    };
    assert_eq!(
        (list("open").len(), list("closed").len(), list("all").len()),
        (1, 0, 1)
    );
    let path = format!("/api/issues/{recorded}/close");
    let (_, viewer) = server.user("ada", Some("viewer"));
    assert_eq!(code(&viewer.post(&path, &json!({}))), "ROLE_FORBIDDEN");
    let (_, stranger) = server.user("eve", None);
    assert_eq!(
        code(&stranger.post(&path, &json!({}))),
        "WORKSPACE_FORBIDDEN"
    );
    for reason in ["done", "again"] {
        let closed = server.owner.post(&path, &json!({ "reason": reason }));
        assert_eq!(closed.status, 204, "{closed:?}");
    }
    let closed = list("closed");
    assert_eq!((list("open").len(), closed.len()), (0, 1));
    assert_eq!(closed[0]["closed"]["reason"], "done");
    let unknown = "/api/issues/6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11/close";
    assert_eq!(
        code(&server.owner.post(unknown, &json!({}))),
        "ISSUE_NOT_FOUND"
    );
    let odd = format!("/api/issues?workspace_id={workspace}&state=odd");
    assert_eq!(code(&server.owner.get(&odd)), "BAD_REQUEST");
}

#[test]
fn each_role_may_what_it_may_with_versions_files_and_reviews() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("One", "");
    let path = format!("/api/notes/{}", text(&note, "note_id"));
    let added = attach(&server.owner, &note, "a", "first", b"x").is(201);
    let file = format!("/api/attachments/{}", text(&added, "attachment_id"));
    let rule = json!({
        "workspace_id": workspace, "trigger": "manual", "action_json": { "kind": "kjxlkj_agent" },
    });
    let rule = server.owner.post("/api/automation/rules", &rule).is(201);
    let memory = format!("/api/automation/rules/{}/memory", text(&rule, "rule_id"));
    let rows = [
        (None, [403; 8], "WORKSPACE_FORBIDDEN"),
        (
            Some("viewer"),
            [200, 200, 200, 200, 200, 200, 403, 403],
            "ROLE_FORBIDDEN",
        ),
        (
            Some("editor"),
            [200, 200, 200, 200, 200, 200, 409, 201],
            "VERSION_CONFLICT",
        ),
    ];
    for (role, expected, refusal) in rows {
        let (_, client) = server.user(&format!("a {role:?}"), role);
        let replies = [
            client.get(&format!("{path}/diff?from=1&to=1")),
            client.get(&format!("/api/keywords?workspace_id={workspace}")),
            client.get(&format!("{path}/attachments")),
            client.get(&file),
            client.get(&format!(
                "/api/automation/operations?workspace_id={workspace}"
            )),
            client.get(&memory),
            client.post(
                &format!("{path}/rollback"),
                &json!({ "version": 1, "base_version": 9 }),
            ),
            attach(&client, &note, "b", "second", b"y"),
        ];
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, expected, "{role:?}: {replies:?}");
        for refused in replies.iter().filter(|reply| reply.status >= 400) {
            assert_eq!(code(refused), refusal, "{role:?}");
        }
    }
}
