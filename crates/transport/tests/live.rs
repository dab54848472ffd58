//! What is heard of a streamed reply while it arrives.

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Dialect, Failure, Reply};
use bonded_transport::{Cut, Live, Providers, Transport, Writing, dialect};
use bytes::Bytes;
use common::{Connection, Conversation, DIALECTS, serve};
use futures_util::stream;
use proptest::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// Keeps what it hears.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<String>>>,
    ended: Arc<Mutex<u32>>,
    /// The tools of calls that were being written, and how much of each had come.
    noticed: Arc<Mutex<Vec<(String, usize)>>>,
    news: Arc<Notify>,
}

impl Live for Ear {
    fn hear(&mut self, piece: &str) {
        assert!(!piece.is_empty(), "an empty piece says nothing");
        lock(&self.heard).push(piece.into());
        self.news.notify_one();
    }

    fn notice(&mut self, writing: Writing<'_>) {
        if let Writing::Call { tool, bytes } = writing {
            lock(&self.noticed).push((tool.into(), bytes));
        }
    }

    fn end(&mut self) {
        *lock(&self.ended) += 1;
    }
}

impl Ear {
    fn text(&self) -> String {
        lock(&self.heard).concat()
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Hears a stream that comes in pieces of this size.
fn hear(
    runtime: &Runtime,
    dialect: Dialect,
    body: &[u8],
    size: usize,
) -> (Ear, Result<Reply, Failure>) {
    let pieces = body.chunks(size).map(Bytes::copy_from_slice).map(Ok);
    let pieces: Vec<Result<Bytes, Cut>> = pieces.collect();
    let ear = Ear::default();
    let mut live = ear.clone();
    let reading = dialect::read_live_events(dialect, stream::iter(pieces), Some(&mut live));
    let outcome = runtime.block_on(reading);
    (ear, outcome)
}

fn streams() -> Vec<(Dialect, String, Vec<u8>)> {
    let mut found = Vec::new();
    for (dialect, name) in DIALECTS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
        for entry in std::fs::read_dir(dir.join(name)).expect("the wire files") {
            let path = entry.expect("a directory entry").path();
            if path.extension().is_some_and(|extension| extension == "sse") {
                let body = std::fs::read(&path).expect("readable");
                found.push((dialect, path.display().to_string(), body));
            }
        }
    }
    found
}

/// Where the end of a reply shows that it says something else.
fn heard_instead(name: &str) -> Option<&'static str> {
    let others = [
        ("chat/refusal.sse", ""),
        ("responses/incomplete.sse", "Hello there."),
    ];
    let found = others.iter().find(|(file, _)| name.ends_with(file));
    found.map(|(_, heard)| *heard)
}

#[test]
fn what_is_heard_is_the_text_of_the_reply_however_it_is_cut_into_pieces() {
    let runtime = runtime();
    for (dialect, name, body) in streams() {
        for size in [usize::MAX, 1, 2, 3, 7, 64] {
            let (ear, outcome) = hear(&runtime, dialect, &body, size);
            let Ok(reply) = outcome else {
                assert_eq!(*lock(&ear.ended), 0, "{name}: a failure is no proper end");
                continue;
            };
            let wanted = heard_instead(&name).unwrap_or(&reply.text);
            assert_eq!(ear.text(), wanted, "{name} in pieces of {size}");
            assert_eq!(*lock(&ear.ended), 1, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn a_call_is_noticed_by_its_name_while_it_is_written() {
    let runtime = runtime();
    let mut noticed_by = vec![];
    for (dialect, name, body) in streams() {
        let (ear, outcome) = hear(&runtime, dialect, &body, usize::MAX);
        let Ok(reply) = outcome else { continue };
        for (tool, bytes) in lock(&ear.noticed).iter().filter(|(_, bytes)| *bytes > 0) {
            let is_of = |call: &bonded_kernel::ReplyCall| {
                call.tool.starts_with(tool.as_str()) && *bytes <= call.arguments.len()
            };
            assert!(reply.calls.iter().any(is_of), "{name}: {tool} {bytes}");
            noticed_by.push(dialect);
        }
    }
    // Gemini's calls come whole.
    for (dialect, name) in DIALECTS {
        let is_noticed = noticed_by.contains(&dialect);
        assert_eq!(is_noticed, dialect != Dialect::Gemini, "{name}");
    }
}

#[test]
fn whoever_hears_a_reply_changes_nothing_about_it() {
    let runtime = runtime();
    for (dialect, name, body) in streams() {
        let pieces = || stream::iter([Ok(Bytes::copy_from_slice(&body))]);
        let unheard = runtime.block_on(dialect::read_events(dialect, pieces()));
        let (_, heard) = hear(&runtime, dialect, &body, usize::MAX);
        assert_eq!(heard, unheard, "{name}");
    }
}

#[test]
fn a_stream_that_is_cut_was_heard_as_far_as_it_came() {
    let runtime = runtime();
    for (dialect, name, body) in streams() {
        let (whole, _) = hear(&runtime, dialect, &body, usize::MAX);
        for end in 0..body.len() {
            let (cut, _) = hear(&runtime, dialect, &body[..end], usize::MAX);
            assert!(whole.text().starts_with(&cut.text()), "{name}:{end}");
        }
    }
}

#[tokio::test]
async fn a_piece_is_heard_before_the_next_one_has_come_and_a_letter_is_heard_whole() {
    let ear = Ear::default();
    let news = Arc::clone(&ear.news);
    let (endpoint, _server) = serve(move |mut connection: Connection| {
        let news = Arc::clone(&news);
        async move {
            connection.request().await?;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            connection.say(head).await;
            for said in ["Gr", "ö", "🦀"] {
                let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{said}\"}}}}]}}\n\n");
                // Each byte is a piece of its own, also in the middle of a letter.
                for byte in event.as_bytes() {
                    connection.say([*byte]).await;
                    tokio::task::yield_now().await;
                }
                news.notified().await;
            }
            let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            connection.say(end).await;
            Some(())
        }
    })
    .await;
    let mut conversation = Conversation::with("local", &endpoint);
    conversation.target.stream = true;
    let providers = Providers::from_variables(|_| None);
    let sending = providers.send_live(&conversation.request(), Box::new(ear.clone()));
    let reply = sending.await.expect("a reply");
    assert_eq!(reply.text, "Grö🦀");
    assert_eq!(*lock(&ear.heard), ["Gr", "ö", "🦀"]);
}

#[test]
fn a_request_that_waits_is_small_whether_or_not_somebody_hears_it() {
    let conversation = Conversation::with("local", "http://127.0.0.1:1/v1");
    let providers = Providers::from_variables(|_| None);
    let silent = providers.send(&conversation.request());
    let heard = providers.send_live(&conversation.request(), Box::<Ear>::default());
    for future in [&*silent, &*heard] {
        let bytes = size_of_val(future);
        assert!(bytes <= 3_328, "{bytes} bytes");
    }
}

/// Events that are almost those of a dialect.
fn event() -> impl Strategy<Value = String> {
    let kinds = [
        "response.output_text.delta",
        "content_block_delta",
        "content_block_start",
        "message_start",
    ];
    let delta = prop_oneof![
        Just("\"x\"".to_owned()),
        Just("{\"text\":\"x\"}".to_owned()),
        Just("{\"content\":\"<think>\"}".to_owned()),
        Just("{\"content\":\" </think> é\"}".to_owned()),
        Just("[null]".to_owned()),
        Just("7".to_owned()),
    ];
    (prop::sample::select(kinds.to_vec()), delta).prop_map(|(kind, delta)| {
        let block = "{\"type\":\"text\",\"text\":\"b\"}";
        format!(
            "data: {{\"type\":\"{kind}\",\"index\":0,\"content_block\":{block},\"delta\":{delta},\"choices\":[{{\"delta\":{delta}}}]}}\n\n"
        )
    })
}

proptest! {
    #[test]
    fn hostile_events_are_heard_without_panic_and_without_a_change(events in prop::collection::vec(event(), 0..12)) {
        let runtime = runtime();
        let body = events.concat();
        for (dialect, _) in DIALECTS {
            let pieces = stream::iter([Ok(Bytes::copy_from_slice(body.as_bytes()))]);
            let unheard = runtime.block_on(dialect::read_events(dialect, pieces));
            let (ear, heard) = hear(&runtime, dialect, body.as_bytes(), 5);
            prop_assert_eq!(&heard, &unheard);
            prop_assert!(ear.text().len() <= body.len());
        }
    }
}
