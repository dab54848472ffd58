//! Who answers what comes by a route. The body that a handler takes and the answer that it gives are parts of its type.

use std::marker::PhantomData;

use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ask::WorkspaceAsk;
use crate::json_api::Schema;
use crate::json_api::answer::Answers;
use crate::json_api::body::fields;
#[cfg(test)]
use crate::json_api::openapi::{Components, RequestRow};
use crate::json_api::refusal::ApiRefusal;

/// A handler whose types are known to the table alone.
pub(super) type BoxHandler =
    Box<dyn Fn(WorkspaceAsk) -> BoxFuture<'static, Result<Response, ApiRefusal>> + Send + Sync>;

/// A function that takes a request, with a body of type `Sent` or with none, `()`.
pub(super) trait Handler<Sent>: Send + Sync + 'static {
    /// What it gives.
    type Answer: Answers;

    /// For the table, which holds handlers of all types.
    fn boxed(self) -> BoxHandler;

    /// The body that it takes, if it takes any.
    #[cfg(test)]
    fn request(components: &mut Components) -> Option<RequestRow>;
}

impl<F, Answer, Fut> Handler<()> for F
where
    F: Fn(WorkspaceAsk) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, ApiRefusal>> + Send + 'static,
    Answer: Answers,
{
    type Answer = Answer;

    fn boxed(self) -> BoxHandler {
        Box::new(move |ask| {
            let answered = self(ask);
            async { answered.await.map(Answers::response) }.boxed()
        })
    }

    #[cfg(test)]
    fn request(_: &mut Components) -> Option<RequestRow> {
        None
    }
}

impl<F, Answer, Fut, Sent> Handler<(Sent,)> for F
where
    F: Fn(WorkspaceAsk, Sent) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, ApiRefusal>> + Send + 'static,
    Answer: Answers,
    Sent: SentBody,
{
    type Answer = Answer;

    fn boxed(self) -> BoxHandler {
        Box::new(move |mut ask| {
            let body = Sent::new(ask.take_body());
            let answered = self(ask, body);
            async { answered.await.map(Answers::response) }.boxed()
        })
    }

    #[cfg(test)]
    fn request(components: &mut Components) -> Option<RequestRow> {
        Some(Sent::describe(components))
    }
}

/// A body that a handler takes. The handler reads it when it wants to: what is refused first stays in its hands.
pub(super) trait SentBody {
    /// Nothing is read yet.
    fn new(body: Value) -> Self;

    #[cfg(test)]
    fn describe(components: &mut Components) -> RequestRow;
}

/// A body that must be there.
#[derive(Debug)]
pub(super) struct RequiredBody<T>(Value, PhantomData<fn() -> T>);

impl<T: DeserializeOwned + Schema> RequiredBody<T> {
    /// No body at all is refused.
    pub(super) fn read(self) -> Result<T, ApiRefusal> {
        match self.0 {
            Value::Null => Err(ApiRefusal::bad("a JSON object is needed as the body")),
            body => fields(body),
        }
    }
}

impl<T: DeserializeOwned + Schema> SentBody for RequiredBody<T> {
    fn new(body: Value) -> Self {
        Self(body, PhantomData)
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> RequestRow {
        (true, components.request::<T>())
    }
}

/// A body where none is as good as an empty object.
#[derive(Debug)]
pub(super) struct OptionalBody<T>(Value, PhantomData<fn() -> T>);

impl<T: DeserializeOwned + Schema> OptionalBody<T> {
    /// No body at all is read as an empty object.
    pub(super) fn read(self) -> Result<T, ApiRefusal> {
        match self.0 {
            Value::Null => fields(Value::Object(Map::new())),
            body => fields(body),
        }
    }
}

impl<T: DeserializeOwned + Schema> SentBody for OptionalBody<T> {
    fn new(body: Value) -> Self {
        Self(body, PhantomData)
    }

    #[cfg(test)]
    fn describe(components: &mut Components) -> RequestRow {
        (false, components.request::<T>())
    }
}
