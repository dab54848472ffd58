//! Replies as servers send them: each file in `wire/DIALECT/` has beside it, as `.want`, what it must be
//! read as.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bonded_kernel::{Dialect, Failure, FailureClass, Money, Reply, Target};
use bonded_transport::Cut;
use bonded_transport::{dialect, models};
use bytes::Bytes;
use common::{DIALECTS, check_file};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// The files of every dialect.
fn files(extension: &str) -> Vec<(Dialect, PathBuf)> {
    let mut found = Vec::new();
    for (dialect, name) in DIALECTS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/wire")
            .join(name);
        let entries = std::fs::read_dir(dir).expect("the wire files");
        let paths = entries.map(|entry| entry.expect("a directory entry").path());
        let of_kind = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
        let before = found.len();
        found.extend(of_kind.map(|path| (dialect, path)));
        assert!(found.len() > before, "{name} has no {extension} files");
    }
    found.sort_by(|(_, a), (_, b)| a.cmp(b));
    found
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Reads a stream that comes in pieces of this size.
fn read_stream(
    runtime: &Runtime,
    dialect: Dialect,
    body: &[u8],
    piece: usize,
) -> Result<Reply, Failure> {
    let pieces: Vec<Result<Bytes, Cut>> = body
        .chunks(piece)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    runtime.block_on(dialect::read_events(dialect, stream::iter(pieces)))
}

fn render(outcome: &Result<Reply, Failure>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        writeln!(text, "{name}: {value:?}").expect("writing to memory");
    };
    match outcome {
        Ok(reply) => {
            line("text", &reply.text);
            line("reasoning", &reply.reasoning);
            for call in &reply.calls {
                line("call", &(&call.id, &call.tool, &call.arguments));
            }
            line("finish", &reply.finish);
            line("stop_reason", &reply.stop_reason);
            let usage = reply.usage;
            line(
                "usage",
                &usage.map(|u| (u.input, u.output, u.cached, u.written)),
            );
            line("model", &reply.model);
            line("request_id", &reply.request_id);
            if let Some(signed) = &reply.signed {
                line("signed", signed);
            }
            if let Some(cost) = &reply.cost {
                line("cost", cost);
            }
            if let Some(provider) = &reply.provider {
                line("provider", provider);
            }
        }
        Err(failure) => {
            line("fail", &failure.class);
            line("status", &failure.status);
            line("billable", &failure.billable);
            line("message", &failure.message);
            if let Some(wait) = &failure.retry_after_ms {
                line("retry_after_ms", wait);
            }
        }
    }
    text
}

fn check(path: &Path, outcome: &Result<Reply, Failure>) {
    let mut want = path.as_os_str().to_owned();
    want.push(".want");
    check_file(Path::new(&want), &render(outcome));
}

#[test]
fn every_whole_reply_is_read_as_its_file_says() {
    for (dialect, path) in files("json") {
        let body = std::fs::read(&path).expect("readable");
        check(&path, &dialect::decode(dialect, &body));
    }
}

/// A usage as it stands in a whole reply, and at the end of a streamed one.
fn with_usage(usage: &Value) -> [Result<Reply, Failure>; 2] {
    let message = json!({ "role": "assistant", "content": "Four." });
    let whole = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }], "usage": usage });
    let piece = json!({ "choices": [{ "index": 0, "delta": message, "finish_reason": "stop" }] });
    let last = json!({ "choices": [], "usage": usage });
    let events = format!("data: {piece}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    [
        dialect::decode(Dialect::Chat, whole.to_string().as_bytes()),
        read_stream(&runtime(), Dialect::Chat, events.as_bytes(), usize::MAX),
    ]
}

#[test]
fn thoughts_are_paid_for_wherever_a_service_counts_them() {
    let xai = ("https://api.x.ai/v1", "grok-4.6", (2, 6));
    let google = (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash-lite",
        // Tenths of a dollar.
        (1, 4),
    );
    let openai = ("https://api.openai.com/v1", "o3", (2, 8));
    let thought = |tokens: u64| json!({ "reasoning_tokens": tokens });
    let rows = [
        // xAI counts them beside what was said, and in the total.
        (
            xai,
            1,
            json!({ "prompt_tokens": 32, "completion_tokens": 124, "total_tokens": 272,
                "completion_tokens_details": thought(116) }),
            (32, 240),
        ),
        // Google's compatible endpoint counts them in the total alone.
        (
            google,
            10,
            json!({ "prompt_tokens": 32, "completion_tokens": 124, "total_tokens": 272 }),
            (32, 240),
        ),
        // OpenAI counts them within what was said.
        (
            openai,
            1,
            json!({ "prompt_tokens": 32, "completion_tokens": 240, "total_tokens": 272,
                "completion_tokens_details": thought(116) }),
            (32, 240),
        ),
    ];
    for ((endpoint, model, rates), parts, usage, tokens) in rows {
        let price = models::listed_price(&Target::new("p", endpoint, model));
        let price = price.expect("it is listed");
        let expected = (tokens.0 * rates.0 + tokens.1 * rates.1) * 1_000_000 / parts;
        for reply in with_usage(&usage) {
            let used = reply.expect("it is a reply").usage.expect("it is counted");
            assert_eq!((used.input, used.output), tokens, "{model}");
            assert_eq!(price.of(&used), Money(expected), "{model}");
        }
    }
}

/// What a service says in these bytes that the reply cost, in picodollars, whatever else stands there.
fn billed_in(body: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(body).ok()?;
    let number = |name: &str| -> Option<f64> {
        let (_, after) = text.rsplit_once(&format!("\"{name}\":"))?;
        let end = after.find([',', '}', '\n'])?;
        after[..end].trim().parse().ok()
    };
    let dollars = number("cost").map(|cost| cost * 1e12);
    let ticks = || number("cost_in_usd_ticks").map(|ticks| ticks * 100.0);
    Some(dollars.or_else(ticks)?.round() as u64)
}

/// Every reply in the files, whole or streamed.
fn replies() -> Vec<(PathBuf, Vec<u8>, Reply)> {
    let runtime = runtime();
    let mut found = vec![];
    for extension in ["json", "sse"] {
        for (dialect, path) in files(extension) {
            let body = std::fs::read(&path).expect("readable");
            let reply = match extension {
                "json" => dialect::decode(dialect, &body),
                _ => read_stream(&runtime, dialect, &body, usize::MAX),
            };
            found.extend(reply.ok().map(|reply| (path, body, reply)));
        }
    }
    found
}

#[test]
fn what_a_service_says_that_a_reply_cost_is_what_it_cost_in_every_file() {
    let mut billed = 0;
    for (path, body, reply) in replies() {
        let said = billed_in(&body).map(Money);
        assert_eq!(reply.cost, said, "{}", path.display());
        billed += usize::from(said.is_some());
    }
    assert!(billed >= 7, "{billed} files say what they cost");
}

#[test]
fn what_the_list_makes_of_tokens_is_what_the_service_billed_for_them() {
    // What a search by the service itself costs is on its bill alone: $5 for a thousand.
    let search = Money(5_000_000_000);
    let rows = [
        ("chat/xai_cost.json", Money(0)),
        ("chat/xai_cost.sse", Money(0)),
        ("responses/xai_cost.json", search),
    ];
    let replies = replies();
    for (file, besides) in rows {
        let (.., reply) = replies
            .iter()
            .find(|(path, ..)| path.ends_with(file))
            .expect("the file is there");
        let model = reply.model.as_deref().expect("it says who answered");
        let price = models::listed_price(&Target::new("xai", "https://api.x.ai/v1", model));
        let used = reply.usage.expect("it is counted");
        let made = price.expect("it is listed").of(&used).plus(besides);
        assert_eq!(Some(made), reply.cost, "{file}");
    }
}

#[test]
fn every_streamed_reply_is_read_as_its_file_says_however_it_is_cut_into_pieces() {
    let runtime = runtime();
    for (dialect, path) in files("sse") {
        let body = std::fs::read(&path).expect("readable");
        for piece in [usize::MAX, 1, 2, 3, 7, 64] {
            check(&path, &read_stream(&runtime, dialect, &body, piece));
        }
    }
}

#[test]
fn a_whole_reply_that_is_cut_anywhere_is_malformed() {
    for (dialect, path) in files("json") {
        let body = std::fs::read(&path).expect("readable");
        for end in 0..body.trim_ascii_end().len() {
            let failure = dialect::decode(dialect, &body[..end]).expect_err("a cut reply");
            assert_eq!(
                failure.class,
                FailureClass::Malformed,
                "{}:{end}",
                path.display()
            );
            assert!(failure.billable);
        }
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_never_gives_half_a_reply() {
    let runtime = runtime();
    for (dialect, path) in files("sse") {
        let body = std::fs::read(&path).expect("readable");
        let Ok(whole) = read_stream(&runtime, dialect, &body, usize::MAX) else {
            continue;
        };
        for end in 0..body.len() {
            match read_stream(&runtime, dialect, &body[..end], usize::MAX) {
                Ok(reply) => {
                    let said = (&reply.text, &reply.reasoning, &reply.calls, &reply.signed);
                    let all = (&whole.text, &whole.reasoning, &whole.calls, &whole.signed);
                    assert_eq!(said, all, "{}:{end}", path.display());
                    assert_eq!(reply.finish, whole.finish, "{}:{end}", path.display());
                }
                Err(failure) => {
                    assert_eq!(
                        failure.class,
                        FailureClass::Network,
                        "{}:{end}",
                        path.display()
                    );
                    assert!(failure.billable);
                }
            }
        }
    }
}

#[test]
fn a_connection_that_breaks_after_the_finish_reason_loses_nothing_and_before_it_is_a_network_failure()
 {
    let runtime = runtime();
    let said = br#"data: {"choices":[{"delta":{"content":"ok"}}]}"#;
    let stopped = br#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let broken = || Cut::Broken {
        why: "reset".into(),
    };
    let event = |line: &[u8]| Ok(Bytes::from([line, b"\n\n"].concat()));
    let read = |pieces: Vec<_>| {
        runtime.block_on(dialect::read_events(Dialect::Chat, stream::iter(pieces)))
    };

    let after = read(vec![event(said), event(stopped), Err(broken())]);
    assert_eq!(after.map(|reply| reply.text), Ok("ok".into()));
    let before = read(vec![event(said), Err(broken())]).expect_err("cut");
    assert_eq!(
        (before.class, before.billable),
        (FailureClass::Network, true)
    );
    let too_large = Cut::TooLarge { bytes_max: 1 };
    let after = read(vec![event(said), event(stopped), Err(too_large)]).expect_err("too large");
    assert_eq!(after.class, FailureClass::Malformed);
}
