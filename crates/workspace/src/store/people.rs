//! People as their rows have them.
//!
//! The columns are listed once, and every query that reads a person selects them in this order first.

use super::connection::{Connection, Row};
use bonded_kernel::{Millis, UserId};
use bonded_workspace_rules::Refused;
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::codes::{at, from_word};
use super::error::StoreFault;
use super::rows;

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// Never changes and is never given to somebody else.
    pub user_id: UserId,
    /// Unique in any case; what is left of somebody who has gone is one text for all.
    pub name: String,
    /// The one whose token was made at the first start.
    pub is_owner: bool,
    /// Whether they can log in with a password.
    pub has_password: bool,
    /// Whether they may come in.
    pub state: UserState,
    /// When they were added.
    pub created_at: Millis,
}

/// Whether somebody may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserState {
    /// What they have opens what it should.
    Active,
    /// They keep what they have, and nothing of it opens anything.
    Disabled,
    /// Only the id is left, because events name it.
    Deleted,
}

/// In the order in which `user` reads them.
pub(super) const USER: &str =
    "SELECT user.id, name, is_owner, password IS NOT NULL, user.created_at, state FROM user";

/// The first six columns of the row, as `USER` selects them.
pub(super) fn user(row: &Row<'_>) -> Result<User, StoreFault> {
    Ok(User {
        user_id: UserId::from_bytes(row.get(0)?),
        name: row.get(1)?,
        is_owner: row.get(2)?,
        has_password: row.get(3)?,
        created_at: at(row.get(4)?),
        state: from_word(row.get_ref(5)?.as_str()?)?,
    })
}

/// The owner of the installation.
pub(super) fn the_owner(connection: Connection<'_>) -> Result<Option<User>, StoreFault> {
    let sql = format!("{USER} WHERE is_owner = 1");
    rows::one(connection, &sql, params![], user)
}

/// Also somebody who has gone.
pub(super) fn find_user(
    connection: Connection<'_>,
    id: UserId,
) -> Result<Option<User>, StoreFault> {
    let sql = format!("{USER} WHERE id = ?1");
    rows::one(connection, &sql, [id.as_bytes()], user)
}

/// Whoever has this id and has not gone.
pub(super) fn known_user(connection: Connection<'_>, id: UserId) -> Result<User, StoreFault> {
    let found = find_user(connection, id)?.filter(|it| it.state != UserState::Deleted);
    found.ok_or_else(|| Refused::UserNotFound { user_id: id }.into())
}

/// Neither sessions nor invitations are touched; the callers do that where it is due.
pub(super) fn set_password(
    connection: Connection<'_>,
    id: UserId,
    hash: &str,
) -> Result<(), StoreFault> {
    let sql = "UPDATE user SET password = ?2 WHERE id = ?1";
    connection.execute(sql, params![id.as_bytes(), hash])?;
    Ok(())
}
