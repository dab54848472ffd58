//! One method of one path, and who may come in by it.
//!
//! A route is a row of the table: data, so that the server, the checks of requests and the document are all made from
//! the same.

use std::fmt;

use axum::http::Method;

/// Who may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Everybody.
    Open,
    /// Whoever shows a token or a session.
    Known,
}

/// A body that is taken as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawBody {
    /// What another server sends: its signature is over the bytes.
    Hook,
    /// A file, whatever it is.
    Attachment,
}

/// One method of one path.
pub(super) struct Route {
    /// One of those that axum knows.
    pub(super) method: Method,
    /// With names in braces, as axum has them.
    pub(super) path: &'static str,
    /// By default those who are known.
    pub(super) door: Door,
    /// Whether a repetition must be told from a second request.
    pub(super) is_keyed: bool,
    /// By the method.
    pub(super) takes_body: bool,
    /// Set where the body is taken as it is, and not read as JSON.
    pub(super) raw: Option<RawBody>,
    /// What its query may say.
    pub(super) query: &'static [&'static str],
    #[cfg(test)]
    pub(super) description: Description,
}

/// What the document says of a route beside what the table says, and the type of its handler.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) operation_id: &'static str,
    pub(super) summary: &'static str,
    /// Statuses of refusals that follow from nothing else in the table.
    pub(super) refusals: &'static [u16],
}

impl Route {
    /// Whether a request by it may change something.
    pub(super) fn changes(&self) -> bool {
        self.method != Method::GET
    }

    /// For health, the document, and those who are about to log in.
    pub(super) fn open(self) -> Self {
        Self {
            door: Door::Open,
            ..self
        }
    }

    /// For writes that a client may have to repeat.
    pub(super) fn keyed(self) -> Self {
        Self {
            is_keyed: true,
            ..self
        }
    }

    /// For bodies whose bytes count.
    pub(super) fn raw(self, raw: RawBody) -> Self {
        Self {
            raw: Some(raw),
            ..self
        }
    }

    /// Any other name is refused.
    pub(super) fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({self})")
    }
}
