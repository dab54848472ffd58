//! Rules as people write them, and a host that answers what a check asks.

use bonded_kernel::WorkspaceId;
use bonded_workspace_rules::{BadSchedule, Fault, LoopDefaults, RuleDraft, Surroundings};
use serde_json::{Value, json};

pub(crate) const WORKSPACE: &str = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
pub(crate) const OTHER_WORKSPACE: &str = "11111111-3f5b-4c1e-9d4a-0b8f5a2c7e11";

pub(crate) fn workspace() -> WorkspaceId {
    WORKSPACE.parse().expect("it is an id")
}

/// Knows two cron lines, two providers and one directory.
#[derive(Default)]
pub(crate) struct Around {
    pub(crate) defaults: LoopDefaults,
}

impl Surroundings for Around {
    fn check_cron(&self, line: &str, timezone: &str) -> Result<(), BadSchedule> {
        let bad = |field, why: &str| {
            let why = why.to_owned();
            Err(BadSchedule { field, why })
        };
        match (line, timezone) {
            (_, zone) if !["UTC", "Europe/Berlin"].contains(&zone) => bad("timezone", "no zone"),
            ("0 0 30 2 *", _) => bad("cron", "never fires"),
            _ => Ok(()),
        }
    }

    fn check_place(&self, workspace: &WorkspaceId, path: &str) -> Result<(), String> {
        match path.starts_with("/srv/") && *workspace == self::workspace() {
            true => Ok(()),
            false => Err("not allowed".into()),
        }
    }

    fn check_prompt(&self, path: &str) -> Result<(), String> {
        match path.starts_with("prompts/") {
            true => Ok(()),
            false => Err("no prompt".into()),
        }
    }

    fn check_provider(&self, kind: &str, base_url: Option<&str>) -> Result<(), String> {
        match (kind, base_url) {
            ("lmstudio", Some("http://10.0.0.1/v1")) | ("openrouter", None) => Ok(()),
            _ => Err("not listed".into()),
        }
    }

    fn check_webhook(&self, url: &str) -> Result<(), String> {
        match url.starts_with("https://hooks.example/") {
            true => Ok(()),
            false => Err("not listed".into()),
        }
    }

    fn provider_kinds(&self) -> &[&str] {
        &["lmstudio", "openrouter", "script"]
    }

    fn is_file_provider(&self, kind: &str) -> bool {
        kind == "script"
    }

    fn loop_defaults(&self) -> &LoopDefaults {
        &self.defaults
    }
}

pub(crate) fn rule() -> Value {
    json!({
        "workspace_id": WORKSPACE,
        "trigger": "workspace_event.note_changed",
        "condition_json": {},
        "action_json": { "kind": "kjxlkj_agent" },
        "enabled": true,
    })
}

/// A value with others put in at JSON pointers; null there is JSON's own.
pub(crate) fn with(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (at, change) in changes {
        if let Some(place) = value.pointer_mut(at) {
            *place = change.clone();
            continue;
        }
        let (above, name) = at.rsplit_once('/').expect("a pointer");
        let above = value.pointer_mut(above).expect("a place");
        above[name] = change.clone();
    }
    value
}

pub(crate) fn check(written: &Value) -> Result<RuleDraft, Vec<Fault>> {
    RuleDraft::check(written, &Around::default())
}

pub(crate) fn faults(written: &Value) -> Vec<String> {
    let faults = check(written).expect_err("something is wrong with it");
    faults.iter().map(Fault::to_string).collect()
}
