//! The workspaces and rules of the test, and which events qualify for which rule: said here a second time, in other
//! words than the program's.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bonded_kernel::{RuleId, WorkspaceId};
use bonded_workspace_rules::{Actor, Note, StoredEvent};
use serde_json::{Value, json};

use crate::client::Request;
use crate::model::CHAIN;
use crate::server::Shared;

/// Runs further down a chain than this are refused.
pub(crate) const CHAIN_DEPTH: u64 = 2;

/// The end of a title, and the word in a text, that set rules off.
pub(crate) const GO_TITLE: &str = " go";
pub(crate) const GO_WORD: &str = "#go";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Created,
    Changed,
    Chained,
    Deleted,
    Manual,
    /// Launched, and cancelled soon after.
    GivenUp,
    Cron,
}

/// A rule of the test.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) kind: Kind,
    pub(crate) rule_id: RuleId,
    pub(crate) workspace_id: WorkspaceId,
    /// The file of its agent's memory.
    pub(crate) memory: &'static str,
}

pub(crate) struct World {
    pub(crate) workspaces: [String; 2],
    pub(crate) rules: Vec<Watched>,
}

impl Watched {
    /// Where the memory of its runs is kept.
    pub(crate) fn memory_in(&self, data: &Path) -> PathBuf {
        let workspace = self.workspace_id.to_string();
        data.join("memory").join(workspace).join(self.memory)
    }

    /// Whether an event, which left the note like this, must set the rule off.
    pub(crate) fn is_meant(&self, event: &StoredEvent, note: &Note) -> bool {
        let is_agent = matches!(event.actor, Actor::Agent { .. });
        let is_meant = match (self.kind, event.event.name()) {
            (Kind::Created, "note.created") => note.title.ends_with(GO_TITLE) && !is_agent,
            (Kind::Changed, "note.created" | "note.updated" | "note.title_changed") => {
                note.markdown.contains(GO_WORD)
            }
            (Kind::Chained, "note.created") => note.title.ends_with(" first") && is_agent,
            (Kind::Deleted, "note.deleted") => note.title.ends_with(GO_TITLE),
            _ => false,
        };
        is_meant && event.workspace_id == self.workspace_id
    }
}

/// Makes a second workspace and all rules.
pub(crate) fn furnish(shared: &Shared, model: &str) -> World {
    let listed = shared.get("/api/workspaces");
    let first = text(&listed["workspaces"][0]["workspace_id"]);
    let second = made(shared, "/api/workspaces", json!({ "name": "second" }));
    let workspaces = [first, text(&second["workspace_id"])];
    let rows = [
        (Kind::Created, 0, "created.json"),
        (Kind::Changed, 0, "changed.json"),
        (Kind::Chained, 0, "chained.json"),
        (Kind::Deleted, 1, "deleted.json"),
        (Kind::Manual, 0, "created.json"),
        (Kind::GivenUp, 0, "given-up.json"),
        (Kind::Cron, 1, "cron.json"),
    ];
    let rules = rows.map(|(kind, place, memory)| {
        let rule = written(kind, &workspaces[place], memory, model);
        let rule = made(shared, "/api/automation/rules", rule);
        let id = |name: &str| text(&rule[name]);
        Watched {
            kind,
            rule_id: id("rule_id").parse().expect("a rule has an id"),
            workspace_id: id("workspace_id").parse().expect("a rule has a workspace"),
            memory,
        }
    });
    World {
        workspaces,
        rules: rules.into(),
    }
}

fn written(kind: Kind, workspace: &str, memory: &str, model: &str) -> Value {
    let by = |actor: &str| json!({ "field": "event.actor_type", "op": "eq", "value": actor });
    let ends = |end: &str| json!({ "field": "note.title", "op": "ends_with", "value": end });
    let go = json!({ "field": "note.markdown", "op": "contains", "value": GO_WORD });
    let (trigger, condition) = match kind {
        Kind::Created => (
            "workspace_event.note_created",
            json!({ "all": [ends(GO_TITLE), by("user")] }),
        ),
        Kind::Changed => ("workspace_event.note_changed", go),
        Kind::Chained => (
            "workspace_event.note_created",
            json!({ "all": [ends(" first"), by("agent")] }),
        ),
        Kind::Deleted => ("workspace_event.note_deleted", ends(GO_TITLE)),
        Kind::Manual | Kind::GivenUp => ("manual", json!({})),
        Kind::Cron => ("automation_schedule.cron", json!({})),
    };
    let request = match kind {
        Kind::Created | Kind::Chained => CHAIN,
        _ => "do what you do",
    };
    let mut rule = json!({
        "workspace_id": workspace,
        "trigger": trigger,
        "condition_json": condition,
        "max_chain_depth": CHAIN_DEPTH,
        "action_json": {
            "kind": "kjxlkj_agent",
            "request": request,
            "provider": { "provider_kind": "lmstudio", "base_url": model, "model": "m" },
            "mode": "yolo",
            "memory": { "kv_store_path": format!("./data/{memory}") },
            "loop": { "loop_delay_ms": 5, "idle_delay_ms": 5 },
        },
    });
    if kind == Kind::Cron {
        rule["schedule"] = json!({ "cron": "* * * * *", "catch_up": "all", "overlap": "queue" });
    }
    rule
}

pub(crate) fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}

fn made(shared: &Shared, path: &str, body: Value) -> Value {
    let number = shared.writes_sent.load(Ordering::Relaxed);
    let answer = shared.insist(&Request {
        method: "POST",
        path: path.into(),
        key: format!("furnish-{number}"),
        body: Some(body),
    });
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body
}
