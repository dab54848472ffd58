//! Tokens as providers count them.

use serde::{Deserialize, Serialize};

/// Tokens as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request, the cached ones included.
    pub input: u64,
    /// All tokens of the reply, reasoning included.
    pub output: u64,
    /// Those of `input` that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Those of `input` that the provider wrote into its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// What counts against a budget of tokens; cached tokens count like others.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// So much less.
    pub fn minus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cached: self.cached.saturating_sub(other.cached),
            written: self.written.saturating_sub(other.written),
        }
    }

    /// Adds another one, at most up to what the numbers hold.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.written = self.written.saturating_add(other.written);
    }
}
