//! Rules, runs, operations, cursors.

use bonded_kernel::{EventId, Millis, OperationId, RuleId, RunId};
use bonded_workspace::store::{Page, RunFilter, Write, WriteOutcome};
use bonded_workspace_rules::{
    Actor, Change, Fire, Issue, NoteEdit, NoteWrite, OperationStatus, Proposal, Review, Role,
    RuleDraft, RunEnd, RunMove, RunStatus, Trigger,
};
use serde_json::json;

use crate::common::{WORKSPACE, World, by, edit, new_note, note, note_id, world};

const RULE: RuleId = RuleId::from_bytes([7; 16]);

fn run_id(name: &str) -> RunId {
    RunId::new(name).expect("the name is a run's")
}

fn fire(run: &str, event: u8) -> Fire {
    Fire {
        run_id: run_id(run),
        rule_id: RULE,
        triggering_event_id: EventId::from_bytes([event; 16]),
        depth: 1,
        request: None,
    }
}

fn as_system(change: Change) -> Write {
    Write {
        actor: Actor::System,
        ..by(crate::common::OWNER, change)
    }
}

fn as_agent(run: &str, change: Change) -> Write {
    Write {
        actor: Actor::Agent {
            run_id: run_id(run),
            rule_id: RULE,
        },
        ..as_system(change)
    }
}

fn draft(enabled: bool) -> RuleDraft {
    RuleDraft {
        name: None,
        workspace_id: WORKSPACE,
        trigger: Trigger::Manual,
        condition_json: json!({}),
        action_json: json!({ "kind": "run" }),
        enabled,
        schedule: None,
        max_chain_depth: 3,
    }
}

async fn with_rule() -> World {
    let world = world().await;
    let change = Change::CreateRule {
        rule_id: RULE,
        draft: Box::new(draft(true)),
    };
    world.write(change).await.expect("the rule is made");
    world
}

#[tokio::test]
async fn rules_are_kept_changed_and_deleted_by_admins_only() {
    let world = with_rule().await;
    let editor = world.member(11, Role::Editor).await;
    let off = || Change::UpdateRule {
        rule_id: RULE,
        base_version: None,
        draft: Box::new(draft(false)),
    };
    let refused = world.send(by(editor, off())).await.expect_err("no admin");
    assert_eq!(refused.code().as_str(), "ROLE_FORBIDDEN");
    assert_eq!(
        world.store.enabled_rules().await.expect("it reads").len(),
        1
    );
    world.write(off()).await.expect("it is changed");
    let rules = world.store.rules(WORKSPACE).await.expect("it reads");
    assert_eq!(
        (rules.len(), rules[0].draft.enabled, rules[0].version),
        (1, false, 2)
    );
    assert_eq!(world.store.enabled_rules().await.expect("it reads"), []);
    let gone = Change::DeleteRule {
        rule_id: RULE,
        base_version: None,
    };
    world.write(gone.clone()).await.expect("it is deleted");
    assert_eq!(world.store.rules(WORKSPACE).await.expect("it reads"), []);
    let refused = world.write(gone).await.expect_err("it is gone");
    assert_eq!(refused.code().as_str(), "RULE_NOT_FOUND");
    let kept = world.store.rule(RULE).await.expect("it reads");
    assert!(kept.is_some_and(|rule| rule.is_deleted));
}

#[tokio::test]
async fn an_event_queues_one_run_of_a_rule_however_often_it_arrives() {
    let world = with_rule().await;
    let first = world.send(as_system(Change::Fire(fire("r1", 1)))).await;
    let first = first.expect("it is queued");
    let second = world.send(as_system(Change::Fire(fire("r2", 1)))).await;
    let second = second.expect("it is found");
    assert_eq!(first.outcome, second.outcome);
    assert!(!first.replayed && second.replayed && second.events.is_empty());
    let run = world.store.run_of(RULE, EventId::from_bytes([1; 16])).await;
    assert_eq!(
        run.expect("it reads").expect("it is there").run_id,
        run_id("r1")
    );
    assert_eq!(first.events[0].chain.depth, 1);
}

#[tokio::test]
async fn a_run_moves_only_forward() {
    let world = with_rule().await;
    world
        .send(as_system(Change::Fire(fire("r1", 1))))
        .await
        .expect("it is queued");
    let to = |to| {
        as_system(Change::MoveRun {
            run_id: run_id("r1"),
            to,
        })
    };
    let end = RunEnd {
        error_code: None,
        result_json: json!({ "ok": true }),
        audit: None,
    };
    let table = [
        (RunMove::Succeeded(end.clone()), false, RunStatus::Queued),
        (RunMove::Running, true, RunStatus::Running),
        (RunMove::Running, true, RunStatus::Running),
        (RunMove::Succeeded(end.clone()), true, RunStatus::Succeeded),
        (RunMove::Failed(end.clone()), false, RunStatus::Succeeded),
        (RunMove::Running, false, RunStatus::Succeeded),
    ];
    for (step, is_made, status) in table {
        let result = world.send(to(step.clone())).await;
        assert_eq!(result.is_ok(), is_made, "{step:?}");
        // Somebody else was faster, and what was asked was not wrong.
        let code = result.err().map(|refused| refused.code().as_str());
        assert!(
            matches!(code, None | Some("CONFLICT")),
            "{step:?}: {code:?}"
        );
        let run = world.store.run(run_id("r1")).await.expect("it reads");
        assert_eq!(run.expect("it is there").status, status, "{step:?}");
    }
    let filter = RunFilter {
        workspace: Some(WORKSPACE),
        rule: Some(RULE),
        status: Some(RunStatus::Succeeded),
        page: Page::default(),
    };
    let runs = world.store.runs(filter).await.expect("it reads");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].result_json, json!({ "ok": true }));
}

#[tokio::test]
async fn what_the_engine_considered_moves_with_the_runs_that_came_of_it() {
    let world = with_rule().await;
    let considered = |after, row, firings| {
        as_system(Change::Considered {
            after,
            row,
            firings,
        })
    };
    let unknown = Fire {
        rule_id: RuleId::from_bytes([99; 16]),
        ..fire("r9", 9)
    };
    let firings = vec![fire("r1", 1), unknown, fire("r2", 2)];
    let written = world.send(considered(0, 3, firings)).await;
    let WriteOutcome::Runs(runs) = written.expect("the cursor fits").outcome else {
        panic!("no runs");
    };
    assert_eq!(runs.len(), 2);
    assert_eq!(world.store.considered_row().await, Ok(3));
    let late = considered(0, 4, vec![fire("r3", 3)]);
    world
        .send(late)
        .await
        .expect_err("another engine was faster");
    assert_eq!(world.store.run(run_id("r3")).await, Ok(None));
    assert_eq!(world.store.considered_row().await, Ok(3));
    for (until, expected) in [(500, 500), (400, 500), (600, 600)] {
        let change = Change::ConsideredSchedule {
            rule_id: RULE,
            until: Millis(until),
            firings: vec![],
        };
        world.send(as_system(change)).await.expect("it is noted");
        let found = world.store.considered_until(RULE).await;
        assert_eq!(found, Ok(Some(Millis(expected))));
    }
}

#[tokio::test]
async fn an_agent_writes_only_where_its_run_is_and_leaves_its_name() {
    let world = with_rule().await;
    let change = || Change::CreateNote(new_note(1, "by agent", "text"));
    let refused = world.send(as_agent("r1", change())).await;
    assert_eq!(
        refused.expect_err("no such run").code().as_str(),
        "CROSS_WORKSPACE_REJECTED"
    );
    world
        .send(as_system(Change::Fire(fire("r1", 1))))
        .await
        .expect("it is queued");
    let made = note(
        world
            .send(as_agent("r1", change()))
            .await
            .expect("it is made"),
    );
    assert_eq!(made.metadata["created_by_agent"], true);
    assert_eq!(made.metadata["agent_run_id"], "r1");
    assert_eq!(made.metadata["agent_operation"], "create");
    let edited = note(
        world
            .send(as_agent("r1", edit(1, 1, "new")))
            .await
            .expect("it fits"),
    );
    assert_eq!(edited.metadata["agent_operation"], "update");
    let end = Change::MoveRun {
        run_id: run_id("r1"),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    world.write(end).await.expect("a person cancels it");
    let late = world.send(as_agent("r1", edit(1, 2, "late"))).await;
    assert_eq!(
        late.expect_err("it has ended").code().as_str(),
        "CROSS_WORKSPACE_REJECTED"
    );
    let mut forged = new_note(2, "forged", "text");
    forged.metadata.insert("agent_run_id".into(), json!("r1"));
    let refused = world.write(Change::CreateNote(forged)).await;
    assert_eq!(
        refused.expect_err("only bonded says so").code().as_str(),
        "BAD_REQUEST"
    );
}

fn propose(id: u8, proposal: Proposal) -> Write {
    as_agent(
        "r1",
        Change::Propose {
            operation_id: OperationId::from_bytes([id; 16]),
            workspace_id: WORKSPACE,
            proposal,
        },
    )
}

fn review(id: u8, review: Review) -> Change {
    Change::Review {
        operation_id: OperationId::from_bytes([id; 16]),
        review,
    }
}

#[tokio::test]
async fn what_is_proposed_happens_when_a_person_applies_it() {
    let world = with_rule().await;
    world
        .send(as_system(Change::Fire(fire("r1", 1))))
        .await
        .expect("it is queued");
    world.add(5, "mine", "old").await;
    let update = Proposal::UpdateNote(NoteWrite {
        note_id: note_id(5),
        base_version: 1,
        edit: NoteEdit {
            markdown: Some("new".into()),
            ..NoteEdit::default()
        },
    });
    let create = Proposal::CreateNote(new_note(6, "fresh", "text"));
    world.send(propose(1, create)).await.expect("it waits");
    world.send(propose(2, update)).await.expect("it waits");
    let pending = world
        .store
        .pending_operations(WORKSPACE, Page::default())
        .await;
    let pending = pending.expect("it reads");
    assert_eq!(pending.len(), 2);
    assert_eq!(world.store.note(note_id(6)).await, Ok(None));
    let digest = |id: u8| {
        let id = OperationId::from_bytes([id; 16]);
        let found = pending.iter().find(|it| it.operation_id == id);
        found.expect("it waits").digest()
    };
    let applied = |id: u8| Review::Apply {
        digest: digest(id),
        edited: None,
    };
    for other in [
        applied(2),
        Review::Reject {
            reject_reason: None,
            digest: Some(digest(2)),
        },
    ] {
        let refused = world.write(review(1, other)).await;
        let refused = refused.expect_err("it was not looked at");
        assert_eq!(refused.code().as_str(), "OTHER_OPERATION");
    }
    world
        .write(review(1, applied(1)))
        .await
        .expect("it is applied");
    let made = world.store.note(note_id(6)).await.expect("it reads");
    assert_eq!(made.expect("it is there").metadata["agent_run_id"], "r1");
    // The note has changed since: the operation waits on.
    world.write(edit(5, 1, "newer")).await.expect("it fits");
    let refused = world.write(review(2, applied(2))).await;
    assert_eq!(
        refused.expect_err("it is late").code().as_str(),
        "VERSION_CONFLICT"
    );
    let reject = Review::Reject {
        reject_reason: Some("too late".into()),
        digest: None,
    };
    world
        .write(review(2, reject))
        .await
        .expect("it is rejected");
    let operations = world
        .store
        .operations(run_id("r1"))
        .await
        .expect("it reads");
    let found: Vec<_> = operations
        .iter()
        .map(|operation| (operation.operation_index, operation.status))
        .collect();
    assert_eq!(
        found,
        [
            (0, OperationStatus::Applied),
            (1, OperationStatus::Rejected)
        ]
    );
    assert_eq!(operations[1].reject_reason.as_deref(), Some("too late"));
    let again = world.write(review(2, applied(2))).await;
    assert_eq!(
        again.expect_err("it was decided").code().as_str(),
        "BAD_REQUEST"
    );
}

#[tokio::test]
async fn a_write_that_cannot_be_made_does_not_touch_those_beside_it() {
    let world = with_rule().await;
    world
        .send(as_system(Change::Fire(fire("r1", 1))))
        .await
        .expect("it is queued");
    // The name of the run is taken by that of another event, which nobody draws twice.
    let twice = world.store.write(as_system(Change::Fire(fire("r1", 2))));
    let fine = |number| world.write(Change::CreateNote(new_note(number, "t", "m")));
    let (before, failed, after) = tokio::join!(fine(1), twice, fine(2));
    assert!(failed.is_err_and(|error| error.refused().is_none()));
    assert!(before.is_ok() && after.is_ok());
    let events = world
        .store
        .events(WORKSPACE, 4, 10)
        .await
        .expect("it reads");
    let seqs: Vec<u64> = events.iter().map(|event| event.event_seq).collect();
    assert_eq!(seqs, [5, 6]);
}

#[tokio::test]
async fn issues_are_events_that_can_be_listed() {
    let world = with_rule().await;
    let issue = Issue {
        key: "dup".into(),
        value: "two notes say the same".into(),
        metadata: json!({ "notes": 2 }),
        run_id: None,
    };
    let change = Change::RecordIssue {
        workspace_id: WORKSPACE,
        issue,
    };
    world.write(change).await.expect("it is recorded");
    let issues = world.store.issues(WORKSPACE, Page::default()).await;
    assert_eq!(issues.expect("it reads").len(), 1);
}
