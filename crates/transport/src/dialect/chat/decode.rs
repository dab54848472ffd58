//! A whole reply: a stream of one piece.

use bonded_kernel::{Failure, Reply};

use super::stream::Accumulator;
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
    let mut reply = Accumulator::default();
    reply.take(chunk, body)?;
    if !reply.has_spoken() {
        return Err(malformed("the reply holds no message", body));
    }
    reply.end();
    Box::new(reply).finish()
}
