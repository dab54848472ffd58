//! Random scripts: what a model, tools, a clock, a person and a crash may do to a run, in any order.

use bonded_kernel::{
    Effect, Failure, FailureClass, Finish, Input, Limits, Millis, Money, Outcome, Price, Reply,
    ReplyCall, ToolOutput, Usage,
};
use proptest::prelude::*;

use crate::common::{Setup, World, output, setup};

/// One thing that happens, and how much the clock moves before it.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    ms: u64,
    backwards: bool,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    /// What the run waits for comes.
    Fits {
        reply: Box<Reply>,
        output: Box<ToolOutput>,
    },
    Fails(Failure),
    /// An answer to another turn, attempt or call than the one under way.
    Stale {
        turn: u32,
        number: u32,
        reply: Reply,
    },
    Woke,
    Resumed,
    Cancelled(String),
    Deadline,
    Panicked(String),
}

/// Starts the run and plays every move, also those after its end.
pub(crate) fn play(setup: Setup, moves: &[Move]) -> World {
    let mut world = setup.begin();
    for made in moves {
        world.now = match made.backwards {
            true => Millis(world.now.0.saturating_sub(made.ms)),
            false => world.now.plus(made.ms),
        };
        perform(&mut world, &made.act);
    }
    world
}

fn perform(world: &mut World, act: &Act) {
    match act.clone() {
        Act::Fits { reply, output } => match world.effect {
            Effect::Ask { .. } => drop(world.reply(*reply)),
            Effect::Invoke(_) => drop(world.returned(*output)),
            Effect::Wait { .. } | Effect::Review(_) | Effect::Stop(_) => drop(world.wake()),
        },
        Act::Fails(failure) => drop(world.fail(failure)),
        Act::Stale {
            turn,
            number,
            reply,
        } => {
            let late = Box::new(output(Outcome::Ok, "late"));
            world.input(Input::ToolReturned {
                turn,
                call: number,
                output: late,
            });
            world.input(Input::Reply {
                turn,
                attempt: number,
                reply: Box::new(reply),
            });
        }
        Act::Woke => drop(world.input(Input::Woke)),
        Act::Resumed => drop(world.resume()),
        Act::Cancelled(reason) => drop(world.cancel(&reason)),
        Act::Deadline => drop(world.input(Input::DeadlineReached)),
        Act::Panicked(message) => drop(world.input(Input::Panicked { message })),
    }
}

pub(crate) fn moves() -> impl Strategy<Value = Vec<Move>> {
    prop::collection::vec(one_move(), 0..40)
}

fn one_move() -> impl Strategy<Value = Move> {
    let act = prop_oneof![
        24 => (reply(), tool_output()).prop_map(|(reply, output)| Act::Fits {
            reply: Box::new(reply),
            output: Box::new(output),
        }),
        5 => failure().prop_map(Act::Fails),
        2 => (0..4u32, 0..4u32, reply())
            .prop_map(|(turn, number, reply)| Act::Stale { turn, number, reply }),
        2 => Just(Act::Woke),
        3 => Just(Act::Resumed),
        1 => words().prop_map(Act::Cancelled),
        1 => Just(Act::Deadline),
        1 => words().prop_map(Act::Panicked),
    ];
    (0..40_000u64, prop::bool::weighted(0.1), act).prop_map(|(ms, backwards, act)| Move {
        ms,
        backwards,
        act,
    })
}

/// Short texts, which lie in the log, and long ones, which lie beside it.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["", " ", "a shed", "panic: x", "ünïcode\n\"quoted\"\u{0}"])
            .prop_map(str::to_owned),
        1 => (1_020..1_030usize).prop_map(|bytes| "x".repeat(bytes)),
    ]
}

fn call() -> impl Strategy<Value = ReplyCall> {
    let pair = prop_oneof![
        6 => words().prop_map(|path| ("look", serde_json::json!({ "path": path }).to_string())),
        4 => words().prop_map(|value| ("put", serde_json::json!({ "value": value }).to_string())),
        4 => words().prop_map(|text| ("push", serde_json::json!({ "text": text }).to_string())),
        1 => words().prop_map(|reason| ("done", serde_json::json!({ "reason": reason }).to_string())),
        1 => Just(("shell", "{}".to_owned())),
        1 => words().prop_map(|arguments| ("push", arguments)),
    ];
    let id = prop::sample::select(vec!["", "a", "b", "c", "call_1_0", "call_1_1", "call_2_1"]);
    (id, pair).prop_map(|(id, (tool, arguments))| ReplyCall {
        id: id.into(),
        tool: tool.into(),
        arguments,
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    let finish = prop::sample::select(vec![
        Finish::Stop,
        Finish::ToolCalls,
        Finish::ToolCalls,
        Finish::Length,
        Finish::ContentFilter,
        Finish::Unknown,
    ]);
    let usage = prop::option::of((0..500u64, 0..200u64, 0..600u64).prop_map(
        |(input, output, cached)| Usage {
            input,
            output,
            cached,
            written: 0,
        },
    ));
    let calls = prop::collection::vec(call(), 0..5);
    (words(), words(), calls, usage, finish, 0..9_000u64).prop_map(
        |(text, reasoning, calls, usage, finish, latency_ms)| Reply {
            text,
            reasoning,
            calls,
            usage,
            finish,
            model: usage.map(|_| "model-0".into()),
            request_id: usage.map(|usage| format!("req-{}", usage.input)),
            latency_ms,
            ..Reply::default()
        },
    )
}

fn tool_output() -> impl Strategy<Value = ToolOutput> {
    let outcome = prop::sample::select(vec![
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Interrupted,
    ]);
    (outcome, words(), prop::option::of(0..9_000_000u64)).prop_map(
        |(outcome, text, cut_from_bytes)| ToolOutput {
            cut_from_bytes,
            ..output(outcome, &text)
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    let class = prop::sample::select(vec![
        FailureClass::RateLimit,
        FailureClass::RateLimit,
        FailureClass::Network,
        FailureClass::Timeout,
        FailureClass::Model,
        FailureClass::Malformed,
        FailureClass::Overflow,
        FailureClass::Interrupted,
        FailureClass::Auth,
        FailureClass::Quota,
    ]);
    let retry_after_ms = prop::option::of(0..90_000u64);
    (class, words(), retry_after_ms, any::<bool>()).prop_map(
        |(class, message, retry_after_ms, billable)| Failure {
            retry_after_ms,
            billable,
            status: billable.then_some(503),
            ..Failure::new(class, message)
        },
    )
}

/// Settings under which each limit is met now and then.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    limits: Limits,
    targets: usize,
    price: Option<Price>,
}

impl Terms {
    pub(crate) fn setup(&self) -> Setup {
        let mut setup = setup().targets(self.targets);
        setup.config.limits = self.limits.clone();
        match self.price {
            Some(price) => setup.price(price),
            None => setup,
        }
    }
}

pub(crate) fn terms() -> impl Strategy<Value = Terms> {
    let price = Price {
        input: 3,
        output: 15,
        cached: 1,
        written: None,
        above: None,
    };
    let counts = (0..12u32, 0..5u32, 1..5u32, 0..5u32);
    let sums = (
        prop::option::of(0..600_000u64),
        prop::option::of(0..40_000u64),
        prop::option::of(0..300_000u64),
    );
    (counts, sums, 1..4usize, prop::option::of(Just(price))).prop_map(
        |((turns_max, calls, attempts, repeats_max), (elapsed, tokens, cost), targets, price)| {
            Terms {
                limits: Limits {
                    turns_max,
                    calls_per_turn_max: calls,
                    attempts_per_turn_max: attempts,
                    elapsed_ms_max: elapsed,
                    tokens_max: tokens,
                    cost_max: cost.map(Money),
                    repeats_max,
                    ..Limits::default()
                },
                targets,
                price,
            }
        },
    )
}
