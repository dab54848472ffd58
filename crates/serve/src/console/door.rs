//! Who may look: whoever opened the link that was printed, once, and has the token that it gave.
//!
//! There is no cookie. A browser sends a cookie of 127.0.0.1 to every port of it, so that the server of another user of
//! this machine would be shown it; a token that the page keeps belongs to one origin, with its port, and no other page
//! can make a browser send it. The name under which the server is asked is checked as well: a name of a stranger may
//! resolve to this machine.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use bonded_kernel::Hash;
use bonded_web::loopback::is_loopback_name;
use subtle::ConstantTimeEq as _;

use super::refusal::ConsoleRefusal;

/// More browsers than that look at one store only by mistake; the oldest tokens are no better than the newest.
const SESSIONS_MAX: usize = 64;

/// The way in. Only hashes are kept: comparing them tells nothing about what was hashed.
#[derive(Debug)]
pub struct ConsoleDoor {
    /// Of the link, until it is used.
    link: Mutex<Option<Hash>>,
    /// Of the tokens that were given out; they end with the process.
    sessions: Mutex<BTreeSet<Hash>>,
}

impl ConsoleDoor {
    /// A closed door, and the secret that opens it once.
    pub fn new() -> (Self, String) {
        let secret = draw();
        let door = Self {
            link: Mutex::new(Some(Hash::of(secret.as_bytes()))),
            sessions: Mutex::default(),
        };
        (door, secret)
    }

    /// Uses the link up, and gives a token for it. A wrong guess does not use it up.
    pub(super) fn enter(&self, secret: &str) -> Result<String, ConsoleRefusal> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let given = Hash::of(secret.as_bytes());
        let fits = link.is_some_and(|link| bool::from(link.as_bytes().ct_eq(given.as_bytes())));
        if !fits {
            let message = "this link was used, or is not of this server; run `bonded ui` again";
            return Err(ConsoleRefusal::unauthorised(message));
        }
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS_MAX {
            return Err(ConsoleRefusal::unauthorised(
                "too many browsers are open here",
            ));
        }
        *link = None;
        let token = draw();
        sessions.insert(Hash::of(token.as_bytes()));
        Ok(token)
    }

    /// Whether a request may be answered.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<(), ConsoleRefusal> {
        let header = headers.get(AUTHORIZATION).map(|it| it.as_bytes());
        let token = header.and_then(|it| it.strip_prefix(b"Bearer "));
        let token = token.ok_or_else(|| {
            ConsoleRefusal::unauthorised("open the link that `bonded ui` printed to see this")
        })?;
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.contains(&Hash::of(token)) {
            true => Ok(()),
            false => Err(ConsoleRefusal::unauthorised(
                "this session has ended; run `bonded ui` again",
            )),
        }
    }
}

/// A page of a stranger's name that resolves to this machine is told nothing, not even that this is here.
pub(super) fn check_name(headers: &HeaderMap) -> Result<(), ConsoleRefusal> {
    let host = headers.get(HOST).and_then(|it| it.to_str().ok());
    match host.is_some_and(is_loopback_name) {
        true => Ok(()),
        false => Err(ConsoleRefusal::foreign_name()),
    }
}

/// 244 random bits.
fn draw() -> String {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    half() + &half()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_token(token: &str) -> HeaderMap {
        let value = format!("Bearer {token}").parse().expect("it is a header");
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    #[test]
    fn a_link_opens_the_door_once_and_a_wrong_one_leaves_it_as_it_is() {
        let (door, secret) = ConsoleDoor::new();
        assert!(door.enter("").is_err());
        assert!(door.enter(&secret[1..]).is_err());
        let token = door.enter(&secret).expect("it was not used before");
        assert!(door.enter(&secret).is_err(), "it was used");
        assert!(door.admit(&with_token(&token)).is_ok());
        assert!(door.admit(&with_token(&secret)).is_err());
        assert!(door.admit(&with_token("")).is_err());
        assert!(door.admit(&HeaderMap::new()).is_err());
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for (name, is_answered) in [
            ("127.0.0.1:7777", true),
            ("localhost:7777", true),
            ("[::1]:7777", true),
            ("evil.example:7777", false),
            ("127.0.0.1.evil.example", false),
        ] {
            let value = name.parse().expect("it is a header");
            let headers = HeaderMap::from_iter([(HOST, value)]);
            assert_eq!(check_name(&headers).is_ok(), is_answered, "{name}");
        }
        assert!(check_name(&HeaderMap::new()).is_err());
    }
}
