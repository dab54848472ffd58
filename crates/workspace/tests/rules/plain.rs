//! Actions that need no model, and rules that other servers set off.

use bonded_host::Clock as _;
use bonded_kernel::{EventId, NoteId, RuleId, UserId};
use bonded_workspace::store::{IdempotencyKey, Page, Write};
use bonded_workspace_rules::{
    Actor, AutomationRun, Chain, Change, Fire, NoteEdit, RunMove, RunStatus, run_of_firing,
};
use serde_json::{Value, json};

use crate::world::{WORKSPACE, World, at_once};

const NOTE: NoteId = NoteId::from_bytes([1; 16]);

async fn note(world: &World) -> bonded_workspace_rules::Note {
    let note = world.store.note(NOTE).await.expect("the store reads");
    note.expect("the note is there")
}

fn statuses(runs: &[AutomationRun]) -> Vec<RunStatus> {
    runs.iter().map(|run| run.status).collect()
}

#[tokio::test]
async fn a_rule_adds_a_keyword_once_and_its_own_change_ends_the_chain() {
    let mut world = World::new(at_once).await;
    let action = json!({ "kind": "add_keyword", "keyword": "inbox" });
    world.rule(1, &json!({ "action_json": action })).await;
    world.start();
    world.note(1, "One").await;
    // The second run is that of the rule's own change, and finds nothing to change.
    let runs = world.until_runs(2, RunStatus::Succeeded).await;
    let changed: Vec<&Value> = runs.iter().map(|run| &run.result_json["changed"]).collect();
    assert_eq!(changed, [&json!(true), &json!(false)]);
    assert_eq!(runs.iter().map(|run| run.depth).collect::<Vec<_>>(), [1, 2]);
    let found = note(&world).await;
    assert_eq!(
        (found.keywords, found.version),
        (vec!["inbox".to_owned()], 2)
    );
    assert_eq!(found.metadata["agent_run_id"], json!(runs[0].run_id));
}

#[tokio::test]
async fn rules_that_set_each_other_off_end_at_the_depth_of_the_chain() {
    let mut world = World::new(at_once).await;
    for (number, folder) in [(1, "one"), (2, "two")] {
        let over = json!({ "action_json": { "kind": "move", "folder": folder } });
        world.rule(number, &over).await;
    }
    world.start();
    world.note(1, "One").await;
    // Each move fires both rules again, until a run would be the fourth of its chain.
    let runs = world
        .until(|runs| {
            !runs.is_empty()
                && runs.iter().all(|run| run.status.has_ended())
                && runs.iter().any(|run| run.depth == 4)
        })
        .await;
    let is_too_deep = |run: &&AutomationRun| run.depth == 4;
    for run in runs.iter().filter(is_too_deep) {
        assert_eq!(run.error_code.as_deref(), Some("CHAIN_DEPTH_EXCEEDED"));
    }
    assert!(runs.len() < 64, "{}", runs.len());
}

#[tokio::test]
async fn a_note_is_moved_whatever_version_it_has_by_then() {
    let mut world = World::new(at_once).await;
    let over = json!({
        "trigger": "workspace_event.note_created",
        "action_json": { "kind": "move", "folder": " Projects//2026 " },
    });
    world.rule(1, &over).await;
    world.note(1, "One").await;
    let edit = NoteEdit {
        markdown: Some("more".into()),
        ..NoteEdit::default()
    };
    // The note has another version when the engine comes to its event.
    world.edit(1, 1, edit).await;
    world.start();
    let runs = world.until_runs(1, RunStatus::Succeeded).await;
    assert_eq!(runs[0].result_json["version"], 3);
    let note = note(&world).await;
    assert_eq!(note.metadata["folder"], "Projects/2026");
    assert_eq!(note.markdown.as_str(), "more");
}

#[tokio::test]
async fn an_action_on_a_note_fails_where_there_is_none() {
    let mut world = World::new(at_once).await;
    let over = json!({
        "trigger": "manual",
        "action_json": { "kind": "add_keyword", "keyword": "x" },
    });
    let rule_id = world.rule(1, &over).await;
    world.start();
    let event = EventId::from_bytes([7; 16]);
    let fire = Fire {
        run_id: run_of_firing(rule_id, event),
        rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    };
    world.write(Change::Fire(fire)).await;
    let runs = world.until_runs(1, RunStatus::Failed).await;
    assert_eq!(runs[0].error_code.as_deref(), Some("NOTE_NOT_FOUND"));
}

#[tokio::test]
async fn a_notice_is_left_once_though_its_run_is_taken_up_again() {
    let mut world = World::new(at_once).await;
    let over = json!({
        "trigger": "manual",
        "action_json": { "kind": "notify", "title": "Look", "message": "at this" },
    });
    let rule_id = world.rule(1, &over).await;
    let event = EventId::from_bytes([7; 16]);
    let run_id = run_of_firing(rule_id, event);
    let fire = Fire {
        run_id: run_id.clone(),
        rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    };
    world.write(Change::Fire(fire)).await;
    // As a process leaves it that dies after the notice and before the end of the run.
    let running = RunMove::Running;
    by_system(
        &world,
        Change::MoveRun {
            run_id: run_id.clone(),
            to: running,
        },
    )
    .await;
    let notice = bonded_workspace_rules::Notice {
        title: "Look".into(),
        message: Some("at this".into()),
        note_id: None,
        rule_id: None,
        run_id: None,
    };
    let write = Write {
        actor: Actor::Agent {
            run_id: run_id.clone(),
            rule_id,
        },
        at: bonded_kernel::Millis(1),
        request_id: "test".into(),
        key: Some(IdempotencyKey {
            scope: "rule run".into(),
            key: run_id.to_string(),
        }),
        chain: Chain::default(),
        change: Change::PostNotice {
            workspace_id: WORKSPACE,
            notice,
        },
    };
    let left = world.store.write(write).await.expect("the store writes");
    world.start();
    let runs = world.until_runs(1, RunStatus::Succeeded).await;
    assert_eq!(
        runs[0].result_json["notice_id"],
        json!(left.events[0].event_id)
    );
    let reader = UserId::from_bytes([9; 16]);
    let notices = world
        .store
        .notices(WORKSPACE, reader, false, Page::default());
    let notices = notices.await.expect("the store reads");
    assert_eq!(notices.len(), 1);
    let notice = notices[0].event.event.notice().expect("it is one");
    assert_eq!((&*notice.title, notice.rule_id), ("Look", Some(rule_id)));
}

async fn by_system(world: &World, change: Change) {
    let write = Write {
        actor: Actor::System,
        at: world.clock.now(),
        request_id: "test".into(),
        key: None,
        chain: Chain::default(),
        change,
    };
    world.store.write(write).await.expect("the store writes");
}

#[tokio::test]
async fn what_is_sent_to_a_rule_fires_that_rule_alone_if_its_condition_holds_of_the_body() {
    let mut world = World::new(at_once).await;
    let hook = |title: &str| {
        json!({
            "trigger": "webhook",
            "condition_json": { "field": "event.body.order.total", "op": "gt", "value": 10 },
            "action_json": { "kind": "notify", "title": title },
        })
    };
    let one: RuleId = world.rule(1, &hook("one")).await;
    world.rule(2, &hook("two")).await;
    for (delivery, total) in [("a", 5), ("b", 50)] {
        let change = Change::ReceiveHook {
            rule_id: one,
            delivery: delivery.into(),
            body: json!({ "order": { "total": total } }),
        };
        by_system(&world, change).await;
    }
    world.start();
    world.until_looked().await;
    // What was begun before the look may end after it.
    let have_ended = |runs: &[AutomationRun]| runs.iter().all(|run| run.status.has_ended());
    let runs = world.until(have_ended).await;
    let fired: Vec<RuleId> = runs.iter().map(|run| run.rule_id).take(1).collect();
    assert_eq!(fired, [one]);
    // The other one is that of the look itself.
    assert_eq!(runs.len(), 2, "{:?}", statuses(&runs));
    assert_eq!(runs[0].status, RunStatus::Succeeded);
}
