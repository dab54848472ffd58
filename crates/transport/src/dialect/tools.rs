//! Tools as they stand in requests, each set rendered once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Hash, Message, Offer, Request};
use serde_json::value::RawValue;

use crate::models::accepted_by;

/// So many sets are kept; a process drives few kinds of runs at a time.
const SETS_MAX: usize = 64;

/// What the rendered tools depend on: catalogue, offer, dialect, and whether they are marked for a cache.
type Key = (Hash, Offer, u8, bool);

/// The tools of requests as they stand in their bodies.
#[derive(Debug, Default)]
pub struct ToolsCache(Mutex<BTreeMap<Key, Option<Arc<RawValue>>>>);

impl ToolsCache {
    /// The tools of a request, or `None` where it offers none.
    pub fn tools(&self, request: &Request<'_>) -> Option<Arc<RawValue>> {
        let target = request.target;
        let key = (
            request.catalog.hash(),
            named(request),
            target.dialect as u8,
            target.sampling.caching,
        );
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = kept.get(&key) {
            return tools.clone();
        }
        if kept.len() >= SETS_MAX {
            kept.clear();
        }
        let tools: Option<Arc<RawValue>> = super::render_tools(request).map(Into::into);
        kept.insert(key, tools.clone());
        tools
    }
}

/// Which tools a request names. A service that wants tools to be named wherever calls were made is told of all of
/// them, though none is offered any more; that none be called cannot be said there.
pub(super) fn named(request: &Request<'_>) -> Offer {
    let called = |message: &Message| matches!(message, Message::Assistant { calls, .. } if !calls.is_empty());
    let unnamed = request.tools().next().is_none()
        && accepted_by(request.target).calls_need_tools
        && request.messages.iter().any(called);
    if unnamed { Offer::All } else { request.offer }
}
