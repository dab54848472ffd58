//! Who may come in, as whom, and what they may do.

use serde_json::{Value, json};

use crate::server::{Client, Server, code};

const PASSWORD: &str = "correct horse";

/// Registers the owner and logs in: a client with a session and the token that belongs to it.
pub(crate) fn log_in(server: &Server) -> Client {
    let credentials = json!({ "username": "owner", "password": PASSWORD });
    let registered = server.owner.post("/api/setup/register", &credentials);
    assert_eq!(registered.status, 201, "{registered:?}");
    let (cookie, csrf_token) = session(server, &credentials);
    Client::with(
        &server.address,
        &format!("\r\nCookie: {cookie}\r\nX-CSRF-Token: {csrf_token}"),
    )
}

fn session(server: &Server, credentials: &Value) -> (String, String) {
    let reply = server.nobody().post("/api/auth/login", credentials);
    assert_eq!(reply.status, 200, "{reply:?}");
    let cookie = reply.header("set-cookie").expect("a session is a cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().unwrap_or_default().to_owned();
    let csrf_token = reply.json()["csrf_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    (pair, csrf_token)
}

#[test]
fn the_owner_registers_once_and_logs_in_and_out() {
    let server = Server::start();
    let credentials = json!({ "username": "owner", "password": PASSWORD });
    let nobody = server.nobody().post("/api/setup/register", &credentials);
    assert_eq!(
        (nobody.status, code(&nobody).as_str()),
        (401, "AUTH_REQUIRED")
    );
    let client = log_in(&server);
    let again = server.owner.post("/api/setup/register", &credentials);
    assert_eq!(
        (again.status, code(&again).as_str()),
        (409, "SETUP_ALREADY_COMPLETED")
    );
    let who = client.get("/api/auth/session");
    assert_eq!(
        (who.status, &who.json()["username"]),
        (200, &json!("owner"))
    );
    assert_eq!(client.get("/api/workspaces").status, 200);
    assert_eq!(client.post("/api/auth/logout", &json!({})).status, 204);
    let after = client.get("/api/auth/session");
    assert_eq!(
        (after.status, code(&after).as_str()),
        (401, "AUTH_REQUIRED")
    );
    for (username, password) in [
        ("owner", "wrong horse"),
        ("nobody", PASSWORD),
        ("owner", ""),
    ] {
        let body = json!({ "username": username, "password": password });
        let refused = server.nobody().post("/api/auth/login", &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (401, "INVALID_CREDENTIALS"),
            "{username}"
        );
    }
}

#[test]
fn guessing_a_password_is_soon_too_often() {
    let server = Server::start();
    let body = json!({ "username": "owner", "password": "guess" });
    let codes: Vec<String> = (0..12)
        .map(|_| code(&server.nobody().post("/api/auth/login", &body)))
        .collect();
    assert_eq!(codes[0], "INVALID_CREDENTIALS");
    assert_eq!(codes[11], "RATE_LIMITED", "{codes:?}");
}

#[test]
fn a_cookie_alone_reads_and_changes_nothing() {
    let server = Server::start();
    log_in(&server);
    let (cookie, csrf_token) = session(
        &server,
        &json!({ "username": "owner", "password": PASSWORD }),
    );
    let bare = Client::with(&server.address, &format!("\r\nCookie: {cookie}"));
    assert_eq!(bare.get("/api/workspaces").status, 200);
    let body = json!({ "workspace_id": server.workspace(), "title": "x" });
    let own = format!("http://{}", server.address);
    let rows = [
        (bare.clone(), false),
        (bare.and("X-CSRF-Token: wrong"), false),
        (bare.and(&format!("X-CSRF-Token: {csrf_token}")), true),
        (
            bare.and(&format!("X-CSRF-Token: {csrf_token}"))
                .and(&format!("Origin: {own}")),
            true,
        ),
        (
            bare.and(&format!("X-CSRF-Token: {csrf_token}"))
                .and("Origin: http://evil.example"),
            false,
        ),
        (
            bare.and(&format!("X-CSRF-Token: {csrf_token}"))
                .and("Origin: null"),
            false,
        ),
    ];
    for (client, is_allowed) in rows {
        let reply = client.post("/api/notes", &body);
        match is_allowed {
            true => assert_eq!(reply.status, 201, "{reply:?}"),
            false => assert_eq!((reply.status, code(&reply).as_str()), (403, "CSRF_INVALID")),
        }
    }
}

#[test]
fn without_a_token_or_with_a_wrong_one_nothing_is_answered() {
    let server = Server::start();
    let note = server.note("One", "");
    let paths = [
        "/api/workspaces".to_owned(),
        format!("/api/notes/{}", note["note_id"].as_str().expect("an id")),
        "/api/automation/rules".to_owned(),
        "/api/auth/session".to_owned(),
    ];
    for path in &paths {
        let nobody = server.nobody().get(path);
        assert_eq!(
            (nobody.status, code(&nobody).as_str()),
            (401, "AUTH_REQUIRED"),
            "{path}"
        );
        assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
        let wrong = Client::with_token(&server.address, "wrong").get(path);
        assert_eq!(
            (wrong.status, code(&wrong).as_str()),
            (401, "INVALID_CREDENTIALS"),
            "{path}"
        );
    }
    let cookie = Client::with(&server.address, "\r\nCookie: bonded_session=guess").get(&paths[0]);
    assert_eq!(
        (cookie.status, code(&cookie).as_str()),
        (401, "AUTH_REQUIRED")
    );
}

#[test]
fn each_role_may_what_it_may_and_no_more() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("One", "text");
    let place = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    let members = format!("/api/workspaces/{workspace}/members");
    let (ada, _) = server.user("ada", None);
    let rule = json!({
        "workspace_id": workspace,
        "trigger": "manual",
        "condition_json": {},
        "action_json": { "kind": "kjxlkj_agent" },
    });
    let rows = [
        (None, [403, 403, 403, 403, 403], "WORKSPACE_FORBIDDEN"),
        (Some("viewer"), [200, 403, 403, 403, 403], "ROLE_FORBIDDEN"),
        (Some("editor"), [200, 200, 403, 403, 403], "ROLE_FORBIDDEN"),
        (Some("admin"), [200, 200, 201, 200, 403], "ROLE_FORBIDDEN"),
        (Some("owner"), [200, 200, 201, 200, 200], ""),
    ];
    for (role, expected, refusal) in rows {
        let (_, client) = server.user(&format!("a {role:?}"), role);
        let version = server.owner.get(&place).json()["version"].clone();
        let replies = [
            client.get(&place),
            client.patch(
                &place,
                &json!({ "base_version": version, "markdown": "more" }),
            ),
            client.post("/api/automation/rules", &rule),
            client.post(&members, &json!({ "user_id": ada, "role": "viewer" })),
            client.patch(
                &format!("/api/workspaces/{workspace}"),
                &json!({ "name": "New" }),
            ),
        ];
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, expected, "{role:?}: {replies:?}");
        for refused in replies.iter().filter(|reply| reply.status == 403) {
            assert_eq!(code(refused), refusal, "{role:?}");
        }
    }
}

#[test]
fn membership_is_set_twice_as_once_and_revoked_at_once() {
    let server = Server::start();
    let workspace = server.workspace();
    let (id, client) = server.user("ada", Some("editor"));
    let members = format!("/api/workspaces/{workspace}/members");
    for role in ["viewer", "viewer"] {
        let set = server
            .owner
            .post(&members, &json!({ "user_id": id, "role": role }));
        assert_eq!((set.status, &set.json()["role"]), (200, &json!(role)));
    }
    let listed = server.owner.get(&members).json();
    let roles: Vec<_> = listed["members"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|it| it["user_id"] == id.as_str())
        .collect();
    assert_eq!(
        (roles.len(), &roles[0]["role"], &roles[0]["name"]),
        (1, &json!("viewer"), &json!("ada"))
    );
    let notes = format!("/api/notes?workspace_id={workspace}");
    assert_eq!(client.get(&notes).status, 200);
    assert_eq!(server.owner.delete(&format!("{members}/{id}")).status, 204);
    assert_eq!(code(&client.get(&notes)), "WORKSPACE_FORBIDDEN");
    assert_eq!(
        client.get("/api/workspaces").json()["workspaces"],
        json!([])
    );
    let unknown = json!({ "user_id": "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11", "role": "viewer" });
    assert_eq!(
        code(&server.owner.post(&members, &unknown)),
        "USER_NOT_FOUND"
    );
}

#[test]
fn only_the_owner_makes_users_and_a_name_is_one_users() {
    let server = Server::start();
    let (_, client) = server.user("ada", Some("admin"));
    assert_eq!(
        code(&client.post("/api/users", &json!({ "name": "eve" }))),
        "ROLE_FORBIDDEN"
    );
    assert_eq!(
        code(&server.owner.post("/api/users", &json!({ "name": "Ada" }))),
        "CONFLICT"
    );
    assert_eq!(
        code(&server.owner.post("/api/users", &json!({ "name": " " }))),
        "BAD_REQUEST"
    );
}

#[test]
fn more_writes_than_the_configuration_allows_are_too_many() {
    let server = Server::with_config(&json!({ "server": { "writes_per_second_max": 5 } }));
    let body = json!({ "workspace_id": server.workspace(), "title": "x" });
    let refused = (0..100)
        .map(|_| server.owner.post("/api/notes", &body))
        .find(|reply| reply.status != 201);
    let refused = refused.expect("100 within a few seconds are more than five in one");
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (429, "RATE_LIMITED")
    );
    assert_eq!(refused.json()["details"]["limit"], 5);
    assert!(refused.header("retry-after").is_some());
}
