//! A fork has the first turns of another run and settings of its own.

use bonded_kernel::{Event, RunConfig, RunId, TerminationKind, audit, fork, replay, request};
use proptest::prelude::*;

use crate::common::{World, done, reply, run_id};
use crate::replay::{assert_chained, eventful, through_a_store};
use crate::script::{moves, play, terms};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_run_forked_at_any_turn_is_a_log_that_audits_and_goes_on(
        terms in terms(),
        moves in moves(),
    ) {
        let world = play(terms.setup(), &moves);
        let id = RunId::new("fork-1").expect("a usable id");
        for turn in 1..=world.run.turn() {
            let copies = fork(&world.entries, &id, turn, None).expect("the run had this turn");
            let stored = through_a_store(&copies).expect("readable entries");
            assert_chained(&stored);
            audit(&stored).expect("what was taken over is given");
            let mut forked = World::from_log(stored);
            prop_assert_eq!(forked.run.id(), &id);
            forked.resume();
            forked.reply(reply([done("here too")]));
            audit(&forked.entries).expect("what came after is its own");
        }
        prop_assert!(fork(&world.entries, &id, world.run.turn() + 1, None).is_none());
    }
}

#[test]
fn a_fork_keeps_what_was_said_and_spent_before_its_turn_and_nothing_else() {
    let world = eventful();
    let id = RunId::new("fork-1").expect("a usable id");
    assert!(fork(&world.entries, &id, 0, None).is_none());
    for turn in 1..=world.run.turn() {
        let begins = world
            .entries
            .iter()
            .position(|e| e.turn == turn && e.event.kind() == "attempt_started")
            .expect("every turn has an attempt");
        let original = replay(&world.entries[..begins]).expect("a log");
        let copies = fork(&world.entries, &id, turn, None).expect("the run had this turn");
        let forked = replay(&copies).expect("a log");
        assert_eq!(forked.messages(), original.messages());
        assert_eq!(forked.spend(), original.spend());
        let Event::RunStarted(started) = &copies[0].event else {
            unreachable!("a fork begins as every run does");
        };
        let origin = started.forked_from.as_ref().expect("a fork says so");
        assert_eq!((&origin.run, origin.turn), (&run_id(), turn));
        assert_eq!(origin.head, world.entries[begins - 1].hash);
    }
}

#[test]
fn a_fork_is_bound_by_its_own_settings_from_its_first_request_on() {
    let world = eventful();
    let id = RunId::new("fork-1").expect("a usable id");
    let forked = |turn, change: fn(&mut RunConfig)| {
        let mut config = world.run.config().clone();
        change(&mut config);
        let copies = fork(&world.entries, &id, turn, Some(&config)).expect("a turn of the run");
        let mut forked = World::from_log(copies);
        forked.resume();
        audit(&forked.entries).expect("the same kernel wrote it");
        forked
    };
    let turns = forked(3, |config| config.limits.turns_max = 2);
    assert_eq!(turns.ended(), Some(TerminationKind::TurnsExhausted));
    let tokens = forked(2, |config| config.limits.tokens_max = Some(100));
    assert_eq!(tokens.ended(), Some(TerminationKind::BudgetExhausted));
    let targets = forked(2, |config| config.targets.truncate(1));
    assert_eq!(targets.provider(), Some("provider-0"));
    let room = forked(2, |config| config.output_tokens_max = 17);
    let asked = request(&room.run).expect("the fork asks");
    assert_eq!(asked.output_tokens_max, 17);
}
