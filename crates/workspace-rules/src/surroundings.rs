//! What the check of a rule asks its host.
//!
//! The crate itself reads no file, knows no calendar and opens no connection: whatever a check needs to know of the
//! machine comes through this trait. Each answer is a sentence for the author of the rule, who may know nothing of the
//! machine.

use bonded_kernel::WorkspaceId;

use super::loop_settings::LoopDefaults;

/// What the check of a rule asks its host.
pub trait Surroundings {
    /// Whether a cron line ever fires in this time zone.
    fn check_cron(&self, line: &str, timezone: &str) -> Result<(), BadSchedule>;
    /// Whether rules of this workspace may use this file or directory, and if not, why.
    fn check_place(&self, workspace: &WorkspaceId, path: &str) -> Result<(), String>;
    /// Whether rules may take this file for their prompt, and if not, why.
    fn check_prompt(&self, path: &str) -> Result<(), String>;
    /// Whether rules may ask a provider of this kind at this place, and if not, why.
    fn check_provider(&self, kind: &str, base_url: Option<&str>) -> Result<(), String>;
    /// Whether rules may send to this address, and if not, why.
    fn check_webhook(&self, url: &str) -> Result<(), String>;
    /// The kinds of providers that there are.
    fn provider_kinds(&self) -> &[&str];
    /// Whether a provider of this kind is a file, not a server.
    fn is_file_provider(&self, kind: &str) -> bool;
    /// What holds where an action that works in loops says nothing.
    fn loop_defaults(&self) -> &LoopDefaults;
}

/// What a host says against a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchedule {
    /// `cron` or `timezone`.
    pub field: &'static str,
    /// A sentence for whoever wrote the schedule.
    pub why: String,
}
