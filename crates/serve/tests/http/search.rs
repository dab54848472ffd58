//! Search, as its clients meet it.

use serde_json::{Value, json};

use crate::server::{Server, code};

fn titles(found: &Value) -> Vec<String> {
    let results = found["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{found}"));
    results
        .iter()
        .map(|hit| hit["title"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn words_are_found_ranked_and_the_same_each_time() {
    let server = Server::start();
    let workspace = server.workspace();
    server.note(
        "Body",
        "a walrus in the text, among many other words that dilute it",
    );
    server.note(
        "Headed",
        "# walrus\n\nother words that are here to dilute what is said",
    );
    server.note(
        "Walrus",
        "other words that are here to dilute what is said in it",
    );
    server.note("None", "nothing of it");
    let path = format!("/api/search?q=walrus&workspace_id={workspace}&mode=lexical");
    let first = server.owner.get(&path).json();
    assert_eq!(titles(&first), ["Walrus", "Headed", "Body"], "{first}");
    assert_eq!(
        (&first["total"], &first["mode"]),
        (&json!(3), &json!("lexical"))
    );
    assert_eq!(first["degraded"], false);
    let body = &first["results"][2];
    assert!(
        body["snippet"]
            .as_str()
            .expect("a text")
            .contains("<mark>walrus</mark>"),
        "{body}"
    );
    let again = server.owner.get(&path).json();
    assert_eq!(again["results"], first["results"]);
    let hybrid = server.owner.get(&path.replace("lexical", "hybrid")).json();
    assert_eq!(hybrid["results"], first["results"]);
    assert_eq!(hybrid["degraded"], false, "nothing more was configured");
    let page = server.owner.get(&format!("{path}&limit=1&offset=1")).json();
    assert_eq!(
        (titles(&page), &page["total"]),
        (vec!["Headed".to_owned()], &json!(3))
    );
}

#[test]
fn a_search_that_cannot_be_made_is_refused_with_its_code() {
    let server = Server::start();
    let workspace = server.workspace();
    let long = "x".repeat(501);
    let rows = [
        ("q=a&mode=psychic".to_owned(), 422, "SEARCH_MODE_INVALID"),
        ("q=a&mode=semantic".to_owned(), 422, "SEARCH_MODE_INVALID"),
        ("q=".to_owned(), 400, "BAD_REQUEST"),
        ("q=%20".to_owned(), 400, "BAD_REQUEST"),
        (format!("q={long}"), 400, "BAD_REQUEST"),
        ("q=a&limit=0".to_owned(), 400, "BAD_REQUEST"),
        ("q=a&limit=101".to_owned(), 400, "BAD_REQUEST"),
        ("q=a&sort=colour".to_owned(), 400, "BAD_REQUEST"),
        ("q=a&colour=red".to_owned(), 400, "BAD_REQUEST"),
    ];
    for (query, status, expected) in rows {
        let refused = server
            .owner
            .get(&format!("/api/search?{query}&workspace_id={workspace}"));
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (status, expected),
            "{query}"
        );
    }
    assert_eq!(code(&server.owner.get("/api/search?q=a")), "BAD_REQUEST");
    for query in ["%22", "*", "a%20OR%20b", "NEAR(", "title%3Aa", "%00"] {
        let found = server
            .owner
            .get(&format!("/api/search?q={query}&workspace_id={workspace}"));
        assert_eq!(
            found.status, 200,
            "no text is an operator: {query}: {found:?}"
        );
        // Ten a second are allowed.
        std::thread::sleep(std::time::Duration::from_millis(110));
    }
}

#[test]
fn more_than_ten_searches_a_second_are_too_many() {
    let server = Server::start();
    let path = format!("/api/search?q=a&workspace_id={}", server.workspace());
    let (_, other) = server.user("ada", Some("viewer"));
    let refused = (0..200)
        .map(|_| server.owner.get(&path))
        .find(|reply| reply.status != 200);
    let refused = refused.expect("200 within a few seconds are more than ten in one");
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (429, "RATE_LIMITED")
    );
    let details = refused.json()["details"].clone();
    assert_eq!(
        (&details["limit"], &details["window_seconds"]),
        (&json!(10), &json!(1))
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(details["retry_after_seconds"], 1);
    assert_eq!(
        other.get(&path).status,
        200,
        "another's searches are their own"
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(server.owner.get(&path).status, 200);
}

#[test]
fn a_hybrid_search_without_its_embeddings_says_that_it_is_less() {
    let server = Server::with_config(&json!({ "search": { "semantic_enabled": true } }));
    server.note("Walrus", "text");
    let path = format!("/api/search?q=walrus&workspace_id={}", server.workspace());
    let found = server.owner.get(&path).json();
    assert_eq!(titles(&found), ["Walrus"]);
    assert_eq!(
        (&found["degraded"], &found["degraded_reason"]),
        (&json!(true), &json!("EMBEDDING_UNAVAILABLE"))
    );
    let lexical = server.owner.get(&format!("{path}&mode=lexical")).json();
    assert_eq!(lexical["degraded"], false, "nothing was lost");
    let semantic = server.owner.get(&format!("{path}&mode=semantic"));
    assert_eq!(
        (semantic.status, code(&semantic).as_str()),
        (422, "SEARCH_MODE_INVALID")
    );
    assert_eq!(
        semantic.json()["details"]["reason"],
        "EMBEDDING_UNAVAILABLE"
    );
}
