//! A rule in words: when it fires, if what, and what it does then.
//!
//! It is there to be read beside the rule, by who wrote it: a rule that says something else than was meant is found out
//! before it fires.

use super::rule::RuleDraft;
use super::surroundings::Surroundings;
use super::trigger::Trigger;

impl RuleDraft {
    /// The rule as one sentence. A part that cannot be read on this host is named as such.
    pub fn sentence(&self, host: &dyn Surroundings) -> String {
        let condition = match self.condition() {
            Ok(condition) => condition.words(),
            Err(_) => Some("its condition, which cannot be read, holds".into()),
        };
        let does = match self.action(host) {
            Ok(action) => action.words(),
            Err(_) => "do what this server does not allow".into(),
        };
        let when = self.when();
        let off = if self.enabled {
            ""
        } else {
            " (The rule is disabled.)"
        };
        match condition {
            Some(condition) => format!("{when} and {condition}, {does}.{off}"),
            None => format!("{when}, {does}.{off}"),
        }
    }

    fn when(&self) -> String {
        match (self.trigger, &self.schedule) {
            (Trigger::NoteChanged, _) => "When a note is created or changed".into(),
            (Trigger::NoteCreated, _) => "When a note is created".into(),
            (Trigger::NoteDeleted, _) => "When a note is deleted".into(),
            (Trigger::Webhook, _) => "When another server sends a signed message".into(),
            (Trigger::Manual, _) => "When a person launches the rule".into(),
            (Trigger::Cron, Some(schedule)) => {
                format!(
                    "When the schedule {:?} ({}) is due",
                    schedule.cron, schedule.timezone
                )
            }
            (Trigger::Cron, None) => "When its schedule is due".into(),
        }
    }
}
