//! Tools as they stand in requests, each set rendered once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Hash, Offer, Request};
use serde_json::value::RawValue;

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
            request.offer,
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
