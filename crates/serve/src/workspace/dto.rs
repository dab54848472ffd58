//! The bodies that the workspace's routes take and give, one file for each kind of thing.
//!
//! Types of the kernel and of the rules are never the wire's: they are converted here, so that a name that changes there
//! changes nothing that clients see. In tests each type has a schema, from which `docs/openapi.json` is written; doc
//! comments are its descriptions.

mod attachments;
mod details;
mod events;
mod health;
mod loops;
mod members;
mod note_versions;
mod notes;
mod notices;
mod proofs;
mod rule_checks;
mod rules;
mod runs;
mod scalars;
mod search;
mod sessions;
mod settings;
mod users;
mod words;
mod workspaces;

pub(crate) use attachments::{AttachmentAnswer, Attachments};
pub(crate) use details::{
    CurrentNote, FaultAnswer, FaultDetails, MeantOperation, Recovery, RoleDetails, StaleDetails,
    StreamDetails,
};
pub(crate) use events::{EventAnswer, actor};
pub(crate) use health::{Alive, Health, Readiness, Ready, ReadyProvider};
pub(crate) use loops::{AgentMemory, LoopAnswer, Loops};
pub(crate) use members::{Member, Members, NewMember};
pub(crate) use note_versions::{
    DiffHunk, DiffLine, DiffSide, KeywordCount, Keywords, LineKind, NoteDiff, Rollback,
};
pub(crate) use notes::{
    Backlinks, MetadataValue, NewNote, Note, NoteEdit, NoteHistory, NoteSummary, Notes, PatchOp,
    TitleEdit, Undelete,
};
pub(crate) use notices::{HookReceived, MarkedNotices, Notices, ReadNotices};
pub(crate) use proofs::{
    MadeToken, NewPassword, NewToken, SessionList, SessionSummary, TokenList, TokenSummary,
};
pub(crate) use rule_checks::{
    CheckedRule, DryRun, DryRunAnswer, FiringAnswer, Firings, JudgedPart, RuleFault, TriggerAnswer,
};
pub(crate) use rules::{
    LastRun, Launch, MadeSecret, NewRule, RuleAnswer, RuleEdit, RuleWhole, Rules,
};
pub(crate) use runs::{
    CloseIssue, Decision, Issues, NoteText, OperationAnswer, OperationQueue, QueuedOperation,
    ReviewRequest, Reviewed, ReviewedStatus, RunAnswer, RunWhole, Runs,
};
pub(crate) use scalars::{Id, Timestamp};
pub(crate) use search::{Degradation, Hit, SearchAnswer};
pub(crate) use sessions::{Credentials, LoggedIn, Registered, SessionAnswer};
pub(crate) use settings::{SettingAnswer, SettingList};
pub(crate) use users::{
    Acceptance, EntryState, Invitation, ListedUser, NewOwner, NewUser, User, UserEdit, UserList,
};
pub(crate) use words::SearchMode;
pub(crate) use workspaces::{NewWorkspace, Workspace, WorkspaceEdit, Workspaces};
