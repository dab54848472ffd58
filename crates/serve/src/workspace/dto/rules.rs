//! Rules as they are read and written.
//!
//! What somebody writes is handed to the rules as it is: they read it, with all mistakes at once. The types beside it
//! are there for the document alone, and a test holds their fields to those that the rules know.

use bonded_kernel::{EventId, RuleId, WorkspaceId};
use bonded_workspace_rules::{AutomationRun, Rule};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scalars::{Id, Timestamp};
use super::words::{CatchUp, Overlap, RunStatus, Trigger};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Rule"))]
pub(crate) struct RuleAnswer {
    rule_id: Id<RuleId>,
    workspace_id: Id<WorkspaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String", length(min = 1, max = 200)))]
    name: Option<String>,
    trigger: Trigger,
    #[cfg_attr(test, schemars(extend("type" = "object")))]
    condition_json: Value,
    #[cfg_attr(test, schemars(extend("type" = "object")))]
    action_json: Value,
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "RuleSchedule"))]
    schedule: Option<RuleSchedule>,
    max_chain_depth: u32,
    #[cfg_attr(test, schemars(range(min = 1)))]
    version: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&Rule> for RuleAnswer {
    fn from(rule: &Rule) -> Self {
        let draft = &rule.draft;
        Self {
            rule_id: Id(rule.rule_id),
            workspace_id: Id(draft.workspace_id),
            name: draft.name.clone(),
            trigger: draft.trigger.into(),
            condition_json: draft.condition_json.clone(),
            action_json: draft.action_json.clone(),
            enabled: draft.enabled,
            schedule: draft.schedule.as_ref().map(RuleSchedule::from),
            max_chain_depth: draft.max_chain_depth,
            version: rule.version,
            created_at: rule.created_at.into(),
            updated_at: rule.updated_at.into(),
        }
    }
}

/// When a rule fires, with everything that was left open.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RuleSchedule {
    cron: String,
    timezone: String,
    catch_up: CatchUp,
    overlap: Overlap,
}

impl From<&bonded_workspace_rules::Schedule> for RuleSchedule {
    fn from(schedule: &bonded_workspace_rules::Schedule) -> Self {
        Self {
            cron: schedule.cron.clone(),
            timezone: schedule.timezone.clone(),
            catch_up: schedule.catch_up.into(),
            overlap: schedule.overlap.into(),
        }
    }
}

/// A rule with what the server knows of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RuleWhole {
    #[serde(flatten)]
    pub(crate) rule: RuleAnswer,
    /// The rule in words.
    pub(crate) sentence: String,
    /// When its schedule is due next; null for other rules, and for one that is disabled.
    pub(crate) next_firing_at: Option<Timestamp>,
    /// The run that was queued last.
    pub(crate) last_run: Option<LastRun>,
    /// Only of rules that take in or send what is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(crate) has_secret: Option<bool>,
    /// What such a rule signs with, in the answer to the request that made it, and in no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) secret: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LastRun {
    run_id: String,
    status: RunStatus,
    queued_at: Timestamp,
    error_code: Option<String>,
}

impl From<&AutomationRun> for LastRun {
    fn from(run: &AutomationRun) -> Self {
        Self {
            run_id: run.run_id.to_string(),
            status: run.status.into(),
            queued_at: run.queued_at.into(),
            error_code: run.error_code.clone(),
        }
    }
}

/// A secret, which is shown this once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MadeSecret {
    pub(crate) rule_id: Id<RuleId>,
    pub(crate) secret: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Rules {
    pub(crate) rules: Vec<RuleWhole>,
}

/// A rule as somebody wrote it. The rules themselves read it, so that all mistakes are told at once, with their places.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct NewRule(pub(crate) Value);

/// Fields of a rule as somebody wrote them anew; they are read as those of a new rule are.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RuleEdit(pub(crate) Value);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Launch {
    /// What the run is asked in place of what the rule asks; for admins, and for actions that ask an agent.
    #[cfg_attr(test, schemars(length(min = 1, max = 65_536)))]
    pub(crate) request: Option<String>,
    pub(crate) triggering_event_id: Option<Id<EventId>>,
}

/// What the rules read, said as types: their fields are held to those that the rules know.
#[cfg(test)]
mod schemas {
    use std::borrow::Cow;
    use std::collections::BTreeSet;

    use bonded_workspace_rules::{CHAIN_DEPTH, RuleDraft};
    use schemars::{JsonSchema, SchemaGenerator};
    use serde_json::json;

    use super::*;

    fn is_true() -> bool {
        true
    }

    fn chain_depth() -> u32 {
        CHAIN_DEPTH
    }

    fn utc() -> String {
        "UTC".to_owned()
    }

    fn once() -> CatchUp {
        CatchUp::Once
    }

    fn skip() -> Overlap {
        Overlap::Skip
    }

    /// docs/rules.md describes conditions and actions.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the fields are there for their schemas")]
    struct NewRuleFields {
        workspace_id: Id<WorkspaceId>,
        #[schemars(length(min = 1, max = 200))]
        name: Option<String>,
        trigger: Trigger,
        #[serde(default)]
        #[schemars(extend("type" = "object", "default" = {}))]
        condition_json: Value,
        #[schemars(extend("type" = "object"))]
        action_json: Value,
        #[serde(default = "is_true")]
        enabled: bool,
        #[serde(default)]
        #[schemars(with = "Schedule")]
        schedule: Option<Schedule>,
        #[serde(default = "chain_depth")]
        #[schemars(range(min = 0, max = 16))]
        max_chain_depth: u32,
    }

    /// Fields of the rule that are written anew; null takes one away.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the fields are there for their schemas")]
    struct RuleEditFields {
        #[serde(skip_serializing_if = "Option::is_none", default)]
        #[schemars(with = "Id<WorkspaceId>")]
        workspace_id: Option<Id<WorkspaceId>>,
        #[schemars(length(min = 1, max = 200))]
        name: Option<String>,
        #[schemars(with = "Option<Trigger>", extend("type" = "string", "enum" = [
            Trigger::NoteChanged, Trigger::NoteCreated, Trigger::NoteDeleted, Trigger::Cron, Trigger::Webhook,
            Trigger::Manual
        ]))]
        trigger: Option<Trigger>,
        #[schemars(extend("type" = ["object", "null"]))]
        condition_json: Option<Value>,
        #[schemars(extend("type" = "object"))]
        action_json: Option<Value>,
        enabled: Option<bool>,
        schedule: Option<Schedule>,
        #[schemars(range(min = 0, max = 16))]
        max_chain_depth: Option<u32>,
        /// The version that the change was made for.
        #[schemars(extend("type" = "integer"))]
        base_version: Option<u64>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the fields are there for their schemas")]
    struct Schedule {
        /// Five fields: minute, hour, day of the month, month, day of the week.
        cron: String,
        /// A name of the IANA time zone database.
        #[serde(default = "utc")]
        timezone: String,
        #[serde(default = "once")]
        catch_up: CatchUp,
        #[serde(default = "skip")]
        overlap: Overlap,
    }

    impl JsonSchema for NewRule {
        fn schema_name() -> Cow<'static, str> {
            "NewRule".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
            NewRuleFields::json_schema(generator)
        }
    }

    impl JsonSchema for RuleEdit {
        fn schema_name() -> Cow<'static, str> {
            "RuleEdit".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
            RuleEditFields::json_schema(generator)
        }
    }

    fn fields_of<T: JsonSchema>() -> BTreeSet<String> {
        let schema = T::json_schema(&mut SchemaGenerator::default());
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.expect("the schema has properties");
        properties.keys().cloned().collect()
    }

    #[test]
    fn the_fields_of_a_rule_are_those_that_the_rules_read() {
        let schedule = json!({ "cron": "0 9 * * *" });
        let draft = json!({
            "workspace_id": "00000000-0000-4000-8000-000000000000", "name": "n",
            "trigger": "automation_schedule.cron", "condition_json": {}, "action_json": {},
            "enabled": true, "schedule": schedule,
        });
        let draft: RuleDraft = serde_json::from_value(draft).expect("the draft is one");
        let draft = serde_json::to_value(&draft).expect("all keys are strings");
        let names = |value: &Value| -> BTreeSet<String> {
            let fields = value.as_object().expect("it is an object");
            fields.keys().cloned().collect()
        };
        let mut fields = names(&draft);
        assert_eq!(fields_of::<NewRule>(), fields);
        assert_eq!(fields_of::<Schedule>(), names(&draft["schedule"]));
        fields.insert("base_version".to_owned());
        assert_eq!(fields_of::<RuleEdit>(), fields);
    }
}
