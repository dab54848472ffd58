//! Whatever a model, tools, a person and a crash do to a run that works in loops, its log rebuilds it.

use bonded_kernel::{
    Effect, FailureClass, Finish, Input, Memory, Outcome, Reply, TerminationKind, ToolOutput,
};
use proptest::prelude::*;

use crate::common::{World, failure, output, text};
use crate::looping_common::{Looped, change, looped, note, ram, search, state};

#[derive(Clone, Debug)]
enum Act {
    Says(String, Finish),
    Returns(Box<ToolOutput>),
    Fails(FailureClass),
    Edits(&'static str),
    Wakes,
    Resumes,
    Cancels,
}

fn said() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => ("[abc]", "[a-z ]{0,400}").prop_map(|(key, value)| ram(&key, &value)),
        2 => Just(ram("state", "executing,paging")),
        2 => prop::sample::select(vec!["planning", "idle", "paging", "asleep"]).prop_map(state),
        2 => Just(search("q")),
        2 => Just(note("n")),
        1 => Just(change("n")),
        1 => prop::sample::select(vec!["<think>", "prose", "<x/>", "<ram_add a='1'/>", "<!-- c -->"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn act() -> impl Strategy<Value = Act> {
    let finish = prop::sample::select(vec![
        Finish::Stop,
        Finish::Stop,
        Finish::Length,
        Finish::ContentFilter,
    ]);
    let outcome = prop::sample::select(vec![
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Failed,
        Outcome::TimedOut,
    ]);
    let code = prop::sample::select(vec![
        None,
        Some("SCOPE_VIOLATION"),
        Some("VERSION_CONFLICT"),
    ]);
    let class = prop::sample::select(vec![
        FailureClass::Timeout,
        FailureClass::RateLimit,
        FailureClass::Network,
        FailureClass::Interrupted,
    ]);
    let files = vec!["{}", r#"{"state":"idle"}"#, r#"{"steps":[1],"a":null}"#];
    prop_oneof![
        10 => (said(), finish).prop_map(|(said, finish)| Act::Says(said, finish)),
        8 => (outcome, code).prop_map(|(outcome, code)| Act::Returns(Box::new(ToolOutput {
            code: code.map(Into::into),
            ..output(outcome, "r")
        }))),
        2 => class.prop_map(Act::Fails),
        2 => prop::sample::select(files).prop_map(Act::Edits),
        8 => Just(Act::Wakes),
        2 => Just(Act::Resumes),
        1 => Just(Act::Cancels),
    ]
}

fn setup() -> impl Strategy<Value = (bool, bool, bool, u64)> {
    (any::<bool>(), any::<bool>(), any::<bool>(), 100..2_000u64)
}

fn begin((keeps_text, strict, strict_scope, paging_bytes): (bool, bool, bool, u64)) -> Looped {
    looped()
        .limit(|limits| limits.turns_max = 8)
        .with(|looping| {
            looping.keeps_text = keeps_text;
            looping.strict = strict;
            looping.scope.strict_scope = strict_scope;
            looping.scope.max_notes_per_loop = 2;
            looping.paging_bytes = paging_bytes;
        })
}

fn perform(world: &mut World, act: Act) {
    match act {
        Act::Says(said, finish) => drop(world.reply(Reply {
            finish,
            ..text(&said)
        })),
        Act::Returns(output) => drop(world.returned(*output)),
        Act::Fails(class) => drop(world.fail(failure(class))),
        Act::Edits(file) => {
            let file = Memory::read(file).expect("an object");
            let edit = world.memory().edit_to(&file);
            world.input(Input::MemoryEdited(edit));
        }
        Act::Wakes => drop(world.wake()),
        Act::Resumes => drop(world.resume()),
        Act::Cancels => drop(world.cancel("enough")),
    }
}

proptest! {
    /// The world itself looks, when it is dropped, whether the log rebuilds the run and passes its audit.
    #[test]
    fn any_course_of_a_loop_is_rebuilt_and_audited(
        setup in setup(),
        acts in prop::collection::vec(act(), 0..50),
    ) {
        let paging_bytes = setup.3;
        let mut world = begin(setup).begin();
        for act in acts {
            perform(&mut world, act);
            // Only a person may put more into the memory than it takes; a text of theirs here is short.
            prop_assert!(world.memory().bytes() <= 4 * paging_bytes + 200);
            let is_waiting = matches!(world.effect, Effect::Wait { .. } | Effect::Ask { .. } | Effect::Invoke(_));
            prop_assert!(is_waiting || world.ended().is_some());
        }
        prop_assert!(world.run.turn() <= 8);
        if world.ended() == Some(TerminationKind::Done) {
            prop_assert!(world.memory().is_idle() && world.memory().has_no_steps());
        }
    }
}
