//! What a page asked with, or a refusal in the shape of all others.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::refusal::ConsoleRefusal;

/// The names in the address.
pub(super) struct Address<T>(pub(super) T);

/// What stands behind the question mark.
pub(super) struct Parameters<T>(pub(super) T);

/// The body, which is JSON.
pub(super) struct Sent<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Address<T> {
    type Rejection = ConsoleRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleRefusal> {
        let read = Path::from_request_parts(parts, state).await;
        read.map(|Path(read)| Self(read))
            .map_err(|_| ConsoleRefusal::missing("there is nothing at this address"))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ConsoleRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleRefusal> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(read)| Self(read))
            .map_err(|rejection| ConsoleRefusal::bad_request(rejection.body_text()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = ConsoleRefusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, ConsoleRefusal> {
        let read = axum::Json::from_request(request, state).await;
        read.map(|axum::Json(read)| Self(read))
            .map_err(|rejection| ConsoleRefusal::bad_request(rejection.body_text()))
    }
}
