//! Workspaces and who is what in them.
//!
//! These are reads for requests and for decisions. Whoever is disabled counts as no member wherever somebody asks in
//! their own name.

use super::connection::Connection;
use bonded_kernel::{UserId, WorkspaceId};
use bonded_workspace_rules::{Refused, Role, Workspace, WorkspaceState};
use rusqlite::params;

use super::codes::from_word;
use super::error::{StoreFault, WorkspaceError};
use super::people::UserState;
use super::rows;
use super::workspace_store::WorkspaceStore;

/// Somebody in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberStanding {
    /// Whether the workspace may be read or written.
    pub state: WorkspaceState,
    /// None for whoever is no member.
    pub role: Option<Role>,
}

impl WorkspaceStore {
    /// The workspace with this id, deleted ones too.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, WorkspaceError> {
        self.look_up(move |connection| {
            let sql = format!("{} WHERE id = ?1", rows::WORKSPACE);
            rows::one(connection, &sql, [id.as_bytes()], rows::workspace)
        })
        .await
    }

    /// Names who made a workspace, as [`QueuedRuns`](super::QueuedRuns) does.
    pub async fn maker_of(&self, id: WorkspaceId) -> Result<Option<String>, WorkspaceError> {
        self.look_up(move |connection| {
            let sql = "SELECT actor FROM event WHERE seq = 1 \
                 AND workspace = (SELECT key FROM workspace WHERE id = ?1)";
            rows::one(connection, sql, [id.as_bytes()], |row| row.get(0))
        })
        .await
    }

    /// All workspaces, the oldest first.
    pub async fn all_workspaces(&self) -> Result<Vec<Workspace>, WorkspaceError> {
        self.read(|connection| {
            let sql = format!("{} ORDER BY key", rows::WORKSPACE);
            rows::all(connection, &sql, params![], rows::workspace)
        })
        .await
    }

    /// The workspaces that a person is a member of, the oldest first.
    pub async fn workspaces(&self, user: UserId) -> Result<Vec<(Workspace, Role)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT id, name, state, created_at, updated_at, role \
                 FROM member JOIN workspace ON workspace.key = member.workspace WHERE user = ?1 ORDER BY key";
            rows::all(connection, sql, [user.as_bytes()], |row| {
                let role: String = row.get(5)?;
                Ok((rows::workspace(row)?, from_word(&role)?))
            })
        })
        .await
    }

    /// The members of a workspace, by their ids.
    pub async fn members(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<(UserId, Role)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT user, role FROM member \
                 WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) ORDER BY user";
            rows::all(connection, sql, [workspace.as_bytes()], |row| {
                let (user, role): ([u8; 16], String) = (row.get(0)?, row.get(1)?);
                Ok((UserId::from_bytes(user), from_word(&role)?))
            })
        })
        .await
    }

    /// What a person is in a workspace.
    pub async fn role(
        &self,
        workspace: WorkspaceId,
        user: UserId,
    ) -> Result<Option<Role>, WorkspaceError> {
        let standing = self.standing(workspace, user).await?;
        Ok(standing.and_then(|standing| standing.role))
    }

    /// How a workspace stands, and a person in it; `None` where there is no such workspace.
    pub async fn standing(
        &self,
        workspace: WorkspaceId,
        user: UserId,
    ) -> Result<Option<MemberStanding>, WorkspaceError> {
        self.look_up(move |connection| {
            let sql = "SELECT workspace.state, role FROM workspace \
                 LEFT JOIN member ON member.workspace = workspace.key AND user = ?2 \
                 AND NOT EXISTS (SELECT 1 FROM user WHERE user.id = ?2 AND user.state <> 'active') \
                 WHERE workspace.id = ?1";
            let parameters = params![workspace.as_bytes(), user.as_bytes()];
            rows::one(connection, sql, parameters, |row| {
                let role = row.get_ref(1)?.as_str_or_null()?;
                Ok(MemberStanding {
                    state: from_word(row.get_ref(0)?.as_str()?)?,
                    role: role.map(from_word).transpose()?,
                })
            })
        })
        .await
    }
}

/// As the row says, whether or not the person may come in.
pub(super) fn role_in(
    connection: Connection<'_>,
    workspace: i64,
    user: UserId,
) -> Result<Option<Role>, StoreFault> {
    let sql = "SELECT role FROM member WHERE workspace = ?1 AND user = ?2";
    rows::one(
        connection,
        sql,
        params![workspace, user.as_bytes()],
        |row| {
            let role: String = row.get(0)?;
            from_word(&role)
        },
    )
}

/// What somebody who asks is there: who was disabled while a request of theirs was under way is nobody.
pub(super) fn role_of_active(
    connection: Connection<'_>,
    workspace: i64,
    user: UserId,
) -> Result<Option<Role>, StoreFault> {
    let sql = "SELECT 1 FROM user WHERE id = ?1 AND state <> 'active'";
    let is_out = rows::one(connection, sql, [user.as_bytes()], |_| Ok(()))?;
    match is_out {
        Some(()) => Ok(None),
        None => role_in(connection, workspace, user),
    }
}

/// Refuses somebody who is kept out, or has gone, as a member: what is handed to them, nobody gets back.
pub(super) fn check_can_join(
    connection: Connection<'_>,
    user_id: UserId,
) -> Result<(), StoreFault> {
    let sql = "SELECT state FROM user WHERE id = ?1";
    let state = rows::one(connection, sql, [user_id.as_bytes()], |row| {
        from_word(row.get_ref(0)?.as_str()?)
    })?;
    match state {
        None | Some(UserState::Active) => Ok(()),
        Some(UserState::Disabled) => Err(Refused::UserDisabled { user_id }.into()),
        Some(UserState::Deleted) => Err(Refused::UserNotFound { user_id }.into()),
    }
}

/// Who owns a workspace.
pub(super) fn owners(
    connection: Connection<'_>,
    workspace: i64,
) -> Result<Vec<UserId>, StoreFault> {
    let sql = "SELECT user FROM member WHERE workspace = ?1 AND role = 'owner' ORDER BY user";
    rows::all(connection, sql, [workspace], |row| {
        Ok(UserId::from_bytes(row.get(0)?))
    })
}

/// The owner of the installation.
pub(super) fn owner_of_all(connection: Connection<'_>) -> Result<Option<UserId>, StoreFault> {
    let sql = "SELECT id FROM user WHERE is_owner = 1";
    rows::one(connection, sql, params![], |row| {
        Ok(UserId::from_bytes(row.get(0)?))
    })
}
