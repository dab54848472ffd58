//! Notices that rules left, and what other servers sent.

use bonded_kernel::{EventId, NoteId, RuleId, WorkspaceId};
use bonded_workspace::store::ListedNotice;
#[cfg(test)]
use bonded_workspace::store::NOTICES_MARKED_MAX;
use bonded_workspace_rules::Notice;
use serde::{Deserialize, Serialize};

use super::scalars::{Id, Timestamp};

/// Something that a rule wants people to see.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Notice"))]
pub(crate) struct NoticeAnswer {
    notice_id: Id<EventId>,
    workspace_id: Id<WorkspaceId>,
    title: String,
    message: Option<String>,
    note_id: Option<Id<NoteId>>,
    rule_id: Option<Id<RuleId>>,
    run_id: Option<String>,
    posted_at: Timestamp,
    /// Whether the caller has marked it as read.
    is_read: bool,
}

impl From<&ListedNotice> for NoticeAnswer {
    fn from(listed: &ListedNotice) -> Self {
        let event = &listed.event;
        let notice = event.event.notice();
        let of = |field: fn(&Notice) -> Option<String>| notice.and_then(field);
        Self {
            notice_id: Id(event.event_id),
            workspace_id: Id(event.workspace_id),
            title: of(|it| Some(it.title.clone())).unwrap_or_default(),
            message: of(|it| it.message.clone()),
            note_id: notice.and_then(|it| it.note_id).map(Id),
            rule_id: notice.and_then(|it| it.rule_id).map(Id),
            run_id: of(|it| it.run_id.as_ref().map(ToString::to_string)),
            posted_at: event.at.into(),
            is_read: listed.is_read,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Notices {
    pub(crate) notices: Vec<NoticeAnswer>,
    /// How many the caller has not read, of all that there are.
    pub(crate) unread: u64,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}

/// Either some notices, or all of the workspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReadNotices {
    pub(crate) workspace_id: Id<WorkspaceId>,
    #[cfg_attr(test, schemars(length(min = 1, max = NOTICES_MARKED_MAX)))]
    pub(crate) notice_ids: Option<Vec<Id<EventId>>>,
    #[serde(default)]
    pub(crate) all: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MarkedNotices {
    pub(crate) unread: u64,
}

/// A message to a rule that was taken in.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HookReceived {
    pub(crate) event_id: Id<EventId>,
}
