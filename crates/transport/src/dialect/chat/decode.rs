//! A whole reply: a stream of one piece.
//!
//! It goes through the same accumulator as a stream, so that a reply means the same whichever way it came.

use bonded_kernel::{Failure, Reply};

use super::stream::ChatAccumulator;
use super::wire::Chunk;
use crate::dialect::Accumulate;
use crate::failure::malformed;

/// Reads a whole reply. An error that came with a good status is a failure too.
pub(super) fn decode(body: &[u8]) -> Result<Reply, Failure> {
    let chunk: Chunk = serde_json::from_slice(body).map_err(|error| {
        malformed(
            &format!("the reply is not a chat completion ({error})"),
            body,
        )
    })?;
    let mut reply = ChatAccumulator::default();
    reply.take(chunk, body)?;
    if !reply.has_spoken() {
        return Err(malformed("the reply holds no message", body));
    }
    reply.end();
    Box::new(reply).finish()
}
