//! Runs that have ended take another goal: what was said stays, what a person says is heard, and every limit holds for the goal
//! and for the whole.

use bonded_kernel::{
    CONVERSATION_SYSTEM, Encoding, Entry, Event, FailureClass, GoalGiven, GoalRefused, Input,
    Limits, Message, Offer, OverallLimits, RunId, TerminationKind, Usage, audit, fork, replay,
};

use crate::agent_common::{agent, report_in};
use crate::common::{
    Setup, World, done, failure, kinds, look, noise, push, reply, setup, target, text,
};
use crate::looping_common::looped;

impl World {
    pub(crate) fn goal(&mut self, goal: &str) -> Vec<Entry> {
        let limits = self.run.limits_of_goal().clone();
        self.goal_within(goal, limits)
    }

    fn goal_within(&mut self, goal: &str, limits: Limits) -> Vec<Entry> {
        self.input(Input::Goal(Box::new(GoalGiven::new(goal, limits))))
    }

    fn say(&mut self, words: &str) -> Vec<Entry> {
        self.input(Input::Said { text: words.into() })
    }

    /// What a person said, as the next request shows it.
    fn persons_words(&self) -> Vec<String> {
        let messages = self.run.messages().iter();
        let said = messages.filter_map(|message| match message {
            Message::User { text, .. } => Some(text.to_string()),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        said.collect()
    }
}

/// Nothing is limited over all goals.
fn free(mut setup: Setup) -> Setup {
    setup.config.overall = Some(OverallLimits::default());
    setup
}

fn conversation() -> Setup {
    let mut setup = free(setup());
    setup.config.conversation = true;
    setup.system(CONVERSATION_SYSTEM)
}

fn ended() -> World {
    let mut world = free(setup()).begin();
    world.turn(look("shelf"), "a rake");
    world.reply(reply([done("tidied")]));
    world
}

#[test]
fn a_run_that_answered_goes_on_with_another_goal_from_what_was_said() {
    let mut world = ended();
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    let fresh = world.after(86_400_000).goal("now paint it");
    assert_eq!(kinds(&fresh), ["goal_given", "attempt_started"]);
    assert_eq!(world.persons_words(), ["tidy the shed", "now paint it"]);
    assert_eq!(world.asked(), (3, 1));
    assert_eq!((world.run.goals(), world.run.turns_before()), (2, 2));
    assert_eq!(&**world.run.goal_at_hand(), "now paint it");
    assert_eq!(&**world.run.goal(), "tidy the shed");
    world.turn(look("paint"), "red");
    world.reply(reply([done("painted")]));
    assert_eq!(world.reason(), "painted");
    assert_eq!(world.count("run_ended"), 2);
    world.goal("and a third");
    assert_eq!(world.run.goals(), 3);
}

#[test]
fn what_comes_after_an_end_and_is_no_goal_is_no_log() {
    let mut world = ended();
    world.goal("more");
    let ends = world
        .entries
        .iter()
        .position(|it| it.event.ended().is_some());
    let ends = ends.expect("it ended");
    assert!(replay(&world.entries[..=ends + 1]).is_ok());
    let mut forged = world.entries[..=ends].to_vec();
    forged.extend(world.entries[ends + 2..].iter().cloned());
    assert!(replay(&forged).is_err());
}

/// What brings a run to its end.
type End = fn(&mut World);

#[test]
fn every_end_that_leaves_a_conversation_takes_another_goal() {
    let end: [(TerminationKind, End); 8] = [
        (TerminationKind::Done, |it| {
            it.reply(reply([done("x")]));
        }),
        (TerminationKind::Blocked, |it| {
            it.reply(reply([done("blocked: no key")]));
        }),
        (TerminationKind::TurnsExhausted, |it| {
            (0..3).for_each(|nth| it.turn(look(&nth.to_string()), "a"));
        }),
        (TerminationKind::NoProgress, |it| {
            (0..2).for_each(|_| it.turn(look("a"), "a"));
        }),
        (TerminationKind::Cancelled, |it| drop(it.cancel("enough"))),
        (TerminationKind::Fatal, |it| {
            it.fail(failure(FailureClass::Auth));
        }),
        (TerminationKind::TimedOut, |it| {
            it.after(60_000).input(Input::DeadlineReached);
        }),
        (TerminationKind::BudgetExhausted, |it| {
            let mut costly = reply([look("a")]);
            costly.usage = Some(Usage {
                input: 2_000,
                ..Usage::default()
            });
            it.reply(costly);
            it.ok("a");
        }),
    ];
    for (kind, end) in end {
        let limits = |limits: &mut Limits| {
            limits.turns_max = 3;
            limits.repeats_max = 2;
            limits.elapsed_ms_max = Some(60_000);
            limits.tokens_max = Some(3_500);
        };
        let mut world = free(setup()).limit(limits).begin();
        end(&mut world);
        assert_eq!(world.ended(), Some(kind));
        assert_eq!(world.run.takes_goal(), Ok(()), "{kind:?}");
        world.after(1_000_000).goal("go on");
        assert!(world.is_asking(), "{kind:?}: {:?}", world.effect);
        world.reply(reply([done("gone on")]));
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{kind:?}");
    }
}

#[test]
fn a_goal_that_a_run_does_not_take_changes_nothing() {
    let mut world = setup().begin();
    assert_eq!(world.run.takes_goal(), Err(GoalRefused::NotEnded));
    assert!(world.goal("too early").is_empty());
    world.reply(reply([done("x")]));
    assert!(world.goal("  \n").is_empty(), "an empty goal is none");

    let mut refused = setup().started();
    refused.refused = Some("no tools".into());
    let mut world = World::new(refused);
    assert!(matches!(
        world.run.takes_goal(),
        Err(GoalRefused::NeverBegan { .. })
    ));
    assert!(world.goal("again").is_empty());

    let mut child = setup();
    let run = RunId::new("caller").expect("a usable id");
    child.config.parent = Some(bonded_kernel::Parent {
        run: run.clone(),
        origin: run.clone(),
        path: "caller:child".into(),
    });
    let mut world = child.begin();
    world.reply(reply([done("x")]));
    let called = GoalRefused::Called { caller: run };
    assert_eq!(world.run.takes_goal(), Err(called));

    let mut world = looped().begin();
    world.cancel("enough");
    assert_eq!(world.run.takes_goal(), Err(GoalRefused::Loops));
    assert!(world.goal("again").is_empty());
}

#[test]
fn each_goal_has_its_own_turns_and_the_run_has_those_of_its_beginning() {
    let mut world = free(setup()).limit(|it| it.turns_max = 2).begin();
    for goal in 1..=3 {
        for turn in 0..2 {
            assert_eq!(world.ended(), None, "goal {goal} turn {turn}");
            world.turn(look(&format!("{goal}/{turn}")), "a");
        }
        assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
        assert_eq!(world.reason(), "2 turns were used without a call of done");
        world.goal("on");
    }
    // Where nobody said what may be used over all goals, it is what may be used for the first.
    let mut world = setup().limit(|it| it.turns_max = 3).begin();
    world.turn(look("a"), "a");
    world.reply(reply([done("x")]));
    world.goal_within("more", Limits::default());
    world.turn(look("b"), "b");
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    assert_eq!(world.reason(), "3 turns were used without a call of done");
    world.goal_within("more", Limits::default());
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    assert_eq!(world.run.turn(), 3, "no turn begins");
}

#[test]
fn who_gives_a_goal_can_raise_what_may_be_used_over_all() {
    let mut world = setup().limit(|it| it.turns_max = 1).begin();
    world.reply(reply([done("x")]));
    let mut given = GoalGiven::new("more", Limits::default());
    given.overall = Some(OverallLimits {
        turns_max: Some(2),
        ..OverallLimits::default()
    });
    world.input(Input::Goal(Box::new(given)));
    world.turn(look("a"), "a");
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    assert_eq!(world.run.overall_limits().turns_max, Some(2));
}

#[test]
fn the_time_of_a_goal_begins_with_it_and_what_lies_between_two_does_not_count() {
    let mut setup = free(setup()).limit(|it| it.elapsed_ms_max = Some(10_000));
    setup.config.overall = Some(OverallLimits {
        elapsed_ms_max: Some(24_000),
        ..OverallLimits::default()
    });
    let mut world = setup.begin();
    world.after(9_000).reply(reply([done("x")]));
    world.after(3_600_000).goal("second");
    assert_eq!(world.run.elapsed_ms(), 9_000);
    assert_eq!(world.run.deadline(), Some(world.now.plus(10_000)));
    world.after(10_000).input(Input::DeadlineReached);
    assert_eq!(world.reason(), "10000 ms passed, the limit is 10000 ms");
    world.after(3_600_000).goal("third");
    assert_eq!(world.run.deadline(), Some(world.now.plus(5_000)));
    world.after(5_000).input(Input::DeadlineReached);
    assert_eq!(
        world.reason(),
        "24000 ms passed over all goals of the run, the limit is 24000 ms"
    );
    world.after(1).goal("fourth");
    assert_eq!(world.ended(), Some(TerminationKind::TimedOut));
}

#[test]
fn a_run_that_was_cancelled_while_nobody_drove_it_has_not_used_the_time_until_then() {
    let mut world = free(setup()).begin();
    world.after(4_000).turn(look("a"), "a");
    world.after(50_000_000).input(Input::CancelLeft {
        reason: "enough".into(),
    });
    world.after(7).goal("second");
    assert_eq!(world.run.elapsed_before_ms(), 4_000);
}

#[test]
fn tokens_are_counted_for_the_goal_and_over_the_whole() {
    // A request needs the 900 tokens of the context and 256 for the reply.
    let spend = |world: &mut World| {
        while world.is_asking() {
            let mut costly = reply([look(&world.run.turn().to_string())]);
            costly.usage = Some(Usage {
                input: 900,
                ..Usage::default()
            });
            world.reply(costly);
            world.ok("a");
        }
        world.reason().to_owned()
    };
    let mut setup = free(setup()).limit(|it| it.tokens_max = Some(5_000));
    setup.config.overall = Some(OverallLimits {
        tokens_max: Some(8_000),
        ..OverallLimits::default()
    });
    let mut world = setup.begin();
    let reason = spend(&mut world);
    assert!(
        reason.starts_with("4500 of 5000 tokens are used"),
        "{reason}"
    );
    world.goal("second");
    assert_eq!(world.run.limits_left().tokens_max, Some(3_500));
    let reason = spend(&mut world);
    assert!(
        reason.starts_with("7200 of 8000 tokens are used"),
        "{reason}"
    );
    assert!(reason.ends_with("over all goals of the run"), "{reason}");
}

#[test]
fn a_call_that_was_left_when_the_run_ended_is_closed_before_the_goal() {
    // Cancelled while two calls are under way or wait, and ended by a call before others.
    let mut world = free(setup()).begin();
    world.reply(reply([push("a"), push("b"), look("c")]));
    world.cancel("stop");
    world.goal("on");
    let closed = "(tool failed: not executed: the run had ended)";
    let results = world.results();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2].1, closed);

    let mut world = free(setup()).begin();
    world.reply(reply([done("x"), look("later")]));
    world.goal("on");
    assert_eq!(world.results()[1].1, closed);
    assert!(world.is_asking());
}

#[test]
fn what_a_person_says_meanwhile_is_in_the_log_at_once_and_in_the_next_turn() {
    let mut world = conversation().begin();
    world.reply(reply([look("a")]));
    let fresh = world.say("look at b too");
    assert_eq!(kinds(&fresh), ["person_spoke"]);
    assert_eq!(world.persons_words(), ["tidy the shed"]);
    assert_eq!(world.run.unheard().len(), 1);
    // A process dies here, and another takes the run up.
    let mut world = World::from_log(world.entries.clone());
    world.resume();
    world.ok("a");
    assert_eq!(world.persons_words(), ["tidy the shed", "look at b too"]);
    assert!(world.run.unheard().is_empty());
    let last = world.run.messages().last().expect("there are messages");
    assert!(
        matches!(last, Message::User { .. }),
        "after the results: {last:?}"
    );
}

#[test]
fn an_answer_that_was_written_before_the_person_spoke_does_not_end_the_run() {
    let mut world = conversation().begin();
    world.say("and the roof");
    world.reply(text("All tidy."));
    assert_eq!(world.ended(), None);
    assert_eq!(world.asked(), (2, 1));
    world.reply(text("The roof too."));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.reason(), "The roof too.");
}

#[test]
fn what_was_said_and_not_heard_stands_before_the_next_goal_or_is_it() {
    for goal in ["", "go on"] {
        let mut world = conversation().begin();
        world.say("the roof");
        world.cancel("stop");
        assert_eq!(world.run.unheard().len(), 1);
        world.goal(goal);
        let mut words = vec!["tidy the shed", "the roof"];
        words.extend((!goal.is_empty()).then_some(goal));
        assert_eq!(world.persons_words(), words);
        assert_eq!(&**world.run.goal_at_hand(), words[1..].join("\n\n"));
    }
}

#[test]
fn a_run_that_has_ended_or_works_in_loops_hears_nobody() {
    let mut world = ended();
    assert!(world.say("hello?").is_empty());
    let mut world = looped().begin();
    assert!(world.say("hello?").is_empty());
    let mut world = conversation().begin();
    assert!(world.say(" \n").is_empty());
}

#[test]
fn a_conversation_ends_each_goal_with_a_text_and_offers_nothing_to_end_it() {
    let mut world = conversation().begin();
    let names = |world: &World| -> Vec<String> {
        let specs = world.run.catalog().specs();
        specs.map(|spec| spec.name.to_string()).collect()
    };
    assert_eq!(names(&world), ["look", "push", "put"]);
    world.turn(look("a"), "a rake");
    world.reply(text("There is a rake."));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.reason(), "There is a rake.");
    assert!(
        world
            .run
            .termination()
            .is_some_and(|it| it.code().is_none())
    );
    let asked = world.count("attempt_started");
    assert_eq!(asked, 2, "an answer is not asked for twice");
    world.goal("and a spade?");
    world.reply(text("No."));
    assert_eq!(world.reason(), "No.");
}

#[test]
fn the_last_turn_of_a_goal_in_a_conversation_is_for_the_answer() {
    let mut world = conversation().limit(|it| it.turns_max = 2).begin();
    for _ in 0..2 {
        assert_eq!(world.offer(), Some(Offer::All));
        world.turn(look("a"), "a");
        assert_eq!(world.offer(), Some(Offer::None));
        world.reply(text("Half of it."));
        assert_eq!(world.reason(), "Half of it.");
        world.goal("the rest");
    }
    world.turn(look("a"), "a");
    world.turn(look("b"), "b");
    assert_eq!(world.reason(), "2 turns were used without an answer");
}

#[test]
fn a_reply_of_thoughts_alone_is_no_answer() {
    let mut world = conversation().begin();
    let mut thought = text("");
    thought.reasoning = "hm".into();
    world.reply(thought);
    assert_eq!(world.ended(), None);
    assert!(world.notices()[0].contains("reasoning alone"));
}

#[test]
fn an_agent_delivers_a_report_for_each_goal() {
    for encoding in [Encoding::Native, Encoding::XmlFinal, Encoding::Xml] {
        let mut world = free(agent(encoding)).begin();
        world.reply(report_in(encoding, "# One"));
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{encoding:?}");
        world.goal("another");
        assert!(world.run.report().is_none());
        world.reply(report_in(encoding, "# Two"));
        assert_eq!(world.content(), "# Two", "{encoding:?}");
        assert_eq!(world.count("run_ended"), 2);
    }
}

#[test]
fn a_goal_can_be_asked_of_other_models() {
    let mut world = ended();
    let mut given = GoalGiven::new("ask the other", Limits::default());
    given.targets = Some(vec![target(7)]);
    world.input(Input::Goal(Box::new(given)));
    assert_eq!(world.provider(), Some("provider-7"));
    world.reply(reply([done("x")]));
    world.goal("and again");
    assert_eq!(world.provider(), Some("provider-7"));
}

#[test]
fn a_summary_that_a_person_wants_leaves_the_first_goal_and_the_one_at_hand() {
    let mut world = free(setup()).begin();
    for nth in 0..4 {
        world.turn(look(&format!("place {nth}")), &noise(50));
    }
    world.reply(reply([done("tidied")]));
    let mut given = GoalGiven::new("paint it", Limits::default());
    given.sums_up = true;
    world.input(Input::Goal(Box::new(given)));
    assert!(world.notices()[0].contains("Sum it up now"));
    world.reply(text("There is a rake."));
    let words = world.persons_words();
    assert_eq!((&*words[0], words.len()), ("tidy the shed", 3));
    assert!(words[1].contains("There is a rake."));
    assert_eq!(words[2], "paint it");
    assert_eq!(world.count("context_summarised"), 1);
    world.turn(look("paint"), "red");
    assert_eq!(world.count("context_summarised"), 1, "it is made once");
}

#[test]
fn a_summary_takes_no_goal_out_that_is_pursued() {
    let mut world = free(setup()).begin();
    world.turn(look("a"), "a");
    world.reply(reply([done("tidied")]));
    world.goal("paint it");
    for nth in 0..5 {
        world.turn(look(&format!("place {nth}")), &noise(50));
    }
    world.reply(reply([done("painted")]));
    let mut given = GoalGiven::new("sell it", Limits::default());
    given.sums_up = true;
    world.input(Input::Goal(Box::new(given)));
    world.reply(text("Painted."));
    let words = world.persons_words();
    assert_eq!(words[0], "tidy the shed");
    assert_eq!(words.last().map(String::as_str), Some("sell it"));
    assert!(!words.iter().any(|it| it == "paint it"), "{words:?}");
}

#[test]
fn a_conversation_is_replayed_audited_and_forked_at_every_turn() {
    let mut world = conversation().begin();
    for nth in 0..4 {
        world.turn(look(&nth.to_string()), "a");
        world.say("quick");
        world.reply(text("Not yet."));
        world.reply(text("There."));
        world.after(1_000).goal(&format!("question {nth}"));
    }
    world.cancel("enough");
    audit(&world.entries).expect("its own kernel wrote it");
    let id = RunId::new("fork-1").expect("a usable id");
    for turn in 1..=world.run.turn() {
        let copies = fork(&world.entries, &id, turn, None).expect("the run had this turn");
        let mut forked = World::from_log(copies);
        forked.resume();
        assert_eq!(forked.asked().0, turn);
        forked.reply(text("Here too."));
        forked.goal("on");
        assert!(forked.is_asking(), "turn {turn}");
    }
}

#[test]
fn a_fork_with_other_settings_pursues_its_goal_by_them() {
    let mut world = free(setup()).begin();
    world.reply(reply([done("x")]));
    world.goal("second");
    world.turn(look("a"), "a");
    let id = RunId::new("fork-1").expect("a usable id");
    let mut config = free(setup()).config;
    config.limits.turns_max = 1;
    config.targets = vec![target(3)];
    let copies = fork(&world.entries, &id, 2, Some(&config)).expect("the run had this turn");
    let mut forked = World::from_log(copies);
    forked.resume();
    assert_eq!(forked.provider(), Some("provider-3"));
    forked.turn(look("a"), "a");
    assert_eq!(forked.ended(), Some(TerminationKind::TurnsExhausted));
    assert!(matches!(&forked.entries[0].event, Event::RunStarted(it) if it.config == config));
}

#[test]
fn the_reserve_of_a_goal_covers_the_tools_that_the_last_turn_before_it_did_not_offer() {
    let mut world = conversation().limit(|it| it.turns_max = 1).begin();
    assert_eq!(world.offer(), Some(Offer::None));
    world.reply(text("Half of it."));
    let fresh = world.goal_within("the rest", Limits::default());
    assert_eq!(world.offer(), Some(Offer::All));
    let Event::AttemptStarted { reserved, .. } = &fresh[1].event else {
        unreachable!("a goal is asked at once: {:?}", kinds(&fresh));
    };
    let tools = world.run.catalog().text().len() as u64;
    assert!(reserved.input > tools, "{reserved:?} and {tools}");
}
