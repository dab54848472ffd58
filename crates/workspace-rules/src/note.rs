//! What a note and a workspace are.

use bonded_kernel::{Millis, NoteId, Text, WorkspaceId};
use serde::{Deserialize, Serialize};

use super::metadata::Metadata;

pub const TITLE_CHARS_MAX: usize = 500;
pub const MARKDOWN_BYTES_MAX: usize = 4 << 20;
pub const KEYWORDS_MAX: usize = 100;
pub const KEYWORD_CHARS_MAX: usize = 100;
pub(super) const NAME_CHARS_MAX: usize = 200;

/// The kind of a note that was given none.
pub(super) const DEFAULT_KIND: &str = "note";

/// A note as it stands after one of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub note_id: NoteId,
    pub workspace_id: WorkspaceId,
    pub title: String,
    pub markdown: Text,
    pub note_kind: String,
    pub access_scope: AccessScope,
    pub keywords: Vec<String>,
    pub metadata: Metadata,
    /// 1 for a new note, one more with each write.
    pub version: u64,
    pub created_at: Millis,
    pub updated_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Millis>,
}

/// For whom a note is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    Private,
    #[default]
    Workspace,
    Public,
}

/// A workspace as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub workspace_id: WorkspaceId,
    pub name: String,
    pub state: WorkspaceState,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// Whether a workspace may be written to, or read at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    #[default]
    Active,
    /// May only be read.
    Archived,
    Deleted,
}

impl AccessScope {
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
