//! What is said on request beyond the usual lines.
//!
//! It reads the same entries as everything else. The arguments of a call stand in the decision and not in the entry
//! that begins it, so that the last decision is kept.

use std::sync::Arc;

use bonded_host::shapes::activity::Activity;
use bonded_kernel::{Call, Entry, Event, RunConfig};

/// Tools of servers are named `SERVER__tool`, and those of ours begin so.
const OWN: &str = "agent__";

/// Reads the entries of one run in order and says more of them.
#[derive(Default)]
pub(crate) struct Trace {
    /// Says when a request or a call begins.
    verbose: bool,
    /// Says what goes to and comes from tool servers, whole.
    servers: bool,
    /// From the first entry; without it no target has a name.
    config: Option<Arc<RunConfig>>,
    /// Those of the last decision.
    calls: Vec<Call>,
}

impl Trace {
    pub(crate) fn new(verbose: bool, servers: bool) -> Self {
        Self {
            verbose,
            servers,
            ..Self::default()
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.verbose || self.servers
    }

    /// The lines that come before an entry's own.
    pub(crate) fn lines(&mut self, entry: &Entry) -> Vec<String> {
        if !self.is_on() {
            return vec![];
        }
        if let Some(started) = entry.event.started() {
            self.config = Some(Arc::new(started.config.clone()));
        }
        if let Event::DecisionMade(decision) = &entry.event {
            self.calls.clone_from(&decision.calls);
        }
        if let (Activity::Asking { target, .. }, true) = (Activity::of(entry), self.verbose) {
            let config = self.config.as_ref();
            let target = config.and_then(|config| config.targets.get(target as usize));
            let line = |it: &bonded_kernel::Target| {
                format!("{:>3}  asking   {}/{}", entry.turn, it.provider, it.model)
            };
            return target.map(line).into_iter().collect();
        }
        if let Event::ToolInvoked { call, tool, .. } = &entry.event {
            return self.invoked(entry, *call, tool);
        }
        if let Event::ToolFinished(finished) = &entry.event
            && self.servers
            && is_of_server(&finished.tool)
        {
            let (tool, output) = (&finished.tool, &*finished.output);
            return vec![format!("trace: from {tool}: {output}")];
        }
        vec![]
    }

    /// A call that is out of reach of the last decision has no arguments to show.
    fn invoked(&self, entry: &Entry, call: u32, tool: &str) -> Vec<String> {
        let mut lines = vec![];
        if self.verbose {
            lines.push(format!("{:>3}  running  {tool}", entry.turn));
        }
        if let Some(call) = self.calls.get(call as usize)
            && self.servers
            && is_of_server(tool)
        {
            lines.push(format!("trace: to {tool}: {}", &*call.arguments));
        }
        lines
    }
}

/// By name alone, as the model sees it.
fn is_of_server(tool: &str) -> bool {
    tool.contains("__") && !tool.starts_with(OWN)
}
