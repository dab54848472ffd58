//! How a run ended.

use serde::{Deserialize, Serialize};

use super::usual::is_free;
use crate::model::Usage;
use crate::money::Money;
use crate::termination::Termination;
use crate::text::Text;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    pub termination: Termination,
    pub turns: u32,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Money,
    pub elapsed_ms: u64,
    /// What an agent delivers, as JSON; see [`Report`](crate::Report).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Text>,
}

impl RunEnded {
    /// Every text that may lie in a blob.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        std::iter::once(self.termination.reason_mut()).chain(&mut self.report)
    }
}
