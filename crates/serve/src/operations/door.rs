//! Who may read the figures.

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;

use crate::agents::{AgentRefusal, Tokens};

/// Lets those in who may read the figures.
pub(crate) trait FiguresDoor: Send + Sync {
    /// What is answered to those who may not.
    fn admit<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Result<(), Response>>;
}

/// Those who have a token for the figures, and the one caller of a server that has no other.
#[derive(Debug)]
pub(crate) struct TokensDoor {
    /// For the figures alone.
    pub(crate) own: Tokens,
    /// What opens the rest of the server.
    pub(crate) server: Tokens,
}

impl TokensDoor {
    fn caller(&self, headers: &HeaderMap) -> Result<(), AgentRefusal> {
        let has_own = !self.own.is_empty();
        if has_own && self.own.caller(headers).is_ok() {
            return Ok(());
        }
        match self.server.count() {
            0 if has_own => self.own.caller(headers).map(drop),
            0 | 1 => self.server.caller(headers).map(drop),
            _ => Err(AgentRefusal::figures_of_all()),
        }
    }
}

impl FiguresDoor for TokensDoor {
    fn admit<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Result<(), Response>> {
        let caller = self.caller(headers);
        Box::pin(std::future::ready(
            caller.map_err(|refusal| refusal.into_response()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::{AUTHORIZATION, HOST};

    use super::*;

    #[test]
    fn figures_are_for_their_own_tokens_and_for_the_one_caller_of_a_server() {
        let none: &[&str] = &[];
        let rows: [(&[&str], &[&str], &str, bool); 9] = [
            (none, none, "", true),
            (&["m"], none, "", false),
            (&["m"], none, "m", true),
            (none, &["a"], "a", true),
            (none, &["a"], "", false),
            (&["m"], &["a"], "m", true),
            (&["m"], &["a", "b"], "m", true),
            (&["m"], &["a", "b"], "a", false),
            (none, &["a", "b"], "a", false),
        ];
        for (own, server, shown, opens) in rows {
            let tokens = |list: &[&str]| Tokens::new(list.iter().copied());
            let door = TokensDoor {
                own: tokens(own),
                server: tokens(server),
            };
            let header = |text: String| text.parse().expect("the row is a header");
            let mut headers = HeaderMap::from_iter([(HOST, header("localhost:1".into()))]);
            if !shown.is_empty() {
                headers.insert(AUTHORIZATION, header(format!("Bearer {shown}")));
            }
            let is_open = door.caller(&headers).is_ok();
            assert_eq!(is_open, opens, "{own:?} {server:?} {shown}");
        }
        let door = TokensDoor {
            own: Tokens::default(),
            server: Tokens::default(),
        };
        let name = "evil.example".parse().expect("it is a header");
        let foreign = door.caller(&HeaderMap::from_iter([(HOST, name)]));
        assert!(foreign.is_err(), "a page of others reads nothing");
    }
}
