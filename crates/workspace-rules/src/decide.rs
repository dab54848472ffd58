//! What a change comes to: its events, or why it is refused.
//!
//! This is where every rule about who may change what is upheld, whichever way the change came: over HTTP, from an
//! agent, from the command line or from the engine. The permission is asked before versions and fields are looked at,
//! so that whoever may not write learns nothing from how a write fails. It is pure: it reads no clock and no store, and
//! the same view, change, actor and time always come to the same events.

mod automation;
mod members;
mod note_fields;
mod notes;
mod permit;
mod review;
mod small;
mod workspaces;

use bonded_kernel::Millis;

use super::actor::Actor;
use super::change::{Change, View};
use super::event::WorkspaceEvent;
use super::refused::Refused;

type EventsOrRefusal = Result<Vec<WorkspaceEvent>, Refused>;

/// What comes of a change. No event means that things are already as the change wants them.
/// The view must be loaded in the transaction that appends the events; otherwise two changes could both be permitted by
/// what only one of them left.
/// What was only considered comes to none: it has no view of one workspace, and the store fires each of its rules as a
/// change of its own.
pub fn decide(view: &View, change: &Change, actor: &Actor, now: Millis) -> EventsOrRefusal {
    match change {
        Change::CreateWorkspace { workspace_id, name } => {
            workspaces::create_workspace(view, *workspace_id, name, actor)
        }
        Change::UpdateWorkspace {
            workspace_id,
            name,
            state,
        } => workspaces::update_workspace(view, *workspace_id, name.as_deref(), *state, actor),
        Change::SetMember {
            workspace_id,
            user_id,
            role,
        } => members::set_member(view, *workspace_id, *user_id, *role, actor),
        Change::RemoveMember {
            workspace_id,
            user_id,
        } => members::remove_member(view, *workspace_id, *user_id, actor),
        Change::CreateNote(new) => notes::create_note(view, new, actor, now),
        Change::UpdateNote(write) => notes::update_note(view, write, actor),
        Change::DeleteNote {
            note_id,
            base_version,
        } => notes::delete_note(view, *note_id, *base_version, actor),
        Change::UndeleteNote {
            note_id,
            base_version,
        } => notes::undelete_note(view, *note_id, *base_version, actor),
        Change::SetMetadata {
            note_id,
            base_version,
            key,
            value,
        } => notes::set_metadata(view, *note_id, *base_version, (key, value), actor),
        Change::DeleteMetadata {
            note_id,
            base_version,
            key,
        } => notes::delete_metadata(view, *note_id, *base_version, key, actor),
        Change::CreateRule { rule_id, draft } => {
            automation::create_rule(view, *rule_id, draft, actor, now)
        }
        Change::UpdateRule {
            rule_id,
            base_version,
            draft,
        } => automation::update_rule(view, *rule_id, *base_version, draft, actor, now),
        Change::DeleteRule {
            rule_id,
            base_version,
        } => automation::delete_rule(view, *rule_id, *base_version, actor),
        Change::Fire(fire) => automation::fire_rule(view, fire, actor),
        Change::MoveRun { run_id, to } => automation::move_run(view, run_id, to, actor),
        Change::Considered { .. } | Change::ConsideredSchedule { .. } => Ok(vec![]),
        Change::Propose {
            operation_id,
            workspace_id,
            proposal,
        } => review::propose(view, *operation_id, *workspace_id, proposal, actor, now),
        Change::Review {
            operation_id,
            review,
        } => review::review(view, *operation_id, review, actor, now),
        Change::RecordIssue {
            workspace_id,
            issue,
        } => review::record_issue(view, *workspace_id, issue, actor),
        Change::CloseIssue { issue_id, reason } => {
            small::close_issue(view, *issue_id, reason.as_deref(), actor)
        }
        Change::AddKeyword { note_id, keyword } => {
            small::add_keyword(view, *note_id, keyword, actor)
        }
        Change::MoveNote { note_id, folder } => small::move_note(view, *note_id, folder, actor),
        Change::PostNotice {
            workspace_id,
            notice,
        } => small::post_notice(view, *workspace_id, notice, actor),
        Change::ReceiveHook {
            rule_id,
            delivery,
            body,
        } => small::receive_hook(view, *rule_id, delivery, body, actor),
        Change::Attach(attachment) => small::attach(view, attachment, actor),
        Change::RemoveAttachment { attachment_id } => {
            small::remove_attachment(view, *attachment_id, actor)
        }
    }
}
