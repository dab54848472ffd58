//! What tokens cost.

use bonded_kernel::Price;

use super::{Config, ConfigError, Problems};

const MICRO_PER_DOLLAR: f64 = 1e6;

/// Microdollars a million tokens, which is the kernel's unit of price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPricing {
    pub prompt: u64,
    pub completion: u64,
    pub cache_read: Option<u64>,
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
        }
    }
}

impl Config {
    /// The prices of a model; `None` if the configuration has none.
    pub fn pricing(&self, provider: &str, model: &str) -> Result<Option<ModelPricing>, Problems> {
        let mut problems: Vec<ConfigError> = Vec::new();
        let pricing = self
            .entry(&["pricing", provider, model], &mut problems)
            .map(|entry| {
                let units = [("per_1k", 1e3), ("per_1m", 1.0)];
                let per_million = entry.word("unit", &units, &mut problems).unwrap_or(1.0);
                entry.word("currency", &[("USD", ())], &mut problems);
                let price = |field| {
                    let dollars = entry.real(field)?;
                    // A float cast saturates: an absurd price is the highest price.
                    Some((dollars * per_million * MICRO_PER_DOLLAR).round() as u64)
                };
                ModelPricing {
                    prompt: price("prompt").unwrap_or(0),
                    completion: price("completion").unwrap_or(0),
                    cache_read: price("cacheRead"),
                    cache_write: price("cacheWrite"),
                }
            });
        Problems::none_of(problems)?;
        Ok(pricing)
    }
}
