//! What can go wrong in one exchange over HTTP, as the end of a sentence about the server.
//!
//! What matters most about a fault is whether the server may have executed the request. Each is sorted by that,
//! and whatever is in doubt counts as unknown, because a call that is repeated by mistake may do harm twice.

use crate::causes::causes;

/// Why an exchange gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::mcp) enum HttpFault {
    #[error("cannot be reached: {why}")]
    Unreachable { why: String },
    #[error("broke the connection: {why}")]
    Broken { why: String },
    #[error("ended the stream without the answer")]
    Unanswered,
    #[error("has forgotten the session")]
    SessionLost,
    #[error(
        "requires authorisation (HTTP {status}): put a valid token in the server's `secretHeaders`, for example as Authorization, or leave that header out and use OAuth"
    )]
    Unauthorised { status: u16 },
    #[error(
        "requires a login (HTTP 401){over}: run `bonded login {server}`, or get a token and put it in the server's `secretHeaders`, for example as Authorization"
    )]
    LoginNeeded { server: String, over: String },
    #[error(
        "requires more access than was granted (HTTP 403): run `bonded login {server} --scope '{scope}'`, or set the scopes in its `oauth`"
    )]
    ScopeMissing { server: String, scope: String },
    #[error("requires a token, and none was granted: {why}")]
    NotGranted { why: String },
    #[error("refused the request with HTTP {status}{words}")]
    Refused { status: u16, words: String },
    #[error("failed with HTTP {status}{words}")]
    Failed { status: u16, words: String },
    #[error("redirects to {to}, and redirects are not followed; correct the server's `url`")]
    Redirected { to: String },
    #[error("ended the stream")]
    StreamEnded,
    #[error("names an invalid address for messages")]
    BadEndpoint,
    #[error(
        "wants its messages at another place, {host:?}, than the server's `url` names; nothing is sent there"
    )]
    ForeignEndpoint { host: String },
    #[error("does not speak the protocol of web sockets as it should")]
    NoSocket,
    #[error("answered with {what} instead of a JSON-RPC message")]
    NoMessage { what: String },
    #[error("sent a message of more than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("sent more than {bytes_max} bytes that are not messages")]
    Noise { bytes_max: u64 },
    #[error("sent more than {max} requests without waiting for the answers")]
    TooManyRequests { max: usize },
    #[error("was told that the answer is no longer needed")]
    GivenUp,
    #[error("was left")]
    Closed,
}

/// How far a request came whose exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Arrival {
    /// It never left.
    Unsent,
    /// The server knows nothing of the session, and did nothing.
    SessionLost,
    /// The server said no, and did nothing.
    Refused,
    /// The server may have done what it was asked to, for all that is known.
    Unknown,
}

impl HttpFault {
    /// A failure of the server itself (5xx) is unknown: it may have come after the work was done.
    pub(in crate::mcp) fn arrival(&self) -> Arrival {
        match self {
            Self::Unreachable { .. } => Arrival::Unsent,
            Self::SessionLost => Arrival::SessionLost,
            Self::Unauthorised { .. }
            | Self::LoginNeeded { .. }
            | Self::ScopeMissing { .. }
            | Self::NotGranted { .. }
            | Self::Refused { .. }
            | Self::Redirected { .. }
            | Self::BadEndpoint
            | Self::ForeignEndpoint { .. }
            | Self::NoSocket => Arrival::Refused,
            Self::Broken { .. }
            | Self::Unanswered
            | Self::StreamEnded
            | Self::Failed { .. }
            | Self::NoMessage { .. }
            | Self::TooLarge { .. }
            | Self::Noise { .. }
            | Self::TooManyRequests { .. }
            | Self::GivenUp
            | Self::Closed => Arrival::Unknown,
        }
    }
}

impl From<reqwest::Error> for HttpFault {
    fn from(error: reqwest::Error) -> Self {
        let is_unsent = error.is_connect() || error.is_builder();
        // The address may hold a password.
        let why = causes(&error.without_url());
        if is_unsent {
            Self::Unreachable { why }
        } else {
            Self::Broken { why }
        }
    }
}
