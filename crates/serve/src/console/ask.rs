//! A request of a page, taken apart: who asks, for what, and what they sent.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use bonded_state::{ListFilter, Listed};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Console;
use super::access::{self, Access, Deed};
use super::refusal::ConsoleRefusal;
use super::routes::ConsoleRoute;
use crate::json_api::body::{self, Bounds};
use crate::json_api::path::params;
use crate::json_api::query::Query;

/// Bodies are verdicts: a reason is the longest thing in them.
const BOUNDS: Bounds = Bounds {
    bytes_max: 64 * 1024,
    timeout: Duration::from_secs(30),
};

/// A beginning of an id is compared with so many.
const NAMED_ALIKE_MAX: usize = 1_000;

/// What a handler gets.
pub(super) struct ConsoleAsk {
    pub(super) console: Arc<Console>,
    /// Its names are known to be those of the route.
    pub(super) query: Query,
    /// By which somebody who stays is admitted again.
    pub(super) headers: HeaderMap,
    /// None behind a door that is open.
    access: Option<Access>,
    params: Vec<(String, String)>,
    body: Value,
}

impl ConsoleAsk {
    /// Who may not come in is refused before anything of the body is read.
    pub(super) async fn read(
        console: Arc<Console>,
        route: &ConsoleRoute,
        request: Request,
    ) -> Result<Self, ConsoleRefusal> {
        let (mut head, body) = request.into_parts();
        console.door.check_name(&head.headers)?;
        let changes = route.changes();
        let mut access = match route.is_open {
            true => None,
            false => Some(console.door.admit(&head.headers, changes).await?),
        };
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        query.only(route.query)?;
        let params = params(&mut head).await?;
        let body = match changes {
            true => {
                let body = body::read(&head.headers, body, BOUNDS).await?;
                if !route.is_open {
                    // A body comes as slowly as its sender likes: whoever was let in may be shut out by now.
                    access = Some(console.door.admit(&head.headers, false).await?);
                }
                body
            }
            false => Value::Null,
        };
        Ok(Self {
            console,
            query,
            headers: head.headers,
            access,
            params,
            body,
        })
    }

    /// Who asks; behind a door that is closed there is always somebody.
    pub(super) fn access(&self) -> Result<&Access, ConsoleRefusal> {
        let nobody = || ConsoleRefusal::unauthorised("sign in to see this");
        self.access.as_ref().ok_or_else(nobody)
    }

    /// A part of the path as it was written.
    pub(super) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A part of the path that is a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<T, ConsoleRefusal> {
        let missing = |_| ConsoleRefusal::missing("there is nothing at this address");
        self.param(name).parse().map_err(missing)
    }

    /// What was sent; nothing is as good as an empty object.
    pub(super) fn body<T: DeserializeOwned>(&mut self) -> Result<T, ConsoleRefusal> {
        let body = match self.body.take() {
            Value::Null => Value::Object(Map::new()),
            body => body,
        };
        Ok(body::fields(body)?)
    }

    /// The run of the path, if the person may do this with it.
    pub(super) async fn run(&self, deed: Deed) -> Result<Listed, ConsoleRefusal> {
        self.run_named(self.param("run_id"), deed).await
    }

    /// The run whose id begins so, among those that the person sees; the beginning must be one run's alone.
    pub(super) async fn run_named(
        &self,
        named: &str,
        deed: Deed,
    ) -> Result<Listed, ConsoleRefusal> {
        self.run_as(self.access()?, named, deed).await
    }

    /// The same for somebody who was admitted again.
    pub(super) async fn run_as(
        &self,
        access: &Access,
        named: &str,
        deed: Deed,
    ) -> Result<Listed, ConsoleRefusal> {
        let filter = ListFilter {
            prefix: Some(named.to_owned()),
            limit: NAMED_ALIKE_MAX,
        };
        let listed = match bonded_kernel::RunId::new(named) {
            Ok(_) => self.console.host.store.list(filter).await?,
            Err(_) => vec![],
        };
        let mut seen = access::seen(access, listed).await?;
        let exact = seen.iter().position(|it| it.run.as_str() == named);
        let found = match (exact, seen.len()) {
            (Some(at), _) => seen.swap_remove(at),
            (None, 1) => seen.swap_remove(0),
            (None, 0) => return Err(ConsoleRefusal::no_run(named)),
            (None, _) => {
                let message = format!("{named} is the beginning of more than one run");
                return Err(ConsoleRefusal::missing(message));
            }
        };
        access.sight.permits(&found, deed).await?;
        Ok(found)
    }
}
