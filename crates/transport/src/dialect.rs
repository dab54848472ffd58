//! Wire formats as pure functions: a request to bytes, bytes to a reply or a failure.
//!
//! Each dialect has the same files: `encode` writes a request, `decode` reads a whole reply, `stream` puts
//! a streamed one together, `wire` has the shapes that stand on the wire. Its own file has its `Definition`, which is
//! all that the rest of this crate asks of it. A failure from here says what
//! the server said; which server that was, and how long it took, is added by whoever sent the request.

mod accepted;
mod arguments;
mod chat;
mod custom;
mod definition;
mod events;
mod fit;
mod gemini;
mod ids;
mod images;
mod loose;
mod members;
mod messages;
mod responses;
mod sampling;
mod settings;
mod signed;
mod thought;
mod tools;

use bonded_kernel::{Dialect, Failure, Reply, Request, Target};
use bytes::Bytes;
use futures_util::stream::Stream;
use url::Url;

pub use accepted::{accepted_by, known, known_as};
pub use custom::overruled;
pub use events::Accumulate;
pub use fit::{Fitted, Unfit, fit, unfit};
pub use images::why_not_shown;
pub(crate) use signed::stamp;
pub use tools::{Tools, ToolsCache};

use crate::Live;
use crate::address::{is_deployment, url_under};
use crate::body::Cut;
pub(crate) use definition::Beta;
use definition::Definition;

/// The table of dialects: each variant, and the module that defines it.
macro_rules! dialects {
    ($($variant:ident => $module:ident,)*) => {
        /// Every dialect, and what it is called.
        pub const DIALECTS: [(Dialect, &str); [$(Dialect::$variant),*].len()] =
            [$((Dialect::$variant, $module::DEFINITION.name)),*];

        /// All that is to be known of a dialect.
        pub(crate) fn of(dialect: Dialect) -> &'static Definition {
            match dialect {
                $(Dialect::$variant => &$module::DEFINITION,)*
            }
        }
    };
}

dialects! {
    Chat => chat,
    Responses => responses,
    Messages => messages,
    Gemini => gemini,
}

/// More calls or blocks than any reply holds; it bounds the search for the one that a piece belongs to.
const ITEMS_MAX: usize = 1024;

/// How the text of a tool that failed begins.
const FAILED: &str = "(tool failed:";

/// What some servers send as the last event of a stream.
const DONE_MARK: &str = "[DONE]";

/// The body of a request in its target's dialect. Its tools are rendered anew; a sender of many requests
/// keeps a [`ToolsCache`].
///
/// ```
/// use bonded_kernel::{Catalog, Message, FoundTools, Offer, Request, Target};
/// use bonded_transport::dialect;
///
/// let target = Target::new("local", "http://127.0.0.1:8080/v1", "m-1");
/// let messages = [Message::user("Look at a.txt")];
/// let catalog = Catalog::new([])?;
/// let request = Request {
///     target: &target,
///     system: "Be brief.",
///     messages: &messages,
///     notices: vec![],
///     catalog: &catalog,
///     offer: Offer::None,
///     found: FoundTools::NONE,
///     output_tokens_max: 256,
///     temperature: None,
///     turn: 1,
///     attempt: 1,
///     ordinal: 0,
/// };
/// let body: serde_json::Value = serde_json::from_slice(&dialect::encode(&request))?;
/// assert_eq!(body["model"], "m-1");
/// assert_eq!(body["messages"][1]["content"], "Look at a.txt");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(request: &Request<'_>) -> Vec<u8> {
    encode_with_tools(request, &Tools::of(request))
}

/// The body of a request, with its tools as [`ToolsCache::tools`] gave them.
pub fn encode_with_tools(request: &Request<'_>, tools: &Tools) -> Vec<u8> {
    let messages = images::shown(request.target, tools.send(request.messages));
    let request = &Request {
        messages: &messages,
        ..request.clone()
    };
    let tools = tools.rendered();
    let mut body = (of(request.target.dialect).encode)(request, tools);
    custom::add(request.target, &mut body);
    body
}

/// What a request to this target may say that is not for everybody yet, as a header must name it.
pub(crate) fn beta(target: &Target) -> Option<Beta> {
    (of(target.dialect).beta)(&accepted_by(target))
}

/// Whether it is a language of OpenAI's. A service that speaks one may speak the other, and has embeddings at the same
/// place.
pub fn is_openai(dialect: Dialect) -> bool {
    of(dialect).is_openai
}

/// The address that a request to a target is sent to.
pub(crate) fn completion_url(target: &Target) -> Result<Url, Failure> {
    (of(target.dialect).completion_url)(target)
}

/// The address of the list of models. That of a deployment is the list of its resource.
pub(crate) fn models_url(target: &Target) -> Result<Url, Failure> {
    let definition = of(target.dialect);
    let mut url = url_under(&target.endpoint, &[])?;
    if is_deployment(&url)
        && let Ok(mut segments) = url.path_segments_mut()
    {
        segments.pop().pop();
    }
    let mut url = (definition.resource_url)(url.as_str(), &["models"])?;
    if let Some((name, value)) = definition.models_query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

/// Reads a whole reply. An error that came with a good status is a failure too. Its calls are in the words that the
/// service was told; [`Tools::take_back`] leads to the tools' own.
///
/// ```
/// use bonded_kernel::{Dialect, FailureClass, Finish};
/// use bonded_transport::dialect;
///
/// let body = br#"{"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}"#;
/// let reply = dialect::decode(Dialect::Chat, body).expect("it is a reply");
/// assert_eq!((reply.text.as_str(), reply.finish), ("Done.", Finish::Stop));
///
/// let body = br#"{"error": {"message": "wait a while", "code": 429}}"#;
/// let failure = dialect::decode(Dialect::Chat, body).expect_err("it says that it failed");
/// assert_eq!(failure.class, FailureClass::RateLimit);
/// ```
pub fn decode(dialect: Dialect, body: &[u8]) -> Result<Reply, Failure> {
    (of(dialect).decode)(body)
}

/// What puts a streamed reply together, event by event.
pub fn accumulator(dialect: Dialect) -> Box<dyn Accumulate> {
    (of(dialect).accumulator)()
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
    events::read(accumulator(dialect), pieces, live).await
}

#[cfg(test)]
mod tests;
