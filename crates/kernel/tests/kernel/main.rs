//! The kernel's contract, one file per idea, driven through the public API only.

mod agent_calls;
mod agent_common;
mod agent_report;
mod agent_rescue;
mod agent_tags;
mod agent_turns;
mod budget;
mod common;
mod decode;
mod fork;
mod format;
mod guard;
mod guard_property;
mod limits;
mod purity;
mod repair;
mod replay;
mod report;
mod resume;
mod retry;
mod script;
mod termination;
mod xml;
mod xml_next;
