//! Wire formats as pure functions: a request to bytes, bytes to a reply or a failure.
//!
//! Each dialect has the same files: `encode` writes a request, `decode` reads a whole reply, `stream` puts
//! a streamed one together, `wire` has the shapes that stand on the wire. A failure from here says what
//! the server said; which server that was, and how long it took, is added by whoever sent the request.

mod arguments;
pub mod chat;
mod custom;
mod events;
mod fit;
pub mod gemini;
mod ids;
mod loose;
mod members;
pub mod messages;
pub mod responses;
mod sampling;
mod settings;
mod signed;
mod thought;
mod tools;

use bonded_kernel::{Dialect, Failure, Reply, Request, Target};
use bytes::Bytes;
use futures_util::stream::Stream;

pub use custom::overruled;
pub use events::Accumulate;
pub use fit::{Fitted, Unfit, fit, unfit};
pub(crate) use signed::stamp;
pub use tools::{Tools, ToolsCache};

use crate::Live;
use crate::body::Cut;
use crate::models::accepted_by;

/// More calls or blocks than any reply holds; it bounds the search for the one that a piece belongs to.
const ITEMS_MAX: usize = 1024;

/// How the text of a tool that failed begins.
const FAILED: &str = "(tool failed:";

/// What some servers send as the last event of a stream.
const DONE_MARK: &str = "[DONE]";

/// The body of a request in its target's dialect. Its tools are rendered anew; a sender of many requests
/// keeps a [`ToolsCache`].
pub fn encode(request: &Request<'_>) -> Vec<u8> {
    encode_with_tools(request, &Tools::of(request))
}

/// The body of a request, with its tools as [`ToolsCache::tools`] gave them.
pub fn encode_with_tools(request: &Request<'_>, tools: &Tools) -> Vec<u8> {
    let messages = tools.send(request.messages);
    let request = &Request {
        messages: &messages,
        ..request.clone()
    };
    let tools = tools.rendered();
    let mut body = match request.target.dialect {
        Dialect::Chat => chat::encode(request, tools),
        Dialect::Responses => responses::encode(request, tools),
        Dialect::Messages => messages::encode(request, tools),
        Dialect::Gemini => gemini::encode(request, tools),
    };
    custom::add(request.target, &mut body);
    body
}

/// What a request to this target may say that is not for everybody yet, as a header must name it.
pub(crate) fn beta(target: &Target) -> Option<&'static str> {
    let is_messages = target.dialect == Dialect::Messages;
    is_messages.then(|| messages::beta(&accepted_by(target)))?
}

/// Reads a whole reply. An error that came with a good status is a failure too. Its calls are in the words that the
/// service was told; [`Tools::take_back`] leads to the tools' own.
pub fn decode(dialect: Dialect, body: &[u8]) -> Result<Reply, Failure> {
    match dialect {
        Dialect::Chat => chat::decode(body),
        Dialect::Responses => responses::decode(body),
        Dialect::Messages => messages::decode(body),
        Dialect::Gemini => gemini::decode(body),
    }
}

/// Reads a streamed reply from the pieces of its body, however they are cut.
pub async fn read_events<S>(dialect: Dialect, pieces: S) -> Result<Reply, Failure>
where
    S: Stream<Item = Result<Bytes, Cut>>,
{
    read_live_events(dialect, pieces, None).await
}

/// Reads a streamed reply, and lets somebody hear its text meanwhile: no thought, no call.
pub async fn read_live_events<S>(
    dialect: Dialect,
    pieces: S,
    live: Option<&mut (dyn Live + 'static)>,
) -> Result<Reply, Failure>
where
    S: Stream<Item = Result<Bytes, Cut>>,
{
    match dialect {
        Dialect::Chat => events::read::<chat::Accumulator, S>(pieces, live).await,
        Dialect::Responses => events::read::<responses::Accumulator, S>(pieces, live).await,
        Dialect::Messages => events::read::<messages::Accumulator, S>(pieces, live).await,
        Dialect::Gemini => events::read::<gemini::Accumulator, S>(pieces, live).await,
    }
}
