//! What is left for people: issues, notices, and files of notes.
//!
//! Only reading, but for one thing: which notices somebody has read is theirs alone, and no event of the workspace.

use std::collections::BTreeSet;

use super::connection::{Connection, Row};
use bonded_kernel::{EventId, Millis, NoteId, UserId, WorkspaceId};
use bonded_workspace_rules::{Actor, StoredEvent, WorkspaceEvent};
use rusqlite::params;

use super::codes::{count, number};
use super::error::{StoreFault, WorkspaceError};
use super::notes::Page;
use super::proof::By;
use super::rows;
use super::workspace_store::WorkspaceStore;

/// The most notices that are marked at once.
pub const NOTICES_MARKED_MAX: usize = 1000;

/// Which issues to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueState {
    /// Whatever became of them.
    #[default]
    Any,
    /// Nobody has closed them.
    Open,
    /// Somebody has.
    Closed,
}

/// An issue, and how it was closed.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedIssue {
    /// The event that recorded it.
    pub event: StoredEvent,
    /// None while it is open.
    pub closed: Option<Closing>,
}

/// How an issue was closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    /// When.
    pub at: Millis,
    /// By whom.
    pub by: Actor,
    /// What they said.
    pub reason: Option<String>,
}

/// A notice, and whether somebody has read it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedNotice {
    /// The event that posted it.
    pub event: StoredEvent,
    /// Whether the person who asks has marked it.
    pub is_read: bool,
}

/// A file of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedAttachment {
    /// The event that added it.
    pub event: StoredEvent,
    /// When it was removed, if it was.
    pub removed_at: Option<Millis>,
}

impl WorkspaceStore {
    /// Issues of a workspace, the last first.
    pub async fn listed_issues(
        &self,
        workspace: WorkspaceId,
        state: IssueState,
        page: Page,
    ) -> Result<Vec<ListedIssue>, WorkspaceError> {
        self.read(move |connection| {
            let of_state = match state {
                IssueState::Any => "",
                IssueState::Open => "AND issue.closed IS NULL",
                IssueState::Closed => "AND issue.closed IS NOT NULL",
            };
            let sql = format!(
                "SELECT issue.event, issue.closed FROM issue \
                 WHERE issue.workspace = (SELECT key FROM workspace WHERE id = ?1) {of_state} \
                 ORDER BY issue.event DESC LIMIT ?2 OFFSET ?3"
            );
            let parameters = params![
                workspace.as_bytes(),
                number(page.limit),
                number(page.offset)
            ];
            let listed = rows::all(connection, &sql, parameters, |row| {
                Ok((row.get::<i64>(0)?, row.get::<Option<i64>>(1)?))
            })?;
            let issue = |(event, closed): (i64, Option<i64>)| {
                let closed = closed.map(|row| event_at(connection, row)).transpose()?;
                Ok(ListedIssue {
                    event: event_at(connection, event)?,
                    closed: closed.map(closing),
                })
            };
            listed.into_iter().map(issue).collect()
        })
        .await
    }

    /// Notices of a workspace, the last first, with what this person has read of them.
    pub async fn notices(
        &self,
        workspace: WorkspaceId,
        reader: UserId,
        unread_only: bool,
        page: Page,
    ) -> Result<Vec<ListedNotice>, WorkspaceError> {
        self.read(move |connection| {
            let unread = if unread_only {
                "AND notice_read.notice IS NULL"
            } else {
                ""
            };
            let sql = format!(
                "SELECT notice.event, notice_read.notice IS NOT NULL FROM notice \
                 LEFT JOIN notice_read ON notice_read.user = ?4 AND notice_read.notice = notice.event \
                 WHERE notice.workspace = (SELECT key FROM workspace WHERE id = ?1) {unread} \
                 ORDER BY notice.event DESC LIMIT ?2 OFFSET ?3"
            );
            let parameters = params![
                workspace.as_bytes(),
                number(page.limit),
                number(page.offset),
                reader.as_bytes(),
            ];
            let listed = rows::all(connection, &sql, parameters, |row| {
                Ok((row.get::<i64>(0)?, row.get::<bool>(1)?))
            })?;
            let notice = |(event, is_read): (i64, bool)| {
                let event = event_at(connection, event)?;
                Ok(ListedNotice { event, is_read })
            };
            listed.into_iter().map(notice).collect()
        })
        .await
    }

    /// How many notices of a workspace this person has not read.
    pub async fn unread_notices(
        &self,
        workspace: WorkspaceId,
        reader: UserId,
    ) -> Result<u64, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT count(*) FROM notice \
                 WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM notice_read WHERE user = ?2 AND notice = notice.event)";
            let parameters = params![workspace.as_bytes(), reader.as_bytes()];
            let found = rows::one(connection, sql, parameters, |row| Ok(count(row.get(0)?)))?;
            Ok(found.unwrap_or(0))
        })
        .await
    }

    /// Marks notices of a workspace as read by this person; without ids, all that there are.
    pub async fn mark_notices_read(
        &self,
        by: By,
        workspace: WorkspaceId,
        reader: UserId,
        notices: Option<Vec<EventId>>,
    ) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            by.check_is(transaction.connection, reader)?;
            let mark = "INSERT INTO notice_read (user, notice) SELECT ?2, notice.event FROM notice";
            let of_workspace = "WHERE notice.workspace = (SELECT key FROM workspace WHERE id = ?1)";
            let (workspace, reader) = (workspace.as_bytes(), reader.as_bytes());
            match &notices {
                None => {
                    let sql = format!("{mark} {of_workspace} ON CONFLICT DO NOTHING");
                    transaction
                        .connection
                        .execute(&sql, params![workspace, reader])?;
                }
                Some(notices) => {
                    let sql = format!(
                        "{mark} {of_workspace} AND notice.event = (SELECT row FROM event WHERE id = ?3) \
                         ON CONFLICT DO NOTHING"
                    );
                    for notice in notices.iter().take(NOTICES_MARKED_MAX) {
                        let parameters = params![workspace, reader, notice.as_bytes()];
                        transaction.connection.execute(&sql, parameters)?;
                    }
                }
            }
            Ok(())
        })
        .await
    }

    /// The files of a note, the oldest first; without those that were removed.
    pub async fn attachments(&self, note: NoteId) -> Result<Vec<ListedAttachment>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT event, removed FROM attachment \
                 WHERE note = (SELECT key FROM note WHERE id = ?1) AND removed IS NULL ORDER BY event";
            let listed = rows::all(connection, sql, [note.as_bytes()], places)?;
            listed.into_iter().map(|it| attachment(connection, it)).collect()
        })
        .await
    }

    /// The names of all contents that events name.
    pub async fn attachment_names(&self) -> Result<BTreeSet<String>, WorkspaceError> {
        self.read(|connection| {
            let sql = "SELECT json_extract(event.body, '$.payload.hash') FROM attachment \
                 JOIN event ON event.row = attachment.event";
            let names = rows::all(connection, sql, params![], |row| row.get(0))?;
            Ok(names.into_iter().collect())
        })
        .await
    }

    /// A file by its id, removed ones too: what was attached stays readable.
    pub async fn attachment(
        &self,
        id: EventId,
    ) -> Result<Option<ListedAttachment>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT attachment.event, removed FROM attachment \
                 JOIN event ON event.row = attachment.event WHERE event.id = ?1";
            let found = rows::one(connection, sql, [id.as_bytes()], places)?;
            found.map(|it| attachment(connection, it)).transpose()
        })
        .await
    }
}

/// The row of an event, and of the one that ended what it began.
fn places(row: &Row<'_>) -> Result<(i64, Option<i64>), StoreFault> {
    Ok((row.get(0)?, row.get(1)?))
}

fn attachment(
    connection: Connection<'_>,
    (event, removed): (i64, Option<i64>),
) -> Result<ListedAttachment, StoreFault> {
    let removed = removed.map(|row| event_at(connection, row)).transpose()?;
    Ok(ListedAttachment {
        event: event_at(connection, event)?,
        removed_at: removed.map(|event| event.at),
    })
}

fn closing(event: StoredEvent) -> Closing {
    let mut reason = None;
    if let WorkspaceEvent::IssueClosed {
        reason: closed_for, ..
    } = event.event
    {
        reason = closed_for;
    }
    Closing {
        at: event.at,
        by: event.actor,
        reason,
    }
}

/// A row that names an event which is not there is damage.
fn event_at(connection: Connection<'_>, row: i64) -> Result<StoredEvent, StoreFault> {
    let sql = format!("{} WHERE event.row = ?1", rows::EVENT);
    let found = rows::one(connection, &sql, [row], |row| {
        Ok(rows::event(connection, row)?.1)
    })?;
    found.ok_or_else(|| {
        StoreFault::Damaged("an event that something follows from is missing".into())
    })
}
