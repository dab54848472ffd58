//! The workspace: notes that people and agents keep, who may do what with them, and the events that every change
//! leaves behind.
//!
//! A store loads a [`View`], asks [`decide`] what a [`Change`] comes to, appends the events, and folds them with
//! [`apply`]. All of it is pure and total: ids and times enter with the change.

mod automation;
mod change;
mod decide;
mod event;
mod fold;
mod id;
mod links;
mod metadata;
mod note;
mod patch;
mod refused;
mod role;
mod text;

pub use automation::{
    AutomationRun, Issue, Operation, OperationStatus, Proposal, RunAudit, RunFinished, RunQueued,
    RunStatus,
};
pub use change::{
    Actor, Change, Fire, NewNote, NoteEdit, NoteWrite, Review, RunEnd, RunMove, View,
};
pub use decide::decide;
pub use event::{Chain, MemberSet, NoteCreated, NoteUpdated, StoredEvent, WorkspaceEvent};
pub use fold::apply;
pub use id::{BadId, EventId, NoteId, OperationId, RuleId, UserId, WorkspaceId};
pub use links::{LINKS_MAX, links};
pub use metadata::{METADATA_BYTES_MAX, METADATA_KEYS_MAX, Metadata, check_metadata};
pub use note::{
    AccessScope, MARKDOWN_BYTES_MAX, Note, TITLE_CHARS_MAX, Workspace, WorkspaceState, folded,
    title_from_clock,
};
pub use patch::{BadPatch, PatchOp, patched};
pub use refused::Refused;
pub use role::{Permission, Role};
pub use text::{SNIPPET_CHARS_MAX, headings, index_text, search_terms, snippet};
