//! Who may ask: tokens, and where there are none, what a browser cannot be made to send.
//!
//! A server with tokens asks for one with every request. One without tokens listens on loopback only, and then the
//! danger is a page in a browser on the same machine: it can send requests, but under a name that gives it away.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use bonded_kernel::Hash;
use subtle::ConstantTimeEq as _;

use super::refusal::AgentRefusal;
use bonded_web::loopback::is_loopback_name;

/// The tokens that open the server. Only their hashes are kept: they have one length, and comparing them
/// tells nothing about the token.
#[derive(Clone, Default)]
pub struct Tokens {
    hashes: Vec<Hash>,
    /// Whether it is the one that the person who runs the server has for themselves.
    is_own: bool,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokens({})", self.count())
    }
}

/// Who asks: the hash of a token, or nobody in particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller(pub(crate) Hash);

impl Tokens {
    /// Tokens that are given twice count once.
    pub fn new<'t>(tokens: impl IntoIterator<Item = &'t str>) -> Self {
        let mut hashes: Vec<Hash> = tokens
            .into_iter()
            .map(|token| Hash::of(token.as_bytes()))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self {
            hashes,
            is_own: false,
        }
    }

    /// The token of the person who runs the server, which nobody was given.
    pub fn own(token: &str) -> Self {
        Self {
            is_own: true,
            ..Self::new([token])
        }
    }

    /// Whether whoever shows one is the person who runs the server.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// For those who make something for each caller at the start.
    pub(super) fn callers(&self) -> impl Iterator<Item = Caller> + '_ {
        self.hashes.iter().copied().map(Caller)
    }

    /// How many callers they tell apart.
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// Without tokens there is one caller, nobody in particular.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Finds out who asks, or why they may not.
    /// Tells a missing token from a wrong one, and says nothing else.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, AgentRefusal> {
        if self.is_empty() {
            return by_loopback_name(headers);
        }
        let header = headers.get(AUTHORIZATION).ok_or_else(|| {
            AgentRefusal::unauthorised(
                "a token is needed: send the header Authorization: Bearer TOKEN",
            )
        })?;
        let found = self.holder(bearer(header.as_bytes()).unwrap_or_default());
        found.ok_or_else(|| AgentRefusal::unauthorised("this token is not valid"))
    }

    /// Whose token it is, if it is one.
    pub(super) fn holder(&self, token: &[u8]) -> Option<Caller> {
        let given = Hash::of(token);
        // All are compared, whichever fits: the time says nothing.
        let known = self.hashes.iter();
        let fits = known.fold(subtle::Choice::from(0), |fits, token| {
            fits | token.as_bytes().ct_eq(given.as_bytes())
        });
        bool::from(fits).then_some(Caller(given))
    }
}

/// The scheme in any case, the token without surrounding blanks.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// Without tokens the server listens on loopback only. A page in a browser there can reach it under a name
/// of its own that resolves to loopback; the name gives it away.
fn by_loopback_name(headers: &HeaderMap) -> Result<Caller, AgentRefusal> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    match host {
        Some(host) if !is_loopback_name(host) => Err(AgentRefusal::foreign_host(host)),
        _ => Ok(Caller(Hash::ZERO)),
    }
}

/// Whether others than this machine could ask.
pub fn needs_tokens(addresses: &[SocketAddr]) -> bool {
    addresses.iter().any(|address| !address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        let value = value.parse().expect("the test's header is well formed");
        HeaderMap::from_iter([(name, value)])
    }

    #[test]
    fn only_a_whole_known_token_opens_the_server() {
        let tokens = Tokens::new(["alpha", "beta"]);
        let rows = [
            ("Bearer alpha", true),
            ("bearer beta", true),
            ("Bearer  beta ", true),
            ("Bearer alph", false),
            ("Bearer alphabeta", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("alpha", false),
            ("Basic alpha", false),
        ];
        for (header, opens) in rows {
            let caller = tokens.caller(&headers(AUTHORIZATION, header));
            assert_eq!(caller.is_ok(), opens, "{header:?}");
        }
        assert!(tokens.caller(&HeaderMap::new()).is_err());
    }

    #[test]
    fn without_tokens_only_loopback_names_reach_the_server() {
        let rows = [
            ("localhost:8130", true),
            ("LocalHost", true),
            ("127.0.0.1:8130", true),
            ("127.9.9.9", true),
            ("[::1]:8130", true),
            ("evil.example:8130", false),
            ("localhost.evil.example", false),
            ("10.0.0.1:8130", false),
            ("", false),
        ];
        for (header, opens) in rows {
            let caller = Tokens::default().caller(&headers(HOST, header));
            assert_eq!(caller.is_ok(), opens, "{header:?}");
        }
    }
}
