//! What a run proposes, judged by a person.

use bonded_kernel::{EventId, Millis, OperationId, RuleId, RunId, WorkspaceId};
use bonded_workspace::store::{WorkspaceStore, Write};
use bonded_workspace_rules::{
    Actor, Chain, Change, Fire, NewNote, NoteEdit, NoteWrite, Proposal, RunEnd, RunMove,
    run_of_firing,
};
use serde_json::{Value, json};

use crate::server::{Server, code};

pub(crate) const OPERATIONS: [[u8; 16]; 3] = [[1; 16], [2; 16], [3; 16]];

fn write(store: &WorkspaceStore, actor: Actor, change: Change) {
    let write = Write {
        actor,
        at: Millis(1_763_230_000_000),
        request_id: "test".into(),
        key: None,
        chain: Chain::default(),
        change,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be made");
    runtime
        .block_on(store.write(write))
        .expect("the store takes it");
}

/// A run of a rule that has proposed a new note and two changes of one, as an agent in reviewed mode does.
pub(crate) fn proposed(server: &Server, note: &Value) -> RunId {
    let store = WorkspaceStore::open_existing(&server.place.path("data/workspace.db"))
        .expect("the store is there");
    let workspace_id: WorkspaceId = server.workspace().parse().expect("an id");
    let rule = json!({ "workspace_id": workspace_id, "trigger": "manual", "action_json": { "kind": "kjxlkj_agent" } });
    let rule = server.owner.post("/api/automation/rules", &rule).json();
    let rule_id: RuleId = rule["rule_id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    let event = EventId::from_bytes([9; 16]);
    let run_id = run_of_firing(rule_id, event);
    let fire = Fire {
        run_id: run_id.clone(),
        rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    };
    // The test is the engine of this run: it has ended before the server's looks for it.
    write(&store, Actor::System, Change::Fire(fire));
    write(
        &store,
        Actor::System,
        Change::MoveRun {
            run_id: run_id.clone(),
            to: RunMove::Running,
        },
    );
    let edit = |text: &str| {
        Proposal::UpdateNote(NoteWrite {
            note_id: note["note_id"]
                .as_str()
                .expect("an id")
                .parse()
                .expect("an id"),
            base_version: 1,
            edit: NoteEdit {
                markdown: Some(text.into()),
                ..NoteEdit::default()
            },
        })
    };
    let new = Proposal::CreateNote(NewNote {
        note_id: bonded_kernel::NoteId::from_bytes([7; 16]),
        workspace_id,
        title: Some("Proposed".into()),
        markdown: "by the agent".into(),
        note_kind: None,
        access_scope: Default::default(),
        keywords: vec![],
        metadata: Default::default(),
    });
    let agent = Actor::Agent {
        run_id: run_id.clone(),
        rule_id,
    };
    for (id, proposal) in OPERATIONS
        .into_iter()
        .zip([new, edit("one\nTWO\nthree"), edit("other")])
    {
        let change = Change::Propose {
            operation_id: OperationId::from_bytes(id),
            workspace_id,
            proposal,
        };
        write(&store, agent.clone(), change);
    }
    let end = RunMove::Succeeded(RunEnd::default());
    write(
        &store,
        Actor::System,
        Change::MoveRun {
            run_id: run_id.clone(),
            to: end,
        },
    );
    run_id
}

/// A decision about an operation as it was shown.
fn decision(shown: &Value, index: usize, decision: &str) -> Value {
    let operation = &shown["operations"][index];
    assert_eq!(
        operation["operation_id"],
        json!(OperationId::from_bytes(OPERATIONS[index]))
    );
    json!({
        "operation_id": operation["operation_id"],
        "decision": decision,
        "digest": operation["digest"],
        "reject_reason": "not now",
    })
}

#[test]
fn operations_are_shown_with_a_diff_and_applied_or_rejected() {
    let server = Server::start();
    let note = server.note("One", "one\ntwo\nthree");
    let run = format!("/api/automation/runs/{}", proposed(&server, &note));
    let shown = server.owner.get(&run).json();
    let operations = shown["operations"]
        .as_array()
        .unwrap_or_else(|| panic!("{shown}"))
        .clone();
    let statuses: Vec<_> = operations.iter().map(|it| it["status"].clone()).collect();
    assert_eq!(statuses, ["pending", "pending", "pending"]);
    let diff = operations[1]["diff"].as_str().expect("a diff").to_owned();
    assert!(diff.contains(" one\n-two\n+TWO\n three\n"), "{diff}");
    let review = format!("{run}/review");
    for wrong in ["maybe", ""] {
        let body =
            json!({ "decisions": [decision(&shown, 0, "apply"), decision(&shown, 1, wrong)] });
        let refused = server.owner.post(&review, &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (400, "BAD_REQUEST"),
            "{wrong:?}"
        );
    }
    let (_, viewer) = server.user("ada", Some("viewer"));
    let body =
        json!({ "decisions": [decision(&shown, 0, "reject"), decision(&shown, 1, "apply")] });
    assert_eq!(code(&viewer.post(&review, &body)), "ROLE_FORBIDDEN");
    let reviewed = server.owner.post(&review, &body);
    assert_eq!(
        (reviewed.status, reviewed.json()),
        (200, json!({ "status": "reviewed" })),
        "{reviewed:?}"
    );
    let changed = server
        .owner
        .get(&format!(
            "/api/notes/{}",
            note["note_id"].as_str().expect("an id")
        ))
        .json();
    assert_eq!(
        (&changed["markdown"], &changed["version"]),
        (&json!("one\nTWO\nthree"), &json!(2))
    );
    let after = server.owner.get(&run).json();
    let statuses: Vec<_> = after["operations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["status"].clone())
        .collect();
    assert_eq!(statuses, ["rejected", "applied", "pending"]);
    assert_eq!(after["operations"][0]["reject_reason"], "not now");
    let missing = server
        .owner
        .get("/api/notes/07070707-0707-0707-0707-070707070707");
    assert_eq!(missing.status, 404, "what was rejected was not made");
    let stale = server.owner.post(
        &review,
        &json!({ "decisions": [decision(&shown, 2, "apply")] }),
    );
    assert_eq!(
        (stale.status, code(&stale).as_str()),
        (409, "VERSION_CONFLICT"),
        "{stale:?}"
    );
    let again = server.owner.post(
        &review,
        &json!({ "decisions": [decision(&shown, 1, "apply")] }),
    );
    assert_eq!(
        again.status, 200,
        "a decision that was made is the same decision: {again:?}"
    );
    let other = server.owner.post(
        &review,
        &json!({ "decisions": [decision(&shown, 1, "reject")] }),
    );
    assert_eq!(other.status, 400, "{other:?}");
}

#[test]
fn what_is_applied_is_what_was_looked_at() {
    let server = Server::start();
    let note = server.note("One", "one\ntwo\nthree");
    let run = format!("/api/automation/runs/{}", proposed(&server, &note));
    let shown = server.owner.get(&run).json();
    let review = format!("{run}/review");
    let rows = [
        // Nobody says what was looked at.
        (Value::Null, 400, "BAD_REQUEST"),
        (json!("0123"), 400, "BAD_REQUEST"),
        // Something else was.
        (
            shown["operations"][2]["digest"].clone(),
            409,
            "OTHER_OPERATION",
        ),
        (json!("0".repeat(64)), 409, "OTHER_OPERATION"),
    ];
    for (digest, status, expected) in rows {
        let mut wrong = decision(&shown, 1, "apply");
        wrong["digest"] = digest;
        // Nor is the decision before it acted upon.
        let body = json!({ "decisions": [decision(&shown, 0, "reject"), wrong] });
        let refused = server.owner.post(&review, &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (status, expected),
            "{refused:?}"
        );
        if status == 409 {
            let details = &refused.json()["details"];
            assert_eq!(details["operation"], shown["operations"][1]);
            assert_eq!(details["digest"], shown["operations"][1]["digest"]);
        }
        assert_eq!(server.owner.get(&run).json(), shown, "nothing was decided");
    }
    let mut rejected = decision(&shown, 0, "reject");
    rejected["digest"] = json!("0".repeat(64));
    let refused = server
        .owner
        .post(&review, &json!({ "decisions": [rejected] }));
    assert_eq!(code(&refused), "OTHER_OPERATION");
    let mut rejected = decision(&shown, 0, "reject");
    rejected["digest"] = Value::Null;
    let body = json!({ "decisions": [rejected, decision(&shown, 1, "apply")] });
    assert_eq!(server.owner.post(&review, &body).status, 200);
    let note = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    let changed = server.owner.get(&note).json();
    assert_eq!(changed["markdown"], "one\nTWO\nthree");
}

/// Something that the system wants a person to look at; gives its id.
pub(crate) fn issue(server: &Server) -> String {
    let store = WorkspaceStore::open_existing(&server.place.path("data/workspace.db"))
        .expect("the store is there");
    let workspace_id: WorkspaceId = server.workspace().parse().expect("an id");
    let issue = bonded_workspace_rules::Issue {
        key: "look".into(),
        value: "at this".into(),
        metadata: Value::Null,
        run_id: None,
    };
    let change = Change::RecordIssue {
        workspace_id,
        issue,
    };
    write(&store, Actor::System, change);
    let listed = server
        .owner
        .get(&format!("/api/issues?workspace_id={workspace_id}"))
        .json();
    let id = listed["issues"][0]["event_id"].as_str();
    id.expect("an id").to_owned()
}
