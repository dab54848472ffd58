//! Why access to a server could not be gained, in words that a person can act upon.

use std::path::PathBuf;

/// How much of what a server says is shown.
const WORDS_CHARS_MAX: usize = 200;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OauthError {
    #[error("{url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    #[error(
        "{url} is no address that may be asked for a token: {why}; a server of a private network needs \
         `\"privateAddresses\": true` in `oauth`"
    )]
    Forbidden { url: String, why: &'static str },
    #[error("{url} answered with more than {bytes_max} bytes")]
    TooLarge { url: String, bytes_max: usize },
    #[error("{url} answered with something else than OAuth demands: {why}")]
    BadDocument { url: String, why: String },
    #[error("{url} answered with HTTP {status}")]
    Failed { url: String, status: u16 },
    #[error("it says that it is {resource:?}, which is another server; nothing was sent there")]
    OtherResource { resource: String },
    #[error(
        "access is granted by {found:?} and not by {expected:?}; correct `issuer` in `oauth`, or ask \
         whoever runs the server"
    )]
    OtherIssuer { expected: String, found: String },
    #[error("{issuer} does not support PKCE with S256, without which a login is not safe")]
    NoS256 { issuer: String },
    #[error(
        "{issuer} registers no clients by itself; register one there by hand and write its `clientId` \
         into `oauth`"
    )]
    NoRegistration { issuer: String },
    #[error("{issuer} refused it: {error}")]
    Refused { issuer: String, error: String },
    #[error("a grant that needs no login needs a `clientId` in `oauth`")]
    NoClient,
    #[error("the grant identity_assertion needs an `identityProvider` in `oauth`")]
    NoProvider,
    #[error("{url:?} in `identityProvider` is no address: {why}")]
    BadProvider { url: String, why: String },
    #[error("there is no identity token in {place}; log in to the company's identity provider")]
    NoSubject { place: String },
    #[error("the identity token in {path:?} cannot be read")]
    Subject {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "the identity provider {provider} does not vouch for it: {error}; an identity token that is over is \
         renewed in {place}"
    )]
    NotVouched {
        provider: String,
        error: String,
        place: String,
    },
    #[error("the `privateKey` in `oauth` cannot be used: {why}")]
    BadKey { why: &'static str },
    #[error("cannot listen on port {port} of 127.0.0.1 for the end of the login: {source}")]
    Listen { port: u16, source: std::io::Error },
    #[error("nobody ended the login within {patience_s} seconds")]
    NotEnded { patience_s: u64 },
    #[error("nobody is there to log in")]
    Unattended,
    #[error("it answers without a login, and does not say who would grant one")]
    NotDemanded,
    #[error("with this `grant` in `oauth` no login is needed: runs ask for tokens themselves")]
    NotNeeded,
    #[error("there is no directory for tokens, because the home directory is not known; set HOME")]
    NoPlace,
    #[error("the file of tokens {path:?} cannot be used")]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the file of tokens {path:?} has been in use by another process for too long")]
    Locked { path: PathBuf },
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// What a server said, as it may be shown.
pub(super) fn shown(words: &str) -> String {
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    format!("{words:?}")
}
