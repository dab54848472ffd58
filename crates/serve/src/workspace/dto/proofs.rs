//! Tokens, sessions and passwords.
//!
//! A secret is in one answer only, that of the request which made it; lists name it by a part of its hash.

use bonded_kernel::UserId;
use bonded_workspace::store::{ListedSession, ListedToken};
use serde::{Deserialize, Serialize};

use super::scalars::{Id, Timestamp};
#[cfg(test)]
use crate::workspace::api::auth::PASSWORD_CHARS;
#[cfg(test)]
use crate::workspace::api::proofs::LABEL_CHARS_MAX;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TokenList {
    pub(crate) tokens: Vec<TokenSummary>,
}

/// A token without itself: only its hash is kept.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct TokenSummary {
    token_id: String,
    label: String,
    created_at: Timestamp,
    /// To the minute.
    last_used_at: Option<Timestamp>,
}

impl From<ListedToken> for TokenSummary {
    fn from(token: ListedToken) -> Self {
        Self {
            token_id: token.token_id,
            label: token.label,
            created_at: token.created_at.into(),
            last_used_at: token.last_used_at.map(Timestamp::from),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewToken {
    #[cfg_attr(test, schemars(length(min = 1, max = LABEL_CHARS_MAX)))]
    pub(crate) label: Option<String>,
    /// Whether the tokens of before are revoked.
    #[serde(default)]
    pub(crate) revoke_others: bool,
}

/// A token, which is shown this once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MadeToken {
    pub(crate) user_id: Id<UserId>,
    pub(crate) token_id: String,
    pub(crate) label: String,
    pub(crate) token: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SessionList {
    pub(crate) sessions: Vec<SessionSummary>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct SessionSummary {
    session_id: String,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// Whether it is the one by which the list was asked for.
    is_current: bool,
}

impl SessionSummary {
    /// A session, and whether it is the `current` one.
    pub(crate) fn of(session: ListedSession, current: Option<&str>) -> Self {
        Self {
            is_current: current == Some(&session.session_id),
            session_id: session.session_id,
            created_at: session.created_at.into(),
            expires_at: session.expires_at.into(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewPassword {
    #[cfg_attr(test, schemars(length(min = *PASSWORD_CHARS.start(), max = *PASSWORD_CHARS.end())))]
    pub(crate) password: String,
    /// Needed from who has a password and sets their own.
    pub(crate) current_password: Option<String>,
}
