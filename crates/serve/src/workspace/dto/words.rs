//! Words of the rules as bodies have them: each variant with the word that stands for it on the wire.
//!
//! A word never changes once clients know it, whatever its variant is called in the program.

use serde::{Deserialize, Serialize};

/// An enum of the wire with the variants of one of ours, and the way from each to the other. The compiler asks for a
/// variant that ours gains.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident of $ours:ty { $($(#[$on_variant:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
        pub(crate) enum $name {
            $($(#[$on_variant])* #[serde(rename = $word)] $variant,)+
        }

        impl From<$ours> for $name {
            fn from(ours: $ours) -> Self {
                match ours {
                    $(<$ours>::$variant => Self::$variant,)+
                }
            }
        }

        impl From<$name> for $ours {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)+
                }
            }
        }
    };
}

words! {
    AccessScope of bonded_workspace_rules::AccessScope {
        Private = "private",
        Workspace = "workspace",
        Public = "public",
    }
}

words! {
    WorkspaceState of bonded_workspace_rules::WorkspaceState {
        Active = "active",
        Archived = "archived",
        Deleted = "deleted",
    }
}

words! {
    MemberRole of bonded_workspace_rules::Role {
        Viewer = "viewer",
        Editor = "editor",
        Admin = "admin",
        Owner = "owner",
    }
}

words! {
    // Nobody is shown a user who was deleted.
    UserState of bonded_workspace::store::UserState {
        Active = "active",
        Disabled = "disabled",
        #[cfg_attr(test, schemars(skip))]
        Deleted = "deleted",
    }
}

words! {
    Trigger of bonded_workspace_rules::Trigger {
        NoteChanged = "workspace_event.note_changed",
        NoteCreated = "workspace_event.note_created",
        NoteDeleted = "workspace_event.note_deleted",
        Cron = "automation_schedule.cron",
        Webhook = "webhook",
        Manual = "manual",
    }
}

words! {
    CatchUp of bonded_workspace_rules::CatchUp {
        Skip = "skip",
        Once = "once",
        All = "all",
    }
}

words! {
    Overlap of bonded_workspace_rules::Overlap {
        Queue = "queue",
        Skip = "skip",
    }
}

words! {
    RunStatus of bonded_workspace_rules::RunStatus {
        Queued = "queued",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

words! {
    OperationStatus of bonded_workspace_rules::OperationStatus {
        Pending = "pending",
        Applied = "applied",
        Rejected = "rejected",
    }
}

words! {
    OperationOutcome of bonded_kernel::OperationOutcome {
        Done = "done",
        Proposed = "proposed",
        Refused = "refused",
        Failed = "failed",
    }
}

words! {
    SearchMode of bonded_workspace::SearchMode {
        Hybrid = "hybrid",
        Lexical = "lexical",
        Semantic = "semantic",
    }
}
