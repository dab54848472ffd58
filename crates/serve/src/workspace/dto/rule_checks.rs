//! What a rule would be and do: checks, the next times, and dry runs.

use bonded_kernel::{EventId, NoteId, RuleId};
use bonded_workspace::FiringTime;
use bonded_workspace_rules::{Fault, PartKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scalars::{Id, Timestamp};

/// What is wrong, with a JSON pointer to where.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RuleFault {
    at: String,
    message: String,
}

impl RuleFault {
    pub(crate) fn new(at: &str, message: String) -> Self {
        Self {
            at: at.to_owned(),
            message,
        }
    }
}

impl From<&Fault> for RuleFault {
    fn from(fault: &Fault) -> Self {
        Self::new(&fault.at, fault.kind.to_string())
    }
}

/// A rule that was looked at and not saved.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckedRule {
    pub(crate) valid: bool,
    pub(crate) faults: Vec<RuleFault>,
    /// What would be saved; null where something is wrong.
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    pub(crate) rule: Option<Value>,
    /// The rule in words.
    pub(crate) sentence: Option<String>,
    /// The next times of its schedule, where it has one.
    pub(crate) firings: Option<Vec<FiringAnswer>>,
}

impl CheckedRule {
    pub(crate) fn wrong(faults: Vec<RuleFault>) -> Self {
        Self {
            valid: false,
            faults,
            rule: None,
            sentence: None,
            firings: None,
        }
    }
}

/// A time at which a schedule is due.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Firing"))]
pub(crate) struct FiringAnswer {
    at: Timestamp,
    /// What the clocks of the time zone show then.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    local: String,
    timezone: String,
    /// How the clocks change between the time before and this one, where they do.
    clock_change: Option<String>,
}

impl FiringAnswer {
    pub(crate) fn of(time: FiringTime, timezone: &str) -> Self {
        Self {
            at: time.at.into(),
            local: time.local,
            timezone: timezone.to_owned(),
            clock_change: time.clock_change,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Firings {
    pub(crate) firings: Vec<FiringAnswer>,
}

/// A rule, and what it is tried with: an event, a note as if it had just been changed, a message, or nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DryRun {
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    pub(crate) rule: Option<Value>,
    pub(crate) rule_id: Option<Id<RuleId>>,
    pub(crate) event_id: Option<Id<EventId>>,
    pub(crate) note_id: Option<Id<NoteId>>,
    /// What another server would send.
    pub(crate) body: Option<Value>,
}

/// What would come of it; nothing was done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DryRunAnswer {
    pub(crate) fires: bool,
    pub(crate) trigger: TriggerAnswer,
    /// Every part of the condition, the whole first.
    pub(crate) conditions: Vec<JudgedPart>,
    /// What the action would do.
    pub(crate) would: String,
}

/// Whether the rule looks at this at all.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TriggerAnswer {
    pub(crate) holds: bool,
    pub(crate) why: String,
}

/// A part of a condition, with the value that it saw.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JudgedPart {
    /// A JSON pointer into condition_json.
    at: String,
    kind: PartWord,
    field: Option<String>,
    op: Option<&'static str>,
    value: Option<Value>,
    found: Option<Value>,
    /// Whether there is such a field; null where no field is compared.
    is_there: Option<bool>,
    holds: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum PartWord {
    All,
    Any,
    Not,
    Compare,
}

impl From<bonded_workspace_rules::JudgedPart> for JudgedPart {
    fn from(part: bonded_workspace_rules::JudgedPart) -> Self {
        let joint = |kind| Self {
            at: part.at.clone(),
            kind,
            field: None,
            op: None,
            value: None,
            found: None,
            is_there: None,
            holds: part.holds,
        };
        match part.kind {
            PartKind::All => joint(PartWord::All),
            PartKind::Any => joint(PartWord::Any),
            PartKind::Not => joint(PartWord::Not),
            PartKind::Compare {
                field,
                op,
                value,
                found,
            } => Self {
                at: part.at,
                kind: PartWord::Compare,
                field: Some(field),
                op: Some(op),
                value: Some(value),
                is_there: Some(found.is_some()),
                found,
                holds: part.holds,
            },
        }
    }
}
