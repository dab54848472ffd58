//! One method of one path, and who may come in by it.

use std::fmt;

use axum::http::Method;

/// Who may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// Whoever shows a token or a session.
    Known,
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) door: Door,
    /// Whether a repetition must be told from a second request.
    pub(super) is_keyed: bool,
    pub(super) takes_body: bool,
    /// What its query may say.
    pub(super) query: &'static [&'static str],
}

impl Route {
    /// Whether a request by it may change something.
    pub(super) fn changes(&self) -> bool {
        self.method != Method::GET
    }

    pub(super) fn open(self) -> Self {
        Self {
            door: Door::Open,
            ..self
        }
    }

    pub(super) fn keyed(self) -> Self {
        Self {
            is_keyed: true,
            ..self
        }
    }

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
