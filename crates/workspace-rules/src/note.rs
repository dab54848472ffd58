//! What a note and a workspace are.
//!
//! Both are folded from events. The bounds are here because readers, writers and the index all rely on them.

use std::collections::BTreeMap;

use bonded_kernel::{Millis, NoteId, Text, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What stands about a note beside its text: names with JSON values.
pub type Metadata = BTreeMap<String, Value>;

/// How long a title is at most.
pub const TITLE_CHARS_MAX: usize = 500;
/// How long the text of a note is at most.
pub const MARKDOWN_BYTES_MAX: usize = 4 << 20;
/// How many keywords a note has at most.
pub const KEYWORDS_MAX: usize = 100;
/// How long one of them is at most.
pub const KEYWORD_CHARS_MAX: usize = 100;
pub(super) const NAME_CHARS_MAX: usize = 200;
/// How long the title of a notice is at most.
pub const NOTICE_TITLE_CHARS_MAX: usize = 200;
/// How long its message is at most.
pub const NOTICE_MESSAGE_BYTES_MAX: usize = 4000;

/// The kind of a note that was given none.
pub(super) const DEFAULT_KIND: &str = "note";

/// A note as it stands after one of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Drawn by whoever made it; no two notes of any workspace share one.
    pub note_id: NoteId,
    /// A note never moves to another workspace.
    pub workspace_id: WorkspaceId,
    /// One line without control characters; titles need not be unique.
    pub title: String,
    /// The whole text, at most 4 MiB.
    pub markdown: Text,
    /// A slug, such as `note`.
    pub note_kind: String,
    /// Always `workspace`; kept for programs that know the field.
    pub access_scope: AccessScope,
    /// Each once, in the order in which they were given.
    pub keywords: Vec<String>,
    /// What stands about it beside its text.
    pub metadata: Metadata,
    /// 1 for a new note, one more with each write.
    pub version: u64,
    /// The time of the event that made it.
    pub created_at: Millis,
    /// The time of its last event, of whatever sort.
    pub updated_at: Millis,
    /// Since when it is deleted; absent while it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Millis>,
}

/// For whom a note is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// Kept for programs that know the word; no note can be so.
    Private,
    /// All members of its workspace read it.
    #[default]
    Workspace,
    /// As `Private`.
    Public,
}

/// A workspace as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Also the name of its stream of events.
    pub workspace_id: WorkspaceId,
    /// What people call it; names need not be unique.
    pub name: String,
    /// Whether it may be written to, or read.
    pub state: WorkspaceState,
    /// The time of its first event.
    pub created_at: Millis,
    /// When its name or its state was set last; writes to its notes do not count.
    pub updated_at: Millis,
}

/// Whether a workspace may be written to, or read at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// It may be read and written.
    #[default]
    Active,
    /// May only be read.
    Archived,
    /// It is as good as gone, until its owner wants it back.
    Deleted,
}

impl AccessScope {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Workspace => "workspace",
            Self::Public => "public",
        }
    }
}

/// The title of a note that was given none: the clock in UTC.
pub fn title_from_clock(now: Millis) -> String {
    let seconds = now.0 / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The proleptic Gregorian date of a day after 1970-01-01; years are counted from March, so that the leap day is last.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}
