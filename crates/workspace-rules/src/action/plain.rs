//! The actions that need no model: `add_keyword`, `move` and `notify`.
//!
//! Each is one write to the workspace, decided like every other. What they change is so small that the fields alone say
//! it; the note is that of the event.

use bonded_kernel::{FormKind, FormRow, WorkspaceId};
use serde::Serialize;

use super::rule_action::{ActionNeeds, KIND, NeedsNote, RuleAction};
use crate::fault::{FaultKind, RuleFields};
use crate::folder::{FOLDER_BYTES_MAX, checked_folder};
use crate::note::{KEYWORD_CHARS_MAX, NOTICE_MESSAGE_BYTES_MAX, NOTICE_TITLE_CHARS_MAX};
use crate::surroundings::Surroundings;

/// In any script a keyword has at most four bytes for each character.
const KEYWORD_BYTES_MAX: usize = KEYWORD_CHARS_MAX * 4;
const TITLE_BYTES_MAX: usize = NOTICE_TITLE_CHARS_MAX * 4;

/// Gives the note one more keyword.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddKeywordAction {
    /// One line, without blanks around it.
    pub keyword: String,
}

/// Puts the note into a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MoveAction {
    /// Names with `/` between them.
    pub folder: String,
}

/// Leaves a notice for the people of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotifyAction {
    /// One line.
    pub title: String,
    /// What there is to say beside the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

pub(super) const ADD_KEYWORD: &[FormRow] = &[
    KIND,
    FormRow::new(
        "keyword",
        FormKind::Text {
            bytes_max: KEYWORD_BYTES_MAX,
        },
        "The keyword that the note gets: one line of at most 100 characters",
    )
    .required(),
];

pub(super) const MOVE: &[FormRow] = &[
    KIND,
    FormRow::new(
        "folder",
        FormKind::Text {
            bytes_max: FOLDER_BYTES_MAX,
        },
        "Where the note is put, such as Projects/2026",
    )
    .required(),
];

pub(super) const NOTIFY: &[FormRow] = &[
    KIND,
    FormRow::new(
        "title",
        FormKind::Text {
            bytes_max: TITLE_BYTES_MAX,
        },
        "What the notice is about: one line of at most 200 characters",
    )
    .required(),
    FormRow::new(
        "message",
        FormKind::Text {
            bytes_max: NOTICE_MESSAGE_BYTES_MAX,
        },
        "What there is to say beside the title",
    ),
];

/// A keyword is held to what a note takes, so that the rule cannot fail for it later.
pub(super) fn read_add_keyword(
    fields: &mut RuleFields<'_, '_>,
    _: &WorkspaceId,
    _: &dyn Surroundings,
) -> Option<AddKeywordAction> {
    fields.hold_to(ADD_KEYWORD);
    let keyword = line(fields, "keyword", KEYWORD_CHARS_MAX)?;
    Some(AddKeywordAction { keyword })
}

/// The folder is kept in its one form.
pub(super) fn read_move(
    fields: &mut RuleFields<'_, '_>,
    _: &WorkspaceId,
    _: &dyn Surroundings,
) -> Option<MoveAction> {
    fields.hold_to(MOVE);
    let written = fields.text_row("folder")?;
    match checked_folder(written) {
        Ok(folder) => Some(MoveAction { folder }),
        Err(why) => {
            fields.fault("folder", FaultKind::Reason { why });
            None
        }
    }
}

/// Both texts are read before the title ends it.
pub(super) fn read_notify(
    fields: &mut RuleFields<'_, '_>,
    _: &WorkspaceId,
    _: &dyn Surroundings,
) -> Option<NotifyAction> {
    fields.hold_to(NOTIFY);
    let title = line(fields, "title", NOTICE_TITLE_CHARS_MAX);
    let message = fields.text_row("message").map(str::to_owned);
    Some(NotifyAction {
        title: title?,
        message,
    })
}

/// One line of so many characters, without blanks around it.
fn line(fields: &mut RuleFields<'_, '_>, field: &'static str, chars_max: usize) -> Option<String> {
    let line = fields.text_row(field)?.trim();
    if line.contains(char::is_control) || line.chars().count() > chars_max {
        let why = format!("must be one line of 1 to {chars_max} characters");
        fields.fault(field, FaultKind::Reason { why });
        return None;
    }
    Some(line.to_owned())
}

impl RuleAction for AddKeywordAction {
    const IS_ASKED: bool = false;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: None,
            exclusive: None,
            prompt_path: None,
            note: NeedsNote::ToChange,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        format!("add the keyword {:?} to the note", self.keyword)
    }
}

impl RuleAction for MoveAction {
    const IS_ASKED: bool = false;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: None,
            exclusive: None,
            prompt_path: None,
            note: NeedsNote::ToChange,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        format!("move the note to the folder {:?}", self.folder)
    }
}

impl RuleAction for NotifyAction {
    const IS_ASKED: bool = false;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: None,
            exclusive: None,
            prompt_path: None,
            note: NeedsNote::No,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        format!("leave the notice {:?}", self.title)
    }
}
