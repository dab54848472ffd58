//! What the kernel has to know to decide about a change.
//!
//! A view holds what `decide` asks for and nothing more, and is loaded anew for every change. Which workspace a change
//! is in follows from what it is about, never from what the caller says, except for what is made new.

use super::connection::Connection;
use bonded_kernel::{EventId, NoteId, OperationId, RuleId, RunId, WorkspaceId};
use bonded_workspace_rules::{
    Actor, AutomationRun, Change, IssueStanding, Operation, Proposal, View,
};
use rusqlite::params;

use super::codes::count;
use super::error::StoreFault;
use super::members::{owner_of_all, owners, role_in, role_of_active};
use super::notes::keyed_note;
use super::rows::{self, StoredRule};

/// A view and the keys of what is in it.
#[derive(Debug, Default)]
pub(super) struct LoadedView {
    pub(super) view: View,
    pub(super) workspace_key: Option<i64>,
    pub(super) note_key: Option<i64>,
    /// The last event of the workspace.
    pub(super) last_seq: u64,
}

/// The role is that of the actor as it is at this moment: somebody who was disabled meanwhile is no member. The
/// workspace of an agent is that of its run, and none once that has ended.
pub(super) fn load(
    connection: Connection<'_>,
    change: &Change,
    actor: &Actor,
) -> Result<LoadedView, StoreFault> {
    let mut loaded = LoadedView::default();
    let workspace = loaded.subject(connection, change)?;
    if let Some(workspace) = workspace {
        loaded.workspace(connection, workspace, actor)?;
    }
    if let (Some(workspace), Change::SetMember { user_id, .. })
    | (Some(workspace), Change::RemoveMember { user_id, .. }) = (loaded.workspace_key, change)
    {
        loaded.view.member = role_in(connection, workspace, *user_id)?;
        loaded.view.owner_of_all = owner_of_all(connection)?;
        loaded.view.owners = owners(connection, workspace)?;
    }
    if let Actor::Agent { run_id, .. } = actor {
        let run = run(connection, run_id)?.filter(|run| !run.status.has_ended());
        loaded.view.agent_workspace = run.map(|run| run.workspace_id);
        if matches!(change, Change::Propose { .. }) {
            loaded.view.operations = operation_count(connection, run_id)?;
        }
    }
    Ok(loaded)
}

impl LoadedView {
    /// Loads what the change is about and says in which workspace that is.
    fn subject(
        &mut self,
        connection: Connection<'_>,
        change: &Change,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        match change {
            Change::CreateWorkspace { workspace_id, .. }
            | Change::UpdateWorkspace { workspace_id, .. }
            | Change::SetMember { workspace_id, .. }
            | Change::RemoveMember { workspace_id, .. }
            | Change::RecordIssue { workspace_id, .. }
            | Change::PostNotice { workspace_id, .. } => Ok(Some(*workspace_id)),
            Change::CreateNote(new) => {
                self.note(connection, new.note_id)?;
                Ok(Some(new.workspace_id))
            }
            Change::UpdateNote(write) => self.note(connection, write.note_id),
            Change::DeleteNote { note_id, .. }
            | Change::UndeleteNote { note_id, .. }
            | Change::SetMetadata { note_id, .. }
            | Change::DeleteMetadata { note_id, .. }
            | Change::AddKeyword { note_id, .. }
            | Change::MoveNote { note_id, .. } => self.note(connection, *note_id),
            Change::CloseIssue { issue_id, .. } => self.issue(connection, *issue_id),
            Change::Attach(attachment) => {
                let workspace = self.note(connection, attachment.note_id)?;
                self.view.attachments = attachment_count(connection, self.note_key)?;
                Ok(workspace)
            }
            Change::RemoveAttachment { attachment_id } => {
                self.attachment(connection, *attachment_id)
            }
            Change::CreateRule { .. }
            | Change::UpdateRule { .. }
            | Change::DeleteRule { .. }
            | Change::Fire(_)
            | Change::MoveRun { .. }
            | Change::Considered { .. }
            | Change::ConsideredSchedule { .. }
            | Change::Propose { .. }
            | Change::Review { .. }
            | Change::ReceiveHook { .. } => self.automation(connection, change),
        }
    }

    /// What is about rules, runs and operations.
    fn automation(
        &mut self,
        connection: Connection<'_>,
        change: &Change,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        match change {
            Change::CreateRule { rule_id, draft } => {
                let known = rule(connection, *rule_id)?;
                self.view.rule = known.map(|known| known.rule);
                Ok(Some(draft.workspace_id))
            }
            Change::UpdateRule { rule_id, .. }
            | Change::DeleteRule { rule_id, .. }
            | Change::ReceiveHook { rule_id, .. } => self.rule(connection, *rule_id),
            Change::Fire(fire) => {
                self.view.run = run_of(connection, fire.rule_id, fire.triggering_event_id)?;
                self.view.event_workspace = workspace_of(connection, fire.triggering_event_id)?;
                self.rule(connection, fire.rule_id)
            }
            Change::MoveRun { run_id, .. } => {
                self.view.run = run(connection, run_id)?;
                Ok(self.view.run.as_ref().map(|run| run.workspace_id))
            }
            Change::Propose {
                operation_id,
                workspace_id,
                proposal,
            } => {
                self.view.operation = operation(connection, *operation_id)?;
                self.proposal(connection, proposal)?;
                Ok(Some(*workspace_id))
            }
            Change::Review { operation_id, .. } => {
                let found = operation(connection, *operation_id)?;
                if let Some(operation) = &found {
                    self.proposal(connection, &operation.proposal)?;
                }
                self.view.operation = found;
                Ok(self.view.operation.as_ref().map(|found| found.workspace_id))
            }
            Change::CreateWorkspace { .. }
            | Change::CreateNote(_)
            | Change::UpdateWorkspace { .. }
            | Change::SetMember { .. }
            | Change::RemoveMember { .. }
            | Change::UpdateNote(_)
            | Change::DeleteNote { .. }
            | Change::UndeleteNote { .. }
            | Change::SetMetadata { .. }
            | Change::DeleteMetadata { .. }
            | Change::Considered { .. }
            | Change::ConsideredSchedule { .. }
            | Change::RecordIssue { .. }
            | Change::CloseIssue { .. }
            | Change::AddKeyword { .. }
            | Change::MoveNote { .. }
            | Change::PostNotice { .. }
            | Change::Attach(_)
            | Change::RemoveAttachment { .. } => Ok(None),
        }
    }

    /// Deleted notes too: they can be restored, and their ids are taken.
    fn note(
        &mut self,
        connection: Connection<'_>,
        id: NoteId,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        if let Some((key, note)) = keyed_note(connection, id)? {
            self.note_key = Some(key);
            self.view.note = Some(note);
        }
        Ok(self.view.note.as_ref().map(|note| note.workspace_id))
    }

    /// A deleted rule is as good as none.
    fn rule(
        &mut self,
        connection: Connection<'_>,
        id: RuleId,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        let found = rule(connection, id)?.filter(|found| !found.is_deleted);
        self.view.rule = found.map(|found| found.rule);
        Ok(self.view.rule.as_ref().map(|rule| rule.draft.workspace_id))
    }

    /// An issue is named by the event that recorded it.
    fn issue(
        &mut self,
        connection: Connection<'_>,
        id: EventId,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        let sql = "SELECT workspace.id, issue.closed IS NOT NULL FROM event JOIN issue ON issue.event = event.row \
             JOIN workspace ON workspace.key = issue.workspace WHERE event.id = ?1";
        self.view.issue = rows::one(connection, sql, [id.as_bytes()], |row| {
            Ok(IssueStanding {
                workspace_id: WorkspaceId::from_bytes(row.get(0)?),
                is_closed: row.get(1)?,
            })
        })?;
        Ok(self.view.issue.map(|issue| issue.workspace_id))
    }

    /// The note that a file belongs to, deleted ones too.
    fn attachment(
        &mut self,
        connection: Connection<'_>,
        id: EventId,
    ) -> Result<Option<WorkspaceId>, StoreFault> {
        let sql = "SELECT note.id, attachment.removed IS NOT NULL FROM event \
             JOIN attachment ON attachment.event = event.row JOIN note ON note.key = attachment.note \
             WHERE event.id = ?1";
        let found = rows::one(connection, sql, [id.as_bytes()], |row| {
            Ok((NoteId::from_bytes(row.get(0)?), row.get(1)?))
        })?;
        let Some((note, is_removed)) = found else {
            return Ok(None);
        };
        self.view.is_attachment_removed = Some(is_removed);
        self.note(connection, note)
    }

    /// The note that the operation would write, as it is now.
    fn proposal(
        &mut self,
        connection: Connection<'_>,
        proposal: &Proposal,
    ) -> Result<(), StoreFault> {
        let note = match proposal {
            Proposal::CreateNote(new) => new.note_id,
            Proposal::UpdateNote(write) => write.note_id,
            Proposal::RecordIssue { .. } => return Ok(()),
        };
        self.note(connection, note)?;
        Ok(())
    }

    /// Nothing is loaded where there is no such workspace; `decide` refuses then.
    fn workspace(
        &mut self,
        connection: Connection<'_>,
        id: WorkspaceId,
        actor: &Actor,
    ) -> Result<(), StoreFault> {
        let sql = "SELECT id, name, state, created_at, updated_at, key, last_seq FROM workspace WHERE id = ?1";
        let found = rows::one(connection, sql, [id.as_bytes()], |row| {
            Ok((rows::workspace(row)?, row.get(5)?, row.get::<i64>(6)?))
        })?;
        let Some((workspace, key, last_seq)) = found else {
            return Ok(());
        };
        if let Actor::User { user_id } = actor {
            self.view.role = role_of_active(connection, key, *user_id)?;
        }
        self.view.workspace = Some(workspace);
        self.workspace_key = Some(key);
        self.last_seq = count(last_seq);
        Ok(())
    }
}

/// A rule, deleted ones too.
pub(super) fn rule(
    connection: Connection<'_>,
    id: RuleId,
) -> Result<Option<StoredRule>, StoreFault> {
    let sql = format!("{} WHERE rule.id = ?1", rows::RULE);
    rows::one(connection, &sql, [id.as_bytes()], rows::rule)
}

/// Whatever its status is.
pub(super) fn run(
    connection: Connection<'_>,
    id: &RunId,
) -> Result<Option<AutomationRun>, StoreFault> {
    let sql = format!("{} WHERE run.id = ?1", rows::RUN);
    rows::one(connection, &sql, [id.as_str()], rows::run)
}

/// Where an event happened; an instant of a schedule, or a launch, is none.
fn workspace_of(
    connection: Connection<'_>,
    event: EventId,
) -> Result<Option<WorkspaceId>, StoreFault> {
    let sql = "SELECT workspace.id FROM event JOIN workspace ON workspace.key = event.workspace \
         WHERE event.id = ?1";
    rows::one(connection, sql, [event.as_bytes()], |row| {
        Ok(WorkspaceId::from_bytes(row.get(0)?))
    })
}

/// The run that this event made this rule queue.
pub(super) fn run_of(
    connection: Connection<'_>,
    rule: RuleId,
    event: EventId,
) -> Result<Option<AutomationRun>, StoreFault> {
    let sql = format!("{} WHERE rule = ?1 AND event = ?2", rows::RUN);
    let parameters = params![rule.as_bytes(), event.as_bytes()];
    rows::one(connection, &sql, parameters, rows::run)
}

/// Judged ones too, so that a decision which is repeated is found.
pub(super) fn operation(
    connection: Connection<'_>,
    id: OperationId,
) -> Result<Option<Operation>, StoreFault> {
    let sql = format!("{} WHERE id = ?1", rows::OPERATION);
    rows::one(connection, &sql, [id.as_bytes()], rows::operation)
}

/// Without those that were removed.
fn attachment_count(connection: Connection<'_>, note: Option<i64>) -> Result<u64, StoreFault> {
    let sql = "SELECT count(*) FROM attachment WHERE note = ?1 AND removed IS NULL";
    let found = rows::one(connection, sql, [note], |row| Ok(count(row.get(0)?)))?;
    Ok(found.unwrap_or(0))
}

/// Gives the next operation its index.
fn operation_count(connection: Connection<'_>, run: &RunId) -> Result<u32, StoreFault> {
    let sql = "SELECT count(*) FROM operation WHERE run = ?1";
    let found = rows::one(connection, sql, [run.as_str()], |row| row.get(0))?;
    Ok(found.unwrap_or(0))
}
