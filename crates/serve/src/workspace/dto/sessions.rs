//! The owner's registration, and sessions of browsers.
//!
//! The cookie itself is in no body: pages cannot read it, and need not.

use bonded_kernel::UserId;
use serde::{Deserialize, Serialize};

use super::scalars::{Id, Timestamp};
#[cfg(test)]
use crate::workspace::api::auth::{NAME_CHARS_MAX, PASSWORD_CHARS};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Credentials {
    #[cfg_attr(test, schemars(length(min = 1, max = NAME_CHARS_MAX)))]
    pub(crate) username: String,
    #[cfg_attr(test, schemars(length(min = *PASSWORD_CHARS.start(), max = *PASSWORD_CHARS.end())))]
    pub(crate) password: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Registered {
    pub(crate) user_id: Id<UserId>,
    pub(crate) username: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoggedIn {
    pub(crate) user_id: Id<UserId>,
    pub(crate) username: String,
    pub(crate) csrf_token: String,
    pub(crate) expires_at: Timestamp,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Session"))]
pub(crate) struct SessionAnswer {
    pub(crate) user_id: Id<UserId>,
    pub(crate) username: String,
    pub(crate) is_owner: bool,
    /// Null for who asks with a token.
    pub(crate) csrf_token: Option<String>,
}
