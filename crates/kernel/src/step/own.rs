//! The calls that the kernel itself answers, in the step in which they are up.

use super::Stepper;
use crate::event::{Call, Event, Outcome};
use crate::run::ToolOutput;
use crate::tool_search;

impl Stepper<'_> {
    pub(super) fn report_progress(&mut self, at: usize, call: &Call) {
        let arguments: serde_json::Value =
            serde_json::from_str(&call.arguments).unwrap_or_default();
        let progress = arguments["progress"].as_str().unwrap_or_default();
        self.emit(Event::ProgressReported {
            call: at as u32,
            progress: progress.into(),
        });
        self.advance();
    }

    /// The members of a batch have all ended. What they said was admitted one by one.
    pub(super) fn close_batch(&mut self, at: usize, call: &Call) {
        let results = self.run.scratch.gathered.text();
        self.answered(at, call, Outcome::Ok, results);
        self.advance();
    }

    pub(super) fn turn_page(&mut self, at: usize, call: &Call) {
        let bytes_max = self.run.config().limits.tool_output_bytes_max;
        let (outcome, text) = self.run.outputs.kept.page(&call.arguments, bytes_max);
        let output = ToolOutput {
            outcome,
            text,
            ..ToolOutput::default()
        };
        self.returned(at as u32, output);
    }

    pub(super) fn find_tools(&mut self, at: usize, call: &Call) {
        let bytes_max = self.run.config().limits.tool_output_bytes_max;
        let output = ToolOutput {
            outcome: Outcome::Ok,
            text: tool_search::search(&self.run.setup.catalog, &call.arguments, bytes_max),
            ..ToolOutput::default()
        };
        self.returned(at as u32, output);
    }
}
