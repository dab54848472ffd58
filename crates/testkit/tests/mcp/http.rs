//! Servers that are reached over streamable HTTP, good ones and bad ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bonded_kernel::{Limits, Mask, Outcome, ToolOutput};
use bonded_tools::Registry;
use bonded_tools::mcp::{HttpEndpoint, McpServer, McpServers};
use serde_json::json;

use crate::web::{Heard, Says, Web, json_says};
use crate::world::{invocation, peak_kb, pool, registry, until};

struct Site {
    web: Web,
    pool: McpServers,
    registry: Registry,
    limits: Limits,
}

fn server(url: &str) -> McpServer {
    let headers = BTreeMap::from([("X-Token".to_owned(), "${LITERAL}".to_owned())]);
    let url = url.into();
    McpServer::http(
        "srv",
        HttpEndpoint {
            url,
            headers,
            oauth: None,
        },
    )
}

impl Site {
    async fn new(decide: impl Fn(&Heard) -> Option<Says> + Send + Sync + 'static) -> Self {
        let web = Web::new(decide).await;
        let pool = pool(4);
        let started = pool.start(&[server(&web.url)]).await.expect("it starts");
        Self {
            web,
            pool,
            registry: registry(started),
            limits: Limits::default(),
        }
    }

    async fn call(&self, tool: &str) -> ToolOutput {
        let name = format!("srv__{tool}");
        let call = invocation(&self.registry, &self.limits, &name, &json!({ "text": "t" }));
        self.registry.invoke(&call, &Mask::default()).await
    }
}

fn is_call(heard: &Heard) -> bool {
    heard.method() == "tools/call"
}

/// Does something for the first call alone.
fn first_call(
    says: impl Fn(&Heard) -> Says + Send + Sync,
) -> impl Fn(&Heard) -> Option<Says> + Send + Sync {
    let calls = AtomicUsize::new(0);
    move |heard| {
        let is_first = is_call(heard) && calls.fetch_add(1, Ordering::Relaxed) == 0;
        is_first.then(|| says(heard))
    }
}

#[tokio::test]
async fn an_answer_comes_as_json_or_as_events_within_a_session_that_is_ended() {
    let site = Site::new(|_| None).await;
    for tool in ["json", "events"] {
        let output = site.call(tool).await;
        assert_eq!(
            (output.outcome, &*output.text),
            (Outcome::Ok, "\"t\""),
            "{tool}"
        );
    }
    site.pool.stop().await;
    let heard = site.web.heard();
    assert_eq!(heard[0].method(), "initialize");
    assert_eq!(heard[0].header("mcp-session-id"), "");
    for heard in &heard {
        assert_eq!(heard.header("x-token"), "${LITERAL}", "{heard:?}");
        let accept = heard.header("accept");
        assert!(accept.contains("text/event-stream"), "{heard:?}");
    }
    for heard in &heard[1..] {
        assert_eq!(heard.header("mcp-session-id"), "s-1", "{heard:?}");
        assert_eq!(
            heard.header("mcp-protocol-version"),
            "2025-11-25",
            "{heard:?}"
        );
    }
    let call = heard
        .iter()
        .find(|heard| is_call(heard))
        .expect("it was called");
    assert_eq!(
        call.body["params"]["_meta"]["bonded/idempotencyKey"],
        json!("test/1/0")
    );
    assert_eq!(
        heard.last().map(|heard| heard.verb.as_str()),
        Some("DELETE")
    );
}

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_begun_anew_and_the_call_made_once() {
    let refusal =
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no such session"},"id":null}"#;
    for says in [
        Says::Whole(404, "", String::new()),
        Says::Whole(400, "content-type: application/json\r\n", refusal.into()),
    ] {
        let site = Site::new(first_call(move |_| says.clone())).await;
        let output = site.call("json").await;
        assert_eq!((output.outcome, &*output.text), (Outcome::Ok, "\"t\""));
        assert_eq!(
            (site.web.count("initialize"), site.web.count("tools/call")),
            (2, 2)
        );
        assert_eq!(site.call("json").await.outcome, Outcome::Ok);
        assert_eq!(site.web.count("initialize"), 2);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_broke_and_when_the_server_wants_it() {
    let asked = Arc::new(std::sync::Mutex::new(None));
    let kept = Arc::clone(&asked);
    let site = Site::new(move |heard| {
        if is_call(heard) {
            *kept.lock().expect("nobody panics") = Some((heard.clone(), Instant::now()));
            return Some(Says::Events("id: e-7\nretry: 300\ndata: \n\n".into()));
        }
        if heard.verb != "GET" || heard.header("last-event-id").is_empty() {
            return None;
        }
        let asked = kept.lock().expect("nobody panics").clone();
        let (call, at) = asked.expect("the call came first");
        assert_eq!(heard.header("last-event-id"), "e-7");
        assert!(
            at.elapsed() >= Duration::from_millis(300),
            "{:?}",
            at.elapsed()
        );
        let result = json!({ "content": [{ "type": "text", "text": "late" }] });
        Some(Says::OpenEvents(format!(
            "data: {}\n\n",
            call.answer(&result)
        )))
    })
    .await;
    assert_eq!(site.call("json").await.text, "late");
    assert_eq!(site.web.count("tools/call"), 1);
}

#[tokio::test]
async fn a_bad_answer_fails_the_call_and_not_the_session() {
    let odd = json!({ "jsonrpc": "2.0", "id": 99, "result": {} }).to_string();
    let html = "content-type: text/html\r\n";
    for (says, unknown, parts) in [
        (
            Says::Whole(401, "", String::new()),
            false,
            &["401", "OAuth", "secretHeaders"][..],
        ),
        (
            Says::Whole(307, "location: http://evil.example/?k=1\r\n", String::new()),
            false,
            &["evil.example", "not followed"],
        ),
        (
            Says::Whole(429, html, "slow down".into()),
            false,
            &["429", "slow down"],
        ),
        (
            Says::Whole(500, html, "<b>oops</b>".into()),
            true,
            &["500", "oops"],
        ),
        (
            Says::Whole(200, html, "<b>hi</b>".into()),
            true,
            &["text/html"],
        ),
        (json_says("{".into()), true, &["does not answer"]),
        (json_says(odd), true, &["does not answer"]),
        (Says::Whole(202, "", String::new()), true, &["nothing"]),
        (Says::Nothing, true, &["broke the connection"]),
        (
            Says::Events("data: {}\n\n".into()),
            true,
            &["without the answer"],
        ),
    ] {
        let told = format!("{says:?}");
        let site = Site::new(first_call(move |_| says.clone())).await;
        let output = site.call("json").await;
        assert_eq!(output.outcome, Outcome::Failed, "{told}: {}", output.text);
        for part in parts.iter().chain(&["\"srv\""]) {
            assert!(output.text.contains(part), "{part} in {}", output.text);
        }
        let says_unknown = output.text.contains("outcome of the call is unknown");
        assert_eq!(says_unknown, unknown, "{told}: {}", output.text);
        assert_eq!(site.call("json").await.outcome, Outcome::Ok, "{told}");
        assert_eq!(
            (site.web.count("initialize"), site.web.count("tools/call")),
            (1, 2),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_call_that_changes_nothing_is_made_again_when_its_answer_was_lost() {
    let site = Site::new(first_call(|_| Says::Nothing)).await;
    assert_eq!(site.call("look").await.outcome, Outcome::Ok);
    assert_eq!(site.web.count("tools/call"), 2);
}

#[tokio::test]
async fn an_endless_answer_is_cut_off_and_takes_little_memory() {
    let events = "content-type: text/event-stream\r\n";
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for (head, piece, part) in [
        (
            "content-type: application/json\r\n",
            vec![b'x'; 1 << 20],
            "more than 16777216 bytes",
        ),
        (events, vec![b'x'; 1 << 20], "more than 16777216 bytes"),
        (events, b"data: noise\n\n".repeat(1000), "not messages"),
        (
            events,
            format!("data: {notice}\n\n").into_bytes(),
            "(tool failed: timeout)",
        ),
    ] {
        let before_kb = peak_kb();
        let mut site = Site::new(first_call(move |_| Says::Endless(head, piece.clone()))).await;
        if part.contains("timeout") {
            site.limits.tool_timeout_ms = 500;
        }
        let output = site.call("json").await;
        assert!(output.text.contains(part), "{part} in {}", output.text);
        // The system adds up what threads have with some delay.
        let grown_kb = peak_kb().saturating_sub(before_kb);
        assert!(grown_kb < 150_000, "{head}: {grown_kb} KB");
    }
}

#[tokio::test]
async fn a_call_that_runs_too_long_is_cancelled_and_its_exchange_ended() {
    let mut site = Site::new(first_call(|_| Says::Silence)).await;
    site.limits.tool_timeout_ms = 100;
    assert_eq!(site.call("json").await.outcome, Outcome::TimedOut);
    until("the server is told", || {
        site.web.count("notifications/cancelled") == 1
    })
    .await;
    until("the exchange is ended", || site.web.gone() == 1).await;
    let heard = site.web.heard();
    let id = |method: &str| {
        let heard = heard.iter().find(|heard| heard.method() == method);
        heard.expect("it was sent").body.clone()
    };
    let cancelled = &id("notifications/cancelled")["params"]["requestId"];
    assert_eq!(*cancelled, id("tools/call")["id"]);
    site.limits.tool_timeout_ms = 20_000;
    assert_eq!(site.call("json").await.outcome, Outcome::Ok);
    assert_eq!(site.web.count("initialize"), 1);
}

#[tokio::test]
async fn a_change_that_is_announced_on_the_servers_own_stream_is_noticed() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let site = Site::new(move |heard| {
        let is_first = heard.verb == "GET" && heard.header("last-event-id").is_empty();
        is_first.then(|| Says::OpenEvents(format!("id: 1\ndata: {notice}\n\n")))
    })
    .await;
    until("the stream is asked for", || {
        site.web.heard().iter().any(|heard| heard.verb == "GET")
    })
    .await;
    let begun = Instant::now();
    while site.web.count("tools/list") < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is never listed again"
        );
        assert_eq!(site.call("json").await.outcome, Outcome::Ok);
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_a_clear_error() {
    let html = "content-type: text/html\r\n";
    for (says, parts) in [
        (
            Says::Whole(401, "", String::new()),
            &["401", "secretHeaders"][..],
        ),
        (Says::Whole(404, html, "gone".into()), &["404", "gone"]),
        (Says::Whole(200, html, "<p>".into()), &["text/html"]),
        (Says::Silence, &["within 300 ms"]),
        (Says::Nothing, &["broke the connection"]),
    ] {
        let web = Web::new(move |_| Some(says.clone())).await;
        let mut wanted = server(&format!("{}?key=hunter2", web.url));
        wanted.start_timeout_ms = 300;
        let error = pool(4)
            .start(&[wanted])
            .await
            .expect_err("it must not start");
        let error = error.to_string();
        for part in parts.iter().chain(&["\"srv\"", "127.0.0.1", "`url`"]) {
            assert!(error.contains(part), "{part} in {error}");
        }
        assert!(!error.contains("hunter2"), "{error}");
    }
    let wanted = server("http://127.0.0.1:1/mcp");
    let error = pool(4).start(&[wanted]).await.expect_err("nobody is there");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}
