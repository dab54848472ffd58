//! The scope of a run that works in loops: how many notes, of which kinds, and what a violation comes to.

use bonded_kernel::{Event, Outcome, RefusalCode, TerminationKind, ToolOutput};

use crate::common::{World, output, text};
use crate::looping_common::{change, looped, note, ram};

/// The refused calls of the last decision.
fn refused(world: &World) -> Vec<(RefusalCode, String)> {
    let mut decisions = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => Some(&decision.calls),
        _ => None,
    });
    let calls = decisions.next_back().expect("a decision was made");
    let refused = calls.iter().filter_map(|call| call.refused.as_ref());
    refused
        .map(|refusal| (refusal.code, refusal.message.to_string()))
        .collect()
}

#[test]
fn the_eleventh_note_and_the_twenty_first_change_of_a_loop_are_refused() {
    for (one, most, name) in [
        (note("text"), 10, "record_add"),
        (change("n"), 20, "record_update"),
    ] {
        let mut world = looped().begin();
        let said: String = (0..most + 1)
            .map(|nth| one.replace("</value>", &format!("{nth}</value>")))
            .collect();
        world.loops(&said);
        assert_eq!(world.invoked().len(), most, "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), 1, "{name}");
        assert_eq!(refused[0].0, RefusalCode::OutOfScope);
        assert!(
            refused[0].1.starts_with("SCOPE_VIOLATION: at most"),
            "{}",
            refused[0].1
        );
        assert!(
            world.message().contains("SCOPE_VIOLATION: at most"),
            "the model is told"
        );
        world.loops(&one);
        assert_eq!(
            world.invoked().len(),
            most + 1,
            "the next loop has a count of its own"
        );
    }
}

#[test]
fn a_note_of_a_kind_that_the_scope_does_not_name_is_refused() {
    let rows = [
        ("plain text", true),
        (r#"{"title":"T","markdown":"M"}"#, true),
        (r#"{"title":"T","markdown":"M","kind":"template"}"#, true),
        (r#"{"title":"T","markdown":"M","kind":"settings"}"#, false),
        (
            r#"{"title":"T","markdown":"M","note_kind":"settings"}"#,
            false,
        ),
    ];
    for (value, is_allowed) in rows {
        let mut world = looped().begin();
        world.says(&note(value));
        assert_eq!(world.invoked().len(), usize::from(is_allowed), "{value}");
        let codes: Vec<RefusalCode> = refused(&world).into_iter().map(|it| it.0).collect();
        let expected: &[RefusalCode] = if is_allowed {
            &[]
        } else {
            &[RefusalCode::OutOfScope]
        };
        assert_eq!(codes, expected, "{value}");
    }
}

#[test]
fn a_strict_scope_ends_the_run_at_the_violation_and_what_came_before_it_stands() {
    let mut world = looped()
        .with(|looping| {
            looping.scope.strict_scope = true;
            looping.scope.max_notes_per_loop = 1;
        })
        .begin();
    let said = format!(
        "{}{}{}{}",
        ram("a", "1"),
        note("one"),
        note("two"),
        ram("b", "2")
    );
    world.reply(text(&said));
    assert_eq!(world.ended(), None, "the first note may be made");
    world.ok("made");
    assert_eq!(world.ended(), Some(TerminationKind::Denied));
    assert_eq!(world.code(), Some("SCOPE_VIOLATION"));
    assert_eq!(world.kept("a"), 1);
    assert!(world.memory().get("b").is_none());
    let audit = world.run.audit_of_loop().expect("the run works in loops");
    assert_eq!(audit.error_code.as_deref(), Some("SCOPE_VIOLATION"));
    assert_eq!(audit.operation_count, 2);
}

#[test]
fn a_violation_that_only_the_store_knows_of_is_logged_and_ends_only_a_strict_run() {
    for strict in [false, true] {
        let mut world = looped()
            .with(|looping| looping.scope.strict_scope = strict)
            .begin();
        world.reply(text(&change("a note of another workspace")));
        world.returned(ToolOutput {
            code: Some("CROSS_WORKSPACE_REJECTED".into()),
            ..output(
                Outcome::Failed,
                "(tool failed: CROSS_WORKSPACE_REJECTED: not here)",
            )
        });
        assert!(world.log().contains(r#""code":"CROSS_WORKSPACE_REJECTED""#));
        if strict {
            assert_eq!(world.ended(), Some(TerminationKind::Denied));
            assert_eq!(world.code(), Some("CROSS_WORKSPACE_REJECTED"));
        } else {
            world.wake();
            assert!(world.message().contains("CROSS_WORKSPACE_REJECTED"));
        }
    }
}

#[test]
fn a_conflict_of_versions_goes_back_to_the_model_and_ends_nothing() {
    let mut world = looped()
        .with(|looping| looping.scope.strict_scope = true)
        .begin();
    world.reply(text(&change("n")));
    world.returned(ToolOutput {
        code: Some("VERSION_CONFLICT".into()),
        ..output(
            Outcome::Failed,
            "(tool failed: VERSION_CONFLICT: it is at version 3 now)",
        )
    });
    world.wake();
    assert!(world.message().contains("it is at version 3 now"));
}
