//! People beside the owner, and invitations.
//!
//! A token or an invitation is in the answer that makes it, and in no other.

use bonded_kernel::{Millis, UserId};
use bonded_workspace::store;
use serde::{Deserialize, Serialize};

use super::scalars::{Id, Timestamp};
use super::words::UserState;
#[cfg(test)]
use crate::workspace::api::auth::{NAME_CHARS_MAX, PASSWORD_CHARS};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewUser {
    #[cfg_attr(test, schemars(length(min = 1, max = NAME_CHARS_MAX)))]
    pub(crate) name: String,
    /// Whether an invitation is made instead of a token
    #[serde(default)]
    pub(crate) invite: bool,
}

/// A new user, with the token or the invitation that is shown this once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct User {
    pub(crate) user_id: Id<UserId>,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) invitation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Timestamp"))]
    pub(crate) expires_at: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ListedUser {
    user_id: Id<UserId>,
    name: String,
    is_owner: bool,
    state: UserState,
    has_password: bool,
    created_at: Timestamp,
    /// Until when an invitation that was not accepted yet is good.
    invited_until: Option<Timestamp>,
}

impl ListedUser {
    pub(crate) fn invited_until(self, until: Option<Millis>) -> Self {
        let invited_until = until.map(Timestamp::from);
        Self {
            invited_until,
            ..self
        }
    }
}

impl From<&store::User> for ListedUser {
    fn from(user: &store::User) -> Self {
        Self {
            user_id: Id(user.user_id),
            name: user.name.clone(),
            is_owner: user.is_owner,
            state: user.state.into(),
            has_password: user.has_password,
            created_at: user.created_at.into(),
            invited_until: None,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UserList {
    pub(crate) users: Vec<ListedUser>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UserEdit {
    pub(crate) state: EntryState,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum EntryState {
    Active,
    Disabled,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewOwner {
    pub(crate) user_id: Id<UserId>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Invitation {
    pub(crate) user_id: Id<UserId>,
    pub(crate) name: String,
    pub(crate) invitation: String,
    pub(crate) expires_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Acceptance {
    pub(crate) invitation: String,
    #[cfg_attr(test, schemars(length(min = *PASSWORD_CHARS.start(), max = *PASSWORD_CHARS.end())))]
    pub(crate) password: String,
}
