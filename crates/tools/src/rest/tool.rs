//! A tool that is a request.

use std::sync::Arc;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use futures_util::future::BoxFuture;
use reqwest::{Method, Url};
use serde_json::Value;

use super::body::BodyTemplate;
use super::endpoint::{Endpoint, Policy};
use super::error::RestError;
use super::exchange::exchange;
use super::header::{self, HeaderTemplate};
use super::schema;
use super::settings::{JsonStream, Reach, Redirects, RestTool};
use super::url::UrlTemplate;
use crate::fault::ToolFault;
use crate::queue::Queue;
use crate::tool::{Tool, ToolValue};
use crate::tool_name::shown_name;

/// The methods that a tool may use, and what each may do to the world.
///
/// As HTTP defines them. What a server does in truth is not known, and a person who writes GET for a change has
/// chosen that it may be repeated.
const METHODS: [(Method, ToolEffect); 7] = [
    (Method::GET, ToolEffect::Read),
    (Method::HEAD, ToolEffect::Read),
    (Method::OPTIONS, ToolEffect::Read),
    (Method::PUT, ToolEffect::Idempotent),
    (Method::DELETE, ToolEffect::Idempotent),
    (Method::POST, ToolEffect::Write),
    (Method::PATCH, ToolEffect::Write),
];

/// The methods that a tool may use, by their names; they are taken in any case.
pub fn rest_methods() -> Vec<String> {
    let names = METHODS.iter().map(|(method, _)| method.to_string());
    names.collect()
}

/// A request before its arguments are known, checked.
///
/// Everything that can be wrong with the settings was found before there is one.
pub(super) struct Shape {
    pub(super) spec: ToolSpec,
    pub(super) method: Method,
    pub(super) url: UrlTemplate,
    pub(super) headers: Vec<HeaderTemplate>,
    pub(super) body: Option<BodyTemplate>,
    pub(super) streaming: Option<JsonStream>,
    pub(super) redirects: Redirects,
    pub(super) reach: Reach,
}

/// Calls that change a service are executed in the model's order, and so are those that look at it around them; calls
/// that may be repeated are bound by their queue alone.
pub(super) fn resource_of(effect: ToolEffect, origin: &Url) -> Option<Arc<str>> {
    (effect != ToolEffect::Idempotent).then(|| origin.as_str().into())
}

impl Shape {
    /// Checks what a person wrote.
    pub(super) fn of(settings: &RestTool) -> Result<Self, RestError> {
        check_name(&settings.name, "a REST tool")?;
        let (method, effect) = method(&settings.method).ok_or_else(|| {
            RestError::at(
                "method",
                "it must be GET, HEAD, OPTIONS, PUT, DELETE, POST or PATCH",
            )
        })?;
        let url = UrlTemplate::parse(&settings.url, "url")?;
        let headers = header::read(&settings.headers)?;
        let body = settings.body_template.as_ref().map(BodyTemplate::parse);
        let body = body.transpose();
        let body = body.map_err(|why| RestError::at("bodyTemplate", why))?;
        let mut places: Vec<&str> = url.places().collect();
        places.extend(headers.iter().flat_map(HeaderTemplate::places));
        places.extend(body.iter().flat_map(BodyTemplate::places));
        let schema = schema::of_parameters(settings.parameters_schema.as_ref(), &places)?;
        let spec = ToolSpec {
            name: shown_name("rest", &settings.name),
            description: match settings.description.trim() {
                "" => format!("The REST tool {}.", settings.name),
                description => description.to_owned(),
            },
            schema,
            effect,
            sandbox: None,
            resource: resource_of(effect, url.origin()),
            deferred: false,
        };
        Ok(Self {
            spec,
            method,
            url,
            headers,
            body,
            streaming: settings.streaming.clone(),
            redirects: settings.redirects,
            reach: settings.reach,
        })
    }

    pub(super) fn policy(&self) -> Policy {
        Policy {
            origin: self.url.origin().clone(),
            reach: self.reach,
            redirects: self.redirects,
        }
    }
}

/// The method of that name, in any case, and its effect.
pub(super) fn method(name: &str) -> Option<(Method, ToolEffect)> {
    let known = |(method, _): &&(Method, ToolEffect)| method.as_str().eq_ignore_ascii_case(name);
    METHODS.iter().find(known).cloned()
}

/// Names of tools begin with it, so that it must be made of what they are made of.
pub(super) fn check_name(name: &str, what: &str) -> Result<(), RestError> {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match !name.is_empty() && name.bytes().all(usable) {
        true => Ok(()),
        false => {
            let why = format!("the name of {what} has only letters, digits, '-' and '_'");
            Err(RestError::at("", why))
        }
    }
}

pub(super) struct RequestTool {
    shape: Shape,
    queue: Arc<Queue>,
    endpoint: Arc<Endpoint>,
}

impl RequestTool {
    pub(super) fn new(shape: Shape, queue: Arc<Queue>, endpoint: Arc<Endpoint>) -> Self {
        Self {
            shape,
            queue,
            endpoint,
        }
    }
}

impl Tool for RequestTool {
    fn may_be_deferred(&self) -> bool {
        true
    }

    fn spec(&self) -> &ToolSpec {
        &self.shape.spec
    }

    fn queue(&self) -> Option<&Queue> {
        Some(&self.queue)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move { exchange(&self.shape, &self.endpoint, &arguments, call).await })
    }
}
