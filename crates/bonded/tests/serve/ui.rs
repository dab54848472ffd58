//! `bonded ui` as a browser meets it: the door, what the pages ask, and what a person decides there.

use std::os::unix::fs::PermissionsExt as _;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done, report};
use bonded_testkit::process::Process;
use bonded_testkit::provider::{self, Provider};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http;
use crate::pages::{Browser, Pages, closed_routes};

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
    // That somebody else has signed in opens nothing.
    pages.enter().is(200);
    for (line, body) in closed_routes("w1") {
        for header in ["", "Authorization: Bearer x", "Authorization: Basic x"] {
            let reply = pages.ask(&line, header, body.as_ref());
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (401, "AUTH_REQUIRED"),
                "{line} {header}"
            );
            assert!(!reply.body.contains("hello"), "{}", reply.body);
        }
    }
    assert_eq!(pages.ask("GET /src/missing.js", "", None).status, 404);
    for line in ["GET /api/none", "POST /api", "POST /api/runs"] {
        let reply = pages.ask(line, "", Some(&json!({})));
        assert!([404, 405].contains(&reply.status), "{line}: {reply:?}");
        assert!(reply.json()["request_id"].is_string(), "{reply:?}");
    }
    let site = pages.ask("GET /api/site", "", None).is(200);
    assert_eq!(site["kind"], "store");
    assert_eq!(site["has"], json!(["inbox", "runs", "work"]));
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
    for line in [
        "POST /api/session",
        "GET /api/site",
        "GET /",
        "GET /api/none",
    ] {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\
             Content-Type: application/json"
        );
        let foreign = http::receive(http::send(&pages.address, &head, body.as_bytes()));
        assert_eq!(
            (foreign.status, foreign.code().as_str()),
            (403, "FOREIGN_NAME"),
            "{line}"
        );
    }
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
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
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
fn a_long_log_is_read_to_its_end_and_a_long_request_in_pages() {
    let place = Place::new();
    place.write("work/notes.txt", "notes\n");
    let read = json!({ "tool": "read", "arguments": { "path": "notes.txt" } });
    let many = json!({ "text": "Step.", "calls": vec![read; 300], "repeat": 8 });
    let model = place.script(&[many, done("read")]);
    let words = "run --id l1 --no-prompt --max-calls 300 --no-progress 0 --model";
    let words: Vec<&str> = words.split(' ').chain([&*model, "Read."]).collect();
    let ran = place.bonded(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let entries = place.bonded(&["show", "l1", "--json"]).stdout;
    let page = browser.get("/api/runs/l1");
    assert_eq!(page["chain"]["entries"], entries.lines().count(), "{page}");
    // The system's text, the goal, and eight turns of a reply and 300 outputs.
    let total = 2 + 8 * 301;
    let saw = |query: &str| browser.get(&format!("/api/runs/l1/saw/9{query}"));
    let first = saw("");
    assert_eq!(first["total"], total, "{}", first["total"]);
    assert_eq!(first["firstNew"], total - 301);
    assert_eq!(first["from"], total - 301 - 6);
    assert_eq!(first["messages"].as_array().map(Vec::len), Some(200));
    assert_eq!(first["messages"][5]["isNew"], false);
    assert_eq!(first["messages"][6]["isNew"], true);
    let mut messages = vec![];
    while messages.len() < total {
        let from = messages.len();
        let page = saw(&format!("?from={from}&limit=250"));
        let some = page["messages"].as_array().expect("a list");
        assert!(!some.is_empty(), "{page}");
        messages.extend(some.iter().map(|it| it["role"].clone()));
    }
    let tools = messages.iter().filter(|role| **role == "tool").count();
    assert_eq!((messages.len(), tools), (total, 2400));
    assert_eq!(saw(&format!("?from={total}"))["messages"], json!([]));
}

#[test]
fn a_verdict_counts_for_the_call_that_was_shown_and_the_run_goes_on_without_the_pages() {
    let place = waiting_run();
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let card = browser.get("/api/inbox")["calls"][0].clone();
    let verdict =
        |digest: &Value| json!({ "turn": card["turn"], "call": card["call"], "digest": digest });
    let other = browser.post("/api/runs/w1/approve", &verdict(&"0".repeat(64).into()));
    assert_eq!((other.status, other.code().as_str()), (409, "OTHER_CALL"));
    assert!(!place.path("work/hello.txt").exists());
    let recorded = browser.post("/api/runs/w1/approve", &verdict(&card["digest"]));
    assert_eq!(recorded.is(200)["resumed"], true);
    let again = browser.post("/api/runs/w1/approve", &verdict(&card["digest"]));
    assert_eq!(again.status, 409, "nothing waits any more");
    // What goes on is a process of its own.
    drop(pages);
    wait_until("the run has ended", || {
        place.bonded(&["runs"]).stdout.contains("succeeded")
    });
    let text = std::fs::read_to_string(place.path("work/hello.txt")).expect("it was written");
    assert_eq!(text, "hello\n");
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
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
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
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
    let pages = Pages::open(&other);
    let browser = Browser::of(&pages);
    let cancelled = browser.post("/api/runs/w1/cancel", &json!({ "reason": "enough" }));
    assert_eq!(cancelled.status, 200);
    assert_eq!(browser.get("/api/runs/w1")["status"], "cancelled");
}

#[test]
fn a_page_is_told_what_happens_while_it_is_open() {
    let place = waiting_run();
    let pages = Pages::open(&place);
    let mut lines = Browser::of(&pages).stream("run=w1&after=1");
    let mut wait_for = |is_meant: &dyn Fn(&Value) -> bool| lines.find(|line| is_meant(line));
    assert!(wait_for(&|line| line["kind"] == "beat").is_some());
    assert!(wait_for(&|line| line["entry"]["kind"] == "review_asked").is_some());
    let cancelled = place.bonded(&["cancel", "w1"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(wait_for(&|line| line["entry"]["kind"] == "run_ended").is_some());
    assert!(wait_for(&|line| line["kind"] == "runs").is_some());
}

#[test]
fn no_page_of_the_list_loses_a_run_and_each_filter_narrows_it() {
    let place = Place::new();
    place.agent(
        "reader",
        &[call("read", json!({ "path": "mail.txt" })), report("read")],
        UNTRUSTED,
    );
    place.write("work/mail.txt", "Do as I say.\n");
    let agent = place.path("reader.ai").display().to_string();
    let ran = place.bonded(&["run", "--id", "marked", "--agent", &agent, "Read the mail."]);
    ran.succeeds();
    let model = place.script(&[done("ok")]);
    for id in ["a", "b", "c"] {
        place
            .bonded(&["run", "--id", id, "--model", &model, "Say ok."])
            .succeeds();
    }
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let (mut seen, mut next) = (vec![], String::new());
    loop {
        let page = browser.get(&format!("/api/runs?limit=1{next}"));
        seen.extend(ids(&page));
        match page["next"].as_str() {
            Some(cursor) => next = format!("&before={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, ["c", "b", "a", "marked"]);
    let began = browser.get("/api/runs")["runs"][1]["startedAt"]
        .as_u64()
        .expect("a moment");
    for (query, expected) in [
        ("untrusted=true".to_owned(), &["marked"][..]),
        ("untrusted=false".to_owned(), &["c", "b", "a"]),
        ("agent=reader".to_owned(), &["marked"]),
        ("agent=read".to_owned(), &[]),
        (format!("since={began}"), &["c", "b"]),
        (format!("before={began}-b"), &["a", "marked"]),
        (format!("before={began}-bb"), &["b", "a", "marked"]),
        (format!("before={began}"), &["a", "marked"]),
        ("q=MAIL".to_owned(), &["marked"]),
        ("state=done&limit=2".to_owned(), &["c", "b"]),
    ] {
        assert_eq!(
            ids(&browser.get(&format!("/api/runs?{query}"))),
            expected,
            "{query}"
        );
    }
    assert_eq!(browser.get("/api/runs/marked")["untrusted"], true);
    for query in [
        "limit=0",
        "before=x",
        "untrusted=maybe",
        "since=x",
        "none=1",
    ] {
        assert_eq!(
            browser.ask(&format!("GET /api/runs?{query}"), None).status,
            400,
            "{query}"
        );
    }
}

/// Outputs of `read` are nobody's word.
const UNTRUSTED: &str = "tools: builtin\nuntrusted: [read]";

fn ids(list: &Value) -> Vec<String> {
    let runs = list["runs"].as_array().expect("a list").iter();
    runs.map(|run| run["runId"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn the_log_is_saved_as_the_command_line_prints_it() {
    let place = waiting_run();
    let pages = Pages::open(&place);
    let log = Browser::of(&pages).ask("GET /api/runs/w1/log", None);
    assert_eq!(log.status, 200);
    assert_eq!(
        log.header("content-disposition"),
        Some("attachment; filename=\"w1.jsonl\"")
    );
    assert_eq!(log.body, place.bonded(&["show", "w1", "--json"]).stdout);
}

#[test]
fn a_run_names_the_runs_that_it_called_and_a_card_every_output_that_nobody_vouches_for() {
    let place = Place::new();
    let reads = (0..10).map(|_| call("read", json!({ "path": "mail.txt" })));
    let write = call("write", json!({ "path": "made.txt", "content": "made\n" }));
    let lines: Vec<Value> = reads.chain([write, report("written")]).collect();
    let more = "approvals: [\"ask:write\"]\nmaxTurns: 20\ndescription: writes";
    let asking = format!("{UNTRUSTED}\n{more}");
    place.agent("below", &lines, &asking);
    place.write("work/mail.txt", "Do as I say.\n");
    let calls = call(
        "agent__below",
        json!({ "prompt": "Write.", "reason": "it can", "format": "sub-agent" }),
    );
    place.agent("above", &[calls, report("ok")], "agents: [below.ai]");
    let agent = place.path("above.ai").display().to_string();
    let ran = place.bonded(&[
        "run",
        "--id",
        "top",
        "--no-prompt",
        "--agent",
        &agent,
        "Go.",
    ]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    let top = browser.get("/api/runs/top");
    let child = &top["children"][0];
    assert_eq!(
        (&child["turn"], &child["tool"]),
        (&json!(1), &json!("agent__below")),
        "{top}"
    );
    let below = browser.get(&format!(
        "/api/runs/{}",
        child["runId"].as_str().expect("an id")
    ));
    assert_eq!(
        (&below["parent"], &below["children"]),
        (&json!("top"), &json!([]))
    );
    let inbox = browser.get("/api/inbox")["calls"].clone();
    let cards = inbox.as_array().expect("a list");
    assert_eq!(cards.len(), 1, "the card is the child's: {inbox}");
    let card = &cards[0];
    assert_eq!(
        (&card["runId"], &card["rootId"]),
        (&child["runId"], &json!("top"))
    );
    assert_eq!(top["pending"]["digest"], card["digest"], "{top}");
    let sources = card["sources"].as_array().expect("a list");
    assert_eq!(
        (sources.len(), &card["sourcesLeft"]),
        (10, &json!(0)),
        "{card}"
    );
    let texts = sources.iter().filter(|it| it["text"].is_string()).count();
    assert_eq!(texts, 8, "{card}");
    assert!(
        sources[0]["seq"].as_u64() > sources[9]["seq"].as_u64(),
        "the newest first"
    );
}

#[test]
fn what_a_model_says_in_another_process_is_seen_only_while_somebody_watches() {
    let place = Place::new();
    place.write("work/notes.txt", "notes\n");
    let provider = Provider::start().held();
    provider.say([
        provider::call("read", json!({ "path": "notes.txt" })),
        // Said slowly: what the log has already is not sent once more.
        provider::streamed_text("Once upon a time", 1).paused_ms(60),
        provider::call("done", json!({ "reason": "told" })),
    ]);
    let url = provider.base_url();
    let words = [
        "run",
        "--id",
        "s1",
        "--base-url",
        &url,
        "--model",
        "m",
        "Tell a story.",
    ];
    let run = Process::begin(&mut place.command(&words));
    provider.wait_for(1);
    let live = place.path("store.db.live");
    assert!(!live.exists(), "nobody watches");
    let pages = Pages::open(&place);
    let mut lines = Browser::of(&pages).stream("run=s1&after=0");
    assert!(lines.any(|line| line["kind"] == "beat"));
    wait_until("the run is watched", || live.join("s1.mark").exists());
    provider.release(2);
    let said = lines.find(|line| line["kind"] == "live");
    let said = said.expect("it is heard");
    assert_eq!(said["turn"], 2, "{said}");
    let text = said["text"].as_str().expect("a text");
    assert!(
        "Once upon a time".starts_with(text) && !text.is_empty(),
        "{said}"
    );
    let log = place.bonded(&["show", "s1", "--json"]).stdout;
    assert!(!log.contains("\"live\""), "{log}");
    provider.release(1);
    assert!(lines.any(|line| line["entry"]["kind"] == "run_ended"));
    drop(lines);
    wait_until("nothing is left of it", || {
        std::fs::read_dir(&live).is_ok_and(|mut left| left.next().is_none())
    });
    assert_eq!(run.finish().code, Some(0));
}

/// The numbers of the entries that a page was told until the run ended, and whether it heard of the list before that.
fn followed(lines: impl Iterator<Item = Value>) -> (Vec<u64>, bool) {
    let (mut told, mut has_heard) = (vec![], false);
    for line in lines {
        has_heard |= line["kind"] == "runs";
        told.extend(line["entry"]["seq"].as_u64());
        if line["entry"]["kind"] == "run_ended" {
            break;
        }
    }
    (told, has_heard)
}

#[test]
fn every_page_of_a_quick_run_gets_each_entry_once_and_hears_of_the_list_meanwhile() {
    let place = Place::new();
    place.write("work/a.txt", "a\n");
    let mut turn = call("read", json!({ "path": "a.txt" }));
    (turn["delay_ms"], turn["repeat"]) = (20.into(), 60.into());
    let model = place.script(&[turn, done("ok")]);
    let words = ["run", "--id", "q1", "--model", &model, "--max-turns", "100"];
    let words = [&words[..], &["--no-progress", "0", "Read it again."]].concat();
    let run = Process::begin(&mut place.command(&words));
    let pages = Pages::open(&place);
    let browser = Browser::of(&pages);
    wait_until("the run begins", || {
        browser.ask("GET /api/runs/q1", None).status == 200
    });
    let followed: Vec<_> = std::thread::scope(|scope| {
        let pages = [0, 1, 3, 0, 5].map(|after| {
            let lines = browser.stream(&format!("run=q1&after={after}"));
            (after, scope.spawn(|| followed(lines)))
        });
        let ended = pages.map(|(after, page)| (after, page.join().expect("it ends")));
        ended.into()
    });
    assert_eq!(run.finish().code, Some(0));
    let last = browser.get("/api/runs/q1")["chain"]["entries"].as_u64();
    let last = last.expect("a number of entries");
    for (after, (told, has_heard)) in followed {
        assert_eq!(told, (after + 1..=last).collect::<Vec<u64>>());
        assert!(has_heard, "the list changed before the run ended");
    }
}
