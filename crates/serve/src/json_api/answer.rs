//! What a request is answered with: a type for each status, so that a handler's type says what a client may get.
//!
//! The same types tell the OpenAPI document what may come, so that it cannot say something else than the program does.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;

use super::Schema;
#[cfg(test)]
use super::openapi::{Components, ResponseRow};
use crate::sorted_json::sorted_json;

/// What a handler may answer with.
pub(crate) trait Answers: Send {
    /// Makes the response.
    fn response(self) -> Response;

    /// What the document says of it: each status, with the schema of its body.
    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow>;
}

/// 200 and a body.
#[derive(Debug)]
pub(crate) struct OkJson<T>(pub(crate) T);

/// 201 and what was made.
#[derive(Debug)]
pub(crate) struct CreatedJson<T>(pub(crate) T);

/// 202: taken in, and what comes of it comes later.
#[derive(Debug)]
pub(crate) struct AcceptedJson<T>(pub(crate) T);

/// 201 and what was made, or 200 and what there was already.
#[derive(Debug)]
pub(crate) enum CreatedOrKnown<T> {
    Created(T),
    Known(T),
}

/// 204: done, and nothing to say about it.
#[derive(Debug)]
pub(crate) struct NoContent;

/// 200 and a text that is a JSON object already.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) &'static str);

/// 200 and a file to be kept, never to be shown: whatever it holds came from a stranger.
#[derive(Debug)]
pub(crate) struct FileAnswer {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// Another answer, with a cookie.
#[derive(Debug)]
pub(crate) struct WithCookie<A>(pub(crate) A, pub(crate) HeaderValue);

impl<T: Serialize + Schema + Send> Answers for OkJson<T> {
    fn response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow> {
        vec![(200, Some(components.answer::<T>()))]
    }
}

impl<T: Serialize + Schema + Send> Answers for CreatedJson<T> {
    fn response(self) -> Response {
        json(StatusCode::CREATED, &self.0)
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow> {
        vec![(201, Some(components.answer::<T>()))]
    }
}

impl<T: Serialize + Schema + Send> Answers for AcceptedJson<T> {
    fn response(self) -> Response {
        json(StatusCode::ACCEPTED, &self.0)
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow> {
        vec![(202, Some(components.answer::<T>()))]
    }
}

impl<T: Serialize + Schema + Send> Answers for CreatedOrKnown<T> {
    fn response(self) -> Response {
        match self {
            Self::Created(body) => json(StatusCode::CREATED, &body),
            Self::Known(body) => json(StatusCode::OK, &body),
        }
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow> {
        let schema = components.answer::<T>();
        vec![(200, Some(schema.clone())), (201, Some(schema))]
    }
}

impl Answers for NoContent {
    fn response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response
    }

    #[cfg(test)]
    fn describe(_: &mut Components) -> Vec<ResponseRow> {
        vec![(204, None)]
    }
}

impl Answers for JsonText {
    fn response(self) -> Response {
        body(StatusCode::OK, Body::from(self.0))
    }

    #[cfg(test)]
    fn describe(_: &mut Components) -> Vec<ResponseRow> {
        vec![(200, Some(serde_json::json!({ "type": "object" })))]
    }
}

impl Answers for FileAnswer {
    fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.content));
        let headers = response.headers_mut();
        let rows = [
            (
                CONTENT_TYPE,
                HeaderValue::from_static("application/octet-stream"),
            ),
            (CONTENT_DISPOSITION, disposition(&self.name)),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (
                CONTENT_SECURITY_POLICY,
                HeaderValue::from_static("sandbox; default-src 'none'"),
            ),
            (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        ];
        headers.extend(rows);
        response
    }

    #[cfg(test)]
    fn describe(_: &mut Components) -> Vec<ResponseRow> {
        let schema = serde_json::json!({ "type": "string", "format": "binary" });
        vec![(200, Some(schema))]
    }
}

/// The name in the form that takes every letter (RFC 8187).
fn disposition(name: &str) -> HeaderValue {
    let encoded: String = name
        .bytes()
        .map(
            |byte| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            },
        )
        .collect();
    let value = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{encoded}"));
    value.unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

impl<A: Answers> Answers for WithCookie<A> {
    fn response(self) -> Response {
        let Self(answer, cookie) = self;
        let mut response = answer.response();
        response.headers_mut().insert(SET_COOKIE, cookie);
        response
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> Vec<ResponseRow> {
        A::describe(components)
    }
}

/// With the fields in order, as everything that is served.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    body(status, Body::from(sorted_json(value)))
}

/// Always with the type of JSON.
fn body(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
