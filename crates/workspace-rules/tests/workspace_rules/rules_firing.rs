//! Which queued runs are never begun, and what a run uses alone.

use std::path::PathBuf;

use bonded_kernel::{EventId, Millis, RuleId};
use bonded_workspace_rules::{
    AutomationRun, Exclusive, Rule, RunMove, RunStatus, exclusive, never_begins, run_of_firing,
};
use serde_json::{Value, json};

use crate::rules_common::{Around, check, rule, with, workspace};

fn kept(written: &Value) -> Rule {
    let draft = check(written).expect("a good rule");
    draft.into_rule(RuleId::from_bytes([7; 16]), Millis(5))
}

fn queued(rule: &Rule, depth: u32) -> AutomationRun {
    let event = EventId::from_bytes([9; 16]);
    AutomationRun {
        run_id: run_of_firing(rule.rule_id, event),
        rule_id: rule.rule_id,
        workspace_id: workspace(),
        triggering_event_id: event,
        status: RunStatus::Queued,
        depth,
        request: None,
        queued_at: Millis(6),
        started_at: None,
        finished_at: None,
        error_code: None,
        result_json: Value::Null,
        audit: None,
    }
}

#[test]
fn a_run_whose_rule_is_gone_off_or_too_deep_is_never_begun() {
    let on = kept(&with(rule(), &[("/max_chain_depth", json!(2))]));
    let off = kept(&with(rule(), &[("/enabled", json!(false))]));
    let rows = [
        (&on, 2, false, None),
        (
            &on,
            3,
            false,
            Some((RunStatus::Failed, "CHAIN_DEPTH_EXCEEDED")),
        ),
        (&on, 1, true, Some((RunStatus::Cancelled, "RULE_DELETED"))),
        (
            &off,
            1,
            false,
            Some((RunStatus::Cancelled, "RULE_DISABLED")),
        ),
        (&off, 9, true, Some((RunStatus::Cancelled, "RULE_DELETED"))),
    ];
    for (rule, depth, is_deleted, expected) in rows {
        let end = never_begins(&queued(rule, depth), rule, is_deleted);
        let end = end.as_ref().map(|end| match end {
            RunMove::Failed(why) | RunMove::Cancelled(why) | RunMove::Succeeded(why) => {
                (end.status(), why.error_code.as_deref().unwrap_or_default())
            }
            RunMove::Running => (end.status(), ""),
        });
        assert_eq!(end, expected, "{depth} {is_deleted}");
    }
}

#[test]
fn a_memory_a_tree_and_a_schedule_are_used_by_one_run_at_a_time() {
    let cron = json!({ "cron": "0 9 * * *", "timezone": "UTC" });
    let scheduled = with(
        rule(),
        &[
            ("/trigger", json!("automation_schedule.cron")),
            ("/schedule", cron),
        ],
    );
    let work = json!({ "kind": "work", "plan": "/srv/plan.json", "repo": "/srv/tree" });
    let run = json!({ "kind": "run", "agent_file": "/srv/a.ai", "goal": "Do it." });
    let own = Exclusive::Rule(RuleId::from_bytes([7; 16]));
    let memory = Exclusive::Memory("/there/memory".into());
    let tree = Exclusive::Tree("/there/tree".into());
    let rows = [
        (rule(), vec![memory.clone()]),
        (with(rule(), &[("/action_json", work)]), vec![tree]),
        (with(rule(), &[("/action_json", run)]), vec![]),
        (scheduled, vec![memory, own]),
    ];
    for (written, expected) in rows {
        let rule = kept(&written);
        let action = rule
            .draft
            .action(&Around::default())
            .expect("a good action");
        let there = |name: &'static str| move |_: &str| Some(PathBuf::from("/there").join(name));
        let used = exclusive(&rule, &action, there("memory"), there("tree"));
        assert_eq!(used, expected);
        let nothing = exclusive(&rule, &action, |_| None, |_| None);
        let of_rule = expected
            .into_iter()
            .filter(|it| matches!(it, Exclusive::Rule(_)));
        assert_eq!(nothing, of_rule.collect::<Vec<_>>());
    }
}
