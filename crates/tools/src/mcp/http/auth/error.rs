//! Why access to a server could not be gained, in words that a person can act upon.

use std::path::PathBuf;

/// How much of what a server says is shown.
const WORDS_CHARS_MAX: usize = 200;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OauthError {
    /// No answer came.
    #[error("{url} cannot be reached: {why}")]
    Unreachable {
        /// Without what may be secret in it.
        url: String,
        /// With its causes.
        why: String,
    },
    /// The address was named by a server, and is judged before anything is sent there.
    #[error(
        "{url} may not be asked for a token: {why}; a server of a private network needs \
         `\"privateAddresses\": true` in `oauth`"
    )]
    Forbidden {
        /// Without what may be secret in it.
        url: String,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// The rest of the answer was not read.
    #[error("{url} answered with more than {bytes_max} bytes")]
    TooLarge {
        /// Without what may be secret in it.
        url: String,
        /// What is read at most.
        bytes_max: usize,
    },
    /// It is no JSON, or lacks what the standard demands.
    #[error("{url} did not answer as OAuth requires: {why}")]
    BadDocument {
        /// Without what may be secret in it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The server has a fault of its own: a status of 500 or more.
    #[error("{url} answered with HTTP {status}")]
    Failed {
        /// Without what may be secret in it.
        url: String,
        /// Of HTTP.
        status: u16,
    },
    /// A token for one server must not be had with the document of another.
    #[error("it says that it is {resource:?}, which is another server; nothing was sent there")]
    OtherResource {
        /// As the document has it, cut.
        resource: String,
    },
    /// A server that changes who grants access could send a login elsewhere.
    #[error(
        "access is granted by {found:?} and not by {expected:?}; correct `issuer` in `oauth`, or ask the server's operator"
    )]
    OtherIssuer {
        /// Whom the settings name, or who was asked.
        expected: String,
        /// As it names itself, cut.
        found: String,
    },
    /// Somebody who sees the code could use it.
    #[error("{issuer} does not support PKCE with S256, without which a login is not safe")]
    NoS256 {
        /// Who grants access, by the address under which it is known.
        issuer: String,
    },
    /// It has no client of ours, and makes none.
    #[error(
        "{issuer} does not register clients automatically; register one there by hand and set its `clientId` in `oauth`"
    )]
    NoRegistration {
        /// Who grants access, by the address under which it is known.
        issuer: String,
    },
    /// Its answer is an error of OAuth.
    #[error("{issuer} refused it: {error}")]
    Refused {
        /// Who grants access, by the address under which it is known.
        issuer: String,
        /// Its code and description, as they may be shown.
        error: String,
    },
    /// A program that has no person cannot be registered on the way.
    #[error("a grant that needs no login needs a `clientId` in `oauth`")]
    NoClient,
    /// Nobody is there to vouch for the person.
    #[error("the grant identity_assertion needs an `identityProvider` in `oauth`")]
    NoProvider,
    /// Found before anything is sent.
    #[error("{url:?} in `identityProvider` is not an address: {why}")]
    BadProvider {
        /// As the configuration has it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Whoever renews it has not, or it is empty.
    #[error("there is no identity token in {place}; log in to the company's identity provider")]
    NoSubject {
        /// The file, or the field of the configuration.
        place: String,
    },
    /// It is read anew for each token.
    #[error("the identity token in {path:?} cannot be read")]
    Subject {
        /// As the configuration has it.
        path: PathBuf,

        /// The answer of the system.
        source: std::io::Error,
    },
    /// Its answer is an error of OAuth.
    #[error(
        "the identity provider {provider} does not vouch for it: {error}; if the identity token has expired, renew it in {place}"
    )]
    NotVouched {
        /// By its address.
        provider: String,

        /// Its code and description, as they may be shown.
        error: String,

        /// Where the identity token is from.
        place: String,
    },
    /// Found before anything is sent.
    #[error("the `privateKey` in `oauth` cannot be used: {why}")]
    BadKey {
        /// The key itself is never shown.
        why: &'static str,
    },
    /// The browser comes back there at the end of a login.
    #[error("cannot listen on port {port} of 127.0.0.1 to complete the login: {source}")]
    Listen {
        /// 0 where the settings name none.
        port: u16,
        /// The answer of the system.
        source: std::io::Error,
    },
    /// The browser did not come back.
    #[error("the login was not completed within {patience_s} seconds")]
    NotEnded {
        /// Since the address was shown, in seconds.
        patience_s: u64,
    },
    /// A person must log in, and nobody can be asked to.
    #[error("a person must log in")]
    Unattended,
    /// There is nothing to log in to.
    #[error("it answers without a login, and does not say where to log in")]
    NotDemanded,
    /// A login would give what no run uses.
    #[error("with this `grant` in `oauth` no login is needed: runs ask for tokens themselves")]
    NotNeeded,
    /// A login that is not kept would be asked for at every start.
    #[error("there is no directory for tokens, because the home directory is not known; set HOME")]
    NoPlace,
    /// Tokens are kept in one file for each server.
    #[error("the file of tokens {path:?} cannot be used")]
    File {
        /// In the directory of tokens.
        path: PathBuf,

        /// The answer of the system.
        source: std::io::Error,
    },
    /// Two processes that renew one token would lose it.
    #[error("the file of tokens {path:?} has been in use by another process for too long")]
    Locked {
        /// In the directory of tokens.
        path: PathBuf,
    },
    /// Neither a login nor a signature can be made so that nobody guesses it.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// What a server said, as it may be shown.
pub(super) fn shown(words: &str) -> String {
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    format!("{words:?}")
}
