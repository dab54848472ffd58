//! Whether there is a pooler on the way to the server, and how that is noticed.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Whether a pooler was found on the way to the server. It is not forgotten: what is done then is right without one, too.
#[derive(Debug, Default)]
pub(crate) struct Pooling(AtomicBool);

impl Pooling {
    pub(crate) fn is_found(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn find(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// A statement that was prepared is not known any more, or another client's has its name: what was asked was not done.
    pub(crate) fn learn(&self, error: &Error) {
        if matches!(error.code().map(SqlState::code), Some("26000" | "42P05")) {
            self.find();
        }
    }
}

/// Whether a pooler refuses what is said of a connection when it begins.
pub(crate) fn refuses_settings(error: &Error) -> bool {
    error.code().is_some_and(|code| code.code() == "08P01")
        && error
            .as_db_error()
            .is_some_and(|it| it.message().contains("startup parameter"))
}
