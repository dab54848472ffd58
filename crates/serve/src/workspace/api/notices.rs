//! Notices that rules left, and what each person has read of them.

use bonded_workspace::store::NOTICES_MARKED_MAX;
use bonded_workspace_rules::Permission;

use super::notes::{listing, one_more, page, workspace_asked};
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{MarkedNotices, Notices, ReadNotices};
use crate::workspace::handler::RequiredBody;

/// The newest first.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<Notices>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let reader = ask.caller()?.user_id;
    let unread_only = ask.query.flag("unread")?;
    let store = &ask.site.store;
    let listed = store.notices(workspace_id, reader, unread_only, one_more(page));
    let listed = listed.await?;
    let (notices, next_offset) = listing(&listed, page);
    Ok(OkJson(Notices {
        notices,
        unread: store.unread_notices(workspace_id, reader).await?,
        next_offset,
    }))
}

/// Only for the caller: others have read what they have read.
pub(in crate::workspace) async fn mark_read(
    ask: WorkspaceAsk,
    body: RequiredBody<ReadNotices>,
) -> Result<OkJson<MarkedNotices>, ApiRefusal> {
    let body = body.read()?;
    let workspace_id = body.workspace_id.0;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let notices = match (body.notice_ids, body.all) {
        (None, true) => None,
        (Some(ids), false) if (1..=NOTICES_MARKED_MAX).contains(&ids.len()) => {
            Some(ids.into_iter().map(|id| id.0).collect())
        }
        _ => {
            return Err(ApiRefusal::bad(format!(
                "give 1 to {NOTICES_MARKED_MAX} notice_ids, or all: true"
            )));
        }
    };
    let reader = ask.caller()?.user_id;
    let store = &ask.site.store;
    let by = ask.by()?;
    store
        .mark_notices_read(by, workspace_id, reader, notices)
        .await?;
    Ok(OkJson(MarkedNotices {
        unread: store.unread_notices(workspace_id, reader).await?,
    }))
}
