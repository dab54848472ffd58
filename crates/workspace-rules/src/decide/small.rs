//! Changes that rules make without a model, what other servers send, and what people attach and close.
//!
//! What is so already comes to no event: a rule that fires on its own change finds nothing left to change, and the chain
//! ends there.

use bonded_kernel::{EventId, NoteId, RuleId, WorkspaceId};
use serde_json::{Value, json};

use super::note_fields::checked_keywords;
use super::notes::{stamp, writable};
use super::permit::permit;
use crate::actor::Actor;
use crate::change::View;
use crate::event::{NoteUpdated, WorkspaceEvent};
use crate::folder::{FOLDER_KEY, checked_folder};
use crate::metadata::check_metadata;
use crate::note::{Metadata, NOTICE_MESSAGE_BYTES_MAX, NOTICE_TITLE_CHARS_MAX, Note};
use crate::notice::{ATTACHMENT_NAME_CHARS_MAX, ATTACHMENTS_MAX, Attachment, Notice};
use crate::refused::Refused;
use crate::role::Permission;
use crate::trigger::Trigger;

/// A longer reason is cut, not refused: that the issue is closed matters more.
const REASON_CHARS_MAX: usize = 2000;

/// Whatever version the note has: the keyword is added to those that it has now.
pub(super) fn add_keyword(
    view: &View,
    note_id: NoteId,
    keyword: &str,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let note = writable(view, note_id, actor)?;
    let keyword = keyword.trim();
    if keyword.is_empty() {
        return Err(Refused::bad("a keyword has at least one character"));
    }
    if note.keywords.iter().any(|known| known == keyword) {
        return Ok(vec![]);
    }
    let mut keywords = note.keywords.clone();
    keywords.push(keyword.to_owned());
    let keywords = checked_keywords(&keywords)?;
    updated(note, Some(keywords), Metadata::new(), actor)
}

/// The folder is a key of the metadata.
pub(super) fn move_note(
    view: &View,
    note_id: NoteId,
    folder: &str,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let note = writable(view, note_id, actor)?;
    let folder = checked_folder(folder).map_err(|why| Refused::bad(format!("folder: {why}")))?;
    if note.metadata.get(FOLDER_KEY).and_then(Value::as_str) == Some(&folder) {
        return Ok(vec![]);
    }
    let set = Metadata::from([(FOLDER_KEY.to_owned(), json!(folder))]);
    updated(note, None, set, actor)
}

/// The event, with what the kernel says about a run that made it.
fn updated(
    note: &Note,
    keywords: Option<Vec<String>>,
    mut metadata: Metadata,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    stamp(&mut metadata, actor, "update");
    let mut all = note.metadata.clone();
    all.extend(metadata.clone());
    check_metadata(&all)?;
    Ok(vec![WorkspaceEvent::NoteUpdated(Box::new(NoteUpdated {
        note_id: note.note_id,
        title: None,
        markdown: None,
        note_kind: None,
        access_scope: None,
        keywords,
        metadata,
    }))])
}

/// Only runs of rules leave notices, and what they say about themselves is overwritten.
pub(super) fn post_notice(
    view: &View,
    workspace_id: WorkspaceId,
    notice: &Notice,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let Actor::Agent { run_id, rule_id } = actor else {
        return Err(Refused::bad("only the run of a rule leaves a notice"));
    };
    permit(view, workspace_id, actor, Permission::WriteNotes)?;
    let title = notice.title.trim();
    let is_line = !title.is_empty() && !title.contains(char::is_control);
    let message_bytes = notice.message.as_ref().map_or(0, String::len);
    if !is_line
        || title.chars().count() > NOTICE_TITLE_CHARS_MAX
        || message_bytes > NOTICE_MESSAGE_BYTES_MAX
    {
        return Err(Refused::bad(format!(
            "a notice has a title of one line and 1 to {NOTICE_TITLE_CHARS_MAX} characters, and a message of at most \
             {NOTICE_MESSAGE_BYTES_MAX} bytes"
        )));
    }
    Ok(vec![WorkspaceEvent::NoticePosted(Notice {
        title: title.to_owned(),
        message: notice.message.clone(),
        note_id: notice.note_id,
        rule_id: Some(*rule_id),
        run_id: Some(run_id.clone()),
    })])
}

/// The server has checked the signature; here the rule must still be one that takes something in.
pub(super) fn receive_hook(
    view: &View,
    rule_id: RuleId,
    delivery: &str,
    body: &Value,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let missing = Refused::RuleNotFound { rule_id };
    let rule = view.rule.as_ref().ok_or_else(|| missing.clone())?;
    permit(
        view,
        rule.draft.workspace_id,
        actor,
        Permission::LaunchRules,
    )?;
    if *actor != Actor::System || rule.draft.trigger != Trigger::Webhook || !rule.draft.enabled {
        return Err(missing);
    }
    Ok(vec![WorkspaceEvent::HookReceived {
        rule_id,
        delivery: delivery.to_owned(),
        body: body.clone(),
    }])
}

/// What is closed stays closed; to close it again is no event.
pub(super) fn close_issue(
    view: &View,
    issue_id: EventId,
    reason: Option<&str>,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let missing = Refused::IssueNotFound { issue_id };
    let issue = view.issue.as_ref().ok_or(missing)?;
    permit(view, issue.workspace_id, actor, Permission::WriteNotes)?;
    if issue.is_closed {
        return Ok(vec![]);
    }
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| reason.chars().take(REASON_CHARS_MAX).collect());
    Ok(vec![WorkspaceEvent::IssueClosed { issue_id, reason }])
}

/// The content lies in its place already; a note takes a bounded number of files.
pub(super) fn attach(
    view: &View,
    attachment: &Attachment,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    writable(view, attachment.note_id, actor)?;
    let name = attachment.name.trim();
    let is_name = !name.is_empty()
        && name.chars().count() <= ATTACHMENT_NAME_CHARS_MAX
        && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\');
    if !is_name {
        return Err(Refused::bad(format!(
            "name: 1 to {ATTACHMENT_NAME_CHARS_MAX} characters, without / and \\"
        )));
    }
    if view.attachments >= ATTACHMENTS_MAX {
        return Err(Refused::bad(format!(
            "a note has at most {ATTACHMENTS_MAX} attachments; remove one first"
        )));
    }
    Ok(vec![WorkspaceEvent::AttachmentAdded(Attachment {
        name: name.to_owned(),
        ..attachment.clone()
    })])
}

/// The content stays where it is, because older events name it.
pub(super) fn remove_attachment(
    view: &View,
    attachment_id: EventId,
    actor: &Actor,
) -> Result<Vec<WorkspaceEvent>, Refused> {
    let missing = Refused::AttachmentNotFound { attachment_id };
    let note = view.note.as_ref().ok_or_else(|| missing.clone())?;
    permit(view, note.workspace_id, actor, Permission::WriteNotes)?;
    match view.is_attachment_removed {
        None => Err(missing),
        Some(true) => Ok(vec![]),
        Some(false) => Ok(vec![WorkspaceEvent::AttachmentRemoved { attachment_id }]),
    }
}
