//! What machines that work on one plan exchange through a store: contents by their hashes, beside the logs.
//!
//! Nothing of it is part of a log. The contents of a plan are removed when the plan has ended.

use bonded_kernel::{Hash, RunId};
use futures_util::future::BoxFuture;

use crate::StoreError;

/// The longest piece of a content: what one row holds.
pub const PIECE_BYTES_MAX: usize = 1024 * 1024;

/// A piece of a content. A store keeps it as it was given: whoever fetches a content holds it against its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPiece {
    /// Of the whole content.
    pub hash: Hash,
    /// Which piece, from 0.
    pub number: u32,
    /// How many pieces the content has.
    pub count: u32,
    /// At most [`PIECE_BYTES_MAX`].
    pub bytes: Vec<u8>,
}

/// A plan whose contents a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPlan {
    /// Its id.
    pub plan: String,
    /// How many contents.
    pub contents: u64,
    /// How long they are together.
    pub bytes: u64,
}

/// A place for the contents of plans, each once in its plan, and for the states of the copies that runs work in.
pub trait PlanObjects: Send + Sync {
    /// Those of these contents that are not there whole.
    fn missing<'a>(
        &'a self,
        plan: &'a str,
        contents: Vec<Hash>,
    ) -> BoxFuture<'a, Result<Vec<Hash>, StoreError>>;

    /// Keeps pieces. Those of one content are put in their order, and a piece that is there stays as it is.
    fn put<'a>(
        &'a self,
        plan: &'a str,
        pieces: Vec<ObjectPiece>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The pieces of this number of those of these contents that have one, in no order.
    fn get<'a>(
        &'a self,
        plan: &'a str,
        contents: Vec<Hash>,
        number: u32,
    ) -> BoxFuture<'a, Result<Vec<ObjectPiece>, StoreError>>;

    /// Notes in what state the copy of a run is. Refused to who does not drive the run any more.
    fn leave<'a>(&'a self, run: &'a RunId, state: Hash) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The state that was noted last.
    fn left<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Hash>, StoreError>>;

    /// The plans whose contents are here, by id.
    fn held_plans(&self) -> BoxFuture<'_, Result<Vec<HeldPlan>, StoreError>>;

    /// Removes the contents of a plan. Says whether it was done: while a worker may still need them for a run, they stay.
    fn remove<'a>(&'a self, plan: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
