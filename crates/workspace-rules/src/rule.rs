//! Rules: when something happens in a workspace, and a condition holds, do something.
//!
//! A rule is checked as a whole when it is saved, against the host that it is for. What depends on the host (the
//! action) is kept as it was written and read again when the rule fires: a rule that was fine may meet a host that does
//! not permit it any more, and fails with a sentence then.

use bonded_kernel::{Millis, Mistake, RuleId, WorkspaceId, short};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::action::{self, Action, NeedsNote};
use super::condition::{self, Condition};
use super::fault::{Fault, FaultKind, RuleFields};
use super::rule_form::FORM;
use super::schedule::{self, Schedule};
use super::surroundings::Surroundings;
use super::trigger::{TRIGGERS, Trigger};

/// How many runs may follow from one another, each set off by what the one before wrote.
pub const CHAIN_DEPTH: u32 = 3;

/// A rule as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Drawn by whoever made it.
    pub rule_id: RuleId,
    /// What its author wrote, beside the fields below in JSON.
    #[serde(flatten)]
    pub draft: RuleDraft,
    /// 1 for a new rule, one more with each change.
    pub version: u64,
    /// When it was made.
    pub created_at: Millis,
    /// When it was changed last.
    pub updated_at: Millis,
}

/// The part of a rule that a person writes, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleDraft {
    /// Where its events come from and where its runs write; it never changes.
    pub workspace_id: WorkspaceId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What makes it fire.
    pub trigger: Trigger,
    /// As it was written; [`Self::condition`] reads it.
    pub condition_json: Value,
    /// As it was written, so that what it leaves open follows the host's defaults when it fires.
    pub action_json: Value,
    /// A rule that is switched off fires for nothing, and its queued runs end.
    pub enabled: bool,
    /// There exactly where the trigger is `automation_schedule.cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// How long a chain of runs may be in which this rule still fires.
    #[serde(default = "default_chain_depth")]
    pub max_chain_depth: u32,
}

/// For rules that were kept without it.
fn default_chain_depth() -> u32 {
    CHAIN_DEPTH
}

impl RuleDraft {
    /// Checks a rule that somebody wrote. Either all is well, or everything that is not comes back.
    pub fn check(written: &Value, host: &dyn Surroundings) -> Result<Self, Vec<Fault>> {
        let mut faults = vec![];
        let draft = RuleFields::of(written, "", &mut faults).and_then(|it| read(it, host));
        match draft {
            Some(draft) if faults.is_empty() => Ok(draft),
            _ => Err(faults),
        }
    }

    /// Reads the condition.
    pub fn condition(&self) -> Result<Condition, Vec<Fault>> {
        Condition::read(&self.condition_json)
    }

    /// Reads the action, with what the host has for what it leaves open.
    pub fn action(&self, host: &dyn Surroundings) -> Result<Action, Vec<Fault>> {
        Action::read(&self.action_json, &self.workspace_id, host)
    }

    /// Whether the rule has a secret: what it takes in, or what it sends, is signed with it.
    pub fn is_signed(&self, host: &dyn Surroundings) -> bool {
        self.trigger == Trigger::Webhook || self.action(host).is_ok_and(|it| it.is_signed())
    }

    /// Whether a person may ask this of a run in place of what the rule asks: it is held to the same bounds.
    pub fn check_request(&self, request: &str) -> Result<(), String> {
        action::check_request(&self.action_json, request)
    }

    /// The rule with some of its fields written anew; null takes one away. The workspace stays.
    /// The result is checked as if it were written anew, but for one thing: switching off is always possible.
    pub fn patched(&self, written: &Value, host: &dyn Surroundings) -> Result<Self, Vec<Fault>> {
        let Value::Object(changes) = written else {
            let kind = Mistake::wrong_type("an object", written);
            return Err(vec![Fault::new("", kind)]);
        };
        // What cannot be done here any more can still be switched off.
        if *written == json!({ "enabled": false }) {
            return Ok(Self {
                enabled: false,
                ..self.clone()
            });
        }
        let mut whole = serde_json::to_value(self).unwrap_or_else(|_| json!({}));
        if let Value::Object(fields) = &mut whole {
            let changes = changes.iter();
            fields.extend(changes.map(|(field, value)| (field.clone(), value.clone())));
        }
        let draft = Self::check(&whole, host)?;
        match draft.workspace_id == self.workspace_id {
            true => Ok(draft),
            false => {
                let expected = self.workspace_id.to_string();
                let kind = FaultKind::OtherWorkspace { expected };
                Err(vec![Fault::new("/workspace_id", kind)])
            }
        }
    }

    /// The rule as it begins.
    pub fn into_rule(self, rule_id: RuleId, now: Millis) -> Rule {
        Rule {
            rule_id,
            draft: self,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Reads every field before it gives up on any, so that no fault hides another.
fn read(mut fields: RuleFields<'_, '_>, host: &dyn Surroundings) -> Option<RuleDraft> {
    fields.hold_to(FORM);
    let workspace_id = read_workspace(&mut fields);
    let name = fields.text_row("name").map(str::trim);
    if name.is_some_and(|name| name.contains(char::is_control)) {
        fields.fault("name", Mistake::Control);
    }
    let trigger = fields.word("trigger", &TRIGGERS);
    let always = json!({});
    let condition = fields.given("condition_json").unwrap_or(&always);
    condition::read(condition, "/condition_json", fields.faults());
    let action = fields.given("action_json");
    if let Some(action) = action {
        let workspace = workspace_id.or_else(|| claimed_workspace(action));
        // Without a workspace the rest of the action can still be looked at.
        let workspace = workspace.unwrap_or(WorkspaceId::from_bytes([0; 16]));
        let read = action::read(action, "/action_json", &workspace, host, fields.faults());
        check_note(&mut fields, read.as_ref(), trigger);
    }
    let schedule = read_schedule(&mut fields, trigger, host);
    let depth = fields.whole_row("max_chain_depth");
    let enabled = fields.flag("enabled").unwrap_or(true);
    Some(RuleDraft {
        workspace_id: workspace_id?,
        name: name.map(str::to_owned),
        trigger: trigger?,
        condition_json: condition.clone(),
        action_json: action?.clone(),
        enabled,
        schedule,
        max_chain_depth: depth.map_or(CHAIN_DEPTH, |it| it as u32),
    })
}

/// An action that changes the note of the event needs a trigger that has one.
fn check_note(fields: &mut RuleFields<'_, '_>, action: Option<&Action>, trigger: Option<Trigger>) {
    let (Some(action), Some(trigger)) = (action, trigger) else {
        return;
    };
    if let (NeedsNote::ToChange, Err(why)) = (action.needs_note(), trigger.has_note()) {
        let kind = FaultKind::NoNote {
            kind: action.kind(),
            trigger: trigger.as_str(),
            why,
        };
        let at = "/action_json/kind";
        fields.faults().push(Fault::new(at, kind));
    }
}

/// The workspace that an action itself speaks of.
/// Used only to look at the rest of the action where the rule itself names no workspace.
fn claimed_workspace(action: &Value) -> Option<WorkspaceId> {
    let claimed = action.pointer("/scope/workspace_id")?.as_str()?;
    claimed.parse().ok()
}

/// The text must be an id; whether the workspace exists is asked when the rule is saved.
fn read_workspace(fields: &mut RuleFields<'_, '_>) -> Option<WorkspaceId> {
    let written = fields.text("workspace_id", 64)?;
    let parsed = written.parse();
    if parsed.is_err() {
        let found = short(written);
        fields.fault("workspace_id", FaultKind::NotAnId { found });
    }
    parsed.ok()
}

/// A schedule and the trigger must fit: one without the other is a fault on either side.
fn read_schedule(
    fields: &mut RuleFields<'_, '_>,
    trigger: Option<Trigger>,
    host: &dyn Surroundings,
) -> Option<Schedule> {
    let is_given = fields.given("schedule").is_some();
    match (trigger, is_given) {
        (Some(Trigger::Cron), false) => {
            fields.fault("schedule", FaultKind::NoSchedule);
            None
        }
        (
            Some(
                trigger @ (Trigger::NoteChanged
                | Trigger::NoteCreated
                | Trigger::NoteDeleted
                | Trigger::Webhook
                | Trigger::Manual),
            ),
            true,
        ) => {
            let trigger = trigger.as_str();
            fields.fault("schedule", FaultKind::NeedlessSchedule { trigger });
            None
        }
        (Some(_), false) | (Some(Trigger::Cron), true) | (None, _) => {
            schedule::read(fields.object_row("schedule")?, host)
        }
    }
}
