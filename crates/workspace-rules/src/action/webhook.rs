//! The action `webhook`: tells another server what happened.
//!
//! Where rules may send to is the operator's to say, because what is sent leaves the machine. The secret that a message
//! is signed with is no part of the rule: every member of the workspace can read rules.

use bonded_kernel::{FormKind, FormRow, WorkspaceId};
use serde::Serialize;

use super::rule_action::{ActionNeeds, KIND, NeedsNote, RuleAction};
use crate::fault::{FaultKind, RuleFields};
use crate::surroundings::Surroundings;

/// Longer addresses are refused by servers.
const URL_BYTES_MAX: usize = 2000;

/// A message to another server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebhookAction {
    /// An address that the host lets rules send to.
    pub url: String,
}

impl RuleAction for WebhookAction {
    const IS_ASKED: bool = false;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: None,
            exclusive: None,
            prompt_path: None,
            note: NeedsNote::No,
            is_signed: true,
        }
    }

    fn words(&self) -> String {
        format!("send a signed message to {}", self.url)
    }
}

pub(super) const FORM: &[FormRow] = &[
    KIND,
    FormRow::new(
        "url",
        FormKind::Text {
            bytes_max: URL_BYTES_MAX,
        },
        "Where the message goes: an address that the server allows (automation.allowed_webhooks)",
    )
    .required(),
];

/// The host judges the address; it is judged again whenever a message is sent.
pub(super) fn read(
    fields: &mut RuleFields<'_, '_>,
    _: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<WebhookAction> {
    fields.hold_to(FORM);
    let url = fields.text_row("url")?.trim();
    if let Err(why) = host.check_webhook(url) {
        fields.fault("url", FaultKind::Reason { why });
    }
    Some(WebhookAction {
        url: url.to_owned(),
    })
}
