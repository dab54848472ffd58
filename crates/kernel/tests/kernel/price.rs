//! What requests cost: with the cache, and where long ones cost something else.

use bonded_kernel::{LongPrice, Money, Price, Usage};
use proptest::prelude::*;

fn price() -> Price {
    Price {
        input: 2,
        output: 10,
        cached: 1,
        written: Some(3),
        above: Some(LongPrice {
            tokens: 1_000,
            input: 4,
            output: 15,
            cached: 2,
            written: None,
        }),
    }
}

fn usage(input: u64, cached: u64, written: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        cached,
        written,
    }
}

#[test]
fn all_of_a_request_is_charged_by_the_size_of_its_whole_input() {
    for (used, cost) in [
        (usage(1_000, 0, 0, 5), 1_000 * 2 + 5 * 10),
        (usage(1_000, 600, 300, 5), 100 * 2 + 600 + 300 * 3 + 5 * 10),
        (usage(1_001, 0, 0, 5), 1_001 * 4 + 5 * 15),
        // What the cache held counts too.
        (usage(1_001, 1_000, 0, 5), 4 + 1_000 * 2 + 5 * 15),
        // Without a price of its own, what is written costs as much as other input.
        (usage(1_001, 0, 1_001, 5), 1_001 * 4 + 5 * 15),
        (usage(0, 9, 9, 5), 50),
    ] {
        assert_eq!(price().of(&used), Money(cost), "{used:?}");
    }
}

#[test]
fn the_worst_is_that_of_long_requests_only_where_one_may_be_long() {
    assert_eq!(price().worst(&usage(1_000, 0, 0, 5)), Money(3_000 + 50));
    assert_eq!(price().worst(&usage(1_001, 0, 0, 5)), Money(4_004 + 75));
    let cheaper = Price {
        above: Some(LongPrice {
            tokens: 1_000,
            input: 1,
            output: 1,
            cached: 0,
            written: None,
        }),
        ..price()
    };
    let most = usage(1_001, 0, 0, 5);
    assert_eq!(cheaper.worst(&most), Money(3_003 + 50));
}

#[test]
fn a_price_without_what_long_requests_cost_is_written_as_it_always_was() {
    let plain = Price {
        written: None,
        above: None,
        ..price()
    };
    let text = serde_json::to_string(&plain).expect("a price is JSON");
    assert_eq!(text, r#"{"input":2,"output":10,"cached":1}"#);
    for price in [plain, price()] {
        let text = serde_json::to_string(&price).expect("a price is JSON");
        let read: Price = serde_json::from_str(&text).expect("it was written just now");
        assert_eq!(read, price);
    }
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![0..20u64, 0..=u64::MAX]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_000u64, 0..=u64::MAX]
}

prop_compose! {
    fn any_long()(tokens in count(), input in rate(), output in rate(), cached in rate(), written in prop::option::of(rate()))
        -> LongPrice { LongPrice { tokens, input, output, cached, written } }
}

prop_compose! {
    fn any_price()(input in rate(), output in rate(), cached in rate(), written in prop::option::of(rate()), above in prop::option::of(any_long()))
        -> Price { Price { input, output, cached, written, above } }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn nothing_within_what_was_reserved_costs_more_than_the_worst(
        price in any_price(),
        (input, output) in (count(), count()),
        parts in (0.0..=1.0, 0.0..=1.0),
        (cached, written) in (count(), count()),
    ) {
        let part = |whole: u64, part: f64| ((whole as f64 * part) as u64).min(whole);
        let used = usage(part(input, parts.0), cached, written, part(output, parts.1));
        let worst = price.worst(&usage(input, 0, 0, output));
        prop_assert!(price.of(&used) <= worst);
        prop_assert!(price.of(&usage(input, cached, written, output)) <= worst);
    }

    #[test]
    fn the_output_that_can_be_paid_can_be_paid_and_one_token_more_cannot(
        price in any_price(),
        (input, room) in (count(), count()),
    ) {
        let cost = |output| price.worst(&usage(input, 0, 0, output));
        let most = cost(0).plus(Money(room));
        let within = price.output_within(input, most);
        // Sums that do not fit are the highest amount, and not told apart.
        if most.0 < u64::MAX {
            prop_assert!(within == u64::MAX || cost(within) <= most);
            prop_assert!(within.checked_add(1).is_none_or(|more| cost(more) > most));
        }
    }
}
