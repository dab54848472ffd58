//! Calls that are made again because nobody knows whether they were made, and what a rule is told of its run.

use bonded_kernel::{Mode, Outcome};
use bonded_workspace::store::Page;
use bonded_workspace::{Firing, Performed, Performs as _};
use bonded_workspace_rules::{Action, RunMove};
use serde_json::json;

use crate::world::{HERE, IDLE, World, add, read, world};

/// Makes the same call in two processes, with what happens between them, and gives both answers.
async fn twice(
    world: &World,
    tool: &str,
    arguments: serde_json::Value,
    between: impl AsyncFnOnce(&World),
) -> [String; 2] {
    world.run("run-1", &[IDLE]).await;
    let tools = world.tools().await;
    let first = world.call(&tools, tool, &arguments).await;
    assert_eq!(first.outcome, Outcome::Ok, "{}", first.text);
    between(world).await;
    let tools = world.tools().await;
    let second = world.call(&tools, tool, &arguments).await;
    assert_eq!(second.outcome, Outcome::Ok, "{}", second.text);
    [first.text, second.text]
}

#[tokio::test]
async fn a_note_that_was_made_before_a_crash_is_not_made_again() {
    let world = world().await;
    let note = json!({ "keywords": "k", "value": "text" });
    let [first, second] = twice(&world, "record_add", note, async |_| {}).await;
    assert_eq!(first, second);
    assert_eq!(world.made().await.len(), 1);
}

#[tokio::test]
async fn a_change_that_was_made_before_a_crash_is_not_made_again_over_somebody_elses() {
    let world = world().await;
    let note = world.note(10, HERE, "Shed").await;
    let change = json!({ "key": "Shed", "value": "by the agent" });
    world.run("run-1", &[&read(&[note]), IDLE]).await;
    let mut answers = vec![];
    for is_first in [true, false] {
        let tools = world.tools().await;
        let answer = world.call_in(2, &tools, "record_update", &change).await;
        assert_eq!(answer.outcome, Outcome::Ok, "{}", answer.text);
        answers.push(answer.text);
        if is_first {
            world.edit(note, "by a person").await;
        }
    }
    assert_eq!(answers[0], answers[1]);
    let note = world.read(note).await;
    assert_eq!((note.markdown.as_str(), note.version), ("by a person", 3));
}

#[tokio::test]
async fn what_was_proposed_or_flagged_before_a_crash_is_there_once() {
    let mut world = world().await;
    world.action.mode = Some(Mode::Reviewed);
    let note = json!({ "keywords": "k", "value": "text" });
    twice(&world, "record_add", note, async |_| {}).await;
    let run = world.order("run-1").run_id;
    let operations = world.notes.operations(run).await.expect("it reads");
    assert_eq!(operations.len(), 1);
    let world = crate::world::world().await;
    let issue = json!({ "key": "k", "value": "v", "metadata": "m" });
    twice(&world, "record_issue", issue, async |_| {}).await;
    let issues = world
        .notes
        .issues(HERE, Page::default())
        .await
        .expect("it reads");
    assert_eq!(issues.len(), 1);
}

#[tokio::test]
async fn a_rule_is_told_what_its_run_came_to_with_the_audit() {
    let world = world().await;
    let rows: [(&str, &[&str], Option<&str>); 2] = [
        ("run-good", &[&format!("{}{IDLE}", add("text"))], None),
        (
            "run-bad",
            &["words", "words", "words"],
            Some("XML_PARSE_ERROR"),
        ),
    ];
    for (run, replies, code) in rows {
        world.script(replies);
        world.fire(run).await;
        let firing = world.firing(run).await;
        let Action::Loop(action) = &firing.action else {
            unreachable!("the action of the world");
        };
        let cancel = bonded_host::CancellationToken::new();
        let performed = world.keeper().run(&firing, action, cancel).await;
        let end = match (code, performed) {
            (None, Performed::Ended(RunMove::Succeeded(end))) => end,
            (Some(_), Performed::Ended(RunMove::Failed(end))) => end,
            (_, other) => unreachable!("{run}: {other:?}"),
        };
        assert_eq!(end.error_code.as_deref(), code, "{run}");
        let audit = end.audit.expect("every run of the agent has one");
        assert_eq!(audit.error_code.as_deref(), code, "{run}");
        assert_eq!(
            (audit.loop_count, audit.prompt_hash.len()),
            (1, 64),
            "{run}"
        );
        let request = world.keeper().goal(&world.order(run)).await;
        assert!(request.is_ok(), "{run}");
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_be_used_fails_the_run_of_the_rule_with_its_code() {
    let world = world().await;
    std::fs::write(world.dir.path().join("agent-prompt.json"), "{").expect("a file");
    world.fire("run-1").await;
    let firing: Firing = world.firing("run-1").await;
    let Action::Loop(action) = &firing.action else {
        unreachable!("the action of the world");
    };
    let cancel = bonded_host::CancellationToken::new();
    let performed = world.keeper().run(&firing, action, cancel).await;
    let Performed::Ended(RunMove::Failed(end)) = performed else {
        unreachable!("{performed:?}");
    };
    assert_eq!(end.error_code.as_deref(), Some("PROMPT_JSON_INVALID"));
}
