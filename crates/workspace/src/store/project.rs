//! What follows from an event in the other tables.
//!
//! Tables are projections: they hold nothing that does not follow from events. The row of an event refers to those of
//! its workspace and its note, so what is new is made before (`prepare`) and everything else after (`project`). Several
//! events of one change see each other, because the view is moved on with each.

mod automation;
mod left;
mod notes;

use super::connection::Connection;
use bonded_kernel::UserId;
use bonded_workspace_rules::{
    Change, EventSubject, MemberFact, MemberSet, StoredEvent, Workspace, WorkspaceEvent,
    WorkspaceFact, apply,
};
use rusqlite::params;

use super::codes::{number, time, word};
use super::error::StoreFault;
use super::views::{self, LoadedView};
use super::words::WaitingWords;
use super::write::WriteOutcome;

/// The state that a change finds, and that each of its events moves on.
#[derive(Debug)]
pub(super) struct Projection<'a> {
    connection: Connection<'a>,
    loaded: LoadedView,
}

impl<'a> Projection<'a> {
    /// The view must be the one that the change was decided with.
    pub(super) fn new(connection: Connection<'a>, loaded: LoadedView) -> Self {
        Self { connection, loaded }
    }

    /// None until a new workspace has its row.
    pub(super) fn workspace_key(&self) -> Option<i64> {
        self.loaded.workspace_key
    }

    /// None where the change is about no note.
    fn note_key(&self) -> Option<i64> {
        self.loaded.note_key
    }

    /// Numbers have no gaps: the transaction is the only one that writes.
    pub(super) fn next_seq(&self) -> u64 {
        self.loaded.last_seq + 1
    }

    /// The version of the note after the event.
    pub(super) fn next_version(&self, event: &WorkspaceEvent) -> Option<u64> {
        event.note_id()?;
        Some(
            self.loaded
                .view
                .note
                .as_ref()
                .map_or(1, |note| note.version + 1),
        )
    }

    /// Makes the rows that the event's own row refers to, and says which note it is about.
    pub(super) fn prepare(&mut self, stored: &StoredEvent) -> Result<Option<i64>, StoreFault> {
        match stored.event.subject() {
            EventSubject::Workspace(WorkspaceFact::Created { name }) => {
                self.insert_workspace(stored, name)?;
                Ok(None)
            }
            EventSubject::Note(..) => {
                apply(&mut self.loaded.view.note, stored);
                let is_new = self.loaded.note_key.is_none();
                if is_new {
                    self.loaded.note_key = Some(self.insert_note()?);
                }
                Ok(self.loaded.note_key)
            }
            EventSubject::Workspace(WorkspaceFact::Updated { .. })
            | EventSubject::Member(_)
            | EventSubject::Rule(_)
            | EventSubject::Run(..)
            | EventSubject::Operation(_)
            | EventSubject::Issue(_)
            | EventSubject::Notice(_)
            | EventSubject::Hook(..)
            | EventSubject::Attachment(_) => Ok(None),
        }
    }

    /// `last_seq` is 0 until its first event is projected.
    fn insert_workspace(&mut self, stored: &StoredEvent, name: &str) -> Result<(), StoreFault> {
        let key = self.connection.insert(
            "key",
            "INSERT INTO workspace (id, name, state, created_at, updated_at, last_seq) \
                 VALUES (?1, ?2, 'active', ?3, ?3, 0)",
            params![stored.workspace_id.as_bytes(), name, time(stored.at)],
        )?;
        self.loaded.workspace_key = Some(key);
        Ok(())
    }

    /// Brings the tables to where they stand after the event, but for words, which wait for the transaction's end.
    pub(super) fn project(
        &mut self,
        stored: &StoredEvent,
        row: u64,
        words: &mut WaitingWords,
    ) -> Result<(), StoreFault> {
        self.loaded.last_seq = stored.event_seq;
        self.connection.execute(
            "UPDATE workspace SET last_seq = ?2 WHERE key = ?1",
            params![self.loaded.workspace_key, number(stored.event_seq)],
        )?;
        match stored.event.subject() {
            EventSubject::Workspace(_) => {
                Workspace::apply(&mut self.loaded.view.workspace, stored);
                self.update_workspace()
            }
            EventSubject::Member(MemberFact::Set(member)) => self.set_member(member),
            EventSubject::Member(MemberFact::Removed(user_id)) => self.remove_member(user_id),
            EventSubject::Note(_, fact) => self.project_note(fact, row, words),
            EventSubject::Rule(fact) => self.project_rule(fact),
            EventSubject::Run(_, fact) => self.project_run(stored, fact),
            EventSubject::Operation(fact) => self.project_operation(stored, fact),
            EventSubject::Issue(fact) => self.project_issue(fact, row),
            EventSubject::Notice(_) => self.insert_notice(row),
            // What follows from it is the firing, which the engine makes.
            EventSubject::Hook(..) => Ok(()),
            EventSubject::Attachment(fact) => self.project_attachment(fact, row),
        }
    }

    /// From the folded workspace, so that the row and the fold cannot differ.
    fn update_workspace(&self) -> Result<(), StoreFault> {
        let Some(workspace) = &self.loaded.view.workspace else {
            return Ok(());
        };
        self.connection.execute(
            "UPDATE workspace SET name = ?2, state = ?3, updated_at = ?4 WHERE key = ?1",
            params![
                self.loaded.workspace_key,
                workspace.name,
                word(&workspace.state)?,
                time(workspace.updated_at),
            ],
        )?;
        Ok(())
    }

    /// One row for each person and workspace.
    fn set_member(&mut self, member: &MemberSet) -> Result<(), StoreFault> {
        // Whom the change is about comes last.
        self.loaded.view.member = Some(member.role);
        self.connection.execute(
            "INSERT INTO member (workspace, user, role) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (workspace, user) DO UPDATE SET role = excluded.role",
            params![
                self.loaded.workspace_key,
                member.user_id.as_bytes(),
                member.role.as_str(),
            ],
        )?;
        Ok(())
    }

    /// The event stays, and says who was a member.
    fn remove_member(&mut self, user_id: UserId) -> Result<(), StoreFault> {
        self.loaded.view.member = None;
        self.connection.execute(
            "DELETE FROM member WHERE workspace = ?1 AND user = ?2",
            params![self.loaded.workspace_key, user_id.as_bytes()],
        )?;
        Ok(())
    }

    /// How what the change was about stands now.
    pub(super) fn outcome(self, change: &Change) -> Result<WriteOutcome, StoreFault> {
        let view = self.loaded.view;
        let outcome = match change {
            Change::CreateWorkspace { .. } | Change::UpdateWorkspace { .. } => {
                view.workspace.map(WriteOutcome::Workspace)
            }
            Change::SetMember { user_id, .. } | Change::RemoveMember { user_id, .. } => {
                Some(WriteOutcome::Member {
                    user_id: *user_id,
                    role: view.member,
                })
            }
            Change::CreateNote(_)
            | Change::UpdateNote(_)
            | Change::DeleteNote { .. }
            | Change::UndeleteNote { .. }
            | Change::SetMetadata { .. }
            | Change::DeleteMetadata { .. }
            | Change::AddKeyword { .. }
            | Change::MoveNote { .. } => view.note.map(|note| WriteOutcome::Note(Box::new(note))),
            Change::CreateRule { rule_id, .. }
            | Change::UpdateRule { rule_id, .. }
            | Change::DeleteRule { rule_id, .. } => views::rule(self.connection, *rule_id)?
                .map(|rule| WriteOutcome::Rule(Box::new(rule))),
            Change::Fire(_) | Change::MoveRun { .. } => {
                view.run.map(|run| WriteOutcome::Run(Box::new(run)))
            }
            Change::Propose { operation_id, .. } | Change::Review { operation_id, .. } => {
                views::operation(self.connection, *operation_id)?
                    .map(|operation| WriteOutcome::Operation(Box::new(operation)))
            }
            Change::RecordIssue { .. }
            | Change::CloseIssue { .. }
            | Change::PostNotice { .. }
            | Change::ReceiveHook { .. }
            | Change::Attach(_)
            | Change::RemoveAttachment { .. }
            | Change::Considered { .. }
            | Change::ConsideredSchedule { .. } => None,
        };
        Ok(outcome.unwrap_or(WriteOutcome::Done))
    }
}
