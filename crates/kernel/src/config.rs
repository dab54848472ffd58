//! What a run is given when it starts, resolved once by the host and then frozen in the log.

use serde::{Deserialize, Serialize};

use crate::money::{Money, Price};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The working directory, absolute: the tools stay inside it.
    pub dir: String,
    /// Tried in this order, round-robin. Never empty.
    pub targets: Vec<Target>,
    pub limits: Limits,
    pub output_tokens_max: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// A provider's endpoint and a model there. It holds no secret: a key is named by the variable that
/// holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub provider: String,
    /// The base URL, or the file of a script.
    pub endpoint: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    pub timeout_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// The hard limits. Each holds whatever the model, the tools, the prompt or a restart do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub turns_max: u32,
    pub calls_per_turn_max: u32,
    pub attempts_per_turn_max: u32,
    /// Time while a process drives the run; the time between a crash and the resume does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<Money>,
    /// How often the same thing may happen in a row before the run ends as without progress; 0 = never.
    pub repeats_max: u32,
    pub tool_timeout_ms: u64,
    pub tool_output_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_max: 50,
            calls_per_turn_max: 10,
            attempts_per_turn_max: 10,
            elapsed_ms_max: Some(3_600_000),
            tokens_max: None,
            cost_max: None,
            repeats_max: 3,
            tool_timeout_ms: 300_000,
            tool_output_bytes_max: 32_768,
        }
    }
}
