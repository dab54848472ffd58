//! Approvals: what a policy denies is never executed, what it asks about waits for a person.

use bonded_kernel::{
    Effect, Event, Input, Permission, Policy, RefusalCode, ReplyCall, Rule, TerminationKind,
    ToolPattern, Verdict, WaitingCall, next, replay,
};
use proptest::prelude::*;

use crate::common::{Setup, World, done, kinds, look, push, put, reply, setup};

pub(crate) fn rule(tools: &str, permission: Permission) -> Rule {
    Rule {
        tools: ToolPattern::new(tools),
        permission,
    }
}

pub(crate) fn with_policy(policy: Policy) -> Setup {
    let mut setup = setup();
    setup.config.policy = Some(Box::new(policy));
    setup
}

fn with_rules(rules: impl IntoIterator<Item = Rule>) -> Setup {
    with_policy(Policy {
        rules: rules.into_iter().collect(),
        ..Policy::default()
    })
}

/// A run in which `push` waits for a person.
fn waiting() -> World {
    let mut world = with_rules([rule("push", Permission::Ask)]).begin();
    world.reply(reply([push("a"), look("after")]));
    world
}

pub(crate) fn waits(world: &World) -> Option<&WaitingCall> {
    match &world.effect {
        Effect::Review(waiting) => Some(waiting),
        _ => None,
    }
}

pub(crate) fn verdict(world: &mut World, verdict: Verdict) -> Vec<&'static str> {
    let (turn, call) = waits(world).map_or((0, 0), |it| (it.turn, it.call));
    let digest = waits(world).map(|it| it.digest);
    let by = "a person".to_owned();
    kinds(&world.input(Input::Reviewed {
        turn,
        call,
        digest,
        verdict,
        by,
    }))
}

fn denied(reason: &str) -> Verdict {
    Verdict::Denied {
        reason: reason.into(),
    }
}

fn invoked(world: &World) -> Vec<String> {
    let invoked = world.invoked().into_iter();
    invoked.map(|(_, tool)| tool).collect()
}

#[test]
fn the_first_rule_that_matches_holds_and_no_rule_allows() {
    use Permission::{Allow, Ask, Deny};
    let policy = Policy {
        rules: vec![
            rule("fs_read", Allow),
            rule("fs_*", Ask),
            rule("*_delete", Deny),
            rule("fs_delete", Deny),
        ],
        ..Policy::default()
    };
    for (tool, permission) in [
        ("fs_read", Allow),
        ("fs_write", Ask),
        ("fs_delete", Ask),
        ("db_delete", Deny),
        ("FS_write", Allow),
        ("other", Allow),
    ] {
        assert_eq!(policy.permission(tool).0, permission, "{tool}");
    }
}

#[test]
fn a_pattern_is_a_name_in_which_a_star_stands_for_any_letters() {
    for (pattern, name, matches) in [
        ("push", "push", true),
        ("push", "push_", false),
        ("push", "Push", false),
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("a*", "a", true),
        ("*a", "ba", true),
        ("*a", "ab", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("**", "x", true),
        ("a?", "ab", false),
        ("é*", "éa", true),
    ] {
        let found = ToolPattern::new(pattern).matches(name);
        assert_eq!(found, matches, "{pattern:?} and {name:?}");
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_what_its_parts_say_and_never_takes_long(
        pattern in "[ab*]{0,40}",
        name in "[ab]{0,64}",
    ) {
        let found = ToolPattern::new(pattern.clone()).matches(&name);
        prop_assert_eq!(found, naive(pattern.as_bytes(), name.as_bytes()));
    }
}

/// Row by row, as the definition says it.
fn naive(pattern: &[u8], name: &[u8]) -> bool {
    let mut reach: Vec<bool> = (0..=name.len()).map(|at| at == 0).collect();
    for letter in pattern {
        let before = reach.clone();
        for at in 0..=name.len() {
            reach[at] = match letter {
                b'*' => before[..=at].iter().any(|it| *it),
                _ => at > 0 && before[at - 1] && name[at - 1] == *letter,
            };
        }
    }
    reach[name.len()]
}

#[test]
fn what_the_policy_denies_is_refused_with_a_code_of_its_own_and_never_executed() {
    let mut world = with_rules([rule("pu*", Permission::Deny)]).begin();
    let fresh = world.reply(reply([push("a"), look("a"), put("a")]));
    let Event::DecisionMade(decision) = &fresh[0].event else {
        unreachable!("a reply with calls is a decision: {fresh:?}");
    };
    let codes: Vec<_> = decision
        .calls
        .iter()
        .map(|call| call.refused.as_ref().map(|refusal| refusal.code))
        .collect();
    let code = Some(RefusalCode::Denied);
    assert_eq!(codes, [code, None, code]);
    world.ok("a shed");
    assert_eq!(invoked(&world), ["look"]);
    let told = &world.results()[0].1;
    assert!(told.starts_with("(tool failed: denied by policy"), "{told}");
}

#[test]
fn a_call_that_is_asked_about_waits_with_its_arguments_and_the_reason() {
    let mut world = waiting();
    assert_eq!(world.kinds().last(), Some(&"review_asked"));
    let waiting = waits(&world).expect("push is asked about");
    assert_eq!((waiting.turn, waiting.call), (1, 0));
    assert_eq!(&*waiting.tool, "push");
    assert_eq!(&*waiting.arguments, r#"{"text":"a"}"#);
    assert_eq!(&*waiting.why, "the policy asks for push");
    assert_eq!(invoked(&world), [] as [&str; 0]);
    assert_eq!(world.wake(), [], "it goes on waiting");
    assert!(waits(&world).is_some());
}

#[test]
fn an_approved_call_is_executed_by_whoever_drives_next() {
    let mut world = waiting();
    assert_eq!(verdict(&mut world, Verdict::Approved), ["call_reviewed"]);
    assert_eq!(
        invoked(&world),
        [] as [&str; 0],
        "who judges need not drive"
    );
    assert_eq!(kinds(&world.wake()), ["tool_invoked"]);
    world.ok("pushed");
    assert_eq!(invoked(&world), ["push", "look"]);
}

#[test]
fn an_approved_call_that_crashed_before_it_began_is_begun_and_not_given_up() {
    let mut world = waiting();
    verdict(&mut world, Verdict::Approved);
    world.after(60_000);
    assert_eq!(kinds(&world.resume()), ["run_resumed", "tool_invoked"]);
    assert!(matches!(&world.effect, Effect::Invoke(call) if call.tool() == "push"));
}

#[test]
fn an_approval_holds_for_one_call_and_not_for_the_next_of_its_kind() {
    let mut world = with_rules([rule("push", Permission::Ask)]).begin();
    world.reply(reply([push("a"), push("b")]));
    verdict(&mut world, Verdict::Approved);
    world.wake();
    world.ok("pushed");
    let waiting = waits(&world).expect("the second call is another one");
    assert_eq!(&*waiting.arguments, r#"{"text":"b"}"#);
    assert_eq!(invoked(&world), ["push"]);
}

fn is_approved(effect: &Effect) -> Option<bool> {
    match effect {
        Effect::Invoke(call) => Some(call.approved()),
        _ => None,
    }
}

#[test]
fn an_invocation_says_whether_a_person_approved_it_after_a_replay_too() {
    let mut world = waiting();
    verdict(&mut world, Verdict::Approved);
    world.wake();
    assert_eq!(is_approved(&world.effect), Some(true));
    assert_eq!(
        is_approved(&next(&replay(&world.entries).expect("a log"))),
        Some(true)
    );
    world.ok("pushed");
    assert_eq!(is_approved(&world.effect), Some(false), "nobody was asked");
    assert_eq!(
        is_approved(&next(&replay(&world.entries).expect("a log"))),
        Some(false)
    );
}

#[test]
fn a_denied_call_is_told_to_the_model_and_the_run_goes_on() {
    for (reason, told) in [
        ("not today", "(tool failed: denied by a person: not today)"),
        (" ", "(tool failed: denied by a person)"),
    ] {
        let mut world = waiting();
        assert_eq!(verdict(&mut world, denied(reason)), ["call_reviewed"]);
        assert_eq!(world.results()[0].1, told);
        world.wake();
        world.ok("a shed");
        assert_eq!(invoked(&world), ["look"]);
        assert!(world.is_asking());
    }
}

#[test]
fn a_long_reason_is_cut_so_that_it_cannot_flood_the_context() {
    let mut world = waiting();
    verdict(&mut world, denied(&"é".repeat(10_000)));
    assert!(world.results()[0].1.chars().count() < 600);
}

#[test]
fn a_verdict_on_a_call_that_does_not_wait_changes_nothing() {
    let mut world = waiting();
    for (turn, call) in [(0, 0), (1, 1), (2, 0), (u32::MAX, u32::MAX)] {
        let by = "a person".to_owned();
        let verdict = Verdict::Approved;
        let late = Input::Reviewed {
            turn,
            call,
            digest: None,
            verdict,
            by,
        };
        assert_eq!(world.input(late), []);
    }
    verdict(&mut world, denied("no"));
    let again = Input::Reviewed {
        turn: 1,
        call: 0,
        digest: None,
        verdict: Verdict::Approved,
        by: "another".into(),
    };
    assert_eq!(world.input(again), [], "the first verdict holds");
    assert_eq!(invoked(&world), [] as [&str; 0]);
}

#[test]
fn a_verdict_on_another_call_than_the_one_that_waits_changes_nothing() {
    let seen = waits(&waiting()).map(|it| it.digest);
    let mut other = with_rules([rule("push", Permission::Ask)]).begin();
    other.reply(reply([push("b")]));
    let meant = waits(&other).map(|it| it.digest);
    assert_ne!(seen, meant, "other arguments");
    let verdict = |digest| Input::Reviewed {
        turn: 1,
        call: 0,
        digest,
        verdict: Verdict::Approved,
        by: "a person".into(),
    };
    assert_eq!(other.input(verdict(seen)), []);
    assert_eq!(kinds(&other.input(verdict(meant))), ["call_reviewed"]);
    let Event::CallReviewed(recorded) = &other.entries.last().expect("it was recorded").event
    else {
        unreachable!("it was recorded: {:?}", other.entries.last());
    };
    assert_eq!(recorded.digest, meant);
}

#[test]
fn a_run_that_waits_survives_any_number_of_processes() {
    let mut world = waiting();
    for _ in 0..3 {
        world = World::from_log(world.entries.clone());
        world.after(1_000_000).resume();
        assert!(waits(&world).is_some());
    }
    verdict(&mut world, Verdict::Approved);
    world.wake();
    assert_eq!(invoked(&world), ["push"]);
}

#[test]
fn the_time_that_a_person_takes_is_not_the_runs() {
    let day_ms = 86_400_000;
    let asked = with_rules([rule("push", Permission::Ask)]);
    let mut world = asked
        .limit(|limits| limits.elapsed_ms_max = Some(5_000))
        .begin();
    world.after(1_000).reply(reply([push("a")]));
    assert_eq!(world.run.deadline(), None, "nobody drives it");
    assert_eq!(world.after(day_ms).input(Input::DeadlineReached), []);
    world.after(day_ms).resume();
    world.after(day_ms);
    verdict(&mut world, Verdict::Approved);
    assert_eq!(world.run.elapsed_ms(), 1_000);
    world.resume();
    world.after(4_500).ok("pushed");
    assert_eq!(world.ended(), Some(TerminationKind::TimedOut));
}

#[test]
fn the_time_after_a_verdict_is_the_runs_again() {
    let mut world = waiting();
    world.after(86_400_000);
    verdict(&mut world, Verdict::Approved);
    world.after(700).wake();
    world.after(300).ok("pushed");
    assert_eq!(world.run.elapsed_ms(), 1_000);
}

#[test]
fn a_run_that_waits_can_be_cancelled_and_its_time_is_what_was_used() {
    let mut world = waiting();
    world.after(86_400_000).cancel("enough");
    assert_eq!(world.ended(), Some(TerminationKind::Cancelled));
    let Some(Event::RunEnded(ended)) = world.entries.last().map(|entry| &entry.event) else {
        unreachable!("the run has ended");
    };
    assert_eq!(ended.elapsed_ms, 0);
    assert!(world.run.waiting_call().is_none());
}

#[test]
fn the_terminal_call_is_never_asked_about_or_denied() {
    for permission in [Permission::Ask, Permission::Deny] {
        let mut world = with_rules([rule("*", permission)]).begin();
        world.reply(reply([done("tidy")]));
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{permission:?}");
    }
}

#[test]
fn to_be_denied_the_same_call_again_and_again_is_no_progress() {
    let mut world = with_rules([rule("push", Permission::Ask)]).begin();
    for _ in 0..3 {
        world.reply(reply([push("a")]));
        verdict(&mut world, denied("no"));
        world.wake();
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn what_a_policy_above_demands_holds_and_can_only_become_stricter() {
    use Permission::{Allow, Ask, Deny};
    let order = [Allow, Ask, Deny];
    let policy = |permission| Policy {
        rules: vec![rule("push", permission)],
        ..Policy::default()
    };
    for (above, own) in order.into_iter().flat_map(|a| order.map(|b| (a, b))) {
        let both = Policy {
            above: Some(Box::new(policy(above))),
            ..policy(own)
        };
        assert_eq!(both.permission("push").0, above.max(own));
    }
}

#[test]
fn a_policy_without_rules_changes_no_entry_of_a_log() {
    let play = |setup: Setup| {
        let mut world = setup.begin();
        let calls: [ReplyCall; 2] = [look("a"), push("b")];
        world.reply(reply(calls));
        world.ok("a shed");
        world.ok("pushed");
        world.kinds()
    };
    assert_eq!(play(with_policy(Policy::default())), play(setup()));
}
