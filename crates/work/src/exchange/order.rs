//! What a worker is told of an item, beside the log of its run.

use bonded_kernel::{Hash, Run};
use bonded_work_rules::WorkItem;
use serde::{Deserialize, Serialize};

use super::Exchange;
use super::error::ExchangeError;

/// The item, whose limits the worker holds it to, and the tree that it begins with. The log of the run names its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemOrder {
    pub(crate) item: WorkItem,
    /// The content that lists the tree.
    pub(crate) tree: Hash,
}

impl ItemOrder {
    /// An item is a part of a plan, which is no longer.
    const BYTES_MAX: u64 = 16 * 1024 * 1024;

    pub(crate) async fn send(&self, exchange: &Exchange) -> Result<Hash, ExchangeError> {
        let bytes = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        exchange.send(&bytes).await
    }

    pub(crate) async fn fetch(
        exchange: &Exchange,
        run: &Run,
        hash: Hash,
    ) -> Result<Self, ExchangeError> {
        let bytes = exchange.fetch(hash, Self::BYTES_MAX).await?;
        let order: Option<Self> = serde_json::from_slice(&bytes).ok();
        order.ok_or_else(|| ExchangeError::OtherOrder {
            run: run.id().clone(),
            hash,
        })
    }
}
