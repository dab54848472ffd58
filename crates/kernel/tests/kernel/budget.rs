//! Tokens and money: the worst is reserved before a request is sent, so no budget is ever exceeded.

use bonded_kernel::{
    Effect, Event, FailureClass, Finish, LongPrice, Message, Money, Price, Reply, Reserve,
    TerminationKind, Usage,
};
use proptest::prelude::*;

use crate::common::{Setup, World, call, failure, look, push, reply, text};
use crate::limits::{HOSTILE, endless};

type Change = fn(&mut Setup);

/// Settings under which not even the first request can be paid for.
fn unaffordable() -> [(&'static str, Change); 5] {
    [
        ("a token", |s| s.config.limits.tokens_max = Some(1)),
        ("no reply", |s| {
            s.config.limits.tokens_max = Some(1);
            s.config.output_tokens_max = 0;
        }),
        ("a long system text", |s| {
            s.config.limits.tokens_max = Some(100_000);
            s.system = "x".repeat(100_000);
        }),
        ("only input costs", |s| s.price_at(1, 0, 0)),
        ("only the cache costs", |s| s.price_at(0, 0, 1)),
    ]
}

#[test]
fn a_request_that_does_not_fit_the_budget_is_never_sent() {
    for (name, change) in unaffordable() {
        let mut setup = endless();
        change(&mut setup);
        let world = setup.begin();
        assert_eq!(world.kinds(), ["run_started", "run_ended"], "{name}");
        assert_eq!(
            world.ended(),
            Some(TerminationKind::BudgetExhausted),
            "{name}"
        );
    }
    let mut setup = endless();
    setup.price_at(0, 0, 0);
    assert!(
        setup.begin().is_asking(),
        "what costs nothing breaks no budget"
    );
}

impl Setup {
    /// Every target has this price, and next to nothing may be spent.
    fn price_at(&mut self, input: u64, output: u64, cached: u64) {
        let price = Price {
            input,
            output,
            cached,
            written: None,
            above: None,
        };
        for target in &mut self.config.targets {
            target.price = Some(price);
        }
        self.config.limits.cost_max = Some(Money(5));
    }
}

#[test]
fn the_room_for_a_reply_shrinks_with_the_budget() {
    let mut world = endless()
        .limit(|limits| limits.tokens_max = Some(3_000))
        .begin();
    let mut rooms = vec![];
    while let Some(request) = bonded_kernel::request(&world.run) {
        rooms.push(request.output_tokens_max);
        let usage = Some(Usage {
            input: 100,
            output: 50,
            cached: 0,
            written: 0,
        });
        world.reply(Reply {
            usage,
            ..reply([call("shell", "{}")])
        });
    }
    assert_eq!(rooms.first(), Some(&1_000));
    assert!(
        rooms.last().is_some_and(|room| (256..1_000).contains(room)),
        "{rooms:?}"
    );
    assert_eq!(world.ended(), Some(TerminationKind::BudgetExhausted));
}

#[test]
fn a_reply_is_booked_at_its_price_and_a_silent_provider_at_the_reserve() {
    let price = Price {
        input: 3,
        output: 15,
        cached: 1,
        written: None,
        above: None,
    };
    let mut world = endless().price(price).begin();
    let usage = Some(Usage {
        input: 100,
        output: 10,
        cached: 60,
        written: 0,
    });
    world.reply(Reply {
        usage,
        ..text("hm")
    });
    assert_eq!(world.run.spend().cost, Money(40 * 3 + 60 + 10 * 15));
    let reserve = reserved(&world);
    assert_eq!(reserve.cost, Money(reserve.input * 3 + reserve.output * 15));
    let usage = None;
    world.reply(Reply {
        usage,
        ..text("hm")
    });
    assert_eq!(world.run.spend().cost, Money(330).plus(reserve.cost));
    assert_eq!(world.run.spend().requests, 2);
}

#[test]
fn a_bill_of_nothing_does_not_lift_a_budget_and_a_price_that_was_said_bounds_every_bill() {
    let price = Price {
        input: 3,
        output: 15,
        cached: 1,
        written: None,
        above: None,
    };
    // Who said the price, the bill, and what is booked of 100 and 10 tokens.
    let said = None;
    let listed = Some("2026-11-16".to_owned());
    let rows = [
        (said.clone(), 0, 450),
        (said.clone(), 200, 450),
        (said, 900, 900),
        (listed.clone(), 0, 450),
        (listed.clone(), 200, 200),
        (listed, 900, 900),
    ];
    for (price_listed, billed, booked) in rows {
        let mut setup = endless().price(price);
        for target in &mut setup.config.targets {
            target.price_listed = price_listed.clone();
        }
        let mut world = setup.begin();
        world.reply(Reply {
            usage: Some(Usage {
                input: 100,
                output: 10,
                cached: 0,
                written: 0,
            }),
            cost: Some(Money(billed)),
            ..text("hm")
        });
        let cost = world.run.spend().cost;
        assert_eq!(cost, Money(booked), "{price_listed:?}, {billed}");
    }
}

/// What the attempt under way may use.
fn reserved(world: &World) -> Reserve {
    let reserved = world
        .entries
        .iter()
        .rev()
        .find_map(|entry| match entry.event {
            Event::AttemptStarted { reserved, .. } => Some(reserved),
            _ => None,
        });
    reserved.expect("an attempt was started")
}

/// How one request went, as parts of what was reserved for it.
#[derive(Clone, Debug)]
struct Spent {
    input_percent: u64,
    output_percent: u64,
    cached_percent: u64,
    how: How,
    said_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Answered,
    Unreported,
    Rejected,
    Failed { billable: bool },
    Crashed,
}

fn spent() -> impl Strategy<Value = Spent> {
    let how = prop_oneof![
        5 => Just(How::Answered),
        1 => Just(How::Unreported),
        1 => Just(How::Rejected),
        1 => any::<bool>().prop_map(|billable| How::Failed { billable }),
        1 => Just(How::Crashed),
    ];
    (0..=100u64, 0..=100u64, 0..=100u64, how, 0..3_000usize).prop_map(
        |(input_percent, output_percent, cached_percent, how, said_bytes)| Spent {
            input_percent,
            output_percent,
            cached_percent,
            how,
            said_bytes,
        },
    )
}

fn spend_once(world: &mut World, spent: &Spent) {
    let reserved = reserved(world);
    let input = reserved.input * spent.input_percent / 100;
    let usage = Some(Usage {
        input,
        output: reserved.output * spent.output_percent / 100,
        cached: input * spent.cached_percent / 100,
        written: 0,
    });
    let said = "x".repeat(spent.said_bytes);
    match spent.how {
        How::Answered => drop(world.reply(Reply {
            usage,
            ..text(&said)
        })),
        How::Unreported => drop(world.reply(Reply {
            usage: None,
            ..reply([push(&said)])
        })),
        How::Rejected => drop(world.reply(Reply {
            usage,
            finish: Finish::ContentFilter,
            ..text(&said)
        })),
        How::Failed { billable } => {
            let mut failed = failure(FailureClass::Model);
            failed.billable = billable;
            world.fail(failed);
        }
        How::Crashed => drop(world.resume()),
    }
    if matches!(world.effect, Effect::Invoke(_)) {
        world.ok(&said);
    }
}

prop_compose! {
    fn long_price()(tokens in 0..3_000u64, input in 0..40u64, output in 0..80u64, cached in 0..60u64) -> LongPrice {
        LongPrice { tokens, input, output, cached, written: None }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_spent_never_exceeds_a_budget(
        script in prop::collection::vec(spent(), 1..40),
        tokens_max in prop::option::of(0..60_000u64),
        cost_max in prop::option::of(0..400_000u64),
        (input, output, cached) in (0..20u64, 0..40u64, 0..30u64),
        above in prop::option::of(long_price()),
        targets in 1..4usize,
        system in prop::sample::select(vec!["", HOSTILE]),
    ) {
        let setup = endless().targets(targets).price(Price { input, output, cached, written: None, above });
        let mut world = setup
            .system(system)
            .limit(|limits| {
                limits.tokens_max = tokens_max;
                limits.cost_max = cost_max.map(Money);
            })
            .begin();
        for spent in &script {
            if !world.is_asking() {
                break;
            }
            // The reserve itself fits, so not even a request that is billed in full breaks the budget.
            let worst = world.run.spend().usage.total() + reserved(&world).usage().total();
            prop_assert!(tokens_max.is_none_or(|max| worst <= max));
            let dearest = world.run.spend().cost.plus(reserved(&world).cost);
            prop_assert!(cost_max.is_none_or(|max| dearest <= Money(max)));
            spend_once(&mut world, spent);
            let spend = world.run.spend();
            prop_assert!(tokens_max.is_none_or(|max| spend.usage.total() <= max));
            prop_assert!(cost_max.is_none_or(|max| spend.cost <= Money(max)));
        }
    }

    #[test]
    fn what_is_reserved_bounds_what_a_tokenizer_of_single_bytes_would_count(
        said in prop::collection::vec(0..2_000usize, 1..12),
        system in prop::sample::select(vec!["", HOSTILE]),
    ) {
        let mut world = endless().system(system).begin();
        for bytes in said {
            let counted = system.len() + world.run.messages().iter().map(message_len).sum::<usize>();
            let reserved = reserved(&world);
            prop_assert!(reserved.input >= counted as u64);
            let usage = Some(Usage { input: counted as u64, output: 20, cached: 0, written: 0 });
            world.reply(Reply { usage, ..reply([look("a")]) });
            world.ok(&"x".repeat(bytes));
        }
    }
}

fn message_len(message: &Message) -> usize {
    match message {
        Message::User { text, .. }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text.len(),
    }
}
