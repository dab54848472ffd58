//! What the server and the way to it say, sorted into what a caller tells apart.

use std::error::Error as _;
use std::path::PathBuf;

use bonded_state::{ServerProblem, StoreError};
use deadpool_postgres::PoolError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::address::Address;

/// What `tokio-postgres` says where it looks for a server that takes writes, without a code of its own.
const NO_WRITES: &str = "database does not allow writes";

/// Sorts what went wrong on a connection.
pub(crate) fn of(address: &Address, error: &Error) -> StoreError {
    let why = in_words(error);
    let problem = match error.code() {
        Some(code) => of_code(code, why.clone()),
        None if why.contains(NO_WRITES) => Some(ServerProblem::ReadOnly { why: why.clone() }),
        None if is_of_the_way(error) => Some(ServerProblem::Unreachable { why: why.clone() }),
        None => None,
    };
    let file = PathBuf::from(address.label());
    match (problem, error.code().map(SqlState::code)) {
        (Some(problem), _) => address.problem(problem),
        (None, Some("53100")) => StoreError::Full { file },
        // There is a schema of our name, and something else in it.
        (None, Some("42P06" | "42703" | "42883" | "42804")) => StoreError::NotAStore { file, why },
        (None, _) => StoreError::Io { file, why },
    }
}

fn of_code(code: &SqlState, why: String) -> Option<ServerProblem> {
    Some(match code.code() {
        // The role that the store acts as is made with it.
        "22023" if why.contains("\"role\"") || why.contains("bonded_app") => ServerProblem::NoStore,
        "3F000" | "42P01" => ServerProblem::NoStore,
        "3D000" | "42501" => ServerProblem::Denied { why },
        "53300" => ServerProblem::NoConnection { why },
        "25006" => ServerProblem::ReadOnly { why },
        // Poolers have this code for all that they say themselves.
        "08P01" if why.contains("startup parameter") => ServerProblem::Pooler { why },
        "08P01" if is_of_the_user(&why) => ServerProblem::Denied { why },
        // It was not carried out, and is asked otherwise the next time.
        "26000" | "42P05" => ServerProblem::Unreachable { why },
        // What was undone so that others could continue, and may be done again.
        "40001" | "40P01" | "25P03" | "55P03" => ServerProblem::Unreachable { why },
        "57P01" | "57P02" | "57P03" => ServerProblem::Unreachable { why },
        other => match other.get(..2) {
            Some("28") => ServerProblem::Denied { why },
            Some("08") => ServerProblem::Unreachable { why },
            _ => return None,
        },
    })
}

/// Whether a pooler does not let this user in, or knows no such database.
fn is_of_the_user(why: &str) -> bool {
    why.contains("authentication failed") || why.contains("no such")
}

/// Whether the connection failed, and not what was asked.
fn is_of_the_way(error: &Error) -> bool {
    let is_io = |error: &(dyn std::error::Error + 'static)| error.is::<std::io::Error>();
    error.is_closed()
        || error.source().is_some_and(is_io)
        || error.to_string().starts_with("error connecting")
        || error.to_string().starts_with("error performing TLS")
        || error.to_string().starts_with("error communicating")
}

/// The server's own words, else those of the whole chain.
fn in_words(error: &Error) -> String {
    if let Some(message) = error.as_db_error() {
        let hint = message.hint().map(|hint| format!("; {hint}"));
        return format!("{}{}", message.message(), hint.unwrap_or_default());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let message = source.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = source.source();
    }
    if text.contains("certificate") {
        text.push_str("; name a file with its certificate in SSL_CERT_FILE");
    }
    text
}

/// Sorts why there was no connection.
pub(crate) fn of_pool(address: &Address, error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => of(address, error),
        PoolError::Timeout(_)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_) => StoreError::Closed {
            file: address.label().into(),
        },
    }
}
