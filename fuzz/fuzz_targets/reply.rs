//! What servers send: in every dialect, reading a stream of events ends in a reply or a failure, whatever the pieces in
//! which it came, and a reply holds no more than was sent.

#![no_main]

use std::sync::{Arc, LazyLock, Mutex};

use bonded_kernel::{Dialect, Failure, Reply};
use bonded_transport::dialect::{DIALECTS, decode, read_live_events};
use bonded_transport::{Cut, Live};
use bytes::Bytes;
use futures_util::stream;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

/// One for all inputs: to make it takes longer than to use it.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime")
});

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<String>>);

impl Live for Heard {
    fn hear(&mut self, text: &str) {
        self.0.lock().expect("nobody panicked").push_str(text);
    }

    fn end(&mut self) {}
}

/// The reply, and what was heard of it meanwhile.
fn read(dialect: Dialect, body: &[u8], piece_bytes: usize) -> (Result<Reply, Failure>, String) {
    let pieces: Vec<Result<Bytes, Cut>> = body
        .chunks(piece_bytes)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    let heard = Heard::default();
    let mut live = heard.clone();
    let events = read_live_events(dialect, stream::iter(pieces), Some(&mut live));
    let reply = RUNTIME.block_on(events);
    let text = heard.0.lock().expect("nobody panicked").clone();
    (reply, text)
}

fn check_reply(reply: &Reply, body: &[u8]) {
    let calls: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
    let said = reply.text.len() + reply.reasoning.len();
    // A dialect may spell arguments anew, and each of their bytes may need an escape.
    assert!(said + calls <= 8 * body.len() + 64, "{reply:?}");
}

fn check(dialect: Dialect, body: &[u8]) {
    if let Ok(reply) = decode(dialect, body) {
        check_reply(&reply, body);
    }
    let (whole, heard) = read(dialect, body, body.len().max(1));
    let (in_pieces, heard_in_pieces) = read(dialect, body, 1 + body.len() % 7);
    assert_eq!(format!("{whole:?}"), format!("{in_pieces:?}"));
    assert_eq!(heard, heard_in_pieces);
    if let Ok(reply) = whole {
        check_reply(&reply, body);
        // The last event of this dialect says all of it anew, and counts.
        let is_heard_whole = dialect != Dialect::Responses && !heard.is_empty();
        assert!(
            !is_heard_whole || reply.text == heard,
            "{heard:?} of {reply:?}"
        );
    }
}

fuzz_target!(|body: &[u8]| {
    DIALECTS
        .into_iter()
        .for_each(|(dialect, _)| check(dialect, body));
});
