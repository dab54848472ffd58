//! The registry: the only way to a tool.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{
    BadCatalog, Catalog, Invocation, Mask, Outcome, ReportSpec, ToolOutput, ToolSpec,
};
// Its time stands still where a simulation has stopped it, so that logs can be compared.
use tokio::time::Instant;

use crate::fault::{self, ToolFault};
use crate::tool::{Tool, ToolValue};

/// The tools of a run. Frozen when it is made.
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    catalog: Catalog,
    /// Tools that have become others since the run began, each with why it is not called.
    changed: BTreeMap<String, ToolFault>,
}

impl Registry {
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, BadCatalog> {
        let catalog = Catalog::new(tools.iter().map(|tool| tool.spec().clone()))?;
        Ok(Self::of(catalog, tools))
    }

    /// The tools of an agent that ends with a report.
    pub fn reporting(tools: Vec<Arc<dyn Tool>>, report: &ReportSpec) -> Result<Self, BadCatalog> {
        let specs = tools.iter().map(|tool| tool.spec().clone());
        Ok(Self::of(Catalog::reporting(specs, report)?, tools))
    }

    fn of(catalog: Catalog, tools: Vec<Arc<dyn Tool>>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.spec().name.clone(), tool))
            .collect();
        Self {
            tools,
            catalog,
            changed: BTreeMap::new(),
        }
    }

    /// The same tools for a run that began with another catalogue, the one in its log. A tool that has
    /// become another one since fails when it is called.
    #[must_use]
    pub fn pinned_to(self: Arc<Self>, pinned: &Catalog) -> Arc<Self> {
        let change_of = |spec: &ToolSpec| {
            let change = self.tools.get(&spec.name)?.change_since(spec)?;
            Some((spec.name.clone(), change))
        };
        let changed: BTreeMap<_, _> = pinned.specs().filter_map(change_of).collect();
        if changed.is_empty() {
            return self;
        }
        Arc::new(Self {
            tools: self.tools.clone(),
            catalog: self.catalog.clone(),
            changed,
        })
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Runs a checked call under its queue, its timeout and its byte cap. The time in the queue counts
    /// neither as the call's time nor against its timeout. Secrets are masked before anything is cut.
    ///
    /// A panic of the tool unwinds to the caller. Dropping the future stops the call; a command's whole
    /// process group is killed.
    pub async fn invoke(&self, call: &Invocation, mask: &Mask) -> ToolOutput {
        let tool = self.tools.get(call.tool());
        let _place = match tool.and_then(|tool| tool.queue()) {
            Some(queue) => Some(queue.enter_for(call.tool()).await),
            None => None,
        };
        let started = Instant::now();
        let (outcome, text) = match self.execute(call).await {
            Ok(value) => (Outcome::Ok, value.to_string()),
            Err(fault) if fault.code == fault::TIMEOUT => {
                (Outcome::TimedOut, "(tool failed: timeout)".into())
            }
            Err(fault) => (Outcome::Failed, format!("(tool failed: {fault})")),
        };
        let text = mask.owned(text);
        let is_cut = text.len() as u64 > call.output_bytes_max();
        let original = (is_cut && call.keeps_original()).then(|| text.clone());
        let (text, cut_from_bytes) = cut(text, call.output_bytes_max());
        ToolOutput {
            outcome,
            text,
            cut_from_bytes,
            original,
            latency_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            tokens: None,
            spent: None,
        }
    }

    async fn execute(&self, call: &Invocation) -> Result<ToolValue, ToolFault> {
        let tool = self.tools.get(call.tool()).ok_or_else(|| {
            ToolFault::new(
                fault::UNKNOWN_TOOL,
                format!("there is no tool {:?}", call.tool()),
            )
        })?;
        if let Some(fault) = self.changed.get(call.tool()) {
            return Err(fault.clone());
        }
        let arguments = serde_json::from_str(call.arguments())
            .map_err(|error| ToolFault::new(fault::BAD_ARGUMENTS, error.to_string()))?;
        let timeout = Duration::from_millis(call.timeout_ms());
        tokio::time::timeout(timeout, tool.call(arguments, call))
            .await
            .unwrap_or_else(|_| Err(ToolFault::timeout()))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

/// Shortens a text to `bytes_max`, with a notice at its beginning that counts inside the limit. The
/// second value is the original size, where something was cut.
fn cut(text: String, bytes_max: u64) -> (String, Option<u64>) {
    let size = text.len();
    let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    if size <= max {
        return (text, None);
    }
    let mut shown =
        format!("[TRUNCATED] Original size {size} bytes; truncated to {max} bytes.\n\n");
    let room = max.saturating_sub(shown.len());
    shown.push_str(&text[..text.floor_char_boundary(room)]);
    // Only a limit shorter than the notice itself makes this cut anything.
    shown.truncate(max);
    (shown, Some(size as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_within_the_limit_is_left_alone() {
        for text in ["", "x", "0123456789"] {
            assert_eq!(cut(text.into(), 10), (text.into(), None));
        }
    }

    #[test]
    fn a_cut_text_fits_begins_with_the_notice_and_ends_at_a_character() {
        let text = "ä".repeat(500);
        for max in 64..200u64 {
            let (shown, from) = cut(text.clone(), max);
            let notice =
                format!("[TRUNCATED] Original size 1000 bytes; truncated to {max} bytes.\n\n");
            assert_eq!(from, Some(1000));
            assert!(
                shown.len() as u64 <= max && shown.len() as u64 + 1 >= max,
                "{max}"
            );
            let rest = shown.strip_prefix(&notice).expect("the notice comes first");
            assert!(rest.chars().all(|c| c == 'ä'));
        }
    }

    #[test]
    fn a_limit_below_the_notice_cuts_the_notice() {
        for max in [0, 1, 11, 40] {
            let (shown, from) = cut("y".repeat(300), max);
            assert_eq!(shown.len() as u64, max);
            assert!("[TRUNCATED] Original size 300 bytes; truncated to".starts_with(&shown));
            assert_eq!(from, Some(300));
        }
    }
}
