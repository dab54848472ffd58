//! People, and what they prove themselves with. Of tokens and sessions only hashes are kept.

use bonded_kernel::workspace::{Refused, UserId, folded};
use bonded_kernel::{Hash, Millis};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::codes::{at, time};
use super::error::Fault;
use super::transact::Transaction;
use super::{WorkspaceError, WorkspaceStore, rows};

const NAME_CHARS_MAX: usize = 100;

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub user_id: UserId,
    pub name: String,
    /// The one whose token was made at the first start.
    pub is_owner: bool,
    pub has_password: bool,
    pub created_at: Millis,
}

/// Somebody who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub user: User,
    /// What each change by a browser has to carry.
    pub csrf_token: String,
    pub created_at: Millis,
    pub expires_at: Millis,
}

const USER: &str =
    "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at FROM user";

fn user(row: &Row<'_>) -> Result<User, Fault> {
    Ok(User {
        user_id: UserId::from_bytes(row.get(0)?),
        name: row.get(1)?,
        is_owner: row.get(2)?,
        has_password: row.get(3)?,
        created_at: at(row.get(4)?),
    })
}

impl WorkspaceStore {
    /// The owner, who is made with this id if there is none yet.
    pub async fn owner(&self, user_id: UserId, now: Millis) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            if let Some(owner) = the_owner(connection)? {
                return Ok(owner);
            }
            insert(connection, user_id, "owner", true, now)?;
            let made = the_owner(connection)?;
            made.ok_or_else(|| Fault::Damaged("the owner is missing".into()))
        })
        .await
    }

    /// Gives the owner a name and a password, once. The password has been hashed by the caller.
    pub async fn register_owner(
        &self,
        name: String,
        password_hash: String,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| register_owner(transaction, &name, &password_hash))
            .await
    }

    pub async fn add_user(
        &self,
        user_id: UserId,
        name: String,
        now: Millis,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            let name = checked_name(transaction.connection, &name, None)?;
            insert(transaction.connection, user_id, &name, false, now)?;
            known_user(transaction.connection, user_id)
        })
        .await
    }

    pub async fn set_password(
        &self,
        user_id: UserId,
        password_hash: String,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            set_password(transaction.connection, user_id, &password_hash)?;
            known_user(transaction.connection, user_id)
        })
        .await
    }

    pub async fn user(&self, user_id: UserId) -> Result<Option<User>, WorkspaceError> {
        self.read(move |connection| find_user(connection, user_id))
            .await
    }

    /// All people, by name.
    pub async fn users(&self) -> Result<Vec<User>, WorkspaceError> {
        self.read(|connection| {
            let sql = format!("{USER} ORDER BY folded");
            rows::all(connection, &sql, [], user)
        })
        .await
    }

    /// Who has this name, in any case, and the hash of the password.
    pub async fn user_named(
        &self,
        name: String,
    ) -> Result<Option<(User, Option<String>)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT id, name, is_owner, password IS NOT NULL, created_at, password FROM user WHERE folded = ?1";
            rows::one(connection, sql, [folded(&name)], |row| {
                Ok((user(row)?, row.get(5)?))
            })
        })
        .await
    }

    /// Lets whoever has the token act as this person. A token that is known stays as it is.
    pub async fn add_token(
        &self,
        user_id: UserId,
        token: &str,
        label: String,
        now: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.change(move |transaction| {
            known_user(transaction.connection, user_id)?;
            let sql = "INSERT OR IGNORE INTO token (hash, user, label, created_at) VALUES (?1, ?2, ?3, ?4)";
            transaction.connection.execute(
                sql,
                params![hash.as_bytes(), user_id.as_bytes(), label, time(now)],
            )?;
            Ok(())
        })
        .await
    }

    /// Whose token this is.
    pub async fn user_by_token(&self, token: &str) -> Result<Option<User>, WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.look_up(|connection| {
            let sql = format!("{USER} JOIN token ON token.user = user.id WHERE token.hash = ?1");
            rows::one(connection, &sql, [hash.as_bytes()], user)
        })
    }

    /// Takes all tokens and sessions from a person.
    pub async fn revoke_access(&self, user_id: UserId) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            for table in ["token", "session"] {
                let sql = format!("DELETE FROM {table} WHERE user = ?1");
                transaction.connection.execute(&sql, [user_id.as_bytes()])?;
            }
            Ok(())
        })
        .await
    }

    /// Begins a session, and forgets those that are over.
    pub async fn add_session(
        &self,
        user_id: UserId,
        session_token: &str,
        csrf_token: String,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.change(move |transaction| {
            known_user(transaction.connection, user_id)?;
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
            let sql = "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, csrf, \
                 session.created_at, expires_at \
                 FROM session JOIN user ON user.id = session.user WHERE hash = ?1";
            rows::one(connection, sql, [hash.as_bytes()], |row| {
                Ok(Session {
                    user: user(row)?,
                    csrf_token: row.get(5)?,
                    created_at: at(row.get(6)?),
                    expires_at: at(row.get(7)?),
                })
            })
        })
    }

    pub async fn end_session(&self, session_token: &str) -> Result<(), WorkspaceError> {
        let hash = Hash::of(session_token.as_bytes());
        self.change(move |transaction| {
            let sql = "DELETE FROM session WHERE hash = ?1";
            transaction.connection.execute(sql, [hash.as_bytes()])?;
            Ok(())
        })
        .await
    }
}

fn register_owner(
    transaction: &Transaction<'_>,
    name: &str,
    password_hash: &str,
) -> Result<User, Fault> {
    let connection = transaction.connection;
    let missing = || Refused::bad("there is no owner yet; start the server once");
    let owner = the_owner(connection)?.ok_or_else(missing)?;
    if owner.has_password {
        return Err(Refused::SetupAlreadyCompleted.into());
    }
    let name = checked_name(connection, name, Some(owner.user_id))?;
    connection.execute(
        "UPDATE user SET name = ?2, folded = ?3 WHERE id = ?1",
        params![owner.user_id.as_bytes(), name, folded(&name)],
    )?;
    set_password(connection, owner.user_id, password_hash)?;
    known_user(connection, owner.user_id)
}

fn the_owner(connection: &Connection) -> Result<Option<User>, Fault> {
    let sql = format!("{USER} WHERE is_owner = 1");
    rows::one(connection, &sql, [], user)
}

fn find_user(connection: &Connection, id: UserId) -> Result<Option<User>, Fault> {
    let sql = format!("{USER} WHERE id = ?1");
    rows::one(connection, &sql, [id.as_bytes()], user)
}

fn known_user(connection: &Connection, id: UserId) -> Result<User, Fault> {
    let found = find_user(connection, id)?;
    found.ok_or_else(|| Refused::bad(format!("there is no user {id}")).into())
}

fn insert(
    connection: &Connection,
    id: UserId,
    name: &str,
    is_owner: bool,
    now: Millis,
) -> Result<(), Fault> {
    connection.execute(
        "INSERT INTO user (id, name, folded, is_owner, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id.as_bytes(), name, folded(name), is_owner, time(now)],
    )?;
    Ok(())
}

fn set_password(connection: &Connection, id: UserId, hash: &str) -> Result<(), Fault> {
    let sql = "UPDATE user SET password = ?2 WHERE id = ?1";
    connection.execute(sql, params![id.as_bytes(), hash])?;
    Ok(())
}

/// The name, if it is one and nobody else has it.
fn checked_name(connection: &Connection, name: &str, own: Option<UserId>) -> Result<String, Fault> {
    let name = name.trim();
    let is_line = !name.is_empty() && !name.contains(char::is_control);
    if !is_line || name.chars().count() > NAME_CHARS_MAX {
        let why = format!("a user's name is one line of 1 to {NAME_CHARS_MAX} characters");
        return Err(Refused::bad(why).into());
    }
    let sql = "SELECT id FROM user WHERE folded = ?1";
    let taken = rows::one(connection, sql, [folded(name)], |row| {
        Ok(UserId::from_bytes(row.get(0)?))
    })?;
    match taken {
        Some(id) if Some(id) != own => {
            Err(Refused::bad("the name is taken; choose another").into())
        }
        _ => Ok(name.to_owned()),
    }
}
