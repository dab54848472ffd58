//! Who may do what.
//!
//! Roles are ordered, and a permission names the least of them: there is no matrix to keep in step. What an agent may
//! is no matter of roles; see `decide`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a person is in a workspace. Each may all that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Writes notes, launches rules and judges what their runs propose.
    Editor,
    /// Makes rules, and says who is a member.
    Admin,
    /// Renames, archives and deletes the workspace, and hands it over. There is one.
    Owner,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read notes and everything else that members are shown.
    ReadNotes,
    /// Make, change, delete and restore notes, and record issues.
    WriteNotes,
    /// Launch a rule, and cancel its runs.
    LaunchRules,
    /// Apply or reject what runs propose.
    ReviewOperations,
    /// Make, change and delete rules.
    ManageRules,
    /// Say who is a member, and with which role below owner.
    ManageMembers,
    /// Rename, archive, delete and hand over the workspace.
    ManageWorkspace,
}

impl Role {
    /// Whether the role suffices.
    /// By the order of the roles alone.
    pub fn may(self, permission: Permission) -> bool {
        self >= permission.least_role()
    }

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// The role with this word.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Viewer, Self::Editor, Self::Admin, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

impl Permission {
    /// The smallest role that suffices.
    pub const fn least_role(self) -> Role {
        match self {
            Self::ReadNotes => Role::Viewer,
            Self::WriteNotes | Self::LaunchRules | Self::ReviewOperations => Role::Editor,
            Self::ManageRules | Self::ManageMembers => Role::Admin,
            Self::ManageWorkspace => Role::Owner,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
