//! Sessions of people who have logged in.
//!
//! A session begins only if the password that was checked is still the one that stands: a password that was changed
//! while the check went on opens nothing.

use bonded_kernel::{Hash, Millis, UserId};
use rusqlite::params;
use serde::Serialize;

use super::passwords::check_password;
use super::proof_id::{ID_BYTES, shown_id};
use super::revocation::end_sessions;
use crate::store::codes::{at, time};
use crate::store::error::WorkspaceError;
use crate::store::people::{User, user};
use crate::store::proof::By;
use crate::store::rows;
use crate::store::workspace_store::WorkspaceStore;

/// Somebody who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginSession {
    /// Who has logged in; always somebody who is active.
    pub user: User,
    /// What each change by a browser has to carry.
    pub csrf_token: String,
    /// When they logged in.
    pub created_at: Millis,
    /// From this moment on it opens nothing, though its row may still be there.
    pub expires_at: Millis,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedSession {
    /// A part of the hash of its token, which opens nothing.
    pub session_id: String,
    /// When it began.
    pub created_at: Millis,
    /// When it ends by itself.
    pub expires_at: Millis,
}

impl WorkspaceStore {
    /// Begins a session for whoever has just shown the password that has this hash, and forgets those that are over.
    pub async fn add_session(
        &self,
        user_id: UserId,
        password_hash: Option<String>,
        session_token: &str,
        csrf_token: String,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.change(move |transaction| {
            check_password(transaction.connection, user_id, password_hash.as_deref())?;
            let over = "DELETE FROM session WHERE expires_at <= ?1";
            transaction.connection.execute(over, [time(now)])?;
            let sql = "INSERT INTO session (hash, user, csrf, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.connection.execute(
                sql,
                params![
                    hash.as_bytes(),
                    user_id.as_bytes(),
                    csrf_token,
                    time(now),
                    time(expires_at)
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// The session with this token, also one that is over: who asks compares `expires_at`, to say so.
    pub async fn session(
        &self,
        session_token: &str,
    ) -> Result<Option<LoginSession>, WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.look_up(move |connection| {
            let sql = "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, state, csrf, \
                 session.created_at, expires_at \
                 FROM session JOIN user ON user.id = session.user WHERE hash = ?1 AND state = 'active'";
            rows::one(connection, sql, [hash.as_bytes()], |row| {
                Ok(LoginSession {
                    user: user(row)?,
                    csrf_token: row.get(6)?,
                    created_at: at(row.get(7)?),
                    expires_at: at(row.get(8)?),
                })
            })
        }).await
    }

    /// Ends the session with this token.
    pub async fn end_session(&self, session_token: &str) -> Result<(), WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.change(move |transaction| {
            let sql = "DELETE FROM session WHERE hash = ?1";
            transaction.connection.execute(sql, [hash.as_bytes()])?;
            Ok(())
        })
        .await
    }

    /// The sessions of a person that are not over, the oldest first.
    pub async fn sessions(
        &self,
        user_id: UserId,
        now: Millis,
    ) -> Result<Vec<ListedSession>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT hash, created_at, expires_at FROM session \
                 WHERE user = ?1 AND expires_at > ?2 ORDER BY created_at, hash";
            let parameters = params![user_id.as_bytes(), time(now)];
            rows::all(connection, sql, parameters, |row| {
                Ok(ListedSession {
                    session_id: shown_id(row.get_ref(0)?.as_blob()?),
                    created_at: at(row.get(1)?),
                    expires_at: at(row.get(2)?),
                })
            })
        })
        .await
    }

    /// Ends one session of a person; `false` where there is no such one.
    pub async fn end_session_of(
        &self,
        by: By,
        user_id: UserId,
        session_id: String,
    ) -> Result<bool, WorkspaceError> {
        self.change(move |transaction| {
            by.check_looks_after(transaction.connection, user_id)?;
            let sql = "DELETE FROM session \
                 WHERE user = ?1 AND lower(hex(substr(hash, 1, ?3))) = ?2";
            let parameters = params![user_id.as_bytes(), session_id, ID_BYTES];
            Ok(transaction.connection.execute(sql, parameters)? > 0)
        })
        .await
    }

    /// Ends all sessions of a person.
    pub async fn end_sessions(&self, by: By, user_id: UserId) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            by.check_looks_after(transaction.connection, user_id)?;
            end_sessions(transaction.connection, user_id)
        })
        .await
    }
}
