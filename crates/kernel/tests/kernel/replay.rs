//! A log is all there is: it rebuilds the run, proves itself whole, and is audited step by step.

use std::collections::BTreeMap;
use std::sync::Arc;

use bonded_kernel::{
    AuditFault, BadEntry, BadLog, Blob, Effect, Entry, Event, FORMAT, GoalId, Hash, Head, Header,
    Millis, Outcome, Run, RunId, TerminationKind, audit, next, replay, request,
};
use proptest::prelude::*;

use crate::common::{World, call, done, look, output, push, put, reply, setup, text};
use crate::script::{moves, play, terms};

/// All that can be seen of a run, and all that cannot.
fn view(run: &Run) -> String {
    format!(
        "{:?} {:?} {:?} {run:?}",
        next(run),
        request(run),
        run.deadline()
    )
}

fn header(entry: &Entry) -> Header {
    Header {
        format: entry.format,
        run: entry.run.clone(),
        goal: entry.goal.clone(),
        seq: entry.seq,
        at: entry.at,
        turn: entry.turn,
        prev: entry.prev,
    }
}

/// Writes a log as a store does, bodies and blobs, and reads it back.
pub(crate) fn through_a_store(entries: &[Entry]) -> Result<Vec<Entry>, BadEntry> {
    let mut blobs: BTreeMap<Hash, Blob> = BTreeMap::new();
    for entry in entries {
        for text in entry.event.clone().texts_mut() {
            if let Some(blob) = text.blob() {
                assert_eq!(Hash::of(text.as_bytes()), blob.hash);
                blobs.insert(blob.hash, text.as_str().into());
            }
        }
        for image in entry.event.images() {
            let content = image.blob_content().expect("it is at hand");
            assert_eq!(Hash::of(content.as_bytes()), image.blob().hash);
            blobs.insert(image.blob().hash, Blob::read(content.as_bytes()));
        }
    }
    let open = |entry: &Entry| {
        Entry::open(
            header(entry),
            Some(entry.hash),
            entry.body.clone(),
            |hash| blobs.get(hash).cloned(),
        )
    };
    entries.iter().map(open).collect()
}

pub(crate) fn assert_chained(entries: &[Entry]) {
    let mut head = Head::EMPTY;
    for entry in entries {
        assert_eq!((entry.seq, entry.prev), (head.seq + 1, head.hash));
        head = entry.head();
    }
}

/// A call is named by an effect only after its intent was logged.
fn assert_invocation_is_logged(run: &Run, entries: &[Entry]) {
    if let Effect::Invoke(invocation) = next(run) {
        let logged = entries.iter().any(|entry| {
            entry.turn == invocation.turn()
                && matches!(&entry.event, Event::ToolInvoked { call, .. } if *call == invocation.call())
        });
        assert!(logged, "{invocation:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_happens_the_log_rebuilds_the_run_and_passes_the_audit(
        terms in terms(),
        moves in moves(),
    ) {
        let world = play(terms.setup(), &moves);
        let live = view(&world.run);
        assert_chained(&world.entries);
        prop_assert_eq!(&view(&replay(&world.entries).expect("a log")), &live);
        let stored = through_a_store(&world.entries).expect("readable entries");
        prop_assert_eq!(&stored, &world.entries);
        prop_assert_eq!(&view(&replay(&stored).expect("a log")), &live);
        let audited = audit(&stored).expect("the same kernel wrote it");
        prop_assert_eq!(audited.entries, stored.len() as u64);
        prop_assert_eq!(&view(&audited.run), &live);
    }

    #[test]
    fn the_same_inputs_give_the_same_bytes(terms in terms(), moves in moves()) {
        let bytes = |world: World| -> Vec<(Hash, Arc<[u8]>)> {
            world.entries.iter().cloned().map(|entry| (entry.hash, entry.body)).collect()
        };
        let (first, second) = (play(terms.setup(), &moves), play(terms.setup(), &moves));
        prop_assert_eq!(bytes(first), bytes(second));
    }

    #[test]
    fn a_log_cut_after_any_step_goes_on_as_the_live_run_did(terms in terms(), moves in moves()) {
        let world = play(terms.setup(), &moves);
        for (length, effect) in &world.boundaries {
            let run = replay(&world.entries[..*length]).expect("a log");
            prop_assert_eq!(&format!("{:?}", next(&run)), effect);
        }
    }

    #[test]
    fn a_log_cut_inside_a_step_still_invokes_nothing_that_it_did_not_record(
        terms in terms(),
        moves in moves(),
    ) {
        let world = play(terms.setup(), &moves);
        for length in 1..=world.entries.len() {
            let entries = &world.entries[..length];
            let run = replay(entries).expect("a log");
            assert_invocation_is_logged(&run, entries);
            let mut taken_up = World::from_log(entries.to_vec());
            taken_up.resume();
            assert_invocation_is_logged(&taken_up.run, &taken_up.entries);
        }
    }

    #[test]
    fn whatever_happens_a_run_ends_at_most_once_and_keeps_its_limits(
        terms in terms(),
        moves in moves(),
    ) {
        let setup = terms.setup();
        let limits = setup.config.limits.clone();
        let world = play(setup, &moves);
        let ends = world.kinds().iter().position(|kind| *kind == "run_ended");
        prop_assert!(ends.is_none_or(|at| at + 1 == world.entries.len()));
        prop_assert!(world.run.turn() <= limits.turns_max);
        for turn in 1..=world.run.turn() {
            let in_turn = || world.entries.iter().filter(|entry| entry.turn == turn);
            let decisions = in_turn().filter(|e| matches!(e.event, Event::DecisionMade(_)));
            prop_assert!(decisions.count() <= 1);
            let invoked = in_turn().filter(|e| matches!(e.event, Event::ToolInvoked { .. }));
            prop_assert!(invoked.count() <= limits.calls_per_turn_max as usize);
        }
        let falls = world.entries.windows(2).any(|pair| pair[1].at < pair[0].at);
        prop_assert!(!falls);
    }
}

/// A run with every kind of step that an audit compares.
pub(crate) fn eventful() -> World {
    let mut world = setup().targets(2).begin();
    world.fail_as(bonded_kernel::FailureClass::Network);
    world
        .after(5)
        .reply(reply([look("a"), call("shell", "{}"), put("b")]));
    world.after(5).ok("a shed");
    world.after(5).ok("put");
    world.reply(text(&"a long thought ".repeat(100)));
    world.after(5).resume();
    world.reply(reply([push("c")]));
    world.returned(output(Outcome::Failed, "(tool failed: no room)"));
    world.reply(reply([done("tidy enough"), look("d")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    world
}

type Tamper = fn(&mut Header, &mut Hash, &mut Vec<u8>);

#[test]
fn a_changed_entry_breaks_the_chain() {
    let tampers: [(&str, Tamper); 10] = [
        ("body", |_, _, body| {
            let last = body.len() - 2;
            body[last] ^= 1;
        }),
        ("a byte more", |_, _, body| body.push(b' ')),
        ("empty body", |_, _, body| body.clear()),
        ("turn", |header, _, _| header.turn += 1),
        ("at", |header, _, _| header.at = Millis(header.at.0 + 1)),
        ("seq", |header, _, _| header.seq += 1),
        ("prev", |header, _, _| header.prev = Hash::of(b"another")),
        ("hash", |_, hash, _| *hash = Hash::of(b"another")),
        ("goal", |header, _, _| header.goal = GoalId::of("another")),
        ("run", |header, _, _| {
            header.run = RunId::new("another").expect("a usable id");
        }),
    ];
    for entry in &eventful().entries {
        for (name, tamper) in tampers {
            let (mut header, mut hash) = (header(entry), entry.hash);
            let mut body = entry.body.to_vec();
            tamper(&mut header, &mut hash, &mut body);
            let seq = header.seq;
            let opened = Entry::open(header, Some(hash), body.into(), |_| Some("".into()));
            assert_eq!(opened, Err(BadEntry::BrokenChain { seq }), "{name}");
        }
    }
}

#[test]
fn a_newer_format_is_refused_before_anything_else_is_read() {
    let entry = eventful().entries[0].clone();
    let newer = Header {
        format: FORMAT + 1,
        ..header(&entry)
    };
    let opened = Entry::open(newer, Some(Hash::ZERO), Arc::from(*b"\xff"), |_| None);
    let refused = BadEntry::NewerFormat {
        seq: 1,
        found: FORMAT + 1,
    };
    assert_eq!(opened, Err(refused));
}

#[test]
fn a_missing_blob_is_named() {
    let entries = eventful().entries.clone();
    let long = entries
        .iter()
        .find(|entry| matches!(&entry.event, Event::DecisionMade(d) if d.answer.text.blob().is_some()))
        .expect("a long text was said");
    let opened = Entry::open(header(long), Some(long.hash), long.body.clone(), |_| None);
    assert!(matches!(opened, Err(BadEntry::MissingBlob { seq, .. }) if seq == long.seq));
}

#[test]
fn a_log_with_a_gap_or_in_another_order_or_past_its_end_is_no_log() {
    let whole = eventful().entries.clone();
    let last = whole.last().expect("not empty").clone();
    assert_eq!(replay(&[]).map(|_| ()), Err(BadLog::Empty));
    assert_eq!(replay(&whole[1..]).map(|_| ()), Err(BadLog::NoStart));
    for missing in 1..whole.len() - 1 {
        let mut entries = whole.clone();
        entries.remove(missing);
        let gap = BadLog::Gap {
            seq: missing as u64 + 2,
            after: missing as u64,
        };
        assert_eq!(replay(&entries).map(|_| ()), Err(gap));
    }
    let mut swapped = whole.clone();
    swapped.swap(3, 4);
    assert_eq!(
        replay(&swapped).map(|_| ()),
        Err(BadLog::Gap { seq: 5, after: 3 })
    );
    let mut longer = whole;
    longer.push(Entry {
        seq: last.seq + 1,
        prev: last.hash,
        ..last
    });
    let seq = longer.len() as u64;
    assert_eq!(replay(&longer).map(|_| ()), Err(BadLog::AfterEnd { seq }));
}

/// The place of the first entry of a kind that a test changes.
fn place(entries: &[Entry], kind: &str) -> usize {
    entries
        .iter()
        .position(|entry| entry.event.kind() == kind)
        .expect("the log has one of each kind")
}

/// Changes the first entry of a kind; says after how many entries the audit must object.
type Forgery = (&'static str, fn(&mut Event), usize);

fn forgeries() -> Vec<Forgery> {
    vec![
        (
            "decision_made",
            |event| {
                if let Event::DecisionMade(decision) = event {
                    decision.calls[0].tool = "push".into();
                }
            },
            0,
        ),
        (
            "decision_made",
            |event| {
                if let Event::DecisionMade(decision) = event {
                    decision.calls[1].refused = None;
                }
            },
            0,
        ),
        (
            "tool_invoked",
            |event| {
                if let Event::ToolInvoked { tool, .. } = event {
                    *tool = "push".into();
                }
            },
            0,
        ),
        (
            "attempt_started",
            |event| {
                if let Event::AttemptStarted { reserved, .. } = event {
                    reserved.output -= 1;
                }
            },
            0,
        ),
        (
            "attempt_failed",
            |event| {
                if let Event::AttemptFailed(failed) = event {
                    failed.class = bonded_kernel::FailureClass::Auth;
                }
            },
            1,
        ),
        (
            "run_ended",
            |event| {
                if let Event::RunEnded(ended) = event {
                    ended.turns += 1;
                }
            },
            0,
        ),
        ("call_skipped", |event| *event = Event::RunResumed {}, 0),
    ]
}

#[test]
fn an_audit_names_the_first_place_where_this_kernel_would_differ() {
    for (kind, forge, later) in forgeries() {
        let mut entries = eventful().entries.clone();
        let at = place(&entries, kind);
        forge(&mut entries[at].event);
        let fault = audit(&entries).expect_err(kind);
        let AuditFault::Diverged(divergence) = fault else {
            unreachable!("{kind}: {fault}");
        };
        assert_eq!(divergence.seq, entries[at + later].seq, "{kind}");
        assert_eq!(divergence.turn, entries[at + later].turn, "{kind}");
        assert!(
            divergence.recorded.is_some() && divergence.computed.is_some(),
            "{kind}"
        );
    }
}

#[test]
fn an_audit_notices_a_tool_output_that_is_not_the_one_the_model_was_shown() {
    let mut entries = eventful().entries.clone();
    let shown = entries
        .iter()
        .rposition(|entry| matches!(&entry.event, Event::ToolFinished(f) if &*f.tool == "push"))
        .expect("push was called");
    if let Event::ToolFinished(finished) = &mut entries[shown].event {
        finished.output = "(tool failed: no roof)".into();
    }
    let AuditFault::Diverged(divergence) = audit(&entries).expect_err("another output") else {
        unreachable!("the entries are a log");
    };
    assert_eq!(
        divergence.seq,
        entries[shown + 1].seq,
        "the next request differs"
    );
}

#[test]
fn an_audit_notices_a_time_that_a_step_could_not_have_had() {
    let mut entries = eventful().entries.clone();
    let at = place(&entries, "tool_invoked");
    entries[at].at = entries[at].at.plus(1);
    let fault = audit(&entries).expect_err("the entries of a step have one time");
    assert!(matches!(fault, AuditFault::Diverged(d) if d.seq == entries[at].seq));
}

#[test]
fn an_audit_notices_a_log_that_ends_inside_a_step() {
    let entries = eventful().entries.clone();
    let inside = place(&entries, "tool_invoked");
    let AuditFault::Diverged(divergence) = audit(&entries[..inside]).expect_err("half a step")
    else {
        unreachable!("the entries are a log");
    };
    assert_eq!(divergence.recorded, None);
    assert!(
        divergence
            .computed
            .is_some_and(|body| body.contains("tool_invoked"))
    );
}

#[test]
fn an_audit_counts_the_steps_of_a_log() {
    let world = eventful();
    let audited = audit(&world.entries).expect("the same kernel wrote it");
    let mut lengths: Vec<usize> = world.boundaries.iter().map(|(length, _)| *length).collect();
    lengths.dedup();
    assert_eq!(audited.steps, lengths.len() as u64);
}
