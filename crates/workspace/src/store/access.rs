//! What people prove themselves with: tokens, sessions, invitations. Of each only a hash is kept, and only somebody who is
//! active proves anything.

use bonded_kernel::{Hash, Millis, UserId};
use bonded_workspace_rules::Refused;
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::accounts::{USER, User, UserState, known_user, set_password, user};
use super::codes::{at, count, time};
use super::error::Fault;
use super::proof::By;
use super::{WorkspaceError, WorkspaceStore, rows};

/// The label of the token that lies in the data directory.
pub(super) const OWNER_TOKEN: &str = "owner-token";

/// More than anybody needs; a list that grows without end is nobody's wish.
const TOKENS_MAX: u64 = 100;

/// How much of its hash a token or a session is named by: enough that no two are alike, and worth nothing to whoever
/// reads it.
const ID_BYTES: u16 = 8;

/// Somebody who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub user: User,
    /// What each change by a browser has to carry.
    pub csrf_token: String,
    pub created_at: Millis,
    pub expires_at: Millis,
}

/// A token as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedToken {
    pub token_id: String,
    pub label: String,
    pub created_at: Millis,
    /// To the minute.
    pub last_used_at: Option<Millis>,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedSession {
    pub session_id: String,
    pub created_at: Millis,
    pub expires_at: Millis,
}

/// The name of a token or of a session.
pub fn proof_id(secret: &str) -> String {
    shown_id(Hash::of(secret.as_bytes()).as_bytes())
}

fn shown_id(hash: &[u8]) -> String {
    let bytes = hash.iter().take(usize::from(ID_BYTES));
    bytes.map(|byte| format!("{byte:02x}")).collect()
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
        self.look_up(|connection| {
            let sql = "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, state, last_used_at \
                 FROM user JOIN token ON token.user = user.id \
                 WHERE token.hash = ?1 AND revoked_at IS NULL AND state = 'active'";
            rows::one(connection, sql, [hash.as_bytes()], |row| {
                let last_used_at: Option<i64> = row.get(6)?;
                Ok((user(row)?, last_used_at.map(at)))
            })
        })
    }

    /// Whether the token was one, and was revoked.
    pub async fn is_revoked(&self, token: &str) -> Result<bool, WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.look_up(|connection| {
            let sql = "SELECT 1 FROM token WHERE hash = ?1 AND revoked_at IS NOT NULL";
            let found = rows::one(connection, sql, [hash.as_bytes()], |_| Ok(()))?;
            Ok(found.is_some())
        })
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

    /// Takes all tokens, sessions and invitations from a person.
    pub async fn revoke_access(&self, user_id: UserId, now: Millis) -> Result<(), WorkspaceError> {
        self.change(move |transaction| revoke_all(transaction.connection, user_id, now))
            .await
    }

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
    pub async fn session(&self, session_token: &str) -> Result<Option<Session>, WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.look_up(|connection| {
            let sql = "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, state, csrf, \
                 session.created_at, expires_at \
                 FROM session JOIN user ON user.id = session.user WHERE hash = ?1 AND state = 'active'";
            rows::one(connection, sql, [hash.as_bytes()], |row| {
                Ok(Session {
                    user: user(row)?,
                    csrf_token: row.get(6)?,
                    created_at: at(row.get(7)?),
                    expires_at: at(row.get(8)?),
                })
            })
        })
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

    /// The hash of a person's password.
    pub async fn password_of(&self, user_id: UserId) -> Result<Option<String>, WorkspaceError> {
        self.look_up(|connection| {
            let sql = "SELECT password FROM user WHERE id = ?1";
            let found = rows::one(connection, sql, [user_id.as_bytes()], |row| {
                Ok(row.get::<_, Option<String>>(0)?)
            })?;
            Ok(found.flatten())
        })
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
        self.look_up(|connection| invited(connection, &hash, now))
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

fn listed_token(row: &Row<'_>) -> Result<ListedToken, Fault> {
    let last_used_at: Option<i64> = row.get(3)?;
    Ok(ListedToken {
        token_id: shown_id(row.get_ref(0)?.as_blob()?),
        label: row.get(1)?,
        created_at: at(row.get(2)?),
        last_used_at: last_used_at.map(at),
    })
}

fn invited(connection: &Connection, hash: &Hash, now: Millis) -> Result<Option<User>, Fault> {
    let sql = format!(
        "{USER} JOIN invitation ON invitation.user = user.id WHERE hash = ?1 AND expires_at > ?2"
    );
    let found = rows::one(connection, &sql, params![hash.as_bytes(), time(now)], user)?;
    Ok(found.filter(|user| user.state == UserState::Active))
}

/// Refuses where a person is kept out, or has another password than the one that was looked at before.
fn check_password(
    connection: &Connection,
    user_id: UserId,
    password_hash: Option<&str>,
) -> Result<(), Fault> {
    let sql = "SELECT 1 FROM user WHERE id = ?1 AND password IS ?2 AND state = 'active'";
    let parameters = params![user_id.as_bytes(), password_hash];
    let found = rows::one(connection, sql, parameters, |_| Ok(()))?;
    found.ok_or_else(|| Refused::PasswordChanged.into())
}

/// Gives a person another password; nothing that the old one opened is open any more.
fn replace_password(
    connection: &Connection,
    user_id: UserId,
    password_hash: &str,
) -> Result<User, Fault> {
    known_user(connection, user_id)?;
    set_password(connection, user_id, password_hash)?;
    end_sessions(connection, user_id)?;
    forget_invitations(connection, user_id)?;
    known_user(connection, user_id)
}

pub(super) fn insert_token(
    connection: &Connection,
    user_id: UserId,
    hash: &Hash,
    label: &str,
    now: Millis,
) -> Result<(), Fault> {
    let sql = "INSERT OR IGNORE INTO token (hash, user, label, created_at) VALUES (?1, ?2, ?3, ?4)";
    let parameters = params![hash.as_bytes(), user_id.as_bytes(), label, time(now)];
    connection.execute(sql, parameters)?;
    Ok(())
}

pub(super) fn retire_owner_tokens(connection: &Connection, now: Millis) -> Result<(), Fault> {
    let sql = "UPDATE token SET revoked_at = ?2 WHERE label = ?1 AND revoked_at IS NULL";
    connection.execute(sql, params![OWNER_TOKEN, time(now)])?;
    Ok(())
}

pub(super) fn revoke_all(
    connection: &Connection,
    user_id: UserId,
    now: Millis,
) -> Result<(), Fault> {
    revoke_tokens(connection, user_id, now)?;
    end_sessions(connection, user_id)?;
    forget_invitations(connection, user_id)
}

fn revoke_tokens(connection: &Connection, user_id: UserId, now: Millis) -> Result<(), Fault> {
    let sql = "UPDATE token SET revoked_at = ?2 WHERE user = ?1 AND revoked_at IS NULL";
    connection.execute(sql, params![user_id.as_bytes(), time(now)])?;
    Ok(())
}

pub(super) fn end_sessions(connection: &Connection, user_id: UserId) -> Result<(), Fault> {
    let sql = "DELETE FROM session WHERE user = ?1";
    connection.execute(sql, [user_id.as_bytes()])?;
    Ok(())
}

fn forget_invitations(connection: &Connection, user_id: UserId) -> Result<(), Fault> {
    let sql = "DELETE FROM invitation WHERE user = ?1";
    connection.execute(sql, [user_id.as_bytes()])?;
    Ok(())
}
