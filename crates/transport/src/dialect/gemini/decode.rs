//! A whole reply: a stream of one piece.

use bonded_kernel::{Failure, Reply};

use super::stream::GeminiAccumulator;
use super::wire::Chunk;
use crate::dialect::Accumulate;
use crate::failure::malformed;

/// Reads a whole reply. An error that came with a good status is a failure too. Without server-sent
/// events, a streamed reply is a list of its pieces.
pub(super) fn decode(body: &[u8]) -> Result<Reply, Failure> {
    let is_list = body.trim_ascii_start().starts_with(b"[");
    let chunks = if is_list {
        serde_json::from_slice(body)
    } else {
        serde_json::from_slice(body).map(|chunk: Chunk| vec![chunk])
    };
    let chunks = chunks.map_err(|error| {
        malformed(
            &format!("the reply is not generated content ({error})"),
            body,
        )
    })?;
    let mut reply = GeminiAccumulator::default();
    for chunk in chunks {
        reply.take(chunk, body)?;
    }
    if !reply.has_spoken() {
        return Err(malformed("the reply holds no candidate", body));
    }
    reply.end();
    Box::new(reply).finish()
}
