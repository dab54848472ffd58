//! Refusals of the rules and of the store, as clients meet them.
//!
//! What the store says of its files goes to the log and never to a client.

use bonded_host::with_causes;
use bonded_workspace::store::WorkspaceError;
use bonded_workspace_rules::Refused;

use super::dto::CurrentNote;
use crate::json_api::refusal::ApiRefusal;

impl From<WorkspaceError> for ApiRefusal {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused(refused) => refused.into(),
            // What the store says of its files is for whoever runs it.
            WorkspaceError::Store(error) => {
                tracing::error!("error: {}", with_causes(&error));
                Self::internal("the store failed; the log of the server says why")
            }
        }
    }
}

impl From<Refused> for ApiRefusal {
    fn from(refused: Refused) -> Self {
        let refusal = Self::new(refused.code(), with_causes(&refused));
        let details = refused.details();
        let Refused::VersionConflict { current, .. } = &refused else {
            return refusal.details(details);
        };
        refusal.details(CurrentNote {
            conflict: details,
            current_title: &current.title,
            current_markdown: &current.markdown,
            updated_at: current.updated_at.into(),
        })
    }
}
