//! What follows from an event in the other tables.

mod automation;
mod notes;

use bonded_workspace_rules::{Change, MemberSet, StoredEvent, Workspace, WorkspaceEvent, apply};
use rusqlite::{Connection, params};

use super::Outcome;
use super::codes::{number, time, word};
use super::error::Fault;
use super::views::{self, Loaded};
use super::words::Waiting;

/// The state that a change finds, and that each of its events moves on.
#[derive(Debug)]
pub(super) struct Projection<'a> {
    connection: &'a Connection,
    loaded: Loaded,
}

impl<'a> Projection<'a> {
    pub(super) fn new(connection: &'a Connection, loaded: Loaded) -> Self {
        Self { connection, loaded }
    }

    pub(super) fn workspace_key(&self) -> Option<i64> {
        self.loaded.workspace_key
    }

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
    pub(super) fn prepare(&mut self, stored: &StoredEvent) -> Result<Option<i64>, Fault> {
        match &stored.event {
            WorkspaceEvent::WorkspaceCreated { name } => {
                self.connection
                    .prepare_cached(
                        "INSERT INTO workspace (id, name, state, created_at, updated_at, last_seq) \
                         VALUES (?1, ?2, 'active', ?3, ?3, 0)",
                    )?
                    .execute(params![
                        stored.workspace_id.as_bytes(),
                        name,
                        time(stored.at)
                    ])?;
                self.loaded.workspace_key = Some(self.connection.last_insert_rowid());
                Ok(None)
            }
            WorkspaceEvent::NoteCreated(_)
            | WorkspaceEvent::NoteUpdated(_)
            | WorkspaceEvent::NoteTitleChanged { .. }
            | WorkspaceEvent::NoteDeleted { .. }
            | WorkspaceEvent::NoteUndeleted { .. }
            | WorkspaceEvent::NoteMetadataSet { .. }
            | WorkspaceEvent::NoteMetadataDeleted { .. } => {
                apply(&mut self.loaded.view.note, stored);
                let is_new = self.loaded.note_key.is_none();
                if is_new {
                    self.loaded.note_key = Some(self.insert_note()?);
                }
                Ok(self.loaded.note_key)
            }
            WorkspaceEvent::WorkspaceUpdated { .. }
            | WorkspaceEvent::MemberSet(_)
            | WorkspaceEvent::MemberRemoved { .. }
            | WorkspaceEvent::RuleCreated { .. }
            | WorkspaceEvent::RuleUpdated { .. }
            | WorkspaceEvent::RuleDeleted { .. }
            | WorkspaceEvent::AutomationQueued(_)
            | WorkspaceEvent::AutomationRunning { .. }
            | WorkspaceEvent::AutomationSucceeded(_)
            | WorkspaceEvent::AutomationFailed(_)
            | WorkspaceEvent::AutomationCancelled(_)
            | WorkspaceEvent::OperationProposed(_)
            | WorkspaceEvent::OperationApplied { .. }
            | WorkspaceEvent::OperationRejected { .. }
            | WorkspaceEvent::IssueRecorded(_) => Ok(None),
        }
    }

    /// Brings the tables to where they stand after the event, but for words, which wait for the transaction's end.
    pub(super) fn project(
        &mut self,
        stored: &StoredEvent,
        row: u64,
        words: &mut Waiting,
    ) -> Result<(), Fault> {
        self.loaded.last_seq = stored.event_seq;
        self.connection
            .prepare_cached("UPDATE workspace SET last_seq = ?2 WHERE key = ?1")?
            .execute(params![self.loaded.workspace_key, number(stored.event_seq)])?;
        match &stored.event {
            WorkspaceEvent::WorkspaceCreated { .. } | WorkspaceEvent::WorkspaceUpdated { .. } => {
                Workspace::apply(&mut self.loaded.view.workspace, stored);
                self.update_workspace()
            }
            WorkspaceEvent::MemberSet(member) => self.set_member(member),
            WorkspaceEvent::MemberRemoved { user_id } => {
                self.loaded.view.member = None;
                self.connection
                    .prepare_cached("DELETE FROM member WHERE workspace = ?1 AND user = ?2")?
                    .execute(params![self.loaded.workspace_key, user_id.as_bytes()])?;
                Ok(())
            }
            WorkspaceEvent::NoteCreated(_)
            | WorkspaceEvent::NoteUpdated(_)
            | WorkspaceEvent::NoteTitleChanged { .. }
            | WorkspaceEvent::NoteDeleted { .. }
            | WorkspaceEvent::NoteUndeleted { .. }
            | WorkspaceEvent::NoteMetadataSet { .. }
            | WorkspaceEvent::NoteMetadataDeleted { .. } => self.project_note(stored, row, words),
            WorkspaceEvent::RuleCreated { .. }
            | WorkspaceEvent::RuleUpdated { .. }
            | WorkspaceEvent::RuleDeleted { .. }
            | WorkspaceEvent::AutomationQueued(_)
            | WorkspaceEvent::AutomationRunning { .. }
            | WorkspaceEvent::AutomationSucceeded(_)
            | WorkspaceEvent::AutomationFailed(_)
            | WorkspaceEvent::AutomationCancelled(_)
            | WorkspaceEvent::OperationProposed(_)
            | WorkspaceEvent::OperationApplied { .. }
            | WorkspaceEvent::OperationRejected { .. }
            | WorkspaceEvent::IssueRecorded(_) => self.project_automation(stored, row),
        }
    }

    fn update_workspace(&self) -> Result<(), Fault> {
        let Some(workspace) = &self.loaded.view.workspace else {
            return Ok(());
        };
        self.connection
            .prepare_cached(
                "UPDATE workspace SET name = ?2, state = ?3, updated_at = ?4 WHERE key = ?1",
            )?
            .execute(params![
                self.loaded.workspace_key,
                workspace.name,
                word(&workspace.state)?,
                time(workspace.updated_at),
            ])?;
        Ok(())
    }

    fn set_member(&mut self, member: &MemberSet) -> Result<(), Fault> {
        // Whom the change is about comes last.
        self.loaded.view.member = Some(member.role);
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO member (workspace, user, role) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![
                self.loaded.workspace_key,
                member.user_id.as_bytes(),
                member.role.as_str(),
            ])?;
        Ok(())
    }

    /// How what the change was about stands now.
    pub(super) fn outcome(self, change: &Change) -> Result<Outcome, Fault> {
        let view = self.loaded.view;
        let outcome = match change {
            Change::CreateWorkspace { .. } | Change::UpdateWorkspace { .. } => {
                view.workspace.map(Outcome::Workspace)
            }
            Change::SetMember { user_id, .. } | Change::RemoveMember { user_id, .. } => {
                Some(Outcome::Member {
                    user_id: *user_id,
                    role: view.member,
                })
            }
            Change::CreateNote(_)
            | Change::UpdateNote(_)
            | Change::DeleteNote { .. }
            | Change::UndeleteNote { .. }
            | Change::SetMetadata { .. }
            | Change::DeleteMetadata { .. } => view.note.map(|note| Outcome::Note(Box::new(note))),
            Change::CreateRule { rule_id, .. }
            | Change::UpdateRule { rule_id, .. }
            | Change::DeleteRule { rule_id, .. } => {
                views::rule(self.connection, *rule_id)?.map(|rule| Outcome::Rule(Box::new(rule)))
            }
            Change::Fire(_) | Change::MoveRun { .. } => {
                view.run.map(|run| Outcome::Run(Box::new(run)))
            }
            Change::Propose { operation_id, .. } | Change::Review { operation_id, .. } => {
                views::operation(self.connection, *operation_id)?
                    .map(|operation| Outcome::Operation(Box::new(operation)))
            }
            Change::RecordIssue { .. }
            | Change::Considered { .. }
            | Change::ConsideredSchedule { .. } => None,
        };
        Ok(outcome.unwrap_or(Outcome::Done))
    }
}
