//! What is wrong with a schedule.
//!
//! The sentences are for whoever writes a rule: each says what would be right.

/// Why a schedule cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    /// More or fewer than five.
    #[error(
        "a cron line has five fields (minute, hour, day of the month, month, day of the week), as in \"30 9 * * 1-5\"; this one has {found}"
    )]
    Fields { found: usize },
    /// It begins with `@` and is none of the known words. Cut to 32 characters.
    #[error(
        "there is no {word:?}; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
    )]
    Word { word: String },
    /// One of the five fields holds what it cannot.
    #[error("the field {field} cannot be {written:?}: {why}")]
    Field {
        field: &'static str,
        written: String,
        why: String,
    },
    /// Such as the 30th of February.
    #[error(
        "no year has such a day, so this line never fires; check the day of the month and the month"
    )]
    Never,
    /// The machine has no such time zone. Cut to 64 characters.
    #[error(
        "there is no time zone {name:?} here; use a name such as UTC or Europe/Berlin, and check that tzdata is installed"
    )]
    Zone { name: String },
}

impl BadCron {
    /// The field of the schedule that is at fault.
    pub fn at(&self) -> &'static str {
        match self {
            Self::Zone { .. } => "timezone",
            Self::Fields { .. } | Self::Word { .. } | Self::Field { .. } | Self::Never => "cron",
        }
    }
}
