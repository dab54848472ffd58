//! What tokens cost.
//!
//! Prices are kept as whole numbers, so that sums over many requests are exact. What a configuration
//! says counts more than the list that the program comes with.

use bonded_kernel::{LongPrice, Measure, Price};

use super::entry::ConfigEntry;
use super::{Config, ConfigError, Problems};

const MICRO_PER_DOLLAR: f64 = 1e6;
/// The words of `unit`, and how often it makes a million tokens.
pub(super) const UNITS: [(&str, f64); 2] = [("per_1k", 1e3), ("per_1m", 1.0)];
/// The words of `currency`: there is one.
pub(super) const CURRENCIES: [(&str, ()); 1] = [("USD", ())];

/// Microdollars a million tokens, which is the kernel's unit of price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPricing {
    /// Input that no cache had.
    pub prompt: u64,
    /// Output.
    pub completion: u64,
    /// Input from a cache; `None` costs as much as other input.
    pub cache_read: Option<u64>,
    /// Input that is put into a cache; `None` if nothing is said.
    pub cache_write: Option<u64>,
    /// For long requests, where they cost more.
    pub above: Option<LongPricing>,
}

/// What requests cost whose input is larger than so many tokens. What is not said is as it is for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPricing {
    /// The input from which on it holds, exclusive.
    pub tokens: u64,
    /// Input that no cache had; `None` leaves the usual price.
    pub prompt: Option<u64>,
    /// Output; `None` leaves the usual price.
    pub completion: Option<u64>,
    /// `None` leaves the usual price only where the input has no price of its own here.
    pub cache_read: Option<u64>,
    /// `None` leaves the usual price only where the input has no price of its own here.
    pub cache_write: Option<u64>,
}

impl ModelPricing {
    /// The kernel's price. What is read from a cache costs as much as other input unless it is said.
    pub fn price(&self) -> Price {
        Price {
            input: self.prompt,
            output: self.completion,
            cached: self.cache_read.unwrap_or(self.prompt),
            written: self.cache_write,
            above: self.above.map(|long| self.long_price(long)),
        }
    }

    fn long_price(&self, long: LongPricing) -> LongPrice {
        let input = long.prompt.unwrap_or(self.prompt);
        // Where the input has a price of its own, what is said of the cache for less input is too little.
        let of_cache = |own: Option<u64>, short: Option<u64>| match long.prompt {
            Some(_) => own,
            None => own.or(short),
        };
        LongPrice {
            tokens: long.tokens,
            input,
            output: long.completion.unwrap_or(self.completion),
            cached: of_cache(long.cache_read, self.cache_read).unwrap_or(input),
            written: of_cache(long.cache_write, self.cache_write),
        }
    }
}

impl Config {
    /// The prices of a model; `None` if the configuration has none.
    pub fn pricing(&self, provider: &str, model: &str) -> Result<Option<ModelPricing>, Problems> {
        let mut problems: Vec<ConfigError> = Vec::new();
        let path = ["pricing", provider, model];
        let pricing = self.entry(&path, &mut problems).map(|entry| {
            let per_million = entry.word("unit", &UNITS, &mut problems).unwrap_or(1.0);
            entry.word("currency", &CURRENCIES, &mut problems);
            let price = |field| micro(&entry, field, per_million);
            ModelPricing {
                prompt: price("prompt").unwrap_or(0),
                completion: price("completion").unwrap_or(0),
                cache_read: price("cacheRead"),
                cache_write: price("cacheWrite"),
                above: self.long_pricing(path, per_million, &mut problems),
            }
        });
        Problems::none_of(problems)?;
        Ok(pricing)
    }

    /// Without a number of tokens it could hold for any request, so it is a mistake.
    fn long_pricing(
        &self,
        [section, provider, model]: [&str; 3],
        per_million: f64,
        problems: &mut Vec<ConfigError>,
    ) -> Option<LongPricing> {
        let entry = self.entry(&[section, provider, model, "above"], problems)?;
        let Some(tokens) = entry.measured("tokens", Measure::Tokens) else {
            problems.push(entry.wrong("tokens", "a whole number from 1 up"));
            return None;
        };
        let price = |field| micro(&entry, field, per_million);
        Some(LongPricing {
            tokens,
            prompt: price("prompt"),
            completion: price("completion"),
            cache_read: price("cacheRead"),
            cache_write: price("cacheWrite"),
        })
    }
}

/// A float cast saturates: an absurd price is the highest price.
fn micro(entry: &ConfigEntry<'_>, field: &str, per_million: f64) -> Option<u64> {
    let dollars = entry.real(field)?;
    Some((dollars * per_million * MICRO_PER_DOLLAR).round() as u64)
}
