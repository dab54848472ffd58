//! The contract of the workspace, one file per idea, driven through the public API only.

mod fuse;
mod notes;
mod notes_decide;
mod rules;
mod rules_common;
mod rules_condition;
mod rules_firing;
mod rules_prompt;
mod rules_schedule;
mod rules_scope;
