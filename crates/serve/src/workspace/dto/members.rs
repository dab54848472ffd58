//! Members of a workspace.
//!
//! A member is shown by id and by name; the name may be missing where the account is not known here.

use bonded_kernel::UserId;
use serde::{Deserialize, Serialize};

use super::scalars::Id;
use super::words::MemberRole;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Member {
    pub(crate) user_id: Id<UserId>,
    pub(crate) name: Option<String>,
    pub(crate) role: MemberRole,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Members {
    pub(crate) members: Vec<Member>,
}

/// A user, by id or by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewMember {
    pub(crate) user_id: Option<Id<UserId>>,
    /// In place of the id.
    pub(crate) name: Option<String>,
    pub(crate) role: MemberRole,
}
