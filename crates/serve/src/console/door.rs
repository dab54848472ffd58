//! The door of a store and of a server of agents: a link that works once, or the server's token.
//!
//! There is no cookie. A browser sends a cookie of 127.0.0.1 to every port of it, so that the server of another user of
//! this machine would be shown it; a token that the page keeps belongs to one origin, with its port, and no other page
//! can make a browser send it. Where a link opens the door, the name under which the server is asked is checked as well:
//! a name of a stranger may resolve to this machine.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use bonded_kernel::Hash;
use bonded_web::loopback::is_loopback_name;
use futures_util::future::BoxFuture;
use subtle::ConstantTimeEq as _;

use super::access::{Access, Door, EnterBody, SessionDto, Sign, TokenAccess, WholeStore};
use super::refusal::ConsoleRefusal;

/// More browsers than that look at one server only by mistake; the one that came in first is shut out.
const SESSIONS_MAX: usize = 64;

/// The way in. Only hashes are kept: comparing them tells nothing about what was hashed.
pub struct ConsoleDoor {
    kind: &'static str,
    key: Key,
    /// Who decides behind a link.
    person: String,
    /// Of the tokens that were given out, the oldest first; they end with the process.
    sessions: Mutex<VecDeque<(Hash, Access)>>,
}

/// What opens the door.
enum Key {
    /// Of the link, until it is used.
    Link(Mutex<Option<Hash>>),
    Tokens(Box<dyn TokenAccess>),
}

impl std::fmt::Debug for ConsoleDoor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConsoleDoor({})", self.kind)
    }
}

impl ConsoleDoor {
    /// The door of a person's store, and the secret that opens it once.
    pub fn of_store(person: String) -> (Self, String) {
        Self::with_link("store", person)
    }

    /// The door of a server of agents that has no tokens, and the secret that opens it once.
    pub fn of_agents(person: String) -> (Self, String) {
        Self::with_link("agents", person)
    }

    /// The door of a server of agents that its tokens open.
    pub(crate) fn with_tokens(tokens: Box<dyn TokenAccess>) -> Self {
        Self::new("agents", Key::Tokens(tokens), String::new())
    }

    fn with_link(kind: &'static str, person: String) -> (Self, String) {
        let secret = draw();
        let link = Mutex::new(Some(Hash::of(secret.as_bytes())));
        (Self::new(kind, Key::Link(link), person), secret)
    }

    fn new(kind: &'static str, key: Key, person: String) -> Self {
        Self {
            kind,
            key,
            person,
            sessions: Mutex::default(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, VecDeque<(Hash, Access)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses a link up. A wrong guess does not.
    fn opened_by_link(&self, given: &EnterBody) -> Result<Access, ConsoleRefusal> {
        let Key::Link(link) = &self.key else {
            return Err(ConsoleRefusal::unauthorised("this server asks for a token"));
        };
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        let given = Hash::of(given.link.as_deref().unwrap_or_default().as_bytes());
        let fits = link.is_some_and(|link| bool::from(link.as_bytes().ct_eq(given.as_bytes())));
        if !fits {
            let message =
                "this link was used, or is not of this server; start it again for a new one";
            return Err(ConsoleRefusal::unauthorised(message));
        }
        *link = None;
        Ok(Access {
            person: self.person.clone(),
            sight: Arc::new(WholeStore),
        })
    }

    fn admitted(&self, headers: &HeaderMap) -> Result<Access, ConsoleRefusal> {
        let header = headers.get(AUTHORIZATION).map(|it| it.as_bytes());
        let token = header.and_then(|it| it.strip_prefix(b"Bearer "));
        let token = token.ok_or_else(|| ConsoleRefusal::unauthorised("sign in to see this"))?;
        let shown = Hash::of(token);
        let sessions = self.sessions();
        let found = sessions.iter().find(|(known, _)| *known == shown);
        let ended = || ConsoleRefusal::unauthorised("this session has ended; sign in again");
        found.map(|(_, access)| access.clone()).ok_or_else(ended)
    }
}

impl Door for ConsoleDoor {
    fn sign(&self) -> Sign {
        let (login, has_work) = match &self.key {
            Key::Link(_) => ("link", true),
            Key::Tokens(tokens) => ("token", tokens.is_own()),
        };
        Sign {
            kind: self.kind,
            login,
            has: match has_work {
                true => &["inbox", "runs", "work"],
                false => &["inbox", "runs"],
            },
        }
    }

    fn needs_setup(&self) -> BoxFuture<'_, Result<bool, ConsoleRefusal>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// A page of a stranger's name that resolves to this machine is told nothing, not even that this is here.
    fn check_name(&self, headers: &HeaderMap) -> Result<(), ConsoleRefusal> {
        let host = headers.get(HOST).and_then(|it| it.to_str().ok());
        match (&self.key, host.is_some_and(is_loopback_name)) {
            (Key::Tokens(_), _) | (Key::Link(_), true) => Ok(()),
            (Key::Link(_), false) => Err(ConsoleRefusal::foreign_name()),
        }
    }

    fn enter(&self, given: &EnterBody) -> Result<SessionDto, ConsoleRefusal> {
        let access = match (&self.key, given.token.as_deref()) {
            (Key::Tokens(tokens), Some(token)) => tokens.access(token)?,
            (Key::Link(_), _) | (Key::Tokens(_), None) => self.opened_by_link(given)?,
        };
        let (token, user) = (draw(), access.person.clone());
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX {
            sessions.pop_front();
        }
        sessions.push_back((Hash::of(token.as_bytes()), access));
        Ok(SessionDto { token, user })
    }

    fn admit<'a>(
        &'a self,
        headers: &'a HeaderMap,
        _changes: bool,
    ) -> BoxFuture<'a, Result<Access, ConsoleRefusal>> {
        Box::pin(std::future::ready(self.admitted(headers)))
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

    fn link(secret: &str) -> EnterBody {
        EnterBody {
            link: Some(secret.to_owned()),
            token: None,
        }
    }

    #[test]
    fn a_link_opens_the_door_once_and_a_wrong_one_leaves_it_as_it_is() {
        let (door, secret) = ConsoleDoor::of_store("ana".into());
        assert!(door.enter(&link("")).is_err());
        assert!(door.enter(&link(&secret[1..])).is_err());
        let session = door.enter(&link(&secret)).expect("it was not used before");
        assert!(door.enter(&link(&secret)).is_err(), "it was used");
        assert!(door.admitted(&with_token(&session.token)).is_ok());
        assert!(door.admitted(&with_token(&secret)).is_err());
        assert!(door.admitted(&with_token("")).is_err());
        assert!(door.admitted(&HeaderMap::new()).is_err());
    }

    #[test]
    fn behind_a_link_only_names_of_this_machine_are_answered() {
        let (door, _) = ConsoleDoor::of_agents("ana".into());
        for (name, is_answered) in [
            ("127.0.0.1:7777", true),
            ("localhost:7777", true),
            ("[::1]:7777", true),
            ("evil.example:7777", false),
            ("127.0.0.1.evil.example", false),
        ] {
            let value = name.parse().expect("it is a header");
            let headers = HeaderMap::from_iter([(HOST, value)]);
            assert_eq!(door.check_name(&headers).is_ok(), is_answered, "{name}");
        }
        assert!(door.check_name(&HeaderMap::new()).is_err());
    }
}
