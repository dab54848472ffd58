//! The workspace: notes that people and agents keep, who may do what with them, and the events that every change
//! leaves behind.
//!
//! A store loads a [`View`], asks [`decide`] what a [`Change`] comes to, appends the events, and folds them with
//! [`apply`]. All of it is pure and total: ids and times enter with the change.
//!
//! Rules ([`Rule`]) say when something is done by itself: a [`Trigger`], a [`Condition`] and an [`Action`].

#![warn(clippy::wildcard_enum_match_arm)]

mod action;
mod actor;
mod automation;
mod change;
mod code;
mod condition;
mod decide;
mod event;
mod fault;
mod firing;
mod fold;
mod folder;
mod fuse;
mod links;
mod loop_settings;
mod metadata;
mod note;
mod note_write;
mod notice;
mod patch;
mod prompt_file;
mod refused;
mod role;
mod rule;
mod rule_form;
mod schedule;
mod scope;
mod sentence;
mod subject;
mod surroundings;
mod text;
mod trigger;

pub use action::{
    Action, AddKeywordAction, LoopAction, MoveAction, NeedsNote, NotifyAction, Resource, RunAction,
    WebhookAction, WorkAction, memory_name,
};
pub use actor::Actor;
pub use automation::{
    AutomationRun, EditedProposal, Issue, Operation, OperationStatus, Proposal, RunFinished,
    RunQueued, RunStatus,
};
pub use change::{Change, Fire, IssueStanding, Review, RunEnd, RunMove, View};
pub use code::Code;
pub use condition::{
    CONDITION_DEPTH_MAX, CONDITION_PARTS_MAX, CONDITION_VALUE_BYTES_MAX, Condition, Facts,
    JudgedPart, MATCHED_BYTES_MAX, PartKind,
};
pub use decide::decide;
pub use event::{Chain, MemberSet, NoteCreated, NoteUpdated, StoredEvent, WorkspaceEvent};
pub use fault::{Fault, FaultKind};
pub use firing::{Exclusive, exclusive, firing_event_id, never_begins, run_of_firing};
pub use fold::apply;
pub use folder::{FOLDER_BYTES_MAX, FOLDER_KEY, checked_folder};
pub use fuse::{FusedNote, NoteStanding, ScoredNote, fuse, later_first};
pub use links::{LINKS_MAX, links};
pub use loop_settings::{LoopDefaults, MemoryChoice, Pace, ProviderChoice};
pub use metadata::{METADATA_BYTES_MAX, METADATA_KEYS_MAX, check_metadata};
pub use note::{
    AccessScope, KEYWORD_CHARS_MAX, KEYWORDS_MAX, MARKDOWN_BYTES_MAX, Metadata,
    NOTICE_MESSAGE_BYTES_MAX, NOTICE_TITLE_CHARS_MAX, Note, TITLE_CHARS_MAX, Workspace,
    WorkspaceState, title_from_clock,
};
pub use note_write::{NewNote, NoteEdit, NoteWrite};
pub use notice::{ATTACHMENT_NAME_CHARS_MAX, ATTACHMENTS_MAX, Attachment, Notice};
pub use patch::{BadPatch, PatchOp, patched};
pub use prompt_file::{
    AGENT_NAME, AgentPrompt, PROMPT_FILE_BYTES_MAX, PROTOCOL, PromptFault, ReadPrompt,
};
pub use refused::Refused;
pub use role::{Permission, Role};
pub use rule::{CHAIN_DEPTH, Rule, RuleDraft};
pub use rule_form::rule_schema;
pub use schedule::{
    CAUGHT_UP_MAX, CLOCK_CORRECTED_MS, CatchUp, Due, Instants, LeftOut, ON_TIME_MS, Overlap,
    Schedule, due,
};
pub use subject::{
    AttachmentFact, EventSubject, IssueFact, MemberFact, NoteFact, OperationFact, RuleFact,
    RunFact, WorkspaceFact,
};
pub use surroundings::{BadSchedule, Surroundings};
pub use text::{
    SNIPPET_CHARS_MAX, headings_and_body, index_text, meaning_text, search_terms, snippet,
};
pub use trigger::Trigger;
