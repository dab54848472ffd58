//! Whose turn it is when more runs are queued than there is room for, and how much is made up for.

use bonded_kernel::{EventId, RuleId};
use bonded_workspace::Performed;
use bonded_workspace::store::Page;
use bonded_workspace_rules::{CAUGHT_UP_MAX, Change, Fire, RunStatus, run_of_firing};
use serde_json::json;

use crate::world::{NEW_YEAR, WORKSPACE, World, at_once, until_cancelled};

/// Queues runs of a rule, as if somebody launched it again and again.
async fn launch(world: &World, rule_id: RuleId, count: u32) {
    for number in 0..count {
        let event = EventId::derived(&[rule_id.as_bytes(), &number.to_le_bytes()]);
        let fire = Fire {
            run_id: run_of_firing(rule_id, event),
            rule_id,
            triggering_event_id: event,
            depth: 1,
            request: None,
        };
        world.write(Change::Fire(fire)).await;
    }
}

#[tokio::test]
async fn a_rule_with_very_many_runs_queued_holds_up_no_other() {
    let mut world = World::new(|firing, cancel| match firing.rule.rule_id.as_bytes()[0] {
        11 => until_cancelled(firing, cancel),
        _ => at_once(firing, cancel),
    })
    .await;
    let with_memory = |name: &str| {
        let action = json!({ "kind": "kjxlkj_agent", "memory": { "kv_store_path": name } });
        json!({ "trigger": "manual", "action_json": action })
    };
    let many = world.rule(11, &with_memory("a.json")).await;
    let one = world.rule(12, &with_memory("b.json")).await;
    launch(&world, many, 620).await;
    world.start();
    world.until_begun(1).await;
    launch(&world, one, 1).await;
    let runs = world
        .until(|runs| runs.iter().any(|run| run.status == RunStatus::Succeeded))
        .await;
    let ended = runs.iter().find(|run| run.status == RunStatus::Succeeded);
    assert_eq!(ended.map(|run| run.rule_id), Some(one));
    let queued = runs.iter().filter(|run| run.status == RunStatus::Queued);
    assert_eq!(queued.count(), 619, "nothing else was waited for");
}

#[tokio::test]
async fn each_rule_with_runs_queued_has_its_turn() {
    let mut world =
        World::new(|_, _| Box::pin(std::future::ready(Performed::succeeded(json!({}))))).await;
    let manual = json!({ "trigger": "manual" });
    for (number, count) in [(11, 6), (12, 2), (13, 3)] {
        let rule = world.rule(number, &manual).await;
        launch(&world, rule, count).await;
    }
    world.concurrent_runs = 1;
    world.start();
    world.until_runs(11, RunStatus::Succeeded).await;
    let begun = world.until_begun(11).await;
    let order: Vec<u8> = begun
        .iter()
        .map(|firing| firing.rule.rule_id.as_bytes()[0])
        .collect();
    assert_eq!(order, [11, 12, 13, 11, 12, 13, 11, 13, 11, 11, 11]);
}

#[tokio::test]
async fn runs_that_can_never_begin_do_not_keep_those_behind_them() {
    let mut world = World::new(at_once).await;
    let rule_id = world.rule(11, &json!({ "trigger": "manual" })).await;
    launch(&world, rule_id, 40).await;
    world
        .write(Change::DeleteRule {
            rule_id,
            base_version: None,
        })
        .await;
    world.start();
    world
        .until(|runs| runs.iter().all(|run| run.status == RunStatus::Cancelled))
        .await;
}

#[tokio::test]
async fn what_is_too_much_to_make_up_for_is_left_out_and_said() {
    let mut world = World::new(at_once).await;
    let every_minute = json!({
        "trigger": "automation_schedule.cron",
        "schedule": { "cron": "* * * * *", "catch_up": "all", "overlap": "queue" },
    });
    let rule = world.rule(11, &every_minute).await;
    world.told = Some(Default::default());
    // Two days of nothing.
    world.set_clock(NEW_YEAR + 2 * 24 * 60 * 60_000);
    world.start();
    let runs = world.until_runs(CAUGHT_UP_MAX, RunStatus::Succeeded).await;
    assert!(runs.iter().all(|run| run.rule_id == rule));
    let issues = world.store.issues(WORKSPACE, Page::default()).await;
    let issues = issues.expect("the store reads");
    let [issue] = &issues[..] else {
        panic!("{issues:?}");
    };
    let shown = serde_json::to_value(&issue.event)
        .expect("an event is JSON")
        .to_string();
    let left_out = 2 * 24 * 60 - CAUGHT_UP_MAX;
    assert!(
        shown.contains(&format!("\"left_out\":{left_out}")),
        "{shown}"
    );
    let told = world.told.as_ref().expect("it is listened to");
    let told = told.lock().expect("nobody panics").clone();
    assert!(
        told.len() == 1 && told[0].starts_with(&format!("{left_out} scheduled times")),
        "{told:?}"
    );
}
