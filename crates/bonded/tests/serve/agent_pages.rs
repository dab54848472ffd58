//! The pages of `bonded serve --agent`: the app stands beside the OpenAI routes, and a token shows what it may.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done};
use serde_json::{Value, json};

use crate::http;
use crate::pages::{Browser, Pages, closed_routes};
use crate::served::{Served, question, report};

const HTML: &str = "Accept: text/html";

/// An agent whose call of `write` needs a person, and another that answers.
fn place() -> Place {
    let place = Place::new();
    let write = call(
        "write",
        json!({ "path": "hello.txt", "content": "hello\n" }),
    );
    let asking = "tools: builtin\napprovals: [\"ask:write\"]";
    place.agent("asker", &[write, report("written")], asking);
    place.agent("plain", &[report("fine")], "");
    place
}

fn ask(served: &Served, line: &str, headers: &str, body: Option<&Value>) -> http::Reply {
    http::ask(&served.address, line, headers, body).expect("it answers")
}

/// Asks an agent with a token; gives the run.
fn run_of(served: &Served, token: &str, model: &str) -> String {
    let header = format!("Authorization: Bearer {token}");
    let line = "POST /v1/chat/completions";
    let reply = ask(served, line, &header, Some(&question(model)));
    let run = reply.header("x-bonded-run");
    run.unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

fn sign_in(served: &Served, token: &str) -> Value {
    let body = json!({ "token": token });
    ask(served, "POST /api/session", "", Some(&body)).is(200)
}

#[test]
fn the_app_stands_beside_the_routes_of_openai_and_changes_none_of_them() {
    let served = Served::start_in(place(), &["plain"], &["--token", "alpha"]);
    let get = |path: &str, headers: &str| ask(&served, &format!("GET {path}"), headers, None);
    for (path, headers) in [("/", ""), ("/runs/x", HTML), ("/src/main.js", "")] {
        let page = get(path, headers);
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
    }
    for (path, headers) in [
        ("/runs/x", ""),
        ("/v1/none", HTML),
        ("/api/none", HTML),
        ("/src/missing.js", ""),
        ("/chat/completions", ""),
    ] {
        let missing = get(path, headers);
        assert_eq!(
            (missing.status, missing.code().as_str()),
            (404, "unknown_path"),
            "{path}"
        );
    }
    let posted = ask(&served, "POST /", "", Some(&json!({})));
    assert_eq!(
        (posted.status, posted.code().as_str()),
        (404, "unknown_path")
    );
    assert_eq!(get("/health", "").is(200)["status"], "ok");
    let known = "Authorization: Bearer alpha";
    assert_eq!(get("/v1/models", known).is(200)["data"][0]["id"], "plain");
    assert_eq!(get("/v1/models", "").status, 401);
    let site = get("/api/site", "").is(200);
    assert_eq!(
        (&site["kind"], &site["login"]),
        (&json!("agents"), &json!("token"))
    );
    assert_eq!(site["has"], json!(["inbox", "runs"]));
}

#[test]
fn only_the_servers_token_opens_its_pages_and_what_it_gives_opens_nothing_else() {
    let served = Served::start_in(place(), &["asker"], &["--token", "alpha"]);
    let run = run_of(&served, "alpha", "asker");
    // That somebody else has signed in opens nothing.
    let session = sign_in(&served, "alpha");
    for (line, body) in closed_routes(&run) {
        // The token itself is for signing in.
        for header in ["", "Authorization: Bearer x", "Authorization: Bearer alpha"] {
            let reply = ask(&served, &line, header, body.as_ref());
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (401, "AUTH_REQUIRED"),
                "{line} {header}"
            );
        }
    }
    for wrong in [
        json!({ "token": "beta" }),
        json!({ "token": "" }),
        json!({ "link": "alpha" }),
        json!({}),
    ] {
        let refused = ask(&served, "POST /api/session", "", Some(&wrong));
        assert_eq!(refused.status, 401, "{wrong}");
    }
    let odd = json!({ "token": "alpha", "more": 1 });
    assert_eq!(
        ask(&served, "POST /api/session", "", Some(&odd)).status,
        400
    );
    let header = format!(
        "Authorization: Bearer {}",
        session["token"].as_str().expect("a token")
    );
    assert_eq!(ask(&served, "GET /v1/models", &header, None).status, 401);
    let browser = Browser::with(&served.address, &session);
    assert_eq!(
        browser.get(&format!("/api/runs/{run}"))["status"],
        "awaiting_review"
    );
}

#[test]
fn a_verdict_in_the_pages_lets_a_served_run_continue() {
    let served = Served::start_in(place(), &["asker"], &["--token", "alpha"]);
    let run = run_of(&served, "alpha", "asker");
    let session = sign_in(&served, "alpha");
    let browser = Browser::with(&served.address, &session);
    let card = browser.get("/api/inbox")["calls"][0].clone();
    assert_eq!(
        card["may"],
        json!(["approve", "cancel", "fork", "resume"]),
        "{card}"
    );
    let verdict = json!({ "turn": card["turn"], "call": card["call"], "digest": card["digest"] });
    let always = json!({
        "turn": card["turn"], "call": card["call"], "digest": card["digest"], "always": "same",
    });
    let refused = browser.post(&format!("/api/runs/{run}/approve"), &always);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (422, "NOT_SUPPORTED")
    );
    let recorded = browser.post(&format!("/api/runs/{run}/approve"), &verdict);
    assert_eq!(recorded.is(200)["resumed"], true);
    wait_until("the run has ended", || {
        browser.get(&format!("/api/runs/{run}"))["status"] == "succeeded"
    });
    let log = served.place.bonded(&["show", &run, "--json"]).stdout;
    let by = session["user"].as_str().expect("a name");
    assert!(by.starts_with("client-") && log.contains(by), "{by}");
}

#[test]
fn a_token_that_was_given_shows_what_the_server_did_and_nothing_of_the_persons_own() {
    let place = place();
    let model = place.script(&[done("private")]);
    place
        .bonded(&["run", "--id", "own", "--model", &model, "My own."])
        .succeeds();
    let served = Served::start_in(place, &["plain"], &["--token", "alpha"]);
    let run = run_of(&served, "alpha", "plain");
    let browser = Browser::with(&served.address, &sign_in(&served, "alpha"));
    let list = browser.get("/api/runs");
    assert_eq!(
        (&list["counted"], &list["counts"]["all"]),
        (&json!(1), &json!(1)),
        "{list}"
    );
    assert_eq!(list["runs"][0]["runId"], json!(run));
    for (line, body) in closed_routes("own") {
        if line.contains("own") {
            assert_eq!(browser.ask(&line, body.as_ref()).status, 404, "{line}");
        }
    }
    assert_eq!(browser.ask("GET /api/plans", None).status, 404);
}

#[test]
fn the_persons_own_token_shows_the_whole_store() {
    let place = place();
    let model = place.script(&[done("private")]);
    place
        .bonded(&["run", "--id", "own", "--model", &model, "My own."])
        .succeeds();
    let agent = place.path("plain.ai").display().to_string();
    let words = ["serve", "--agent", &agent, "--listen", "127.0.0.1:0"];
    let (process, address) = bonded_testkit::process::Process::serve(&mut place.command(&words));
    let file = place.path(".local/share/bonded/serve-token");
    let token = std::fs::read_to_string(file).expect("a token was made");
    let body = json!({ "token": token.trim() });
    let session = http::ask(&address, "POST /api/session", "", Some(&body)).expect("it answers");
    let browser = Browser::with(&address, &session.is(200));
    assert_eq!(browser.get("/api/runs/own")["wholeGoal"], "My own.");
    assert_eq!(
        browser.get("/api/plans"),
        json!({ "plans": [], "more": false })
    );
    let site = http::ask(&address, "GET /api/site", "", None).expect("it answers");
    assert_eq!(site.is(200)["has"], json!(["inbox", "runs", "work"]));
    drop(process);
}

#[test]
fn clients_that_are_kept_apart_see_their_own_runs_alone() {
    let flags = ["--token", "alpha", "--token", "beta"];
    let served = Served::start_in(place(), &["asker"], &flags);
    let (of_a, of_b) = (
        run_of(&served, "alpha", "asker"),
        run_of(&served, "beta", "asker"),
    );
    let (a, b) = (sign_in(&served, "alpha"), sign_in(&served, "beta"));
    assert_ne!(a["user"], b["user"]);
    let (a, b) = (
        Browser::with(&served.address, &a),
        Browser::with(&served.address, &b),
    );
    for (browser, own) in [(&a, &of_a), (&b, &of_b)] {
        let list = browser.get("/api/runs");
        assert_eq!(list["runs"][0]["runId"], json!(own), "{list}");
        assert_eq!(
            (&list["counted"], &list["more"]),
            (&json!(1), &json!(false))
        );
        let inbox = browser.get("/api/inbox")["calls"].clone();
        assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    }
    for (line, body) in closed_routes(&of_b) {
        if line.contains(&of_b) {
            assert_eq!(a.ask(&line, body.as_ref()).status, 404, "{line}");
        }
    }
    // What one forks is its own too.
    let forked = a
        .post(&format!("/api/runs/{of_a}/fork"), &json!({ "turn": 1 }))
        .is(200);
    let fork = forked["runId"].as_str().expect("an id");
    assert_eq!(a.get(&format!("/api/runs/{fork}"))["from"]["kind"], "fork");
    assert_eq!(b.ask(&format!("GET /api/runs/{fork}"), None).status, 404);
}

#[test]
fn without_a_token_a_link_that_is_printed_opens_the_pages_once() {
    let served = Served::start_in(place(), &["plain"], &[]);
    let line = served.process.line_with("#enter=");
    let pages = Pages::behind(&line, served.process, served.address);
    let site = pages.ask("GET /api/site", "", None).is(200);
    assert_eq!(
        (&site["kind"], &site["login"]),
        (&json!("agents"), &json!("link"))
    );
    assert_eq!(
        pages.ask("GET /api/runs", "", None).status,
        401,
        "every user may ask agents"
    );
    let head = "POST /api/session HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\
                Content-Type: application/json";
    let body = json!({ "link": pages.secret }).to_string();
    let foreign = http::receive(http::send(&pages.address, head, body.as_bytes()));
    assert_eq!(
        (foreign.status, foreign.code().as_str()),
        (403, "FOREIGN_NAME")
    );
    let browser = Browser::of(&pages);
    assert_eq!(browser.get("/api/runs")["runs"], json!([]));
    assert_eq!(pages.enter().status, 401, "it was used");
}
