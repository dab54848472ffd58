//! A request, taken apart: who asks, for what, and what they sent.
//!
//! The order is that of what it costs and of what it gives away: who asks, how often, the key, the query, and the body
//! last. Handlers get a request that is understood or do not get it at all.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use bonded_kernel::WorkspaceId;
use bonded_workspace::store::{By, CommittedWrite, IdempotencyKey, WorkspaceError, Write};
use bonded_workspace_rules::{Actor, Chain, Change, Code, Permission, Role};
use serde_json::Value;

use super::access::{self, WorkspaceCaller};
use super::route::{Door, RawBody, Route};
use super::site::Site;
use crate::json_api::body::{self, Bounds};
use crate::json_api::path::params;
use crate::json_api::query::Query;
use crate::json_api::refusal::ApiRefusal;
use bonded_web::body_room::HeldBytes;
use bonded_web::peer::Peer;

/// By which a client names a request that it may repeat.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// In bytes, which are characters here.
pub(super) const KEY_CHARS_MAX: usize = 200;
/// What another server may send to a rule.
const HOOK_BYTES_MAX: usize = 64 << 10;

/// What a handler gets.
#[derive(Debug)]
pub(super) struct WorkspaceAsk {
    /// What all requests share.
    pub(super) site: Arc<Site>,
    /// The client's own name for it, or one of ours.
    pub(super) request_id: String,
    /// Its names are known to be those of the route.
    pub(super) query: Query,
    /// The row of the table that it came by.
    route: &'static Route,
    /// The parts of the path, by their names in the table.
    params: Vec<(String, String)>,
    /// None behind a door that is open.
    caller: Option<WorkspaceCaller>,
    /// Where the request comes from.
    pub(super) from: IpAddr,
    /// Null where there is none.
    body: Value,
    /// The body of a route that takes it as it is.
    raw: HeldBytes,
    /// As they came.
    headers: HeaderMap,
    /// There where the route wants one.
    key: Option<String>,
}

impl WorkspaceAsk {
    /// Takes a request apart. Who may not come in is refused before anything of the body is read.
    pub(super) async fn read(
        site: Arc<Site>,
        route: &'static Route,
        request_id: String,
        request: Request,
    ) -> Result<Self, ApiRefusal> {
        let (mut head, body) = request.into_parts();
        let params = params(&mut head).await?;
        let peer = head.extensions.get::<Peer>();
        let from = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let mut caller = caller(&site, route, &head.headers).await?;
        if let (Some(caller), true) = (&caller, route.changes()) {
            site.writes.take(&site.store, caller.user_id).await?;
        }
        let key = match route.is_keyed {
            true => Some(key(&head.headers)?),
            false => None,
        };
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        query.only(route.query)?;
        let (mut json, mut raw) = (Value::Null, HeldBytes::default());
        match route.raw {
            Some(kind) => {
                let bounds = raw_bounds(&site, kind);
                let received = body::receive(&head.headers, body, bounds).await;
                raw = received.map_err(|refusal| of_kind(refusal, kind))?;
            }
            None if route.takes_body => {
                json = body::read(&head.headers, body, bounds(&site)).await?;
            }
            None => {}
        }
        if route.takes_body {
            // A body comes as slowly as its sender likes: whoever was let in may be shut out by now.
            caller = self::caller(&site, route, &head.headers).await?;
        }
        Ok(Self {
            site,
            request_id,
            query,
            route,
            params,
            caller,
            from,
            body: json,
            raw,
            headers: head.headers,
            key,
        })
    }

    /// Who asks; behind a door that only the known pass, there is always somebody.
    pub(super) fn caller(&self) -> Result<&WorkspaceCaller, ApiRefusal> {
        self.caller.as_ref().ok_or_else(ApiRefusal::auth_required)
    }

    /// On whose word something is changed.
    pub(super) fn by(&self) -> Result<By, ApiRefusal> {
        Ok(By::Asker(self.caller()?.proof))
    }

    /// A part of the path as it was written.
    pub(super) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A part of the path that is an id, a number, or the like.
    pub(super) fn id<T: FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<T, ApiRefusal> {
        let text = self.param(name);
        text.parse()
            .map_err(|error| ApiRefusal::bad(format!("{name} in the path: {error}")))
    }

    /// The body as it came; null where there was none.
    pub(super) fn take_body(&mut self) -> Value {
        self.body.take()
    }

    /// The bytes of the body, where the route takes it as it is.
    pub(super) fn take_raw(&mut self) -> HeldBytes {
        std::mem::take(&mut self.raw)
    }

    /// A header that is a text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether a repetition can be told.
    pub(super) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// What a repetition of this request is known by: the same caller asks the same of the same thing.
    pub(super) fn key(&self) -> Result<(String, String), ApiRefusal> {
        let key = self.key.clone().ok_or_else(no_key)?;
        let mut scope = format!("{} {}", self.caller()?.user_id, self.route);
        for (_, value) in &self.params {
            scope.push(' ');
            scope.push_str(value);
        }
        Ok((scope, key))
    }
}

impl WorkspaceAsk {
    /// Makes a change in the name of the caller; repeated with the same key, it was made once.
    pub(super) async fn write(&self, change: Change) -> Result<CommittedWrite, ApiRefusal> {
        self.written(change, "").await
    }

    /// One of several changes of a request, each with a name of its own.
    pub(super) async fn write_part(
        &self,
        change: Change,
        part: &str,
    ) -> Result<CommittedWrite, ApiRefusal> {
        self.written(change, part).await
    }

    /// What it came to is also what is known about the store: a write that fails says that nothing can be written just
    /// now.
    async fn written(&self, change: Change, part: &str) -> Result<CommittedWrite, ApiRefusal> {
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
    ask: &WorkspaceAsk,
    workspace_id: WorkspaceId,
    permission: Permission,
) -> Result<Role, ApiRefusal> {
    access::role(&ask.site, ask.caller()?.user_id, workspace_id, permission).await
}

/// Who comes in by a door; by one that is open it is nobody in particular.
async fn caller(
    site: &Site,
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<WorkspaceCaller>, ApiRefusal> {
    match route.door {
        Door::Open => Ok(None),
        Door::Known => access::caller(site, headers, route.changes())
            .await
            .map(Some),
    }
}

/// For the body; the same time holds for the whole request.
fn bounds(site: &Site) -> Bounds {
    Bounds {
        bytes_max: site.settings.body_bytes_max,
        timeout: site.settings.request_timeout,
    }
}

/// A file that is too large has a code of its own.
fn of_kind(refusal: ApiRefusal, kind: RawBody) -> ApiRefusal {
    let code = match (refusal.code, kind) {
        (Code::PayloadTooLarge, RawBody::Attachment) => Code::AttachmentTooLarge,
        (code, RawBody::Attachment | RawBody::Hook) => code,
    };
    ApiRefusal { code, ..refusal }
}

/// For a body that is taken as it is.
fn raw_bounds(site: &Site, kind: RawBody) -> Bounds {
    let bytes_max = match kind {
        RawBody::Hook => HOOK_BYTES_MAX,
        RawBody::Attachment => site.settings.attachment_bytes_max,
    };
    Bounds {
        bytes_max,
        ..bounds(site)
    }
}

/// The message says what to send.
fn no_key() -> ApiRefusal {
    ApiRefusal::bad(
        "the header Idempotency-Key is missing: send a value of your own, and the same one when you repeat the request",
    )
}

/// Printable, and not longer than is kept.
fn key(headers: &HeaderMap) -> Result<String, ApiRefusal> {
    let header = headers.get(IDEMPOTENCY_KEY).ok_or_else(no_key)?;
    let header = header.to_str().unwrap_or_default().trim();
    let is_usable = (1..=KEY_CHARS_MAX).contains(&header.len());
    if !is_usable {
        let message =
            format!("Idempotency-Key: 1 to {KEY_CHARS_MAX} printable characters are needed");
        return Err(ApiRefusal::bad(message));
    }
    Ok(header.to_owned())
}
