//! Tools as they stand in requests, each set rendered once.
//!
//! Making tools fit and writing them takes time, and a run offers the same ones turn after turn. So what was
//! made is kept, by all that it depends on. When too many sets are kept, all are dropped: that is simple, and
//! they are made again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Dialect, Hash, Message, Offer, Reply, Request};
use serde_json::value::RawValue;

use super::accepted_by;
use super::fit::{Fitted, Way};

/// So many sets are kept; a process drives few kinds of runs at a time.
const SETS_MAX: usize = 64;

/// What the rendered tools depend on: catalogue, offer, which tools were found, dialect, and whether they are marked for a cache.
type ToolsKey = (Hash, Offer, Option<Hash>, u8, bool);

/// The tools of a request as its service takes them, and what leads back from there to the tools themselves.
#[derive(Debug)]
pub struct Tools {
    rendered: Option<Box<RawValue>>,
    way: Way,
}

impl Tools {
    /// Makes the tools of a request fit and renders them.
    pub fn of(request: &Request<'_>) -> Self {
        let target = request.target;
        let (way, all) = Way::of(request.catalog, target.dialect);
        let offer = named(request);
        let found = |own: &str| {
            let spec = request.catalog.spec(own);
            spec.is_some_and(|spec| request.found.shows(spec))
        };
        let offered = all
            .into_iter()
            .filter(|(own, _)| offer.includes(own) && found(own));
        let offered: Vec<Fitted<'_>> = offered.map(|(_, fitted)| fitted).collect();
        Self {
            rendered: render(&offered, target.dialect, target.sampling.caching),
            way,
        }
    }

    /// As they stand in the body, or `None` where there is none.
    pub(super) fn rendered(&self) -> Option<&RawValue> {
        self.rendered.as_deref()
    }

    /// The conversation in the words that the service was told.
    pub(super) fn send<'m>(&self, messages: &'m [Message]) -> Cow<'m, [Message]> {
        self.way.send(messages)
    }

    /// Gives the calls of a reply the names and keys that the tools themselves have.
    pub fn take_back(&self, reply: &mut Reply) {
        self.way.take_back(reply);
    }
}

/// `None` where there is no tool: an empty list is refused by some servers.
fn render(tools: &[Fitted<'_>], dialect: Dialect, caching: bool) -> Option<Box<RawValue>> {
    if tools.is_empty() {
        return None;
    }
    Some((super::of(dialect).render_tools)(tools, caching))
}

/// The tools of many requests.
#[derive(Debug, Default)]
pub struct ToolsCache(Mutex<BTreeMap<ToolsKey, Arc<Tools>>>);

impl ToolsCache {
    /// The tools of a request.
    pub fn tools(&self, request: &Request<'_>) -> Arc<Tools> {
        let target = request.target;
        let key = (
            request.catalog.hash(),
            named(request),
            request.found.hash(),
            target.dialect as u8,
            target.sampling.caching,
        );
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = kept.get(&key) {
            return Arc::clone(tools);
        }
        if kept.len() >= SETS_MAX {
            kept.clear();
        }
        let tools = Arc::new(Tools::of(request));
        kept.insert(key, Arc::clone(&tools));
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
