//! Runs that change nothing: what they may call, and what their commands may do.
//!
//! Two walls keep such a run from changing something: what could is not in its catalogue, and a call of it is refused all the
//! same. What its commands are held by is the sandbox.

use super::RunConfig;
use crate::tool::ToolSpec;

impl RunConfig {
    /// Whether the run changes nothing, whatever its model says.
    pub fn reads_only(&self) -> bool {
        self.policy.as_ref().is_some_and(|it| it.reads_only())
    }

    /// Whether the run may have a tool that the kernel does not answer itself. A run that reads only has those that change
    /// nothing, and other agents: what holds for the caller holds for the runs that it calls.
    pub fn admits(&self, spec: &ToolSpec) -> bool {
        !self.reads_only() || spec.effect.is_read() || self.has_agent(&spec.name)
    }

    /// Takes from the commands of a run that reads only whatever they could change something with. Called when the policy of
    /// the run is settled.
    pub fn confine_to_policy(&mut self) {
        if self.reads_only() {
            let demanded = self.sandbox.take().map(|it| *it).unwrap_or_default();
            self.sandbox = Some(Box::new(demanded.leaving_nothing()));
        }
    }

    fn has_agent(&self, tool: &str) -> bool {
        let mut agents = self.agent.iter().flat_map(|agent| &agent.agents);
        agents.any(|agent| agent.tool == tool)
    }
}
