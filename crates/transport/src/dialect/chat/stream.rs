//! A streamed reply: server-sent events read to their end.

use std::pin::pin;
use std::time::Duration;

use bonded_kernel::{Failure, FailureClass, Reply};
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use sse_stream::SseByteStream;

use super::Accumulator;
use crate::body::Cut;
use crate::failure::failed;

/// The end of the body usually arrives together with the last event. Reading it lets the connection be
/// used again; a server that keeps the body open is not waited for.
const TAIL_PATIENCE: Duration = Duration::from_millis(20);

/// Reads a streamed reply from the pieces of its body, however they are cut.
pub async fn read_events<S>(pieces: S) -> Result<Reply, Failure>
where
    S: Stream<Item = Result<Bytes, Cut>>,
{
    let mut events = pin!(SseByteStream::new(pieces));
    let mut reply = Accumulator::default();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => match broken(error) {
                // Only trimmings can be missing once the reason is known why the model stopped.
                cut if cut.class == FailureClass::Network && reply.has_reason() => break,
                failure => return Err(failure),
            },
        };
        let Some(data) = event.data else { continue };
        if event.event.as_deref() == Some("error") {
            return Err(reply.push_error(&data));
        }
        reply.push(&data)?;
        if reply.has_ended() {
            // Whether the tail came in time changes nothing about the reply.
            let tail = async { while let Some(Ok(_)) = events.next().await {} };
            let _ = tokio::time::timeout(TAIL_PATIENCE, tail).await;
            break;
        }
    }
    reply.finish()
}

fn broken(error: sse_stream::Error) -> Failure {
    let why = error.to_string();
    match error {
        sse_stream::Error::Body(cause) => match cause.downcast::<Cut>() {
            Ok(cut) => cut.into_failure(),
            Err(_) => Cut::Broken { why }.into_failure(),
        },
        _ => failed(
            FailureClass::Malformed,
            format!("the stream of events is unreadable: {why}"),
            true,
        ),
    }
}
