//! Passwords, and the invitations by which people set their first one.
//!
//! Hashing is slow and is done by the caller, outside of the transaction; therefore a change names the hash that was
//! looked at, and is refused where another one stands there meanwhile. Only hashes ever come here.

use std::collections::BTreeMap;

use crate::store::connection::Connection;
use bonded_kernel::{Hash, Millis, UserId};
use bonded_workspace_rules::Refused;
use rusqlite::params;

use super::revocation::{end_sessions, forget_invitations};
use crate::store::codes::{at, time};
use crate::store::error::{StoreFault, WorkspaceError};
use crate::store::people::{USER, User, UserState, known_user, set_password, user};
use crate::store::proof::By;
use crate::store::rows;
use crate::store::workspace_store::WorkspaceStore;

impl WorkspaceStore {
    /// The hash of a person's password.
    pub async fn password_of(&self, user_id: UserId) -> Result<Option<String>, WorkspaceError> {
        self.look_up(move |connection| {
            let sql = "SELECT password FROM user WHERE id = ?1";
            let found = rows::one(connection, sql, [user_id.as_bytes()], |row| {
                row.get::<Option<String>>(0)
            })?;
            Ok(found.flatten())
        })
        .await
    }

    /// Gives a person a password, which the caller has hashed. Whoever came in with the old one is out.
    pub async fn set_password(
        &self,
        by: By,
        user_id: UserId,
        password_hash: String,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            by.check_owner(transaction.connection)?;
            replace_password(transaction.connection, user_id, &password_hash)
        })
        .await
    }

    /// The same for somebody who gives themselves another one: the old one, or that there was none, was looked at under
    /// this hash.
    pub async fn change_password(
        &self,
        by: By,
        user_id: UserId,
        old: Option<String>,
        new: String,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_is(connection, user_id)?;
            check_password(connection, user_id, old.as_deref())?;
            replace_password(connection, user_id, &new)
        })
        .await
    }

    /// Keeps the same password in another way; `false` where it was changed meanwhile.
    pub async fn rehash_password(
        &self,
        user_id: UserId,
        old: String,
        new: String,
    ) -> Result<bool, WorkspaceError> {
        self.change(move |transaction| {
            let sql = "UPDATE user SET password = ?3 WHERE id = ?1 AND password = ?2";
            let parameters = params![user_id.as_bytes(), old, new];
            Ok(transaction.connection.execute(sql, parameters)? > 0)
        })
        .await
    }

    /// Who was invited and has not accepted, and until when they can.
    pub async fn invited_until(
        &self,
        now: Millis,
    ) -> Result<BTreeMap<UserId, Millis>, WorkspaceError> {
        self.read(move |connection| {
            let sql =
                "SELECT user, max(expires_at) FROM invitation WHERE expires_at > ?1 GROUP BY user";
            let found = rows::all(connection, sql, [time(now)], |row| {
                Ok((UserId::from_bytes(row.get(0)?), at(row.get(1)?)))
            })?;
            Ok(found.into_iter().collect())
        })
        .await
    }

    /// Takes back what was not accepted yet.
    pub async fn withdraw_invitation(&self, by: By, user_id: UserId) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            by.check_owner(transaction.connection)?;
            forget_invitations(transaction.connection, user_id)
        })
        .await
    }

    /// Lets whoever has the invitation set this person's password, once. An earlier one opens nothing any more.
    pub async fn add_invitation(
        &self,
        by: By,
        user_id: UserId,
        invitation: &str,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(invitation.as_bytes());
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_owner(connection)?;
            known_user(connection, user_id)?;
            forget_invitations(connection, user_id)?;
            let sql = "INSERT INTO invitation (hash, user, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
            connection.execute(
                sql,
                params![
                    hash.as_bytes(),
                    user_id.as_bytes(),
                    time(now),
                    time(expires_at)
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// Who was invited so, if that is still good.
    pub async fn invited(
        &self,
        invitation: &str,
        now: Millis,
    ) -> Result<Option<User>, WorkspaceError> {
        let hash = Hash::of(invitation.as_bytes());
        self.look_up(move |connection| invited(connection, &hash, now))
            .await
    }

    /// Uses an invitation up: the password is that of whoever was invited. `None` where it is not good any more.
    pub async fn accept_invitation(
        &self,
        invitation: &str,
        password_hash: String,
        now: Millis,
    ) -> Result<Option<User>, WorkspaceError> {
        let hash = Hash::of(invitation.as_bytes());
        self.change(move |transaction| {
            let connection = transaction.connection;
            let Some(user) = invited(connection, &hash, now)? else {
                return Ok(None);
            };
            replace_password(connection, user.user_id, &password_hash).map(Some)
        })
        .await
    }
}

/// Also the state of the account is looked at: an invitation of somebody who was disabled opens nothing.
fn invited(
    connection: Connection<'_>,
    hash: &Hash,
    now: Millis,
) -> Result<Option<User>, StoreFault> {
    let sql = format!(
        "{USER} JOIN invitation ON invitation.user = user.id WHERE hash = ?1 AND expires_at > ?2"
    );
    let found = rows::one(connection, &sql, params![hash.as_bytes(), time(now)], user)?;
    Ok(found.filter(|user| user.state == UserState::Active))
}

/// Refuses where a person is kept out, or has another password than the one that was looked at before.
pub(super) fn check_password(
    connection: Connection<'_>,
    user_id: UserId,
    password_hash: Option<&str>,
) -> Result<(), StoreFault> {
    let sql = "SELECT 1 FROM user WHERE id = ?1 AND password IS NOT DISTINCT FROM ?2 AND state = 'active'";
    let parameters = params![user_id.as_bytes(), password_hash];
    let found = rows::one(connection, sql, parameters, |_| Ok(()))?;
    found.ok_or_else(|| Refused::PasswordChanged.into())
}

/// Gives a person another password; nothing that the old one opened is open any more.
fn replace_password(
    connection: Connection<'_>,
    user_id: UserId,
    password_hash: &str,
) -> Result<User, StoreFault> {
    known_user(connection, user_id)?;
    set_password(connection, user_id, password_hash)?;
    end_sessions(connection, user_id)?;
    forget_invitations(connection, user_id)?;
    known_user(connection, user_id)
}
