//! Users against one another and against the owner: tokens, passwords, sessions, invitations, roles.

use serde_json::{Value, json};

use super::house::{Guest, House, text};
use crate::witness::holds_no;

const PASSWORD: &str = "correct horse";
/// "correct horse", as it was kept before.
const OLD_HASH: &str =
    "pbkdf2-sha256$600000$MDEyMzQ1Njc4OWFiY2RlZg$kYKAg/dg7WC7VQ4k8+iaopu8snxCGdA0xMTwPC5tudk";

fn log_in(guest: &Guest, name: &str, password: &str) -> super::house::Said {
    let body = json!({ "username": name, "password": password });
    guest.post("/api/auth/login", &body)
}

fn register(house: &House) {
    let body = json!({ "username": "owner", "password": PASSWORD });
    house.owner.post("/api/setup/register", &body).is(201);
}

/// What is kept of somebody's password.
fn kept(house: &House, name: &str) -> String {
    let store = rusqlite::Connection::open(house.data("workspace.db")).expect("it opens");
    let sql = "SELECT password FROM user WHERE name = ?1";
    store
        .query_row(sql, [name], |row| row.get(0))
        .expect("there is one")
}

#[test]
fn who_is_no_owner_takes_no_workspace_from_its_owner() {
    let house = House::open(&json!({}));
    let eve = house.user("eve", Some("admin"));
    let members = format!("/api/workspaces/{}/members", house.workspace());
    let own = format!("{members}/{}", house.owner.user_id);
    assert_eq!(eve.delete(&own).code(), "ROLE_FORBIDDEN");
    for role in ["viewer", "admin"] {
        let body = json!({ "user_id": house.owner.user_id, "role": role });
        assert_eq!(eve.post(&members, &body).code(), "ROLE_FORBIDDEN", "{role}");
    }
    let body = json!({ "user_id": eve.user_id, "role": "owner" });
    assert_eq!(eve.post(&members, &body).code(), "ROLE_FORBIDDEN");
    let listed = house.owner.get(&members).is(200);
    let role = |id: &str| {
        let all = listed["members"].as_array().expect("a list");
        let found = all.iter().find(|it| it["user_id"] == id);
        found.map(|it| text(&it["role"]))
    };
    assert_eq!(role(&house.owner.user_id).as_deref(), Some("owner"));
    // She may be removed, and may go herself.
    house
        .owner
        .delete(&format!("{members}/{}", eve.user_id))
        .is(204);
}

#[test]
fn a_workspace_is_handed_to_nobody_who_cannot_give_it_back() {
    let house = House::open(&json!({}));
    let (ada, bob, eve) = (
        house.user("ada", None),
        house.user("bob", None),
        house.user("eve", None),
    );
    let workspace = ada.workspace("hers");
    let members = format!("/api/workspaces/{workspace}/members");
    let edit = |guest: &Guest, path: &str, state: &str| {
        guest.ask("PATCH", path, Some(&json!({ "state": state })), "")
    };
    edit(
        &house.owner,
        &format!("/api/users/{}", bob.user_id),
        "disabled",
    )
    .is(200);
    house
        .owner
        .delete(&format!("/api/users/{}", eve.user_id))
        .is(204);
    for role in ["owner", "viewer"] {
        let to = |id: &str| ada.post(&members, &json!({ "user_id": id, "role": role }));
        assert_eq!(to(&bob.user_id).code(), "CONFLICT", "{role}");
        assert_eq!(to(&eve.user_id).code(), "USER_NOT_FOUND", "{role}");
    }
    // What she deleted goes the way of all that she owned.
    let place = format!("/api/workspaces/{workspace}");
    edit(&ada, &place, "deleted").is(200);
    house
        .owner
        .delete(&format!("/api/users/{}", ada.user_id))
        .is(204);
    edit(&house.owner, &place, "active").is(200);
    house.owner.get(&members).is(200);
}

#[test]
fn a_token_that_leaked_is_revoked_and_stays_so_after_a_restart() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", Some("editor"));
    let path = format!("/api/users/{}/tokens", ada.user_id);
    let made = ada
        .post(&path, &json!({ "label": "new", "revoke_others": true }))
        .is(201);
    ada.get("/api/workspaces").is(401);
    let fresh = house.with_token(&text(&made["token"]));
    fresh.get("/api/workspaces").is(200);
    let listed = fresh.get(&path).is(200);
    assert_eq!(
        listed["tokens"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    holds_no(&text(&made["token"]), &[&listed.to_string()]);
    // The owner's own file too: what is revoked is not taken up again from it.
    let path = format!("/api/users/{}/tokens", house.owner.user_id);
    let tokens = house.owner.get(&path).is(200);
    let id = text(&tokens["tokens"][0]["token_id"]);
    house.owner.delete(&format!("{path}/{id}")).is(204);
    let leaked = house.owner.token.clone().expect("it has one");
    house.with_token(&leaked).get("/api/workspaces").is(401);
    let house = house.again(None);
    house.with_token(&leaked).get("/api/workspaces").is(401);
    house.owner.get("/api/workspaces").is(200);
}

#[test]
fn who_is_disabled_or_deleted_reaches_nothing_and_nobody_inherits_from_them() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", Some("admin"));
    let place = format!("/api/users/{}", ada.user_id);
    let set = |state: &str| {
        house
            .owner
            .ask("PATCH", &place, Some(&json!({ "state": state })), "")
    };
    set("disabled").is(200);
    for path in ["/api/workspaces", "/api/auth/session"] {
        assert_eq!(ada.get(path).code(), "INVALID_CREDENTIALS", "{path}");
    }
    set("active").is(200);
    ada.get("/api/workspaces").is(200);
    house.owner.delete(&place).is(204);
    ada.get("/api/workspaces").is(401);
    let again = house.user("ada", None);
    assert_ne!(again.user_id, ada.user_id);
    let notes = format!("/api/notes?workspace_id={}", house.workspace());
    assert_eq!(again.get(&notes).status, 403);
    ada.get("/api/workspaces").is(401);
}

#[test]
fn who_guesses_is_slowed_down_and_the_owner_is_not() {
    let house = House::open(&json!({}));
    register(&house);
    let guesser = house.nobody();
    let codes: Vec<String> = (0..30)
        .map(|_| log_in(&guesser, "owner", "guess").code())
        .collect();
    assert_eq!(
        codes
            .iter()
            .filter(|it| *it == "INVALID_CREDENTIALS")
            .count(),
        6,
        "{codes:?}"
    );
    assert_eq!(codes.last().map(String::as_str), Some("RATE_LIMITED"));
    // From elsewhere the owner comes in at once, and a token works from anywhere.
    log_in(&house.nobody().from(2), "owner", PASSWORD).is(200);
    house.owner.get("/api/workspaces").is(200);
    // Nobody is locked out: the next try comes after the pause that was named.
    let refused = log_in(&guesser, "owner", "guess");
    let pause = refused.json()["details"]["retry_after_seconds"].as_u64();
    assert!(pause.is_some_and(|pause| pause <= 60), "{refused:?}");
    assert!(
        refused.head.to_lowercase().contains("retry-after:"),
        "{refused:?}"
    );
}

#[test]
fn a_guesser_with_many_names_is_one_guesser() {
    let house = House::open(&json!({}));
    register(&house);
    let guesser = house.nobody().from(3);
    let refused = (0..70).any(|number| {
        let name = format!("somebody {number}");
        log_in(&guesser, &name, "password").code() == "RATE_LIMITED"
    });
    assert!(refused, "seventy guesses cost nothing");
    log_in(&house.nobody(), "owner", PASSWORD).is(200);
}

#[test]
fn passwords_are_kept_with_argon2id_and_old_ones_are_made_anew_at_the_next_login() {
    let house = House::open(&json!({}));
    register(&house);
    assert!(
        kept(&house, "owner").starts_with("$argon2id$"),
        "{}",
        kept(&house, "owner")
    );
    let store = rusqlite::Connection::open(house.data("workspace.db")).expect("it opens");
    let sql = "UPDATE user SET password = ?1 WHERE name = 'owner'";
    store.execute(sql, [OLD_HASH]).expect("it is put back");
    drop(store);
    log_in(&house.nobody(), "owner", "wrong horse").is(401);
    assert_eq!(kept(&house, "owner"), OLD_HASH);
    log_in(&house.nobody(), "owner", PASSWORD).is(200);
    assert!(kept(&house, "owner").starts_with("$argon2id$"));
    log_in(&house.nobody(), "owner", PASSWORD).is(200);
}

#[test]
fn an_invitation_opens_once_and_an_earlier_one_never() {
    let house = House::open(&json!({}));
    let made = house
        .owner
        .post("/api/users", &json!({ "name": "ada", "invite": true }))
        .is(201);
    let first = text(&made["invitation"]);
    assert!(made.get("token").is_none(), "{made}");
    let path = format!("/api/users/{}/invitation", text(&made["user_id"]));
    let second = text(&house.owner.post(&path, &json!({})).is(201)["invitation"]);
    let accept = |invitation: &str| {
        let body = json!({ "invitation": invitation, "password": PASSWORD });
        house.nobody().post("/api/auth/invitation", &body)
    };
    accept(&first).is(401);
    accept("guess").is(401);
    accept(&second).is(200);
    accept(&second).is(401);
    log_in(&house.nobody(), "ada", PASSWORD).is(200);
    for file in ["workspace.db", "workspace.db-wal"] {
        let bytes = std::fs::read(house.data(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains(&second) && !text.contains(PASSWORD),
            "{file}"
        );
    }
}

#[test]
fn a_stolen_token_does_not_change_the_password_and_a_new_password_ends_every_session() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", None);
    let path = format!("/api/users/{}/password", ada.user_id);
    let set = |guest: &Guest, body: &Value| guest.ask("PUT", &path, Some(body), "");
    set(&ada, &json!({ "password": PASSWORD })).is(204);
    let session = log_in(&house.nobody(), "ada", PASSWORD);
    let cookie = session
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie
        .and_then(|it| it.split(';').next())
        .expect("a session")
        .to_owned();
    let with_cookie = |path: &str| {
        house
            .nobody()
            .ask("GET", path, None, &format!("Cookie: {cookie}\r\n"))
    };
    with_cookie("/api/workspaces").is(200);
    set(&ada, &json!({ "password": "another horse" })).is(401);
    set(
        &ada,
        &json!({ "password": "another horse", "current_password": "guess" }),
    )
    .is(401);
    with_cookie("/api/workspaces").is(200);
    let body = json!({ "password": "another horse", "current_password": PASSWORD });
    set(&ada, &body).is(204);
    with_cookie("/api/workspaces").is(401);
    log_in(&house.nobody(), "ada", PASSWORD).is(401);
    log_in(&house.nobody(), "ada", "another horse").is(200);
}

#[test]
fn a_session_is_listed_and_ended_from_elsewhere() {
    let house = House::open(&json!({}));
    register(&house);
    let login = log_in(&house.nobody(), "owner", PASSWORD);
    let cookie = login
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie
        .and_then(|it| it.split(';').next())
        .expect("a session")
        .to_owned();
    let path = format!("/api/users/{}/sessions", house.owner.user_id);
    let listed = house.owner.get(&path).is(200);
    let id = text(&listed["sessions"][0]["session_id"]);
    assert!(!cookie.contains(&id) && !id.is_empty(), "{listed}");
    house.owner.delete(&format!("{path}/{id}")).is(204);
    let after = house.nobody().ask(
        "GET",
        "/api/workspaces",
        None,
        &format!("Cookie: {cookie}\r\n"),
    );
    after.is(401);
}

#[test]
fn there_is_one_owner_and_the_one_before_keeps_nothing_of_it() {
    let house = House::open(&json!({}));
    let (ada, eve) = (house.user("ada", None), house.user("eve", None));
    let to = |guest: &Guest, id: &str| guest.post("/api/owner", &json!({ "user_id": id }));
    assert_eq!(to(&eve, &eve.user_id).code(), "ROLE_FORBIDDEN");
    to(&house.owner, &ada.user_id).is(200);
    // The token of the file was the old owner's; the file has another one now.
    house.owner.get("/api/workspaces").is(401);
    let listed = ada.get("/api/users").is(200);
    let owners = listed["users"].as_array().expect("a list").iter();
    let owners: Vec<_> = owners
        .filter(|it| it["is_owner"] == true)
        .map(|it| text(&it["name"]))
        .collect();
    assert_eq!(owners, ["ada"]);
    let old = house.owner.token.clone().expect("it had one");
    let house = house.again(None);
    assert_eq!(house.owner.user_id, ada.user_id);
    house.with_token(&old).get("/api/workspaces").is(401);
    let place = format!("/api/users/{}", ada.user_id);
    assert_eq!(house.owner.delete(&place).code(), "CONFLICT");
}

#[test]
fn the_command_line_looks_after_people_beside_a_running_server() {
    let house = House::open(&json!({}));
    let added = house.bonded(&["user", "add", "ada"]);
    let ada = house.with_token(added.stdout.trim());
    ada.get("/api/workspaces").is(200);
    assert_eq!(house.bonded(&["user", "disable", "ada"]).code, Some(0));
    ada.get("/api/workspaces").is(401);
    assert_eq!(house.bonded(&["user", "enable", "ada"]).code, Some(0));
    let token = house.bonded(&["user", "token", "ada", "--only"]);
    ada.get("/api/workspaces").is(401);
    let ada = house.with_token(token.stdout.trim());
    ada.get("/api/workspaces").is(200);
    let listed = house.bonded(&["user", "list", "--json"]);
    assert!(listed.stdout.contains("\"ada\""), "{listed:?}");
    holds_no(
        token.stdout.trim(),
        &[
            &listed.stdout,
            &house.bonded(&["user", "tokens", "ada"]).stdout,
        ],
    );
    assert_eq!(house.bonded(&["user", "delete", "ada"]).code, Some(0));
    ada.get("/api/workspaces").is(401);
    assert_ne!(house.bonded(&["user", "delete", "owner"]).code, Some(0));
}
