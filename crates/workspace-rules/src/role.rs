//! Who may do what.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a person is in a workspace. Each may all that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Editor,
    Admin,
    Owner,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    ReadNotes,
    WriteNotes,
    LaunchRules,
    ReviewOperations,
    ManageRules,
    ManageMembers,
    ManageWorkspace,
}

impl Role {
    pub fn may(self, permission: Permission) -> bool {
        self >= permission.least_role()
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Viewer, Self::Editor, Self::Admin, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

impl Permission {
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
