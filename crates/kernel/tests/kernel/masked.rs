//! Replies that hold a secret: what the model wrote is executed, and nothing that is kept holds the secret.

use std::sync::Arc;

use bonded_kernel::{
    Effect, Entry, Event, Input, Mask, Permission, Policy, Reply, SkipReason, audit, next, replay,
};

use crate::common::{World, call, done, kinds, look, push, put, reply, setup};
use crate::policy::{rule, with_policy};

const KEY: &str = "vK8-tR2.wQ7_zX4mN9";

fn mask() -> Arc<Mask> {
    Arc::new(Mask::new([(KEY, "KEY")]))
}

fn say(world: &mut World, reply: Reply) -> Vec<Entry> {
    let (turn, attempt) = world.asked();
    world.input(Input::SecretReply {
        turn,
        attempt,
        reply: Box::new(reply),
        mask: mask(),
    })
}

fn arguments(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::Invoke(invocation) => Some(invocation.arguments()),
        _ => None,
    }
}

/// The whole log as it is stored.
fn log(world: &World) -> String {
    let bodies = world.entries.iter();
    let bodies = bodies.map(|entry| String::from_utf8_lossy(&entry.body).into_owned());
    bodies.collect::<Vec<_>>().join("\n")
}

fn end(world: &mut World) {
    world.reply(reply([done("all is well")]));
    assert!(matches!(world.effect, Effect::Stop(_)));
    assert!(!log(world).contains(KEY), "{}", log(world));
}

#[test]
fn a_call_with_a_secret_is_executed_as_it_was_written_and_kept_with_its_name() {
    let mut world = setup().begin();
    let mut said = reply([push(&format!("a {KEY} b")), look("after")]);
    said.text = format!("I use {KEY}");
    said.signed = Some(format!("{{\"thought\":\"{KEY}\"}}"));
    say(&mut world, said);
    let written = format!(r#"{{"text":"a {KEY} b"}}"#);
    assert_eq!(arguments(&world.effect), Some(written.as_str()));
    world.ok("pushed");
    assert_eq!(arguments(&world.effect), Some(r#"{"path":"after"}"#));
    world.ok("seen");
    assert!(log(&world).contains("a [secret KEY] b"));
    assert!(log(&world).contains("I use [secret KEY]"));
    end(&mut world);
}

#[test]
fn what_is_checked_is_what_the_model_wrote() {
    // The name is longer than what the schema allows; the secret is not.
    let mut world = setup().begin();
    let mask = Arc::new(Mask::new([("Zq7vN2x", "A_NAME_THAT_IS_MUCH_LONGER")]));
    let (turn, attempt) = world.asked();
    let reply = Box::new(reply([call("look", r#"{"path":"Zq7vN2x","x":"y"}"#)]));
    world.input(Input::SecretReply {
        turn,
        attempt,
        reply,
        mask,
    });
    assert_eq!(
        world.results().len() + usize::from(arguments(&world.effect).is_some()),
        1
    );
    world.ok("seen");
    end(&mut world);
}

#[test]
fn a_log_alone_never_leads_to_the_execution_of_masked_arguments() {
    let mut world = setup().begin();
    // `look` reads, so that it would be executed again.
    say(&mut world, reply([look(KEY), push(KEY)]));
    assert!(arguments(&world.effect).is_some());
    let alone = replay(&world.entries).expect("a log");
    assert!(
        matches!(next(&alone), Effect::Wait { .. }),
        "{:?}",
        next(&alone)
    );
    let kinds = kinds(&world.resume());
    assert_eq!(
        kinds,
        [
            "run_resumed",
            "tool_finished",
            "call_skipped",
            "attempt_started"
        ]
    );
    let shown = world.results();
    assert!(shown[0].1.contains("it is not executed again"), "{shown:?}");
    assert!(shown[1].1.contains("secrets are not kept"), "{shown:?}");
    end(&mut world);
}

#[test]
fn another_process_can_end_a_run_while_a_call_with_a_secret_is_under_way() {
    let mut world = setup().begin();
    say(&mut world, reply([put(KEY)]));
    let mut other = World::from_log(world.entries.clone());
    assert_eq!(other.wake(), [], "nothing goes on from the log alone");
    let reason = "enough".to_owned();
    let made = other.input(Input::Cancel { reason });
    assert_eq!(kinds(&made), ["tool_finished", "run_ended"]);
    assert!(!log(&other).contains(KEY));
    world.ok("put");
    end(&mut world);
}

#[test]
fn a_call_with_a_secret_does_not_wait_for_a_person_who_could_not_see_it() {
    let rules = vec![rule("push", Permission::Ask)];
    let mut world = with_policy(Policy {
        rules,
        ..Policy::default()
    })
    .begin();
    let made = say(&mut world, reply([push(KEY), push("plain")]));
    let skipped = made.iter().any(|entry| {
        matches!(entry.event, Event::CallSkipped { reason, .. } if reason == SkipReason::SecretNotKept)
    });
    assert!(skipped, "{:?}", kinds(&made));
    let Effect::Review(waiting) = &world.effect else {
        unreachable!("it waits: {:?}", world.effect);
    };
    assert_eq!(&*waiting.arguments, r#"{"text":"plain"}"#);
    assert!(audit(&world.entries).is_ok());
}

#[test]
fn a_recorded_reply_with_a_secret_cannot_bring_in_a_tool_that_the_run_does_not_have() {
    let mut world = setup().begin();
    say(&mut world, reply([push(KEY)]));
    world.ok("pushed");
    end(&mut world);
    let mut forged = world.entries.clone();
    for entry in &mut forged {
        if let Event::DecisionMade(decision) = &mut entry.event {
            decision.calls[0].tool = "unknown".into();
            break;
        }
    }
    assert!(audit(&forged).is_err());
}
