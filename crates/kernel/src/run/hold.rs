//! What keeps a call from being executed: the policy, and the mark that untrusted data leaves.

use std::sync::Arc;

use super::Run;
use crate::event::SkipReason;
use crate::policy::{Permission, Policy};
use crate::tool::{ToolEffect, is_terminal};

/// What marks a run that is called by a marked one.
pub(super) const BY_CALLER: &str = "the calling run";

/// Why a call is not simply executed when its turn comes.
pub(crate) enum Hold {
    /// A person must be asked, for this reason.
    Ask(String),
    Skip(SkipReason),
}

impl Run {
    /// The tool whose output marked the run as holding untrusted data, or what else did.
    pub fn marked_by(&self) -> Option<&Arc<str>> {
        self.marked_by.as_ref()
    }

    /// What keeps a call from being executed, as the run stands now.
    pub(crate) fn hold(&self, tool: &str) -> Option<Hold> {
        let policy = self.config().policy.as_ref()?;
        let (by_rule, rule) = policy.permission(tool);
        let after_mark = match self.changes_something(tool) {
            true => self.after_mark(policy),
            false => Permission::Allow,
        };
        match by_rule.max(after_mark) {
            Permission::Allow => None,
            // A rule that denies was applied when the reply was checked.
            Permission::Deny => Some(Hold::Skip(SkipReason::Untrusted)),
            Permission::Ask if by_rule == Permission::Ask => {
                let pattern = rule.map_or("*", |rule| rule.tools.as_str());
                Some(Hold::Ask(format!("the policy asks for {pattern}")))
            }
            Permission::Ask => Some(Hold::Ask(self.why_marked(tool))),
        }
    }

    fn after_mark(&self, policy: &Policy) -> Permission {
        match &self.marked_by {
            Some(_) => policy.after_untrusted(),
            None => Permission::Allow,
        }
    }

    fn why_marked(&self, tool: &str) -> String {
        let by = self.marked_by.as_deref().unwrap_or_default();
        let effect = self
            .catalog
            .spec(tool)
            .map_or(ToolEffect::Write, |spec| spec.effect);
        format!(
            "{tool} changes something ({}), and {by} brought untrusted data into the run before",
            effect.as_str()
        )
    }

    /// Whether a call can change something by itself. An agent that is called is asked about its own
    /// calls: it begins as marked as its caller is.
    fn changes_something(&self, tool: &str) -> bool {
        let spec = self.catalog.spec(tool);
        let reads = spec.is_some_and(|spec| spec.effect == ToolEffect::Read);
        !is_terminal(tool) && !reads && self.sub_agent(tool).is_none()
    }
}
