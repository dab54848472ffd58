//! Rules fire on events: which, how often, and what becomes of their runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bonded_kernel::{EventId, NoteId, RuleId, UserId, WorkspaceId};
use bonded_workspace::Performed;
use bonded_workspace::store::Write;
use bonded_workspace_rules::{
    Actor, Chain, Change, Fire, NoteEdit, RuleDraft, RunEnd, RunMove, RunStatus, run_of_firing,
};
use serde_json::json;

use crate::world::{WORKSPACE, World, at_once, new_note, until_cancelled};

fn text(markdown: &str) -> NoteEdit {
    NoteEdit {
        markdown: Some(markdown.into()),
        ..NoteEdit::default()
    }
}

#[tokio::test]
async fn each_trigger_fires_on_its_own_events_and_where_its_condition_holds() {
    let mut world = World::new(at_once).await;
    let rows = [
        (11, "workspace_event.note_changed", json!({}), 4),
        (12, "workspace_event.note_created", json!({}), 2),
        (13, "workspace_event.note_deleted", json!({}), 1),
        (14, "manual", json!({}), 0),
        (
            15,
            "workspace_event.note_changed",
            json!({ "note.title": "B" }),
            1,
        ),
        (
            16,
            "workspace_event.note_changed",
            json!({ "field": "note.version", "op": "ge", "value": 2 }),
            2,
        ),
        (
            17,
            "workspace_event.note_changed",
            json!({ "event.actor_type": "agent" }),
            0,
        ),
    ];
    for (number, trigger, condition, _) in &rows {
        let over = json!({ "trigger": trigger, "condition_json": condition });
        world.rule(*number, &over).await;
    }
    world.start();
    world.note(1, "A").await;
    world.note(2, "B").await;
    world.edit(1, 1, text("new")).await;
    let title = NoteEdit {
        title: Some("C".into()),
        ..NoteEdit::default()
    };
    world.edit(1, 2, title).await;
    let note_id = NoteId::from_bytes([2; 16]);
    let base_version = Some(1);
    world
        .write(Change::DeleteNote {
            note_id,
            base_version,
        })
        .await;
    let count = rows.iter().map(|row| row.3).sum();
    let runs = world.until_runs(count, RunStatus::Succeeded).await;
    for (number, trigger, condition, expected) in rows {
        let rule = RuleId::from_bytes([number; 16]);
        let fired = runs.iter().filter(|run| run.rule_id == rule).count();
        assert_eq!(fired, expected, "{trigger} {condition}");
    }
    for run in &runs {
        assert_eq!(
            run.run_id,
            run_of_firing(run.rule_id, run.triggering_event_id)
        );
        assert_eq!(run.depth, 1);
    }
}

#[tokio::test]
async fn what_was_written_while_nothing_ran_fires_once_however_often_the_engine_starts() {
    let mut world = World::new(at_once).await;
    world.rule(11, &json!({})).await;
    for number in 1..=5 {
        world.note(number, "A").await;
    }
    for _ in 0..3 {
        world.start();
        world.until_runs(5, RunStatus::Succeeded).await;
        world.stop().await;
    }
    let begun = world.until_begun(5).await;
    assert_eq!(begun.len(), 5);
}

#[tokio::test]
async fn a_rule_does_not_fire_on_what_was_before_it() {
    let mut world = World::new(at_once).await;
    world.note(1, "A").await;
    world.pass(1);
    world.rule(11, &json!({})).await;
    world.start();
    world.until_looked().await;
    let rule = RuleId::from_bytes([11; 16]);
    let runs = world.runs().await;
    // The mark of the engine's own progress is a note too.
    assert_eq!(runs.iter().filter(|run| run.rule_id == rule).count(), 1);
}

#[tokio::test]
async fn a_rule_that_was_disabled_or_deleted_does_not_fire() {
    let mut world = World::new(at_once).await;
    world.rule(11, &json!({ "enabled": false })).await;
    let deleted = world.rule(12, &json!({})).await;
    world
        .write(Change::DeleteRule {
            rule_id: deleted,
            base_version: None,
        })
        .await;
    let changed = world.rule(13, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    world.until_runs(1, RunStatus::Succeeded).await;
    let draft = Box::new(world.draft(&json!({ "enabled": false })));
    world
        .write(Change::UpdateRule {
            base_version: None,
            rule_id: changed,
            draft,
        })
        .await;
    world.note(2, "B").await;
    world.until_looked().await;
    let marks = world.runs().await;
    let others = marks
        .iter()
        .filter(|run| run.rule_id != RuleId::from_bytes([240; 16]));
    assert_eq!(others.count(), 1);
}

#[tokio::test]
async fn a_rule_that_sets_itself_off_is_stopped_and_that_is_shown() {
    let (notes, mut written) = tokio::sync::mpsc::unbounded_channel();
    let mut world = World::new(move |firing, _| {
        notes.send(firing.run.depth).expect("the test listens");
        at_once(firing, Default::default())
    })
    .await;
    world
        .rule(11, &json!({ "trigger": "workspace_event.note_created" }))
        .await;
    world.start();
    world.note(1, "A").await;
    // Each run writes a note, as an agent would.
    for number in 2..=4 {
        let depth = written.recv().await.expect("a run begins");
        world.note_at_depth(number, "again", depth).await;
    }
    let runs = world
        .until(|runs| runs.len() == 4 && runs.iter().all(|run| run.status.has_ended()))
        .await;
    let depths: Vec<u32> = runs.iter().map(|run| run.depth).collect();
    assert_eq!(depths, [1, 2, 3, 4]);
    assert!(
        runs[..3]
            .iter()
            .all(|run| run.status == RunStatus::Succeeded)
    );
    assert_eq!(runs[3].status, RunStatus::Failed);
    assert_eq!(runs[3].error_code.as_deref(), Some("CHAIN_DEPTH_EXCEEDED"));
    let message = runs[3].result_json["message"].as_str().expect("a sentence");
    assert!(
        message.contains("the rule allows 3 (max_chain_depth)"),
        "{message}"
    );
}

#[tokio::test]
async fn runs_that_were_under_way_are_taken_up_again_and_queued_ones_begin() {
    let mut world = World::new(until_cancelled).await;
    world.concurrent_runs = 1;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    world.note(2, "B").await;
    world
        .until(|runs| runs.len() == 2 && runs[0].status == RunStatus::Running)
        .await;
    world.until_begun(1).await;
    world.stop().await;
    let before = world.runs().await;
    assert_eq!(before[0].status, RunStatus::Running);
    assert_eq!(before[1].status, RunStatus::Queued);
    world.concurrent_runs = 2;
    world.start();
    world.until_runs(2, RunStatus::Running).await;
    let begun = world.until_begun(3).await;
    let mut ids: Vec<String> = begun[1..]
        .iter()
        .map(|it| it.run.run_id.to_string())
        .collect();
    let mut expected: Vec<String> = before.iter().map(|it| it.run_id.to_string()).collect();
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn a_run_that_is_cancelled_stops_whoever_cancels_it() {
    let mut world = World::new(until_cancelled).await;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    let runs = world.until_runs(1, RunStatus::Running).await;
    let cancel = Change::MoveRun {
        run_id: runs[0].run_id.clone(),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    world.write(cancel).await;
    // The place is free again: another run begins.
    world.concurrent_runs = 1;
    world.note(2, "B").await;
    let runs = world
        .until(|runs| runs.len() == 2 && runs[1].status == RunStatus::Running)
        .await;
    assert_eq!(runs[0].status, RunStatus::Cancelled);
}

#[tokio::test]
async fn a_run_that_was_cancelled_when_its_engine_died_is_abandoned_by_the_next() {
    let mut world = World::new(until_cancelled).await;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    let first = world.until_begun(1).await[0].run.run_id.clone();
    world.stop().await;
    let cancel = Change::MoveRun {
        run_id: first.clone(),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    world.write(cancel).await;
    // Long after, it is still nobody's, whatever was written before the next engine could look.
    world.pass(30 * 24 * 60 * 60 * 1000);
    world.note(2, "B").await;
    world.start();
    world.until_begun(2).await;
    let abandoned = world.conducted.abandoned.lock().expect("nobody panics");
    assert_eq!(*abandoned, [(first, true)]);
}

#[tokio::test]
async fn what_a_cancelled_run_used_alone_is_left_to_the_run_that_is_driven_with_it() {
    let mut world = World::new(until_cancelled).await;
    let action = json!({ "kind": "kjxlkj_agent", "memory": { "kv_store_path": "a.json" } });
    world.rule(11, &json!({ "action_json": action })).await;
    world.start();
    world.note(1, "A").await;
    let first = world.until_begun(1).await[0].run.run_id.clone();
    let cancel = Change::MoveRun {
        run_id: first.clone(),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    world.write(cancel).await;
    // The next one has the memory now, and its engine dies.
    world.note(2, "B").await;
    world.until_begun(2).await;
    world.stop().await;
    world.start();
    world.until_begun(3).await;
    world.note(3, "C").await;
    world.until(|runs| runs.len() == 3).await;
    let abandoned = world.conducted.abandoned.lock().expect("nobody panics");
    assert_eq!(*abandoned, [(first, false)]);
}

#[tokio::test]
async fn no_more_runs_are_driven_at_once_than_is_set_and_none_with_the_same_memory() {
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let now = Arc::new(AtomicUsize::new(0));
    let counted = now.clone();
    let mut world = World::new(move |_, _| {
        let now = counted.clone();
        Box::pin(async move {
            let count = now.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(count, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Performed::succeeded(json!({}))
        })
    })
    .await;
    world.concurrent_runs = 8;
    // Two memories, so two at once.
    for (number, path) in [(11, "a.json"), (12, "./data/a.json"), (13, "b.json")] {
        let action = json!({ "kind": "kjxlkj_agent", "memory": { "kv_store_path": path } });
        world.rule(number, &json!({ "action_json": action })).await;
    }
    world.start();
    for number in 1..=6 {
        world.note(number, "A").await;
    }
    world.until_runs(18, RunStatus::Succeeded).await;
    assert!(MOST.load(Ordering::SeqCst) <= 2, "{MOST:?}");
}

#[tokio::test]
async fn a_run_that_cannot_begin_says_why() {
    let mut world = World::new(at_once).await;
    let rule_id = world.rule(11, &json!({})).await;
    world.note(1, "A").await;
    world.concurrent_runs = 0;
    world.start();
    world.until_runs(1, RunStatus::Queued).await;
    world.stop().await;
    world
        .write(Change::DeleteRule {
            rule_id,
            base_version: None,
        })
        .await;
    let work = json!({ "kind": "work", "plan": "p.yaml", "repo": "tree" });
    world.rule(12, &json!({ "action_json": work })).await;
    world.concurrent_runs = 1;
    world.start();
    world.note(2, "B").await;
    let runs = world
        .until(|runs| runs.len() == 2 && runs.iter().all(|run| run.status.has_ended()))
        .await;
    let ends: Vec<_> = runs
        .iter()
        .map(|run| (run.status, run.error_code.as_deref()))
        .collect();
    assert_eq!(
        ends,
        [
            (RunStatus::Cancelled, Some("RULE_DELETED")),
            (RunStatus::Failed, Some("ACTION_UNAVAILABLE")),
        ]
    );
}

#[tokio::test]
async fn a_run_that_panics_fails_and_the_engine_goes_on() {
    let mut world = World::new(|firing, _| {
        if firing.note.as_ref().is_some_and(|note| note.title == "A") {
            return Box::pin(async { panic!("on purpose") });
        }
        Box::pin(std::future::ready(Performed::succeeded(json!({}))))
    })
    .await;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    world.note(2, "B").await;
    let runs = world
        .until(|runs| runs.len() == 2 && runs.iter().all(|run| run.status.has_ended()))
        .await;
    assert_eq!(runs[0].error_code.as_deref(), Some("INTERNAL_ERROR"));
    assert_eq!(runs[1].status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_goes_on_at_once_when_its_call_is_judged_here() {
    static IS_JUDGED: AtomicBool = AtomicBool::new(false);
    let mut world = World::new(|firing, cancel| match IS_JUDGED.load(Ordering::SeqCst) {
        true => at_once(firing, cancel),
        false => Box::pin(std::future::ready(Performed::Waits)),
    })
    .await;
    world.rule(11, &json!({})).await;
    let engine = world.start();
    world.note(1, "A").await;
    world.until_begun(1).await;
    world.until_runs(1, RunStatus::Running).await;
    IS_JUDGED.store(true, Ordering::SeqCst);
    engine.judged();
    // The clock of this world stands still: there is no later look.
    world.until_runs(1, RunStatus::Succeeded).await;
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_leaves_its_place_and_is_taken_up_later() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let mut world = World::new(
        |firing, cancel| match ASKED.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Box::pin(std::future::ready(Performed::Waits)),
            _ => at_once(firing, cancel),
        },
    )
    .await;
    world.concurrent_runs = 1;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "A").await;
    world.until_begun(1).await;
    // Its place is free: the second begins, and waits too.
    world.note(2, "B").await;
    world.until_begun(2).await;
    world.until_runs(2, RunStatus::Running).await;
    let first = world.runs().await[0].run_id.clone();
    let cancel = Change::MoveRun {
        run_id: first.clone(),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    world.write(cancel).await;
    world
        .until(|runs| runs[0].status == RunStatus::Cancelled)
        .await;
    // A nap later the other one is looked at again.
    let mut now = 0;
    while world.runs().await[1].status != RunStatus::Succeeded {
        assert!(now < 10_000, "it is never taken up");
        now += 1;
        world.pass(31_000);
        tokio::task::yield_now().await;
    }
    assert_eq!(
        *world.conducted.abandoned.lock().expect("nobody panics"),
        [(first, true)]
    );
}

#[tokio::test]
async fn what_a_rule_asks_holds_what_set_it_off() {
    let mut world = World::new(at_once).await;
    world.rule(11, &json!({})).await;
    world.start();
    world.note(1, "The title").await;
    let begun = world.until_begun(1).await;
    let request = begun[0].request();
    assert!(request.starts_with("Do it\n"), "{request}");
    assert!(
        request.contains("\"title\": \"The title\"") && request.contains("\"note.created\""),
        "{request}"
    );
}

#[tokio::test]
async fn thousands_of_writes_fire_each_once_while_the_engine_is_stopped_and_started() {
    let mut world = World::new(at_once).await;
    world
        .rule(11, &json!({ "trigger": "workspace_event.note_created" }))
        .await;
    for round in 0..10_u64 {
        world.start();
        for number in 0..30_u64 {
            let Change::CreateNote(mut note) = new_note(1, "A") else {
                panic!("it is a note");
            };
            note.note_id = NoteId::derived(&[&round.to_le_bytes(), &number.to_le_bytes()]);
            world.write(Change::CreateNote(note)).await;
        }
        world.stop().await;
    }
    world.start();
    let runs = world.until_runs(300, RunStatus::Succeeded).await;
    let mut events: Vec<_> = runs.iter().map(|run| run.triggering_event_id).collect();
    events.sort();
    events.dedup();
    assert_eq!(events.len(), 300);
}

#[tokio::test]
async fn a_launch_by_a_person_is_a_run_like_any_other_and_the_same_one_when_it_is_repeated() {
    let mut world = World::new(at_once).await;
    let rule_id = world.rule(11, &json!({ "trigger": "manual" })).await;
    world.start();
    let triggering_event_id = EventId::from_bytes([9; 16]);
    for _ in 0..2 {
        let fire = Change::Fire(Fire {
            run_id: run_of_firing(rule_id, triggering_event_id),
            rule_id,
            triggering_event_id,
            depth: 1,
            request: None,
        });
        let write = Write {
            actor: Actor::System,
            at: bonded_host::Clock::now(&*world.clock),
            request_id: "test".into(),
            key: None,
            chain: Chain::default(),
            change: fire,
        };
        world.store.write(write).await.expect("it is fired");
    }
    world.until_runs(1, RunStatus::Succeeded).await;
}

/// A workspace of somebody, with a rule that is launched by hand.
async fn workspace_of(world: &World, user: UserId, number: u8) -> RuleId {
    let workspace_id = WorkspaceId::from_bytes([number; 16]);
    let rule_id = RuleId::from_bytes([number; 16]);
    let name = "theirs".into();
    let create = Change::CreateWorkspace { workspace_id, name };
    world.write_as(user, create).await.expect("it is made");
    let draft = RuleDraft {
        name: None,
        workspace_id,
        ..world.draft(&json!({ "trigger": "manual" }))
    };
    let draft = Box::new(draft);
    let create = Change::CreateRule { rule_id, draft };
    world.write_as(user, create).await.expect("it is made");
    rule_id
}

async fn launch(world: &World, user: UserId, rule_id: RuleId, number: u8) {
    let event = EventId::from_bytes([number; 16]);
    let fire = Change::Fire(Fire {
        run_id: run_of_firing(rule_id, event),
        rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    });
    world.write_as(user, fire).await.expect("it is launched");
}

#[tokio::test]
async fn slow_runs_of_one_person_in_many_workspaces_hold_up_nobody_else() {
    let mut world = World::new(until_cancelled).await;
    let (greedy, patient) = (UserId::from_bytes([8; 16]), UserId::from_bytes([9; 16]));
    let mut rules = vec![];
    for number in 20..26 {
        rules.push(workspace_of(&world, greedy, number).await);
    }
    let theirs = workspace_of(&world, patient, 30).await;
    // One rule floods the queue, the others have one slow run each.
    for number in 0..200 {
        launch(&world, greedy, rules[0], number).await;
    }
    for rule in &rules[1..] {
        launch(&world, greedy, *rule, 1).await;
    }
    world.concurrent_runs = 4;
    world.start();
    world
        .until(|runs| {
            let running = runs.iter().filter(|run| run.status == RunStatus::Running);
            running.count() == 4
        })
        .await;
    launch(&world, patient, theirs, 1).await;
    let runs = world
        .until(|runs| {
            let mut theirs = runs.iter().filter(|run| run.rule_id == theirs);
            theirs.any(|run| run.status == RunStatus::Running)
        })
        .await;
    let running = runs.iter().filter(|run| run.status == RunStatus::Running);
    assert_eq!(
        running.count(),
        5,
        "nobody has more than the limit because of it"
    );
}

#[tokio::test]
async fn a_rule_is_not_launched_for_an_event_of_another_workspace() {
    let world = World::new(at_once).await;
    let stranger = UserId::from_bytes([8; 16]);
    let rule_id = workspace_of(&world, stranger, 20).await;
    world.note(1, "a title that is nobody else's").await;
    let events = world
        .store
        .events(WORKSPACE, 0, 10)
        .await
        .expect("it reads");
    let event = events.last().expect("the note's").event_id;
    let fire = Change::Fire(Fire {
        run_id: run_of_firing(rule_id, event),
        rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    });
    let refused = world
        .write_as(stranger, fire)
        .await
        .expect_err("it is another's");
    let code = refused.refused().map(|refused| refused.code().as_str());
    assert_eq!(code, Some("CROSS_WORKSPACE_REJECTED"));
}
