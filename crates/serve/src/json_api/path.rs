//! The parts of a path that have names in the table of routes.

use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::http::request::Parts;

use super::refusal::ApiRefusal;

/// As they stand in the path, decoded.
pub(crate) async fn params(head: &mut Parts) -> Result<Vec<(String, String)>, ApiRefusal> {
    let params = RawPathParams::from_request_parts(head, &())
        .await
        .map_err(|error| ApiRefusal::bad(format!("the path cannot be read: {error}")))?;
    let owned = params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(owned.collect())
}
