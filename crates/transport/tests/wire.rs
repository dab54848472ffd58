//! Replies as servers send them: each file in `wire/` has beside it, as `.want`, what it must be read as.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bonded_kernel::{Failure, FailureClass, Reply};
use bonded_transport::Cut;
use bonded_transport::dialect::chat;
use bytes::Bytes;
use futures_util::stream;
use tokio::runtime::{Builder, Runtime};

fn files(extension: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let entries = std::fs::read_dir(dir).expect("the wire files");
    let paths = entries.map(|entry| entry.expect("a directory entry").path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Reads a stream that comes in pieces of this size.
fn read_stream(runtime: &Runtime, body: &[u8], piece: usize) -> Result<Reply, Failure> {
    let pieces: Vec<Result<Bytes, Cut>> = body
        .chunks(piece)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    runtime.block_on(chat::read_events(stream::iter(pieces)))
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
            line("usage", &reply.usage.map(|u| (u.input, u.output, u.cached)));
            line("model", &reply.model);
            line("request_id", &reply.request_id);
        }
        Err(failure) => {
            line("fail", &failure.class);
            line("status", &failure.status);
            line("billable", &failure.billable);
            line("message", &failure.message);
        }
    }
    text
}

fn check(path: &Path, outcome: &Result<Reply, Failure>) {
    let mut want = path.as_os_str().to_owned();
    want.push(".want");
    let want = std::fs::read_to_string(&want).unwrap_or_default();
    let got = render(outcome);
    assert!(
        got == want,
        "{}\n--- got\n{got}--- want\n{want}",
        path.display()
    );
}

#[test]
fn every_whole_reply_is_read_as_its_file_says() {
    for path in files("json") {
        check(
            &path,
            &chat::decode(&std::fs::read(&path).expect("readable")),
        );
    }
}

#[test]
fn every_streamed_reply_is_read_as_its_file_says_however_it_is_cut_into_pieces() {
    let runtime = runtime();
    for path in files("sse") {
        let body = std::fs::read(&path).expect("readable");
        for piece in [usize::MAX, 1, 2, 3, 7, 64] {
            check(&path, &read_stream(&runtime, &body, piece));
        }
    }
}

#[test]
fn a_whole_reply_that_is_cut_anywhere_is_malformed() {
    for path in files("json") {
        let body = std::fs::read(&path).expect("readable");
        for end in 0..body.trim_ascii_end().len() {
            let failure = chat::decode(&body[..end]).expect_err("a cut reply");
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
    for path in files("sse") {
        let body = std::fs::read(&path).expect("readable");
        let Ok(whole) = read_stream(&runtime, &body, usize::MAX) else {
            continue;
        };
        for end in 0..body.len() {
            match read_stream(&runtime, &body[..end], usize::MAX) {
                Ok(reply) => {
                    let said = (&reply.text, &reply.reasoning, &reply.calls, reply.finish);
                    let all = (&whole.text, &whole.reasoning, &whole.calls, whole.finish);
                    assert_eq!(said, all, "{}:{end}", path.display());
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
    let read = |pieces: Vec<_>| runtime.block_on(chat::read_events(stream::iter(pieces)));

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
