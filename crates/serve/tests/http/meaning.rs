//! Search by meaning, with an embedding provider that does what it is told.

use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::embeddings::{Manner, Provider};
use serde_json::{Value, json};

use crate::server::{Server, code};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fewer searches than ten a second.
const BETWEEN_SEARCHES: Duration = Duration::from_millis(120);

fn search(server: &Server, query: &str) -> Value {
    let path = format!("/api/search?workspace_id={}&{query}", server.workspace());
    thread::sleep(BETWEEN_SEARCHES);
    let found = server.owner.get(&path);
    assert_eq!(found.status, 200, "{query}: {found:?}");
    found.json()
}

/// A semantic search, which must be refused.
fn refused(server: &Server) -> Value {
    let workspace = server.workspace();
    let path = format!("/api/search?q=walrus&mode=semantic&workspace_id={workspace}");
    thread::sleep(BETWEEN_SEARCHES);
    let refused = server.owner.get(&path);
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (422, "SEARCH_MODE_INVALID")
    );
    refused.json()
}

fn titles(found: &Value) -> Vec<&str> {
    let results = found["results"].as_array().expect("a list").iter();
    results
        .map(|hit| hit["title"].as_str().expect("a title"))
        .collect()
}

/// Searches until so many are found.
fn search_until(server: &Server, query: &str, total: u64) -> Value {
    let begun = Instant::now();
    loop {
        let found = search(server, query);
        if found["total"] == total {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not {total}: {found}");
    }
}

fn patch(server: &Server, note: &Value, markdown: &str) {
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    let body = json!({ "base_version": note["version"], "markdown": markdown });
    assert_eq!(server.owner.patch(&path, &body).status, 200);
}

#[test]
fn meaning_finds_what_words_do_not_and_both_are_one_list() {
    let provider = Provider::start(Manner::Well);
    let server = Server::with_config(&provider.config(10));
    server.note("Walrus", "it has tusks");
    server.note("On ice", "a seal lies there");
    let lorry = server.note("Lorry", "see [[On ice]]; a car");
    let semantic = search_until(&server, "q=walrus&mode=semantic", 2);
    assert_eq!(
        (&semantic["mode"], &semantic["degraded"]),
        (&json!("semantic"), &json!(false))
    );
    let mut found = titles(&semantic);
    found.sort_unstable();
    assert_eq!(found, ["On ice", "Walrus"]);
    let hybrid = search(&server, "q=walrus");
    assert_eq!(
        (&hybrid["mode"], &hybrid["total"]),
        (&json!("hybrid"), &json!(2))
    );
    assert_eq!(
        titles(&hybrid),
        ["Walrus", "On ice"],
        "found both ways, and once"
    );
    let (both, by_meaning) = (&hybrid["results"][0], &hybrid["results"][1]);
    let number = |hit: &Value, field: &str| {
        hit[field]
            .as_f64()
            .unwrap_or_else(|| panic!("{field}: {hit}"))
    };
    assert!(
        (number(both, "score_rrf") - 2.0 / 61.0).abs() < 1e-9,
        "{both}"
    );
    assert!(number(both, "score_semantic") > 0.99 && number(both, "score_lexical") > 0.0);
    assert_eq!(both["score_final"], both["score_rrf"], "nobody links to it");
    assert_eq!(
        (&by_meaning["score_lexical"], &by_meaning["backlink_count"]),
        (&json!(null), &json!(1))
    );
    assert!(
        number(by_meaning, "score_final") > number(by_meaning, "score_rrf"),
        "{by_meaning}"
    );
    let again = search(&server, "q=walrus");
    assert_eq!(again["results"], hybrid["results"], "the same each time");
    let page = search(&server, "q=walrus&limit=1&offset=1");
    assert_eq!((titles(&page), &page["total"]), (vec!["On ice"], &json!(2)));
    let newest = search(&server, "q=walrus&sort=updated_at");
    assert_eq!(titles(&newest), ["On ice", "Walrus"]);
    assert_eq!(search(&server, "q=walrus&note_kind=template")["total"], 0);
    assert_eq!(search(&server, "q=walrus&note_kind=note")["total"], 2);
    patch(&server, &lorry, "see [[On ice]]; a seal in a lorry");
    let more = search_until(&server, "q=walrus&mode=semantic", 3);
    assert_eq!(
        titles(&more)[2],
        "Lorry",
        "partly about something else: {more}"
    );
}

#[test]
fn a_deleted_note_is_found_no_more_and_one_that_comes_back_is() {
    let provider = Provider::start(Manner::Well);
    let server = Server::with_config(&provider.config(10));
    let note = server.note("Pinniped", "a seal on the ice");
    search_until(&server, "q=walrus&mode=semantic", 1);
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    assert_eq!(server.owner.delete(&path).status, 204);
    assert_eq!(search(&server, "q=walrus&mode=semantic")["total"], 0);
    let undelete = server.owner.post(&format!("{path}/undelete"), &json!({}));
    assert_eq!(undelete.status, 200, "{undelete:?}");
    search_until(&server, "q=walrus&mode=semantic", 1);
}

#[test]
fn a_provider_that_fails_in_whatever_way_leaves_the_words() {
    let provider = Provider::start(Manner::Well);
    let server = Server::with_config(&provider.config(10));
    server.note("Walrus", "it has tusks");
    server.note("Pinniped", "a seal on the ice");
    search_until(&server, "q=walrus&mode=semantic", 2);
    let rows = [
        (Manner::Closes, "network"),
        (Manner::Silent, "timeout"),
        (Manner::Says(503, "busy"), "model"),
        (Manner::Says(429, "{}"), "rate_limit"),
        (Manner::Says(401, "{}"), "auth"),
        (Manner::Says(404, "<html>"), "model"),
        (Manner::Says(200, ""), "malformed"),
        (Manner::Says(200, "<html>"), "malformed"),
        (Manner::Says(200, r#"{"data":[]}"#), "malformed"),
        (
            Manner::Says(200, r#"{"data":[{"embedding":[0,0,0,0]}]}"#),
            "malformed",
        ),
        (
            Manner::Says(200, r#"{"data":[{"embedding":[1e999,0,0,0]}]}"#),
            "malformed",
        ),
        (Manner::OtherDimensions, "malformed"),
    ];
    for (manner, failure) in rows {
        provider.become_so(manner);
        let begun = Instant::now();
        let found = search(&server, "q=walrus");
        let elapsed = begun.elapsed();
        assert!(
            elapsed < Duration::from_secs(10),
            "{manner:?} took {elapsed:?}"
        );
        assert_eq!(titles(&found), ["Walrus"], "{manner:?}");
        assert_eq!(
            (
                &found["mode"],
                &found["degraded"],
                &found["degraded_reason"]
            ),
            (
                &json!("lexical"),
                &json!(true),
                &json!("EMBEDDING_UNAVAILABLE")
            ),
            "{manner:?}"
        );
        let details = json!({
            "mode_requested": "hybrid", "mode_effective": "lexical", "provider": "lmstudio",
            "reason": "EMBEDDING_UNAVAILABLE", "failure": failure,
        });
        assert_eq!(found["details"], details, "{manner:?}");
        assert_eq!(
            refused(&server)["details"]["failure"],
            failure,
            "{manner:?}"
        );
        let lexical = search(&server, "q=walrus&mode=lexical");
        assert_eq!(
            (&lexical["degraded"], &lexical["details"]),
            (&json!(false), &json!(null))
        );
    }
    provider.become_so(Manner::Well);
    let found = search(&server, "q=walrus");
    assert_eq!(
        (&found["total"], &found["degraded"]),
        (&json!(2), &json!(false))
    );
}

#[test]
fn without_a_provider_a_hybrid_search_is_one_by_words_and_nothing_is_missing() {
    let none = json!({ "search": { "semantic_enabled": true, "embedding_provider": "null" } });
    for config in [json!({}), none] {
        let server = Server::with_config(&config);
        server.note("Walrus", "it has tusks");
        let found = search(&server, "q=walrus");
        assert_eq!(titles(&found), ["Walrus"]);
        assert_eq!(
            (&found["mode"], &found["degraded"]),
            (&json!("lexical"), &json!(false)),
            "{config}"
        );
        assert_eq!(found["degraded_reason"], json!(null));
    }
}

#[test]
fn a_provider_that_goes_away_is_left_alone_and_the_index_goes_on_when_it_is_back() {
    let provider = Provider::start(Manner::Says(503, "busy"));
    let server = Server::with_config(&provider.config(10));
    server.note("Walrus", "it has tusks");
    provider.wait_for(1);
    server.note("Pinniped", "a seal on the ice");
    // After one second, and after two more.
    thread::sleep(Duration::from_millis(2500));
    let asked = provider.asked().len();
    assert!(asked <= 3, "{asked} requests within three seconds");
    provider.become_so(Manner::Well);
    search_until(&server, "q=walrus&mode=semantic", 2);
    let asked = provider.shown("Walrus");
    server.note("Lorry", "a car");
    search_until(&server, "q=car&mode=semantic", 1);
    assert_eq!(
        provider.shown("Walrus"),
        asked,
        "what was kept is not asked for again"
    );
}

#[test]
fn a_note_that_the_provider_does_not_take_keeps_no_other_from_the_index() {
    let provider = Provider::start(Manner::Refuses("poison"));
    let server = Server::with_config(&provider.config(10));
    let bad = server.note("Bad", "poison for a seal");
    for number in 1..=5 {
        server.note(&format!("Seal {number}"), "on the ice");
    }
    search_until(&server, "q=walrus&mode=semantic", 5);
    thread::sleep(Duration::from_millis(500));
    let asked = provider.shown("Bad");
    server.note("Lorry", "a car");
    search_until(&server, "q=car&mode=semantic", 1);
    assert_eq!(provider.shown("Bad"), asked, "it is asked about once");
    assert_eq!(titles(&search(&server, "q=poison&mode=lexical")), ["Bad"]);
    patch(&server, &bad, "good for a seal");
    search_until(&server, "q=walrus&mode=semantic", 6);
}

#[test]
fn a_key_comes_from_the_environment_and_is_shown_to_the_provider_alone() {
    const KEY: &str = "sk-planted-0123456789";
    let provider = Provider::start(Manner::TellsTheKey);
    let mut config = provider.config(10);
    config["search"]["embedding_provider"] = json!("openai");
    let place = crate::place::Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory can be made");
    std::fs::write(place.path("data/config.json"), config.to_string())
        .expect("a file can be written");
    std::fs::write(place.path("data/.env"), format!("OPENAI_API_KEY={KEY}\n"))
        .expect("a file can be written");
    let server = Server::start_in(place);
    server.note("Walrus", "it has tusks");
    let found = search(&server, "q=walrus");
    assert_eq!(found["details"]["failure"], "auth", "{found}");
    provider.wait_for(2);
    let head = provider.asked()[0].head.to_lowercase();
    assert!(
        head.contains(&format!("authorization: bearer {KEY}")),
        "{head}"
    );
    let shown = [found, refused(&server)].map(|body| body.to_string());
    assert!(!shown.concat().contains(KEY), "{shown:?}");
}
