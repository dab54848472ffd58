//! People: who there is, who owns the installation, and what becomes of those who go.
//!
//! People are rows and no events: they belong to the installation, not to a workspace. There is exactly one owner of
//! the installation, from the first start on. A person who goes leaves an id, because events name it for ever; name and
//! password are taken out.

use super::connection::Connection;
use bonded_kernel::{Hash, Millis, UserId, WorkspaceId, folded};
use bonded_workspace_rules::{Actor, Chain, Change, Refused, Role, WorkspaceState};
use rusqlite::params;

use super::access::{self, OWNER_TOKEN};
use super::codes::{from_word, time, word};
use super::error::{StoreFault, WorkspaceError};
use super::members::owners;
use super::people::{USER, User, UserState, find_user, known_user, set_password, the_owner, user};
use super::proof::By;
use super::rows;
use super::transaction::Transaction;
use super::workspace_store::WorkspaceStore;
use super::write::Write;

/// In characters.
const NAME_CHARS_MAX: usize = 100;

/// What is left of a name.
const GONE: &str = "deleted user";

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
            made.ok_or_else(|| StoreFault::Damaged("the owner is missing".into()))
        })
        .await
    }

    /// Gives the owner a name and a password, once. The password has been hashed by the caller.
    pub async fn register_owner(
        &self,
        by: By,
        name: String,
        password_hash: String,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            by.check_owner(transaction.connection)?;
            register_owner(transaction, &name, &password_hash)
        })
        .await
    }

    /// Whether any person has a password, so that somebody can log in.
    pub async fn is_set_up(&self) -> Result<bool, WorkspaceError> {
        self.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM user WHERE password IS NOT NULL)";
            Ok(rows::one(connection, sql, params![], |row| row.get(0))?.unwrap_or(false))
        })
        .await
    }

    /// Adds a person, who has no password and no token yet.
    pub async fn add_user(
        &self,
        by: By,
        user_id: UserId,
        name: String,
        now: Millis,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            by.check_owner(transaction.connection)?;
            let name = checked_name(transaction.connection, &name, None)?;
            insert(transaction.connection, user_id, &name, false, now)?;
            known_user(transaction.connection, user_id)
        })
        .await
    }

    /// Lets somebody in again, or keeps them out with all that they have. The owner stays.
    pub async fn set_state(
        &self,
        by: By,
        user_id: UserId,
        state: UserState,
    ) -> Result<User, WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_owner(connection)?;
            keep_the_owner(&known_user(connection, user_id)?)?;
            if state == UserState::Deleted {
                return Err(Refused::bad("a user is deleted, not set to that").into());
            }
            let sql = "UPDATE user SET state = ?2 WHERE id = ?1";
            connection.execute(sql, params![user_id.as_bytes(), word(&state)?])?;
            if state == UserState::Disabled {
                access::end_sessions(connection, user_id)?;
            }
            known_user(connection, user_id)
        })
        .await
    }

    /// Deletes a person: they are a member of nothing, and nothing that they have opens anything. A workspace that
    /// only they owned becomes the owner's; where nobody else was in it, it is archived too, so that its rules rest. One that
    /// was deleted stays so, and is the owner's to have back.
    pub async fn delete_user(
        &self,
        by: By,
        user_id: UserId,
        now: Millis,
    ) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            by.check_owner(transaction.connection)?;
            delete(transaction, user_id, now)
        })
        .await
    }

    /// Makes somebody else the owner of the installation; there is always one. The token of the old one's file opens
    /// nothing any more, and this one is the new owner's.
    pub async fn transfer(
        &self,
        by: By,
        to: UserId,
        token: &str,
        now: Millis,
    ) -> Result<User, WorkspaceError> {
        let hash = Hash::of(token.as_bytes());
        self.change(move |transaction| {
            let connection = transaction.connection;
            by.check_owner(connection)?;
            let new = known_user(connection, to)?;
            if new.state != UserState::Active {
                return Err(Refused::UserDisabled { user_id: to }.into());
            }
            connection.execute("UPDATE user SET is_owner = 0 WHERE is_owner = 1", params![])?;
            let sql = "UPDATE user SET is_owner = 1 WHERE id = ?1";
            connection.execute(sql, [to.as_bytes()])?;
            access::retire_owner_tokens(connection, now)?;
            access::insert_token(connection, to, &hash, OWNER_TOKEN, now)?;
            known_user(connection, to)
        })
        .await
    }

    /// Whoever has this id, also somebody who has gone.
    pub async fn user(&self, user_id: UserId) -> Result<Option<User>, WorkspaceError> {
        self.read(move |connection| find_user(connection, user_id))
            .await
    }

    /// All people, by name.
    pub async fn users(&self) -> Result<Vec<User>, WorkspaceError> {
        self.read(|connection| {
            let sql = format!("{USER} WHERE state <> 'deleted' ORDER BY folded");
            rows::all(connection, &sql, params![], user)
        })
        .await
    }

    /// Who has this name, in any case, and the hash of the password.
    pub async fn user_named(
        &self,
        name: String,
    ) -> Result<Option<(User, Option<String>)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT id, name, is_owner, password IS NOT NULL, created_at, state, password FROM user \
                 WHERE folded = ?1";
            rows::one(connection, sql, [folded(&name)], |row| {
                Ok((user(row)?, row.get(6)?))
            })
        })
        .await
    }
}

/// Once only: whoever finds the page of a server that is set up already must not take it over.
fn register_owner(
    transaction: &Transaction<'_>,
    name: &str,
    password_hash: &str,
) -> Result<User, StoreFault> {
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

/// The owner is not kept out: somebody else becomes the owner first.
fn keep_the_owner(user: &User) -> Result<(), StoreFault> {
    match user.is_owner {
        true => {
            let why = "this is the owner of the installation; make another user the owner first";
            Err(Refused::bad(why).into())
        }
        false => Ok(()),
    }
}

/// The workspaces are handed over before the person is taken out of them, each as a change of the system with its own
/// event. All of it is one transaction: there is no moment in which a workspace has no owner.
fn delete(
    transaction: &mut Transaction<'_>,
    user_id: UserId,
    now: Millis,
) -> Result<(), StoreFault> {
    let connection = transaction.connection;
    keep_the_owner(&known_user(connection, user_id)?)?;
    let owner = the_owner(connection)?;
    // Where nobody else is in a workspace that still goes on, it is to rest.
    let sql = "SELECT workspace.id, key, role, workspace.state <> 'deleted' AND NOT EXISTS \
         (SELECT 1 FROM member AS other WHERE other.workspace = workspace.key AND other.user <> ?1) \
         FROM member JOIN workspace ON workspace.key = member.workspace WHERE user = ?1 ORDER BY key";
    let of = rows::all(connection, sql, [user_id.as_bytes()], |row| {
        let role: String = row.get(2)?;
        Ok((
            WorkspaceId::from_bytes(row.get(0)?),
            row.get::<i64>(1)?,
            from_word::<Role>(&role)?,
            row.get::<bool>(3)?,
        ))
    })?;
    for (workspace_id, key, role, rests) in of {
        let mut changes = vec![];
        let is_last = role == Role::Owner && owners(connection, key)?.len() <= 1;
        if let (true, Some(owner)) = (is_last, &owner) {
            changes.push(Change::SetMember {
                workspace_id,
                user_id: owner.user_id,
                role: Role::Owner,
            });
            if rests {
                changes.push(Change::UpdateWorkspace {
                    workspace_id,
                    name: None,
                    state: Some(WorkspaceState::Archived),
                });
            }
        }
        changes.push(Change::RemoveMember {
            workspace_id,
            user_id,
        });
        for change in changes {
            transaction.write(&by_system(change, now))?;
        }
    }
    access::revoke_all(connection, user_id, now)?;
    let sql =
        "UPDATE user SET state = 'deleted', name = ?2, folded = ?3, password = NULL WHERE id = ?1";
    // No name that anybody can have folds to this.
    let folded = format!("\u{1}{user_id}");
    connection.execute(sql, params![user_id.as_bytes(), GONE, folded])?;
    Ok(())
}

/// Without a key: it happens inside one transaction and is never repeated.
fn by_system(change: Change, at: Millis) -> Write {
    Write {
        actor: Actor::System,
        at,
        request_id: "user deleted".to_owned(),
        key: None,
        chain: Chain::default(),
        change,
    }
}

/// The unique folded name refuses two people of one name, whatever was checked before.
fn insert(
    connection: Connection<'_>,
    id: UserId,
    name: &str,
    is_owner: bool,
    now: Millis,
) -> Result<(), StoreFault> {
    connection.execute(
        "INSERT INTO user (id, name, folded, is_owner, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id.as_bytes(), name, folded(name), is_owner, time(now)],
    )?;
    Ok(())
}

/// The name, if it is one and nobody else has it.
fn checked_name(
    connection: Connection<'_>,
    name: &str,
    own: Option<UserId>,
) -> Result<String, StoreFault> {
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
