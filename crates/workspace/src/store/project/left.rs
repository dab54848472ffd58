//! The rows of what is left for people: issues, notices, and files of notes.
//!
//! Each row is named by the row of the event that made it; what became of it since is a column that names another event.

use bonded_workspace_rules::{AttachmentFact, IssueFact};
use rusqlite::params;

use super::Projection;
use crate::store::codes::number;
use crate::store::error::StoreFault;

impl Projection<'_> {
    /// An issue stays in its list when it is closed.
    pub(super) fn project_issue(&self, fact: IssueFact<'_>, row: u64) -> Result<(), StoreFault> {
        match fact {
            IssueFact::Recorded(_) => {
                self.connection.execute(
                    "INSERT INTO issue (event, workspace) VALUES (?1, ?2)",
                    params![number(row), self.workspace_key()],
                )?;
            }
            IssueFact::Closed(issue) => {
                self.connection
                    .execute("UPDATE issue SET closed = ?2 WHERE event = (SELECT row FROM event WHERE id = ?1)", params![issue.as_bytes(), number(row)])?;
            }
        }
        Ok(())
    }

    /// Nobody has read it yet.
    pub(super) fn insert_notice(&self, row: u64) -> Result<(), StoreFault> {
        self.connection.execute(
            "INSERT INTO notice (event, workspace) VALUES (?1, ?2)",
            params![number(row), self.workspace_key()],
        )?;
        Ok(())
    }

    /// The note is that of the view, which the decision was made with.
    pub(super) fn project_attachment(
        &self,
        fact: AttachmentFact<'_>,
        row: u64,
    ) -> Result<(), StoreFault> {
        match fact {
            AttachmentFact::Added(_) => {
                self.connection.execute(
                    "INSERT INTO attachment (event, note) VALUES (?1, ?2)",
                    params![number(row), self.note_key()],
                )?;
            }
            AttachmentFact::Removed(attachment) => {
                self.connection
                    .execute("UPDATE attachment SET removed = ?2 WHERE event = (SELECT row FROM event WHERE id = ?1)", params![attachment.as_bytes(), number(row)])?;
            }
        }
        Ok(())
    }
}
