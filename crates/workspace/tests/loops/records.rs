//! What an agent does with notes, and what becomes of its memory from run to run.

use bonded_kernel::{Mode, Outcome, TerminationKind, audit};
use bonded_workspace::store::Page;
use bonded_workspace_rules::{Actor, OperationStatus};
use serde_json::json;

use crate::world::{ELSEWHERE, HERE, IDLE, add, read, update, world};

#[tokio::test]
async fn a_note_is_made_from_text_or_from_json_and_says_who_made_it() {
    let world = world().await;
    let said = format!(
        "{}{}{IDLE}",
        add("just text"),
        add(r#"{"title":"The shed","markdown":"is tidy","kind":"template"}"#)
    );
    let run = world.run("run-1", &[&said]).await;
    assert_eq!(
        run.termination().map(|it| it.kind),
        Some(TerminationKind::Done)
    );
    let made = world.made().await;
    assert_eq!(made.len(), 2);
    let titles: Vec<&str> = made.iter().map(|note| note.title.as_str()).collect();
    assert!(
        titles[0].starts_with("20") && titles[0].len() == 19,
        "the clock's date: {titles:?}"
    );
    assert_eq!(made[1].title, "The shed");
    assert_eq!(
        (made[1].markdown.as_str(), made[1].note_kind.as_str()),
        ("is tidy", "template")
    );
    for note in &made {
        assert_eq!(note.keywords, ["shed", "tools"]);
        assert_eq!(note.metadata["agent_run_id"], "run-1");
        assert_eq!(note.metadata["agent_operation"], "create");
    }
    let history = world.notes.history(made[0].note_id, Page::default()).await;
    let first = &history.expect("it reads")[0];
    assert!(matches!(&first.actor, Actor::Agent { run_id, .. } if run_id.as_str() == "run-1"));
    assert_eq!(first.chain.depth, 1);
}

#[tokio::test]
async fn a_note_is_changed_by_its_id_or_its_exact_title() {
    let world = world().await;
    let (a, b) = (
        world.note(10, HERE, "Shed").await,
        world.note(11, HERE, "Yard").await,
    );
    let said = format!(
        "{}{}{IDLE}",
        update(&a.to_string(), "new a"),
        update("Yard", "new b")
    );
    world.run("run-1", &[&read(&[a, b]), &said]).await;
    for (note, text) in [(a, "new a"), (b, "new b")] {
        let note = world.read(note).await;
        assert_eq!((note.markdown.as_str(), note.version), (text, 2));
        assert_eq!(note.metadata["agent_operation"], "update");
    }
    let said = format!("{}{IDLE}", update("yard", "no"));
    world.run("run-2", &[&said]).await;
    let outputs = world.outputs("run-2").await;
    assert!(outputs[0].1.contains("NOTE_NOT_FOUND"), "{outputs:?}");
    assert_eq!(world.read(b).await.version, 2);
}

#[tokio::test]
async fn a_change_that_the_agent_did_not_see_is_not_overwritten() {
    let world = world().await;
    let note = world.note(10, HERE, "Shed").await;
    let search = "<record_search><query>Shed</query></record_search>";
    // Two processes: the second change of a person comes between what the agent saw and what it wrote.
    let keeper = world.keeper();
    let goal = keeper.goal(&world.order("run-0")).await;
    assert!(goal.is_err(), "there is no script yet");
    let said = format!(
        "{}{}{IDLE}",
        update("Shed", "first"),
        update("Shed", "second")
    );
    world.run("run-1", &[search, &said]).await;
    assert_eq!(
        world.read(note).await.version,
        3,
        "an agent sees what it wrote itself"
    );
    let conflict = Conflict::between(&world, note).await;
    assert!(
        conflict.output.contains("VERSION_CONFLICT"),
        "{}",
        conflict.output
    );
    assert!(
        conflict
            .output
            .contains("at version 4 now, you saw version 3"),
        "{}",
        conflict.output
    );
    assert_eq!(conflict.code.as_deref(), Some("VERSION_CONFLICT"));
    assert_eq!(world.read(note).await.markdown.as_str(), "by a person");
}

#[tokio::test]
async fn a_note_that_the_run_has_not_read_is_not_changed() {
    let world = world().await;
    let (long, short) = (
        world.note(10, HERE, "Long").await,
        world.note(11, HERE, "Short").await,
    );
    world.edit(long, &"many words ".repeat(100)).await;
    let both = format!("{}{}", update("Long", "x"), update("Short", "x"));
    let found = "<record_search><query>Long</query></record_search>\
                 <record_search><query>Short</query></record_search>";
    // Not at all; in the same reply; after a search that shows a part of one of them; after it was read.
    let replies = [
        &both,
        &format!("{found}{both}"),
        &both,
        &read(&[long]),
        &both,
    ];
    let replies: Vec<&str> = replies.iter().map(|it| it.as_str()).chain([IDLE]).collect();
    world.run("run-1", &replies).await;
    let outputs = world.outputs("run-1").await;
    let changes: Vec<bool> = outputs
        .iter()
        .filter(|(tool, _)| tool == "record_update")
        .map(|(_, output)| !output.contains("NOTE_NOT_READ"))
        .collect();
    assert_eq!(
        changes,
        [false, false, false, false, false, true, true, true],
        "{outputs:?}"
    );
    assert_eq!(world.read(long).await.markdown.as_str(), "x");
    assert_eq!(world.read(short).await.version, 3);
    let other = world.run("run-2", &[&both, IDLE]).await;
    assert!(other.termination().is_some());
    let outputs = world.outputs("run-2").await;
    assert!(
        outputs[0].1.contains("NOTE_NOT_READ"),
        "each run reads for itself: {outputs:?}"
    );
}

#[tokio::test]
async fn what_was_read_before_a_restart_is_in_the_log() {
    let world = world().await;
    let note = world.note(10, HERE, "Shed").await;
    world.run("run-1", &[&read(&[note]), IDLE]).await;
    let tools = world.tools().await;
    let change = json!({ "key": "Shed", "value": "by the agent" });
    let changed = world.call_in(2, &tools, "record_update", &change).await;
    assert_eq!(changed.outcome, Outcome::Ok, "{}", changed.text);
}

#[tokio::test]
async fn a_title_that_several_notes_have_names_none_of_them() {
    let world = world().await;
    let (a, b) = (
        world.note(10, HERE, "Shed").await,
        world.note(11, HERE, "Shed").await,
    );
    let replies = [
        read(&[a, b]),
        update("Shed", "x"),
        update(&b.to_string(), "x"),
    ];
    let replies: Vec<&str> = replies.iter().map(String::as_str).chain([IDLE]).collect();
    world.run("run-1", &replies).await;
    let outputs = world.outputs("run-1").await;
    let refused = &outputs[1].1;
    assert!(refused.contains("AMBIGUOUS_TITLE"), "{outputs:?}");
    assert!(
        refused.contains(&a.to_string()) && refused.contains(&b.to_string()),
        "{refused}"
    );
    assert_eq!(
        (world.read(a).await.version, world.read(b).await.version),
        (1, 2)
    );
}

/// What a call is answered whose note was changed by a person since the run saw it.
struct Conflict {
    output: String,
    code: Option<String>,
}

impl Conflict {
    async fn between(world: &crate::world::World, note: bonded_kernel::NoteId) -> Self {
        let registry = world.tools().await;
        let ids = json!({ "ids": [note.to_string()] });
        let seen = world.call(&registry, "record_search", &ids).await;
        assert_eq!(seen.outcome, Outcome::Ok, "{}", seen.text);
        world.edit(note, "by a person").await;
        let change = json!({ "key": note.to_string(), "value": "by the agent" });
        let output = world.call_in(3, &registry, "record_update", &change).await;
        assert_eq!(output.outcome, Outcome::Failed);
        let again = world.call_in(4, &registry, "record_update", &change).await;
        assert_eq!(
            again.code.as_deref(),
            Some("VERSION_CONFLICT"),
            "nothing was read since"
        );
        Self {
            output: output.text,
            code: output.code.map(|code| code.to_string()),
        }
    }
}

#[tokio::test]
async fn a_note_of_another_workspace_is_neither_read_nor_changed() {
    let world = world().await;
    let note = world.note(10, ELSEWHERE, "Secret").await;
    let said = format!(
        "{}<record_search><ids>{note}</ids></record_search><record_search><query>Secret</query></record_search>{IDLE}",
        update(&note.to_string(), "mine now")
    );
    world.run("run-1", &[&said]).await;
    let outputs = world.outputs("run-1").await;
    assert!(
        outputs[0].1.contains("CROSS_WORKSPACE_REJECTED"),
        "{outputs:?}"
    );
    assert!(!outputs[1].1.contains("about Secret"), "{outputs:?}");
    assert!(outputs[2].1.contains("\"total\":0"), "{outputs:?}");
    assert_eq!(world.read(note).await.version, 1);
    let entries = world.entries("run-1").await;
    let body = |entry: &bonded_kernel::Entry| String::from_utf8_lossy(&entry.body).into_owned();
    let log: String = entries.iter().map(body).collect();
    assert!(log.contains(r#""code":"CROSS_WORKSPACE_REJECTED""#));
}

#[tokio::test]
async fn a_strict_scope_ends_the_run_as_denied() {
    let mut world = world().await;
    world.action.scope.strict_scope = true;
    let note = world.note(10, ELSEWHERE, "Secret").await;
    let run = world
        .run("run-1", &[&update(&note.to_string(), "mine")])
        .await;
    assert_eq!(
        run.termination().map(|it| it.kind),
        Some(TerminationKind::Denied)
    );
    let audit = run.audit_of_loop().expect("the run works in loops");
    assert_eq!(
        audit.error_code.as_deref(),
        Some("CROSS_WORKSPACE_REJECTED")
    );
    assert_eq!(audit.prompt_hash.len(), 64);
    assert_eq!(audit.parser_version, "1.0.0");
}

#[tokio::test]
async fn in_reviewed_mode_changes_wait_for_a_person() {
    let mut world = world().await;
    world.action.mode = Some(Mode::Reviewed);
    let note = world.note(10, HERE, "Shed").await;
    let said = format!("{}{}{IDLE}", add("a new one"), update("Shed", "changed"));
    let run = world.run("run-1", &[&read(&[note]), &said]).await;
    assert_eq!(
        run.termination().map(|it| it.kind),
        Some(TerminationKind::Done)
    );
    assert!(world.made().await.is_empty());
    assert_eq!(world.read(note).await.version, 1);
    let operations = world
        .notes
        .operations(run.id().clone())
        .await
        .expect("it reads");
    assert_eq!(operations.len(), 2);
    assert!(
        operations
            .iter()
            .all(|it| it.status == OperationStatus::Pending)
    );
    let outputs = world.outputs("run-1").await;
    assert!(
        outputs[1].1.contains("a person will apply or reject it"),
        "{outputs:?}"
    );
}

#[tokio::test]
async fn an_issue_is_recorded_and_changes_no_note() {
    let world = world().await;
    let said = format!(
        "<record_issue><key>dup</key><value>two notes say the same</value><metadata>{{\"n\":2}}</metadata></record_issue>{IDLE}"
    );
    world.run("run-1", &[&said]).await;
    let issues = world
        .notes
        .issues(HERE, Page::default())
        .await
        .expect("it reads");
    assert_eq!(issues.len(), 1);
    assert!(format!("{issues:?}").contains("two notes say the same"));
    assert!(world.made().await.is_empty());
}

#[tokio::test]
async fn the_memory_goes_from_loop_to_loop_and_from_run_to_run_through_the_file() {
    let world = world().await;
    let ram = "<ram_add><key>plan</key><value>look</value></ram_add>";
    let run = world.run("run-1", &[ram, IDLE]).await;
    assert_eq!(run.turn(), 2);
    assert_eq!(world.memory(), json!({ "plan": "look", "state": "idle" }));
    let more = "<ram_add><key>steps</key><value>[]</value></ram_add>";
    world.run("run-2", &[&format!("{more}{IDLE}")]).await;
    assert_eq!(
        world.memory(),
        json!({ "plan": "look", "state": "idle", "steps": [] })
    );
}

#[tokio::test]
async fn what_a_person_changed_in_the_file_is_what_the_next_run_begins_with() {
    let world = world().await;
    let ram = "<ram_add><key>plan</key><value>look</value></ram_add>";
    world.run("run-1", &[ram, IDLE]).await;
    let by_hand = json!({ "plan": "by hand", "hint": "the key is under the mat" });
    std::fs::write(world.memory_path(), by_hand.to_string()).expect("a person may write");
    let run = world.run("run-2", &[IDLE]).await;
    let kept = json!({ "plan": "by hand", "hint": "the key is under the mat", "state": "idle" });
    assert_eq!(world.memory(), kept);
    assert_eq!(
        run.memory().map(|memory| json!(memory.entries())),
        Some(kept)
    );
    std::fs::write(world.memory_path(), "{ broken").expect("a person may write");
    let run = world.run("run-3", &[IDLE]).await;
    assert_eq!(
        run.memory().and_then(|it| it.get("plan").cloned()),
        Some(json!("by hand"))
    );
    assert_eq!(world.memory()["plan"], "by hand");
    assert!(
        world
            .dir
            .path()
            .join("agent-kv-store.json.broken-1")
            .exists()
    );
}

#[tokio::test]
async fn a_memory_that_cannot_be_written_ends_the_run_with_its_code() {
    let world = world().await;
    let mut broken = world;
    broken.action.memory.kv_store_path = "other.json".into();
    std::fs::write(broken.dir.path().join("memory"), "no directory").expect("a file");
    let ran = broken.try_run("run-1", &[IDLE]).await;
    let code = match ran {
        Ok(run) => run
            .termination()
            .and_then(|it| it.code().map(str::to_owned)),
        Err(error) => Some(error.code().as_str().to_owned()),
    };
    assert_eq!(code.as_deref(), Some("AGENT_MEMORY_STORE_ERROR"));
}

#[tokio::test]
async fn a_run_that_is_asked_for_again_is_the_same_run_and_its_log_can_be_audited() {
    let world = world().await;
    let said = format!("{}{IDLE}", add("once"));
    let first = world.run("run-1", &[&said]).await;
    let again = world.run("run-1", &[&said]).await;
    assert_eq!(first.head(), again.head());
    assert_eq!(world.made().await.len(), 1);
    audit(&world.entries("run-1").await).expect("the kernel would write it again");
}

#[tokio::test]
async fn a_prompt_that_cannot_be_used_stops_the_start() {
    let world = world().await;
    for (prompt, code) in [
        ("{", "PROMPT_JSON_INVALID"),
        ("{}", "PROMPT_SCHEMA_INVALID"),
        (
            r#"{"agent_name":"kjxlkj-agent","version":"1","segments":[{"condition":"default","prompt":" "}]}"#,
            "PROMPT_SEGMENT_EMPTY",
        ),
    ] {
        std::fs::write(world.dir.path().join("agent-prompt.json"), prompt).expect("a file");
        let error = world
            .try_run("run-1", &[IDLE])
            .await
            .expect_err("no prompt");
        assert_eq!(error.code().as_str(), code);
        assert!(error.to_string().contains("agent-prompt.json"), "{error}");
    }
}

/// A clock in whose first rest a person writes to a file. The rests of the world are over at once; nothing else ever is.
struct WritingClock {
    inner: bonded_host::SystemClock,
    rests: std::sync::atomic::AtomicU32,
    path: std::path::PathBuf,
}

impl bonded_host::Clock for WritingClock {
    fn now(&self) -> bonded_kernel::Millis {
        self.inner.now()
    }

    fn sleep_until(
        &self,
        at: bonded_kernel::Millis,
    ) -> futures_util::future::BoxFuture<'static, ()> {
        if at > self.now() {
            return Box::pin(std::future::pending());
        }
        let is_first = self
            .rests
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
            == 0;
        if is_first {
            std::fs::write(&self.path, r#"{"plan":"by hand"}"#).expect("a person may write");
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn what_a_person_changes_while_the_agent_rests_is_in_the_log_before_the_next_loop() {
    let mut world = world().await;
    world.clock = std::sync::Arc::new(WritingClock {
        inner: bonded_host::SystemClock::new(),
        rests: Default::default(),
        path: world.memory_path(),
    });
    let ram = "<ram_add><key>plan</key><value>look</value></ram_add><ram_add><key>old</key><value>1</value></ram_add>";
    world.run("run-1", &[ram, IDLE]).await;
    assert_eq!(
        world.memory(),
        json!({ "plan": "by hand", "state": "idle" })
    );
    let kinds: Vec<&str> = world
        .entries("run-1")
        .await
        .iter()
        .filter(|entry| ["memory_edited", "attempt_started"].contains(&entry.event.kind()))
        .map(|entry| entry.event.kind())
        .collect();
    assert_eq!(
        kinds,
        ["attempt_started", "memory_edited", "attempt_started"]
    );
    audit(&world.entries("run-1").await).expect("the kernel would write it again");
}
