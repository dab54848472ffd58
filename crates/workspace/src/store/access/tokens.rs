//! Tokens: who has one, when it was used, and what it is called.
//!
//! A token is for programs and does not expire; it is good until it is revoked or its person is kept out. A revoked one
//! stays known, so that it can never be taken into use again.

use crate::store::connection::{Connection, Row};
use bonded_kernel::{Hash, Millis, UserId};
use bonded_workspace_rules::Refused;
use rusqlite::params;
use serde::Serialize;

use super::proof_id::{ID_BYTES, shown_id};
use super::revocation::revoke_tokens;
use crate::store::codes::{at, count, time};
use crate::store::error::{StoreFault, WorkspaceError};
use crate::store::people::{User, known_user, user};
use crate::store::proof::By;
use crate::store::rows;
use crate::store::workspace_store::WorkspaceStore;

/// The label of the token that lies in the data directory.
pub(in crate::store) const OWNER_TOKEN: &str = "owner-token";

/// More than anybody needs; a list that grows without end is nobody's wish.
const TOKENS_MAX: u64 = 100;

/// A token as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedToken {
    /// A part of its hash, which opens nothing.
    pub token_id: String,
    /// What its person calls it.
    pub label: String,
    /// When it was made.
    pub created_at: Millis,
    /// To the minute.
    pub last_used_at: Option<Millis>,
}

impl WorkspaceStore {
    /// Lets whoever has the token act as this person. A token that is known stays as it is, also one that was revoked.
    pub async fn add_token(
        &self,
        by: By,
        user_id: UserId,
        token: &str,
        label: String,
        now: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_looks_after(connection, user_id)?;
            known_user(connection, user_id)?;
            let sql = "SELECT count(*) FROM token WHERE user = ?1 AND revoked_at IS NULL";
            let has = rows::one(connection, sql, [user_id.as_bytes()], |row| {
                Ok(count(row.get(0)?))
            })?;
            if has.unwrap_or(0) >= TOKENS_MAX {
                let why = format!("a user has at most {TOKENS_MAX} tokens; revoke some first");
                return Err(Refused::bad(why).into());
            }
            insert_token(connection, user_id, &hash, &label, now)
        })
        .await
    }

    /// The same, and all tokens that the person had are revoked in the same moment.
    pub async fn replace_tokens(
        &self,
        by: By,
        user_id: UserId,
        token: &str,
        label: String,
        now: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_looks_after(connection, user_id)?;
            known_user(connection, user_id)?;
            revoke_tokens(connection, user_id, now)?;
            insert_token(connection, user_id, &hash, &label, now)
        })
        .await
    }

    /// Whose token this is.
    pub async fn user_by_token(&self, token: &str) -> Result<Option<User>, WorkspaceError> {
        let holder = self.token_holder(token).await?;
        Ok(holder.map(|(user, _)| user))
    }

    /// Whose token this is, and when it was used last.
    pub async fn token_holder(
        &self,
        token: &str,
    ) -> Result<Option<(User, Option<Millis>)>, WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.look_up(move |connection| {
            let sql = "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, state, last_used_at \
                 FROM user JOIN token ON token.user = user.id \
                 WHERE token.hash = ?1 AND revoked_at IS NULL AND state = 'active'";
            rows::one(connection, sql, [hash.as_bytes()], |row| {
                let last_used_at: Option<i64> = row.get(6)?;
                Ok((user(row)?, last_used_at.map(at)))
            })
        }).await
    }

    /// Whether the token was one, and was revoked.
    pub async fn is_revoked(&self, token: &str) -> Result<bool, WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.look_up(move |connection| {
            let sql = "SELECT 1 FROM token WHERE hash = ?1 AND revoked_at IS NOT NULL";
            let found = rows::one(connection, sql, [hash.as_bytes()], |_| Ok(()))?;
            Ok(found.is_some())
        })
        .await
    }

    /// Writes down that a token was used.
    pub async fn note_use(&self, token: &str, now: Millis) -> Result<(), WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.change(move |transaction| {
            let sql = "UPDATE token SET last_used_at = ?2 WHERE hash = ?1";
            let parameters = params![hash.as_bytes(), time(now)];
            transaction.connection.execute(sql, parameters)?;
            Ok(())
        })
        .await
    }

    /// The tokens of a person that open something, the oldest first.
    pub async fn tokens(&self, user_id: UserId) -> Result<Vec<ListedToken>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT hash, label, created_at, last_used_at FROM token \
                 WHERE user = ?1 AND revoked_at IS NULL ORDER BY created_at, hash";
            rows::all(connection, sql, [user_id.as_bytes()], listed_token)
        })
        .await
    }

    /// Takes one token from a person; `false` where there is no such one.
    pub async fn revoke_token(
        &self,
        by: By,
        user_id: UserId,
        token_id: String,
        now: Millis,
    ) -> Result<bool, WorkspaceError> {
        self.change(move |transaction| {
            by.check_looks_after(transaction.connection, user_id)?;
            let sql = "UPDATE token SET revoked_at = ?3 \
                 WHERE user = ?1 AND revoked_at IS NULL AND lower(hex(substr(hash, 1, ?4))) = ?2";
            let parameters = params![user_id.as_bytes(), token_id, time(now), ID_BYTES];
            Ok(transaction.connection.execute(sql, parameters)? > 0)
        })
        .await
    }
}

/// In the order of the columns that the list selects.
fn listed_token(row: &Row<'_>) -> Result<ListedToken, StoreFault> {
    let last_used_at: Option<i64> = row.get(3)?;
    Ok(ListedToken {
        token_id: shown_id(row.get_ref(0)?.as_blob()?),
        label: row.get(1)?,
        created_at: at(row.get(2)?),
        last_used_at: last_used_at.map(at),
    })
}

/// Ignored where the hash is known, so that a revoked token stays revoked.
pub(in crate::store) fn insert_token(
    connection: Connection<'_>,
    user_id: UserId,
    hash: &Hash,
    label: &str,
    now: Millis,
) -> Result<(), StoreFault> {
    let sql = "INSERT INTO token (hash, user, label, created_at) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT DO NOTHING";
    let parameters = params![hash.as_bytes(), user_id.as_bytes(), label, time(now)];
    connection.execute(sql, parameters)?;
    Ok(())
}

/// The token file of the old owner must not open what belongs to the new one.
pub(in crate::store) fn retire_owner_tokens(
    connection: Connection<'_>,
    now: Millis,
) -> Result<(), StoreFault> {
    let sql = "UPDATE token SET revoked_at = ?2 WHERE label = ?1 AND revoked_at IS NULL";
    connection.execute(sql, params![OWNER_TOKEN, time(now)])?;
    Ok(())
}
