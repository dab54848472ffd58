//! Requests that were let in and then kept waiting, until whoever sent them was shut out.

use serde_json::{Value, json};

use super::house::{Guest, House, text};

/// Where somebody's tokens are made.
fn tokens_of(guest: &Guest) -> String {
    format!("/api/users/{}/tokens", guest.user_id)
}

/// Revokes every token that somebody has, as they do themselves when one was stolen.
fn start_anew(house: &House, guest: &Guest) -> Guest {
    let only = json!({ "label": "fresh", "revoke_others": true });
    let made = guest.post(&tokens_of(guest), &only).is(201);
    house.with_token(&text(&made["token"]))
}

#[test]
fn a_stolen_token_outlives_its_revocation_by_no_request_that_waits() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", None);
    let held = [
        ("POST", tokens_of(&ada), json!({ "label": "x" })),
        ("POST", tokens_of(&ada), json!({ "revoke_others": true })),
        (
            "PUT",
            format!("/api/users/{}/password", ada.user_id),
            json!({ "password": "correct horse" }),
        ),
    ];
    let held = held.map(|(method, path, body)| ada.hold(method, &path, &body));
    let fresh = start_anew(&house, &ada);
    for held in held {
        let said = held.finish();
        assert_eq!(
            (said.status, said.code().as_str()),
            (401, "INVALID_CREDENTIALS")
        );
    }
    let left = fresh.get(&tokens_of(&ada)).is(200);
    assert_eq!(left["tokens"].as_array().map(Vec::len), Some(1), "{left}");
}

#[test]
fn who_handed_the_installation_over_has_nothing_left_that_waits() {
    let house = House::open(&json!({}));
    let (ada, eve) = (house.user("ada", None), house.user("eve", None));
    let laptop = house.owner.post(&tokens_of(&house.owner), &json!({}));
    let laptop = house.with_token(&text(&laptop.is(201)["token"]));
    let asks = |guest: &Guest| {
        [
            guest.hold("POST", &tokens_of(&ada), &json!({})),
            guest.hold("POST", "/api/users", &json!({ "name": "mallory" })),
            guest.hold("POST", "/api/owner", &json!({ "user_id": eve.user_id })),
            guest.hold(
                "PATCH",
                &format!("/api/users/{}", eve.user_id),
                &json!({ "state": "disabled" }),
            ),
        ]
    };
    let (by_file, by_laptop) = (asks(&house.owner), asks(&laptop));
    let to = json!({ "user_id": ada.user_id });
    house.owner.post("/api/owner", &to).is(200);
    // The token of the file is gone; the other one is still theirs, but not that of an owner.
    for held in by_file {
        assert_eq!(held.finish().code(), "INVALID_CREDENTIALS");
    }
    for held in by_laptop {
        assert_eq!(held.finish().code(), "ROLE_FORBIDDEN");
    }
    let listed = ada.get("/api/users").is(200);
    let users = listed["users"].as_array().expect("a list");
    let is_as_before = |it: &Value| it["state"] == "active" && it["name"] != "mallory";
    assert!(
        users.len() == 3 && users.iter().all(is_as_before),
        "{listed}"
    );
}

#[test]
fn who_is_disabled_while_a_request_waits_makes_nothing_for_later() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", None);
    let held = ada.hold("POST", &tokens_of(&ada), &json!({ "label": "later" }));
    let place = format!("/api/users/{}", ada.user_id);
    let set = |state: &str| {
        let body = json!({ "state": state });
        house.owner.ask("PATCH", &place, Some(&body), "").is(200)
    };
    set("disabled");
    assert_eq!(held.finish().status, 401);
    set("active");
    let left = ada.get(&tokens_of(&ada)).is(200);
    assert_eq!(left["tokens"].as_array().map(Vec::len), Some(1), "{left}");
}

#[test]
fn whatever_a_route_does_a_token_that_was_revoked_meanwhile_does_it_no_more() {
    let house = House::open(&json!({}));
    let ada = house.user("ada", Some("admin"));
    let workspace = house.workspace();
    let notes = format!("/api/notes?workspace_id={workspace}");
    let before = house.owner.get(&notes).is(200);
    let document = house.nobody().get("/api/openapi.json").is(200);
    let paths = document["paths"].as_object().expect("paths");
    let mut held = vec![];
    for (path, methods) in paths {
        for method in ["post", "patch", "put"] {
            let operation = &methods[method];
            let is_open = operation["security"] == json!([]);
            if operation["requestBody"].is_null() || is_open {
                continue;
            }
            let path = path
                .replace("{workspace_id}", &workspace)
                .replace("{user_id}", &ada.user_id);
            let body = json!({ "workspace_id": workspace, "title": "written after all" });
            let method = method.to_uppercase();
            held.push((format!("{method} {path}"), ada.hold(&method, &path, &body)));
        }
    }
    assert!(held.len() > 15, "{}", held.len());
    start_anew(&house, &ada);
    for (route, held) in held {
        let said = held.finish();
        assert_eq!(said.code(), "INVALID_CREDENTIALS", "{route}: {said:?}");
    }
    assert_eq!(house.owner.get(&notes).is(200), before);
}
