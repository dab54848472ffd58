//! Work items: a plan of them, a tree as it was and as it is, what changed between the two, and what follows
//! from that.
//!
//! A host reads a [`WorkPlan`], freezes the tree into a [`Tree`], runs each item in a copy, holds what it does
//! against its limits with [`check_so_far`], seals a [`Capsule`] when the run has ended, and asks [`admit`]
//! whether the changes may be published.

mod admission;
mod canonical;
mod capsule;
mod change;
mod declared;
mod delta;
mod fault;
mod item;
mod path;
mod plan;
mod read;
mod state;
mod trace;
mod tree;

pub use admission::{Denial, Invariant, admit, check_so_far, within};
pub use canonical::canonical;
pub use capsule::{Artifact, ArtifactKind, Capsule, prompt_of};
pub use change::{Change, Clash};
pub use declared::DeclaredPath;
pub use delta::{Deltas, Footprint};
pub use fault::{PlanFault, PlanFaultKind};
pub use item::{
    AgentId, BadAgentId, BadItemId, Budget, Complexity, Constraints, ITEM_ID_BYTES_MAX, ItemId,
    WorkItem,
};
pub use path::{BadTreePath, TreePath};
pub use plan::{PlanContext, WorkPlan};
pub use state::{BadMove, ItemState, WorkStatus, blocked};
pub use trace::{CallStatus, TracedCall, tool_trace};
pub use tree::{Child, Directory, Node, Special, Tree};
