//! A request, taken apart: who asks, for what, and what they sent.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use bonded_kernel::WorkspaceId;
use bonded_workspace::store::{By, IdempotencyKey, WorkspaceError, Write, Written};
use bonded_workspace_rules::{Actor, Chain, Change, Permission, Role};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::access::{self, Caller};
use super::body::{self, Bounds};
use super::query::Query;
use super::refusal::Refusal;
use super::route::{Door, Route};
use super::site::Site;
use bonded_web::peer::Peer;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) site: Arc<Site>,
    pub(super) request_id: String,
    pub(super) query: Query,
    route: &'static Route,
    params: Vec<(String, String)>,
    caller: Option<Caller>,
    /// Where the request comes from.
    pub(super) from: IpAddr,
    body: Value,
    key: Option<String>,
}

impl Ask {
    /// Takes a request apart. Who may not come in is refused before anything of the body is read.
    pub(super) async fn read(
        site: Arc<Site>,
        route: &'static Route,
        request_id: String,
        request: Request,
    ) -> Result<Self, Refusal> {
        let (mut head, body) = request.into_parts();
        let params = params(&mut head).await?;
        let peer = head.extensions.get::<Peer>();
        let from = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let mut caller = caller(&site, route, &head.headers).await?;
        if let (Some(caller), true) = (&caller, route.changes()) {
            site.writes.take(caller.user_id)?;
        }
        let key = match route.is_keyed {
            true => Some(key(&head.headers)?),
            false => None,
        };
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        query.only(route.query)?;
        let body = match route.takes_body {
            true => {
                let body = body::read(&head.headers, body, bounds(&site)).await?;
                // A body comes as slowly as its sender likes: whoever was let in may be shut out by now.
                caller = self::caller(&site, route, &head.headers).await?;
                body
            }
            false => Value::Null,
        };
        Ok(Self {
            site,
            request_id,
            query,
            route,
            params,
            caller,
            from,
            body,
            key,
        })
    }

    /// Who asks; behind a door that only the known pass, there is always somebody.
    pub(super) fn caller(&self) -> Result<&Caller, Refusal> {
        self.caller.as_ref().ok_or_else(Refusal::auth_required)
    }

    /// On whose word something is changed.
    pub(super) fn by(&self) -> Result<By, Refusal> {
        Ok(By::Asker(self.caller()?.proof))
    }

    /// A part of the path as it was written.
    pub(super) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A part of the path that is an id, a number, or the like.
    pub(super) fn id<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<T, Refusal> {
        let text = self.param(name);
        text.parse()
            .map_err(|error| Refusal::bad(format!("{name} in the path: {error}")))
    }

    /// The body, which must be there.
    pub(super) fn body<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        match self.body.take() {
            Value::Null => Err(Refusal::bad("a JSON object is needed as the body")),
            body => fields(body),
        }
    }

    /// The body, where none is as good as an empty object.
    pub(super) fn body_or_empty<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        match self.body.take() {
            Value::Null => fields(Value::Object(serde_json::Map::new())),
            body => fields(body),
        }
    }

    pub(super) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// What a repetition of this request is known by: the same caller asks the same of the same thing.
    pub(super) fn key(&self) -> Result<(String, String), Refusal> {
        let key = self.key.clone().ok_or_else(no_key)?;
        let mut scope = format!("{} {}", self.caller()?.user_id, self.route);
        for (_, value) in &self.params {
            scope.push(' ');
            scope.push_str(value);
        }
        Ok((scope, key))
    }
}

impl Ask {
    /// Makes a change in the name of the caller; repeated with the same key, it was made once.
    pub(super) async fn write(&self, change: Change) -> Result<Written, Refusal> {
        self.written(change, "").await
    }

    /// One of several changes of a request, each with a name of its own.
    pub(super) async fn write_part(&self, change: Change, part: &str) -> Result<Written, Refusal> {
        self.written(change, part).await
    }

    async fn written(&self, change: Change, part: &str) -> Result<Written, Refusal> {
        let key = match self.is_keyed() {
            false => None,
            true => {
                let (scope, key) = self.key()?;
                let scope = format!("{scope} {part}");
                Some(IdempotencyKey { scope, key })
            }
        };
        let write = Write {
            actor: Actor::User {
                user_id: self.caller()?.user_id,
            },
            at: self.site.now(),
            request_id: self.request_id.clone(),
            key,
            chain: Chain::default(),
            change,
        };
        let written = self.site.store.write_by(self.by()?, write).await;
        let failed = matches!(written, Err(WorkspaceError::Store(_)));
        self.site.writable.note(!failed);
        Ok(written?)
    }
}

/// What a person is in a workspace, if they may do this there.
pub(super) async fn permit(
    ask: &Ask,
    workspace_id: WorkspaceId,
    permission: Permission,
) -> Result<Role, Refusal> {
    access::role(&ask.site, ask.caller()?.user_id, workspace_id, permission).await
}

/// Who comes in by a door; by one that is open it is nobody in particular.
async fn caller(
    site: &Site,
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<Caller>, Refusal> {
    match route.door {
        Door::Open => Ok(None),
        Door::Known => access::caller(site, headers, route.changes())
            .await
            .map(Some),
    }
}

fn bounds(site: &Site) -> Bounds {
    Bounds {
        bytes_max: site.settings.body_bytes_max,
        timeout: site.settings.request_timeout,
    }
}

async fn params(head: &mut Parts) -> Result<Vec<(String, String)>, Refusal> {
    let params = RawPathParams::from_request_parts(head, &())
        .await
        .map_err(|error| Refusal::bad(format!("the path cannot be read: {error}")))?;
    let owned = params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(owned.collect())
}

fn no_key() -> Refusal {
    Refusal::bad(
        "the header Idempotency-Key is missing: send a value of your own, and the same one when you repeat the request",
    )
}

fn key(headers: &HeaderMap) -> Result<String, Refusal> {
    let said = headers.get(IDEMPOTENCY_KEY).ok_or_else(no_key)?;
    let said = said.to_str().unwrap_or_default().trim();
    let is_usable = (1..=KEY_CHARS_MAX).contains(&said.len());
    if !is_usable {
        let message =
            format!("Idempotency-Key: 1 to {KEY_CHARS_MAX} printable characters are needed");
        return Err(Refusal::bad(message));
    }
    Ok(said.to_owned())
}

/// The fields of a body.
pub(super) fn fields<T: DeserializeOwned>(body: Value) -> Result<T, Refusal> {
    if !body.is_object() {
        return Err(Refusal::bad("the body must be a JSON object"));
    }
    serde_json::from_value(body).map_err(|error| Refusal::bad(format!("the body: {error}")))
}
