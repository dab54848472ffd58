//! The tools that the kernel itself answers, besides the one that ends a run. Each is offered only where the
//! run's settings say so: a log that was written before they were there has none of them.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tool::{PROGRESS_REPORT, ToolEffect, ToolSpec, is_terminal};

/// Several calls in one.
pub const BATCH: &str = "agent__batch";

/// Reads on in an output that was cut.
pub const TOOL_OUTPUT: &str = "tool_output";

/// Finds tools that are not sent with each request.
pub const FIND_TOOLS: &str = "agent__find_tools";

/// What is kept of an output that was cut, unless a setting says otherwise.
pub const OUTPUT_KEPT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Which of the kernel's own tools a run offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OwnTools {
    /// [`BATCH`]: several calls in one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
    /// [`PROGRESS_REPORT`]: a sentence on what the model does, which executes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// How much of an output that was cut is kept, so that the model can read on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_kept_bytes_max: Option<u64>,
    /// [`FIND_TOOLS`]: some tools are not sent with each request, and found by a search. Follows from the catalogue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search: bool,
}

/// One of the kernel's own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTool {
    Batch,
    Progress,
    Output,
    Search,
}

impl OwnTool {
    /// Whether a call of the tool is something done, and not only said or held together.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Output | Self::Search)
    }
}

impl OwnTools {
    /// Whether a call of this tool is something done: what ends a run, tells of it or holds calls together is not.
    pub fn acts(&self, tool: &str) -> bool {
        !is_terminal(tool) && self.of(tool).is_none_or(OwnTool::acts)
    }

    /// The tool of this name, where the run offers it.
    pub(crate) fn of(&self, tool: &str) -> Option<OwnTool> {
        match tool {
            BATCH if self.batch => Some(OwnTool::Batch),
            PROGRESS_REPORT if self.progress => Some(OwnTool::Progress),
            TOOL_OUTPUT if self.output_kept_bytes_max.is_some() => Some(OwnTool::Output),
            FIND_TOOLS if self.search => Some(OwnTool::Search),
            _ => None,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What is offered of them, but for the search: that is told with what it finds.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let all = [batch_spec(), progress_spec(), output_spec()];
        let offered = all.into_iter().filter(|spec| self.of(&spec.name).is_some());
        offered.collect()
    }
}

fn batch_spec() -> ToolSpec {
    let call = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "minLength": 1, "description": "Names the call in the results." },
            "tool": { "type": "string", "minLength": 1 },
            "parameters": { "type": "object", "description": "The arguments of the tool." }
        },
        "required": ["id", "tool", "parameters"]
    });
    ToolSpec::closed(
        BATCH,
        ToolEffect::Read,
        "Calls several tools in one call, in the order given. The result has one entry for each call. Each \
         counts as a call of this turn. A batch holds neither another batch nor the final report.",
        &json!({ "calls": { "type": "array", "minItems": 1, "items": call } }),
        &["calls"],
    )
}

fn progress_spec() -> ToolSpec {
    ToolSpec::closed(
        PROGRESS_REPORT,
        ToolEffect::Read,
        "Tells the person in one short sentence what you do now. Call it beside other tools, never alone.",
        &json!({ "progress": { "type": "string", "minLength": 1 } }),
        &["progress"],
    )
}

fn output_spec() -> ToolSpec {
    ToolSpec::closed(
        TOOL_OUTPUT,
        ToolEffect::Read,
        "Reads on in an output that was cut or taken out: its notice names the handle and the offset.",
        &json!({
            "handle": { "type": "string", "minLength": 1 },
            "offset": { "type": "integer", "minimum": 0, "description": "In bytes." },
            "bytes": { "type": "integer", "minimum": 1, "description": "At most so many." }
        }),
        &["handle", "offset"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_the_kernels_own_only_where_the_run_offers_it() {
        let none = OwnTools::default();
        let all = OwnTools {
            batch: true,
            progress: true,
            output_kept_bytes_max: Some(1),
            search: true,
        };
        for name in [BATCH, PROGRESS_REPORT, TOOL_OUTPUT, FIND_TOOLS] {
            assert_eq!(none.of(name), None, "{name}");
            assert!(all.of(name).is_some(), "{name}");
        }
        assert!(none.specs().is_empty());
        assert_eq!(all.specs().len(), 3);
        assert_eq!(all.of("look"), None);
    }
}
