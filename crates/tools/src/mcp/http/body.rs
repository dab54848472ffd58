//! Bodies of answers, read with bounded memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, Stream, StreamExt};
use reqwest::Response;
use sse_stream::{Error as SseError, Sse, SseByteStream};

use super::fault::HttpFault;
use crate::mcp::frame::LINE_BYTES_MAX;

/// How much of a refusal is read, and for how long.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// A server that sends a refusal byte by byte must not hold a call.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(5);

/// The whole body, if it is no larger than a message may be.
pub(super) async fn whole(response: Response) -> Result<Vec<u8>, HttpFault> {
    let mut pieces = response.bytes_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
        if whole.len() > LINE_BYTES_MAX {
            return Err(too_large());
        }
    }
    Ok(whole)
}

fn too_large() -> HttpFault {
    let bytes_max = LINE_BYTES_MAX;
    HttpFault::TooLarge { bytes_max }
}

/// As much of a refusal as is worth reading.
pub(super) async fn refusal(response: Response) -> Vec<u8> {
    let mut pieces = response.bytes_stream();
    let mut some = Vec::new();
    let reading = async {
        while let Some(Ok(piece)) = pieces.next().await {
            let room = REFUSAL_BYTES_MAX - some.len();
            some.extend_from_slice(&piece[..piece.len().min(room)]);
            if some.len() == REFUSAL_BYTES_MAX {
                break;
            }
        }
    };
    // Out of patience or not, what was read until then is what there is.
    let _ = tokio::time::timeout(REFUSAL_PATIENCE, reading).await;
    some
}

/// The events of a stream. None is larger than a message may be.
pub(super) struct Events {
    events: BoxStream<'static, Result<Sse, SseError>>,
    /// What was read since the last event.
    held_bytes: Arc<AtomicUsize>,
}

/// Why a piece is not handed on.
///
/// The stream of events takes errors of one kind alone; this carries ours through it and is unpacked on the
/// other side.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Cut(HttpFault);

impl Events {
    pub(super) fn of(response: Response) -> Self {
        Self::from_pieces(
            response
                .bytes_stream()
                .map(|piece| piece.map_err(HttpFault::from)),
        )
    }

    /// What is counted is everything since the last whole event, because the library gathers an event without a
    /// bound of its own.
    fn from_pieces<P>(pieces: impl Stream<Item = Result<P, HttpFault>> + Send + 'static) -> Self
    where
        P: AsRef<[u8]> + Send + 'static,
    {
        let held_bytes = Arc::<AtomicUsize>::default();
        let held = Arc::clone(&held_bytes);
        let bounded = pieces.map(move |piece| {
            let piece = piece.map_err(Cut)?;
            let length = piece.as_ref().len();
            if held.fetch_add(length, Ordering::Relaxed) + length > LINE_BYTES_MAX {
                return Err(Cut(too_large()));
            }
            Ok(std::io::Cursor::new(piece))
        });
        Self {
            events: SseByteStream::new(bounded).boxed(),
            held_bytes,
        }
    }

    /// The next event, or `None` at the end. May be dropped at any await.
    pub(super) async fn next(&mut self) -> Result<Option<Sse>, HttpFault> {
        match self.events.next().await {
            None => Ok(None),
            Some(Ok(event)) => {
                self.held_bytes.store(0, Ordering::Relaxed);
                Ok(Some(event))
            }
            Some(Err(SseError::Body(cause))) => Err(match cause.downcast::<Cut>() {
                Ok(cut) => cut.0,
                Err(other) => HttpFault::Broken {
                    why: other.to_string(),
                },
            }),
            Some(Err(error)) => Err(HttpFault::NoMessage {
                what: format!("a stream that is not an event stream ({error})"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn events_of(pieces: Vec<Vec<u8>>) -> Events {
        Events::from_pieces(stream::iter(pieces.into_iter().map(Ok)))
    }

    #[tokio::test]
    async fn an_event_is_bounded_and_a_stream_of_small_ones_is_not() {
        let line = |size: usize| format!("data: {}\n\n", "x".repeat(size)).into_bytes();
        let many = vec![line(1 << 20); 40];
        let mut events = events_of(many);
        for _ in 0..40 {
            let event = events.next().await.expect("it is small");
            assert_eq!(
                event.and_then(|event| event.data).map(|data| data.len()),
                Some(1 << 20)
            );
        }
        assert_eq!(events.next().await, Ok(None));
        let endless = vec![vec![b'x'; 1 << 20]; 40];
        assert_eq!(events_of(endless).next().await, Err(too_large()));
    }

    #[tokio::test]
    async fn bytes_that_are_no_events_are_an_end_or_a_fault() {
        for bytes in [&b"\xff\xfe\n\n"[..], b"data: \xff\n\n", b"", b"data: cut"] {
            let mut events = events_of(vec![bytes.to_vec()]);
            let mut count = 0;
            while let Ok(Some(_)) = events.next().await {
                count += 1;
                assert!(count < 10, "{bytes:?}");
            }
        }
    }
}
