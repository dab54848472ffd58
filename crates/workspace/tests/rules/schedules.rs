//! Schedules of rules in a store, in virtual time.

use bonded_kernel::{Millis, RuleId};
use bonded_workspace_rules::{RunStatus, firing_event_id};
use serde_json::{Value, json};

use crate::world::{NEW_YEAR, World, at_once, soon, until_cancelled};

const HOUR: u64 = 60 * 60 * 1000;

fn hourly(catch_up: &str, overlap: &str) -> Value {
    json!({
        "trigger": "automation_schedule.cron",
        "schedule": { "cron": "0 * * * *", "catch_up": catch_up, "overlap": overlap },
    })
}

fn fired(rule: RuleId, hours: impl IntoIterator<Item = u64>) -> Vec<bonded_kernel::EventId> {
    let events = hours
        .into_iter()
        .map(|hour| firing_event_id(rule, Millis(NEW_YEAR + hour * HOUR)));
    events.collect()
}

async fn events(world: &World) -> Vec<bonded_kernel::EventId> {
    let runs = world.runs().await;
    runs.iter().map(|run| run.triggering_event_id).collect()
}

#[tokio::test]
async fn each_hour_of_a_day_fires_once() {
    let mut world = World::new(at_once).await;
    let rule = world.rule(11, &hourly("once", "skip")).await;
    world.start();
    for hour in 1..=24 {
        world.set_clock(NEW_YEAR + hour * HOUR + 3);
        world.until_runs(hour as usize, RunStatus::Succeeded).await;
    }
    assert_eq!(events(&world).await, fired(rule, 1..=24));
}

#[tokio::test]
async fn a_server_that_was_down_catches_up_as_the_rule_says() {
    let rows: [(&str, Vec<u64>); 3] = [
        ("skip", vec![1, 2, 9]),
        ("once", vec![1, 2, 8, 9]),
        ("all", vec![1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ];
    for (policy, expected) in rows {
        let mut world = World::new(at_once).await;
        let rule = world.rule(11, &hourly(policy, "skip")).await;
        world.start();
        for hour in 1..=2 {
            world.set_clock(NEW_YEAR + hour * HOUR);
            world.until_runs(hour as usize, RunStatus::Succeeded).await;
        }
        world.stop().await;
        // Down from two to half past eight.
        world.set_clock(NEW_YEAR + 8 * HOUR + HOUR / 2);
        world.start();
        world.until_looked().await;
        world
            .until(|runs| runs.iter().all(|run| run.status.has_ended()))
            .await;
        world.set_clock(NEW_YEAR + 9 * HOUR);
        // The mark that was waited for is a run too.
        world
            .until_runs(expected.len() + 1, RunStatus::Succeeded)
            .await;
        let runs = world.runs().await;
        let of_rule = runs.iter().filter(|run| run.rule_id == rule);
        let found: Vec<_> = of_rule.map(|run| run.triggering_event_id).collect();
        assert_eq!(found, fired(rule, expected), "{policy}");
    }
}

#[tokio::test]
async fn an_instant_that_meets_a_run_is_queued_or_left_out_as_the_rule_says() {
    for (overlap, expected) in [("skip", vec![1]), ("queue", vec![1, 2, 3])] {
        let mut world = World::new(until_cancelled).await;
        let rule = world.rule(11, &hourly("once", overlap)).await;
        world.start();
        world.set_clock(NEW_YEAR + HOUR);
        world.until_runs(1, RunStatus::Running).await;
        for hour in 2..=3 {
            world.set_clock(NEW_YEAR + hour * HOUR);
            let until = Millis(NEW_YEAR + hour * HOUR);
            while world
                .store
                .considered_until(rule)
                .await
                .expect("the store reads")
                < Some(until)
            {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(events(&world).await, fired(rule, expected), "{overlap}");
        // The runs of a schedule come one after the other.
        let runs = world.runs().await;
        let running = runs.iter().filter(|run| run.status == RunStatus::Running);
        assert_eq!(running.count(), 1, "{overlap}");
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_an_hour_fires_nothing_again_across_a_restart() {
    let mut world = World::new(at_once).await;
    let rule = world.rule(11, &hourly("all", "queue")).await;
    world.start();
    for hour in 1..=3 {
        world.set_clock(NEW_YEAR + hour * HOUR + HOUR / 6);
        world.until_runs(hour as usize, RunStatus::Succeeded).await;
    }
    world.stop().await;
    world.set_clock(NEW_YEAR + 2 * HOUR + HOUR / 6);
    world.start();
    for minutes in (10..=50).step_by(10) {
        world.set_clock(NEW_YEAR + 2 * HOUR + minutes * 60_000);
        tokio::task::yield_now().await;
    }
    world.set_clock(NEW_YEAR + 4 * HOUR);
    world.until_runs(4, RunStatus::Succeeded).await;
    assert_eq!(events(&world).await, fired(rule, 1..=4));
}

#[tokio::test]
async fn a_rule_that_was_off_for_a_while_does_not_make_up_for_it() {
    let mut world = World::new(at_once).await;
    let rule_id = world.rule(11, &hourly("all", "queue")).await;
    world.start();
    world.set_clock(NEW_YEAR + HOUR);
    world.until_runs(1, RunStatus::Succeeded).await;
    for (hour, enabled) in [(1, false), (5, true)] {
        world.set_clock(NEW_YEAR + hour * HOUR + HOUR / 2);
        let mut over = hourly("all", "queue");
        over["enabled"] = json!(enabled);
        let draft = Box::new(world.draft(&over));
        let change = bonded_workspace_rules::Change::UpdateRule {
            rule_id,
            base_version: None,
            draft,
        };
        world.write(change).await;
        world.until_looked_again(hour as u8).await;
    }
    world.set_clock(NEW_YEAR + 6 * HOUR);
    world
        .until(|runs| runs.iter().filter(|run| run.rule_id == rule_id).count() == 2)
        .await;
    let runs = world.runs().await;
    let of_rule = runs.iter().filter(|run| run.rule_id == rule_id);
    let found: Vec<_> = of_rule.map(|run| run.triggering_event_id).collect();
    assert_eq!(found, fired(rule_id, [1, 6]));
}

#[tokio::test]
async fn a_schedule_may_have_a_condition_on_its_time() {
    let mut world = World::new(at_once).await;
    let mut over = hourly("all", "queue");
    over["condition_json"] = json!({ "field": "trigger.at", "op": "ge", "value": "2026-01-01T03" });
    let rule = world.rule(11, &over).await;
    world.start();
    world.set_clock(NEW_YEAR + 4 * HOUR);
    world.until_runs(2, RunStatus::Succeeded).await;
    assert_eq!(events(&world).await, fired(rule, 3..=4));
}

#[tokio::test]
async fn a_clock_that_was_wrong_by_days_is_believed_when_it_is_right_again() {
    let mut world = World::new(at_once).await;
    let rule = world.rule(11, &hourly("once", "queue")).await;
    world.start();
    world.set_clock(NEW_YEAR + 2400 * HOUR);
    world.until_runs(1, RunStatus::Succeeded).await;
    world.stop().await;
    world.set_clock(NEW_YEAR + HOUR / 2);
    world.start();
    let is_right = async {
        let right = Some(Millis(NEW_YEAR + HOUR / 2));
        while world.store.considered_until(rule).await != Ok(right) {
            tokio::task::yield_now().await;
        }
    };
    soon(is_right).await.expect("it is believed");
    world.set_clock(NEW_YEAR + HOUR);
    world.until_runs(2, RunStatus::Succeeded).await;
    // What was looked at since then is known to the next one.
    world.stop().await;
    world.set_clock(NEW_YEAR + 3 * HOUR);
    world.start();
    world.until_runs(3, RunStatus::Succeeded).await;
    assert_eq!(events(&world).await, fired(rule, [2400, 1, 3]));
}
