//! Work items: a plan of them, a tree as it was and as it is, what changed between the two, and what follows
//! from that.
//!
//! A host reads a [`WorkPlan`], freezes the tree into a [`Tree`], runs each item in a copy, holds what it does
//! against its limits with [`check_so_far`], seals a [`Capsule`] when the run has ended, and asks [`admit`]
//! whether the changes may be published. Whatever comes of it is sealed in a [`Receipt`], which anybody can check
//! with [`verify_receipt`], and told in a [`RunResult`].

#![warn(clippy::wildcard_enum_match_arm)]

mod admission;
mod canonical;
mod capsule;
mod change;
mod counts;
mod declared;
mod delta;
mod ended;
mod fault;
mod item;
mod item_form;
mod lines;
mod merge;
mod merkle;
mod missing;
mod path;
mod plan;
mod read;
mod receipt;
mod result;
mod state;
mod statement;
mod trace;
mod tree;
mod verdict;

pub use admission::{Denial, Invariant, admit, check_so_far, sets_id, within};
pub use canonical::canonical;
pub use capsule::{Artifact, ArtifactKind, Capsule, prompt_of};
pub use change::{Change, Clash};
pub use counts::{TestCounts, test_counts};
pub use declared::DeclaredPath;
pub use delta::{Deltas, Footprint};
pub use ended::{EndedRun, NotTested, bind, may_be_tested, touches_git};
pub use fault::{PlanFault, PlanFaultKind};
pub use item::{
    AgentId, BadAgentId, BadItemId, Budget, Complexity, Constraints, ITEM_ID_BYTES_MAX, ItemId,
    RETRIES_MAX, WorkItem,
};
pub use item_form::plan_schema;
pub use lines::{MERGED_BYTES_MAX, merged_lines};
pub use merkle::{ProofStep, merkle_proof, merkle_root, root_from_proof};
pub use missing::{missing_inputs, missing_outputs};
pub use path::{BadTreePath, TreePath};
pub use plan::WorkPlan;
pub use read::PlanContext;
pub use receipt::{
    Admission, ChainFault, ChainFaultKind, EarlierAttempt, ItemOutcome, LevelFault, LevelItem,
    LevelReceipt, Metrics, RECEIPT_FORMAT, Receipt, ReceiptFault, ReceiptLink, RunRecord,
    verify_chain, verify_level, verify_level_items, verify_receipt,
};
pub use result::{ResultFiles, RunResult};
pub use state::{WorkStatus, blocked};
pub use statement::{
    Envelope, EnvelopeFault, PAYLOAD_TYPE, PREDICATE_TYPE, Signature, open_envelope,
    open_signed_receipt, pre_authentication, seal_envelope, signed_receipt, statement,
};
pub use trace::{CallStatus, TracedCall, tool_trace};
pub use tree::{Child, Directory, Node, Special, Tree};
pub use verdict::{TestFault, TestReport};
