//! Which version of the protocol is spoken: agreed upon in a greeting, or, since 2026-07-28, said by each request.
//!
//! With a greeting, the version is the session's and is decided once; without one, each request says it in its
//! `_meta` and is answered in that version. Only this module knows the dates of versions: the rest asks for a
//! lifecycle.

use serde_json::{Value, json};

use super::about::About;
use super::fault::{INVALID_PARAMS, RpcFault, UNKNOWN_RESOURCE, UNSUPPORTED_VERSION};
use super::message::Request;

/// Those that begin with a greeting, the newest last.
const GREETED: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one whose clients can read events that say nothing, and come back to a stream.
pub(super) const RESUMABLE: &str = "2025-11-25";
/// The one whose requests stand each for itself.
pub(super) const INLINE: &str = "2026-07-28";

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const DISCOVER: &str = "server/discover";

/// What only greeted clients may ask.
const ONLY_GREETED: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];
/// What a client may keep, if it is told for how long.
const CACHEABLE: [&str; 5] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// How a request came to its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// The version was agreed upon, or is about to be.
    Greeted,
    /// The request says everything itself.
    Inline,
}

impl Lifecycle {
    /// A greeting is always `Greeted`, whatever its `_meta` says. A discovery is `Inline`, but must name a known
    /// version: it is how clients of both kinds find out what is spoken.
    pub(super) fn of(request: &Request) -> Result<Self, RpcFault> {
        let version = request.meta(META_VERSION);
        let is_inline = match version.map(Value::as_str) {
            _ if request.method == "initialize" => false,
            None => request.method == DISCOVER,
            Some(Some(INLINE)) => true,
            Some(Some(version)) if GREETED.contains(&version) => request.method == DISCOVER,
            Some(version) => return Err(unsupported(version.unwrap_or_default())),
        };
        if !is_inline {
            return Ok(Self::Greeted);
        }
        let has_capabilities = request
            .meta(META_CAPABILITIES)
            .is_some_and(Value::is_object);
        if version.is_none() || !has_capabilities {
            let message =
                format!("_meta of the request must say {META_VERSION} and {META_CAPABILITIES}");
            return Err(RpcFault::invalid_params(message));
        }
        if ONLY_GREETED.contains(&request.method.as_str()) {
            return Err(RpcFault::unknown_method(&request.method));
        }
        Ok(Self::Inline)
    }

    /// What came of a request, as this version writes it.
    pub(super) fn finished(
        self,
        method: &str,
        answered: Result<Value, RpcFault>,
    ) -> Result<Value, RpcFault> {
        if self == Self::Greeted {
            return answered;
        }
        match answered {
            Ok(mut result) => {
                if let Some(fields) = result.as_object_mut() {
                    fields.insert("resultType".into(), "complete".into());
                    if CACHEABLE.contains(&method) {
                        fields.insert("ttlMs".into(), 0.into());
                        fields.insert("cacheScope".into(), "private".into());
                    }
                }
                Ok(result)
            }
            Err(fault) if fault.code == UNKNOWN_RESOURCE => Err(RpcFault {
                code: INVALID_PARAMS,
                ..fault
            }),
            Err(fault) => Err(fault),
        }
    }
}

/// Whether a version may stand in a header.
pub(super) fn is_known(version: &str) -> bool {
    version == INLINE || GREETED.contains(&version)
}

/// The version to speak with a client that wants this one: that, or the newest that begins with a greeting.
pub(super) fn agreed(wanted: &str) -> &'static str {
    let newest = GREETED[GREETED.len() - 1];
    let same = GREETED.into_iter().find(|known| *known == wanted);
    same.unwrap_or(newest)
}

/// The answer to `initialize`.
pub(super) fn greeting(about: &About, version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": about.capabilities,
        "serverInfo": about.server_info(),
        "instructions": about.instructions,
    })
}

/// The greeting's substitute. Changes of resources can be watched only by those who have a session.
pub(super) fn discovered(about: &About) -> Value {
    let mut capabilities = about.capabilities.clone();
    if let Some(resources) = capabilities
        .get_mut("resources")
        .and_then(Value::as_object_mut)
    {
        resources.remove("subscribe");
    }
    let versions: Vec<&str> = GREETED.into_iter().chain([INLINE]).collect();
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": capabilities,
        "instructions": about.instructions,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { META_SERVER: about.server_info() },
    })
}

/// Names what is spoken in the data too, so that a client can try again without a person.
fn unsupported(requested: &str) -> RpcFault {
    let requested: String = requested.chars().take(64).collect();
    let supported: Vec<&str> = GREETED.into_iter().chain([INLINE]).collect();
    let message = format!("version {requested:?} of the protocol is not supported");
    RpcFault {
        data: Some(json!({ "supported": supported, "requested": requested })),
        ..RpcFault::new(UNSUPPORTED_VERSION, message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{self, RpcMessage};
    use super::*;

    fn request(method: &str, meta: &Value) -> Request {
        let text =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta } });
        match message::read(text.to_string().as_bytes()) {
            Ok(RpcMessage::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_greeted_or_stands_for_itself_or_is_refused() {
        let whole = json!({ META_VERSION: INLINE, META_CAPABILITIES: {} });
        let old = json!({ META_VERSION: "2025-11-25", META_CAPABILITIES: {} });
        let unknown = json!({ META_VERSION: "2031-01-01", META_CAPABILITIES: {} });
        let rows = [
            ("tools/list", json!({}), Ok(Lifecycle::Greeted)),
            ("tools/list", whole.clone(), Ok(Lifecycle::Inline)),
            ("tools/list", old.clone(), Ok(Lifecycle::Greeted)),
            ("initialize", unknown.clone(), Ok(Lifecycle::Greeted)),
            (DISCOVER, whole.clone(), Ok(Lifecycle::Inline)),
            (DISCOVER, old, Ok(Lifecycle::Inline)),
            (DISCOVER, json!({}), Err(-32602)),
            ("tools/list", json!({ META_VERSION: INLINE }), Err(-32602)),
            ("tools/list", unknown, Err(UNSUPPORTED_VERSION)),
            (
                "tools/list",
                json!({ META_VERSION: 7 }),
                Err(UNSUPPORTED_VERSION),
            ),
            ("ping", whole.clone(), Err(-32601)),
            ("resources/subscribe", whole, Err(-32601)),
        ];
        for (method, meta, expected) in rows {
            let found = Lifecycle::of(&request(method, &meta));
            assert_eq!(
                found.map_err(|fault| fault.code),
                expected,
                "{method} {meta}"
            );
        }
    }

    #[test]
    fn a_client_gets_the_version_that_it_wants_or_the_newest() {
        for version in GREETED {
            assert_eq!(agreed(version), version);
        }
        for version in ["2023-01-01", INLINE, "", "later"] {
            assert_eq!(agreed(version), "2025-11-25");
        }
    }
}
