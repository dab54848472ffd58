//! `bonded ui` as a browser meets it: the door, what the pages ask, and what a person decides there.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::{self, Reply};

/// The pages of a place's store, and the secret of the link.
struct Pages {
    process: Process,
    address: String,
    secret: String,
}

impl Pages {
    fn open(place: &Place) -> Self {
        Self::begin(&mut place.command(&["ui", "--no-open", "--listen", "127.0.0.1:0"]))
    }

    fn begin(command: &mut std::process::Command) -> Self {
        let (process, address) = Process::serve(command);
        let mut link = String::new();
        let read = BufReader::new(process.stdout()).read_line(&mut link);
        read.expect("the link is printed");
        let (_, secret) = link.trim().split_once("#enter=").expect("it has a secret");
        Self {
            secret: secret.to_owned(),
            process,
            address,
        }
    }

    fn ask(&self, line: &str, headers: &str, body: Option<&Value>) -> Reply {
        http::ask(&self.address, line, headers, body).expect("it answers")
    }

    /// Opens the link.
    fn enter(&self) -> Reply {
        let body = json!({ "link": self.secret });
        self.ask("POST /api/session", "", Some(&body))
    }
}

/// A browser that has opened the link.
struct Browser {
    pages: Pages,
    token: String,
}

impl Browser {
    fn open(place: &Place) -> Self {
        let pages = Pages::open(place);
        let entered = pages.enter().is(200);
        let token = entered["token"].as_str().expect("a token").to_owned();
        Self { pages, token }
    }

    fn ask(&self, line: &str, body: Option<&Value>) -> Reply {
        let header = format!("Authorization: Bearer {}", self.token);
        self.pages.ask(line, &header, body)
    }

    fn get(&self, path: &str) -> Value {
        self.ask(&format!("GET {path}"), None).is(200)
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask(&format!("POST {path}"), Some(body))
    }
}

/// A run whose call of `write` waits for a person.
fn waiting_run() -> Place {
    let place = Place::new();
    let write = call(
        "write",
        json!({ "path": "hello.txt", "content": "hello\n" }),
    );
    let model = place.script(&[write, done("written")]);
    let words = [
        "run",
        "--id",
        "w1",
        "--ask",
        "write",
        "--no-prompt",
        "--model",
    ];
    let waits = place.bonded(&[&words[..], &[&model, "Write hello.txt."]].concat());
    assert_eq!(waits.code, Some(6), "{waits:?}");
    place
}

#[test]
fn a_stranger_sees_the_app_and_nothing_of_the_store() {
    let place = waiting_run();
    let pages = Pages::open(&place);
    let page = pages.ask("GET /runs/w1", "", None);
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for path in [
        "/api/runs",
        "/api/runs/w1",
        "/api/runs/w1/entries",
        "/api/runs/w1/saw/1",
        "/api/inbox",
        "/api/stream",
    ] {
        for header in ["", "Authorization: Bearer x", "Authorization: Basic x"] {
            let reply = pages.ask(&format!("GET {path}"), header, None);
            assert_eq!(reply.status, 401, "{path} {header}");
            assert!(!reply.body.contains("hello"), "{}", reply.body);
        }
    }
    for action in [
        "approve", "deny", "cancel", "resume", "fork", "verify", "replay",
    ] {
        let line = format!("POST /api/runs/w1/{action}");
        assert_eq!(
            pages.ask(&line, "", Some(&json!({}))).status,
            401,
            "{action}"
        );
    }
    assert_eq!(pages.ask("GET /src/missing.js", "", None).status, 404);
    assert_eq!(pages.ask("GET /api/none", "", None).status, 404);
    let ended = pages.process.end(Signal::TERM);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_link_is_good_once_and_only_under_a_name_of_this_machine() {
    let place = waiting_run();
    let pages = Pages::open(&place);
    let wrong = json!({ "link": "0".repeat(64) });
    assert_eq!(pages.ask("POST /api/session", "", Some(&wrong)).status, 401);
    // A stranger's name that resolves to this machine.
    let body = json!({ "link": pages.secret }).to_string();
    let head = "POST /api/session HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\
                Content-Type: application/json";
    let foreign = http::receive(http::send(&pages.address, head, body.as_bytes()));
    assert_eq!(foreign.status, 403);
    assert_eq!(pages.enter().status, 200);
    assert_eq!(pages.enter().status, 401, "it was used");
}

#[test]
fn the_secret_of_the_link_is_in_no_command_line() {
    let place = Place::new();
    // Stands for the desktop's opener, and tells what every user could see of it.
    let opener = place.write(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$@\" > \"$0.new\" && mv \"$0.new\" \"$0.saw\"\n",
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&opener, executable).expect("it is ours");
    let mut command = place.command(&["ui", "--listen", "127.0.0.1:0"]);
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    command.env("DISPLAY", ":0").env("PATH", path);
    let pages = Pages::begin(&mut command);
    let seen = place.path("bin/xdg-open.saw");
    wait_until("a browser is started", || seen.exists());
    let argument = std::fs::read_to_string(&seen).expect("it was written");
    assert!(!argument.contains(&pages.secret), "{argument}");
    let file = std::path::Path::new(argument.trim());
    let page = std::fs::read_to_string(file).expect("the browser can read it");
    assert!(page.contains(&pages.secret), "{page}");
    let mode = std::fs::metadata(file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "nobody else can read it");
    pages.process.end(Signal::TERM);
    assert!(!file.exists(), "it is gone with the pages");
}

#[test]
fn pages_are_for_this_machine_only() {
    let refused = Place::new().bonded(&["ui", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("this machine only"), "{refused:?}");
}

#[test]
fn a_run_is_shown_with_its_entries_and_what_the_model_saw() {
    let place = waiting_run();
    let browser = Browser::open(&place);
    let list = browser.get("/api/runs");
    assert_eq!(list["counts"]["waiting"], 1, "{list}");
    assert_eq!(list["runs"][0]["waiting"]["tool"], "write", "{list}");
    assert_eq!(browser.get("/api/runs?q=nothing")["runs"], json!([]));
    let page = browser.get("/api/runs/w1");
    assert_eq!(page["wholeGoal"], "Write hello.txt.");
    assert_eq!(page["pending"]["change"]["after"], "hello\n", "{page}");
    let entries = browser.get("/api/runs/w1/entries");
    let kinds = entries["entries"].as_array().expect("a list").iter();
    let kinds: Vec<&str> = kinds.filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"run_started"));
    assert_eq!(kinds.last(), Some(&"review_asked"));
    let saw = browser.get("/api/runs/w1/saw/1");
    let said = saw["messages"].to_string();
    assert!(said.contains("Write hello.txt."), "{said}");
    assert_eq!(browser.ask("GET /api/runs/none", None).status, 404);
    assert_eq!(browser.ask("GET /api/runs?state=none", None).status, 400);
}

#[test]
fn a_verdict_counts_for_the_call_that_was_shown_and_the_run_goes_on_without_the_pages() {
    let place = waiting_run();
    let browser = Browser::open(&place);
    let card = browser.get("/api/inbox")["calls"][0].clone();
    let verdict =
        |digest: &Value| json!({ "turn": card["turn"], "call": card["call"], "digest": digest });
    let other = browser.post("/api/runs/w1/approve", &verdict(&"0".repeat(64).into()));
    assert_eq!((other.status, other.code().as_str()), (409, "other_call"));
    assert!(!place.path("work/hello.txt").exists());
    let recorded = browser.post("/api/runs/w1/approve", &verdict(&card["digest"]));
    assert_eq!(recorded.is(200)["resumed"], true);
    let again = browser.post("/api/runs/w1/approve", &verdict(&card["digest"]));
    assert_eq!(again.status, 409, "nothing waits any more");
    // What goes on is a process of its own.
    drop(browser);
    wait_until("the run has ended", || {
        place.bonded(&["runs"]).stdout.contains("succeeded")
    });
    let text = std::fs::read_to_string(place.path("work/hello.txt")).expect("it was written");
    assert_eq!(text, "hello\n");
    let browser = Browser::open(&place);
    assert_eq!(
        browser.post("/api/runs/w1/verify", &json!({})).is(200)["whole"],
        true
    );
    assert_eq!(
        browser.post("/api/runs/w1/replay", &json!({})).is(200)["equal"],
        true
    );
    let forked = browser
        .post("/api/runs/w1/fork", &json!({ "turn": 2 }))
        .is(200);
    let fork = forked["runId"].as_str().expect("an id");
    assert_eq!(
        browser.get(&format!("/api/runs/{fork}"))["from"]["kind"],
        "fork"
    );
    assert_eq!(browser.post("/api/runs/w1/resume", &json!({})).status, 409);
}

#[test]
fn a_denial_tells_the_model_why_and_a_cancelled_run_has_ended() {
    let place = waiting_run();
    let browser = Browser::open(&place);
    let card = browser.get("/api/inbox")["calls"][0].clone();
    let denial = json!({
        "turn": card["turn"], "call": card["call"], "digest": card["digest"], "reason": "not here",
    });
    assert_eq!(browser.post("/api/runs/w1/deny", &denial).status, 200);
    wait_until("the run has ended", || {
        browser.get("/api/runs/w1")["status"] == "succeeded"
    });
    let shown = place.bonded(&["show", "w1", "--json"]).stdout;
    assert!(shown.contains("not here"), "{shown}");
    assert!(!place.path("work/hello.txt").exists());
    let other = waiting_run();
    let browser = Browser::open(&other);
    let cancelled = browser.post("/api/runs/w1/cancel", &json!({ "reason": "enough" }));
    assert_eq!(cancelled.status, 200);
    assert_eq!(browser.get("/api/runs/w1")["status"], "cancelled");
}

#[test]
fn a_page_is_told_what_happens_while_it_is_open() {
    let place = waiting_run();
    let browser = Browser::open(&place);
    let header = format!("Authorization: Bearer {}", browser.token);
    let address = &browser.pages.address;
    let head = http::head(address, "GET /api/stream?run=w1&after=1", &header);
    let mut lines = BufReader::new(http::send(address, &head, b"")).lines();
    let mut wait_for = |kind: &str| {
        let found = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains(kind));
        assert!(found.is_some(), "{kind}");
    };
    wait_for(r#""kind":"beat""#);
    wait_for("review_asked");
    let cancelled = place.bonded(&["cancel", "w1"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    wait_for("run_ended");
    wait_for(r#""kind":"runs""#);
}
