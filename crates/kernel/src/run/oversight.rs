//! How a run stands with its policy: what keeps a call from being executed, the verdict of a person, and the mark that
//! untrusted data leaves.

use std::sync::Arc;

use super::review::Review;
use super::setup::Setup;
use crate::config::RunConfig;
use crate::event::{Call, SkipReason, ToolFinished};
use crate::own_tools::OwnTool;
use crate::policy::{Permission, Policy};
use crate::text::Text;

/// What marks a run that is called by a marked one.
const BY_CALLER: &str = "the calling run";

/// Why a call is not simply executed when its turn comes.
pub(crate) enum Hold {
    /// A person must be asked, for this reason.
    Ask(String),
    Skip(SkipReason),
}

/// How a run stands with its policy.
#[derive(Clone, Debug)]
pub(crate) struct Oversight {
    /// How the call that is up next stands.
    pub(crate) review: Review,
    /// What brought untrusted data into the run, if something did.
    pub(super) marked_by: Option<Arc<str>>,
}

impl Oversight {
    pub(super) fn begin(config: &RunConfig) -> Self {
        let begins_marked = config.policy.as_ref().is_some_and(|it| it.begins_marked);
        Self {
            review: Review::None,
            marked_by: begins_marked.then(|| BY_CALLER.into()),
        }
    }

    /// What keeps a call from being executed, as the run stands now.
    pub(super) fn hold(&self, setup: &Setup, tool: &str) -> Option<Hold> {
        let policy = setup.config().policy.as_ref()?;
        let (by_rule, rule) = policy.permission(tool);
        let after_mark = match setup.changes_something(tool) {
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
            Permission::Ask => Some(Hold::Ask(self.why_marked(setup, tool))),
        }
    }

    fn after_mark(&self, policy: &Policy) -> Permission {
        match &self.marked_by {
            Some(_) => policy.after_untrusted(),
            None => Permission::Allow,
        }
    }

    fn why_marked(&self, setup: &Setup, tool: &str) -> String {
        let by = self.marked_by.as_deref().unwrap_or_default();
        format!(
            "{tool} changes something ({}), and {by} brought untrusted data into the run before",
            setup.effect_of(tool).as_str()
        )
    }

    /// The first output that nobody vouches for marks the run, for good.
    pub(super) fn mark(&mut self, setup: &Setup, finished: &ToolFinished) {
        let is_own = setup.own_tool(&finished.tool).is_some();
        let policy = setup.config().policy.as_ref().filter(|_| !is_own);
        let is_untrusted = policy.is_some_and(|it| it.is_untrusted(&finished.tool));
        if self.marked_by.is_none() && (is_untrusted || finished.marked) {
            self.marked_by = Some(finished.tool.clone());
        }
    }

    /// The output of a call, in a block where nobody vouches for it. The results of a batch hold the blocks
    /// of its members; a page of an output may be of any that was read.
    pub(super) fn enclosed(&self, setup: &Setup, call: &Call, output: &Text, marked: bool) -> Text {
        let Some(policy) = &setup.config().policy else {
            return output.clone();
        };
        let is_untrusted = match setup.own_tool(&call.tool) {
            None => marked || policy.is_untrusted(&call.tool),
            Some(OwnTool::Output) => self.marked_by.is_some(),
            Some(OwnTool::Batch | OwnTool::Progress | OwnTool::Search) => false,
        };
        match is_untrusted {
            true => policy.enclose(&call.tool, output).into(),
            false => output.clone(),
        }
    }
}
