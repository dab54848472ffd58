//! Money in whole picodollars, so that sums are exact and equal everywhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

const PICO_PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount in picodollars (10⁻¹² USD).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// The sum, at most what the number holds.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, never below 0.
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// For people and charts only: it is not exact.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO_PER_DOLLAR as f64
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.dollars())
    }
}

/// Why a text is no amount of dollars.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an amount of dollars such as 0.25")]
pub struct BadMoney {
    text: String,
}

impl FromStr for Money {
    type Err = BadMoney;

    /// Reads dollars, with at most twelve decimals.
    fn from_str(text: &str) -> Result<Self, BadMoney> {
        let bad = || BadMoney { text: text.into() };
        let digits = text.strip_prefix('$').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 12 || !all_digits(whole) || !all_digits(fraction) {
            return Err(bad());
        }
        let whole: u64 = whole.parse().map_err(|_| bad())?;
        let fraction: u64 = format!("{fraction:0<12}").parse().map_err(|_| bad())?;
        whole
            .checked_mul(PICO_PER_DOLLAR)
            .and_then(|pico| pico.checked_add(fraction))
            .map(Self)
            .ok_or_else(bad)
    }
}

/// Picodollars a token, which is the same number as microdollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For input tokens that were neither cached nor written into the cache.
    pub input: u64,
    /// For output tokens, thoughts included.
    pub output: u64,
    /// For input tokens that came from the provider's cache.
    pub cached: u64,
    /// For input tokens that the provider wrote into its cache, where that costs something of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// What long requests cost, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<LongPrice>,
}

/// What a request costs, all of it, whose whole input is larger than so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPrice {
    /// The input above which these rates hold.
    pub tokens: u64,
    /// See [`Price::input`].
    pub input: u64,
    /// See [`Price::output`].
    pub output: u64,
    /// See [`Price::cached`].
    pub cached: u64,
    /// See [`Price::written`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

impl Price {
    /// What a request costs that was counted.
    pub fn of(&self, usage: &Usage) -> Money {
        let long = self.long().filter(|(tokens, _)| usage.input > *tokens);
        let rates = long.map_or(self.base_rates(), |(_, rates)| rates);
        rates.of(usage)
    }

    /// The most that this usage or a smaller one can cost, whether or not the cache helps.
    pub fn worst(&self, usage: &Usage) -> Money {
        self.rates_up_to(usage.input)
            .map(|rates| rates.worst(usage))
            .max()
            .unwrap_or_default()
    }

    /// The most output tokens that can be paid beside so many of input, at worst.
    pub fn output_within(&self, input: u64, most: Money) -> u64 {
        let whole = |rates: Rates| {
            let left = most.minus(Money(input.saturating_mul(rates.dearest_input())));
            left.0.checked_div(rates.output).unwrap_or(u64::MAX)
        };
        self.rates_up_to(input).map(whole).min().unwrap_or_default()
    }

    /// What requests of up to so many tokens of input may be charged at. Nothing says that long ones are the dearer.
    fn rates_up_to(&self, input: u64) -> impl Iterator<Item = Rates> {
        let long = self.long().filter(|(tokens, _)| input > *tokens);
        std::iter::once(self.base_rates()).chain(long.map(|(_, rates)| rates))
    }

    fn base_rates(&self) -> Rates {
        Rates {
            input: self.input,
            output: self.output,
            cached: self.cached,
            written: self.written.unwrap_or(self.input),
        }
    }

    fn long(&self) -> Option<(u64, Rates)> {
        self.above.map(|long| {
            let rates = Rates {
                input: long.input,
                output: long.output,
                cached: long.cached,
                written: long.written.unwrap_or(long.input),
            };
            (long.tokens, rates)
        })
    }
}

/// What a request is charged at.
#[derive(Clone, Copy)]
struct Rates {
    input: u64,
    output: u64,
    cached: u64,
    written: u64,
}

impl Rates {
    fn of(&self, usage: &Usage) -> Money {
        let cached = usage.cached.min(usage.input);
        let written = usage.written.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let part = |tokens: u64, price: u64| Money(tokens.saturating_mul(price));
        part(fresh, self.input)
            .plus(part(cached, self.cached))
            .plus(part(written, self.written))
            .plus(part(usage.output, self.output))
    }

    fn worst(&self, usage: &Usage) -> Money {
        Money(usage.input.saturating_mul(self.dearest_input()))
            .plus(Money(usage.output.saturating_mul(self.output)))
    }

    fn dearest_input(&self) -> u64 {
        self.input.max(self.cached).max(self.written)
    }
}
