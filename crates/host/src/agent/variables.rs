//! The variables of a prompt.
//!
//! They are put in when a goal is made, and the prompt in the log holds the values: a run that is
//! replayed sees the day on which it began.

use bonded_kernel::ReportFormat;

use super::Workplace;
use crate::agent_file::Variables;
use crate::config::options::Options;

/// What the clock, the machine and the user's account say. The surface reads them: the host knows none.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// RFC 3339, local time.
    pub datetime: String,
    /// The day of the week.
    pub day: String,
    /// The name of the zone of `datetime`.
    pub timezone: String,
    /// The name of the machine.
    pub hostname: String,
    /// The name of the person's account.
    pub user: String,
    /// The release of the operating system's kernel.
    pub kernel: String,
}

impl Moment {
    /// Names are upper case. A name that is not among these stays in the prompt as it is written.
    pub(super) fn variables(
        &self,
        workplace: &Workplace,
        options: &Options,
        format: ReportFormat,
    ) -> Variables {
        let values = [
            ("DATETIME", self.datetime.clone()),
            ("DAY", self.day.clone()),
            ("TIMEZONE", self.timezone.clone()),
            ("MAX_TURNS", options.turns_max.to_string()),
            ("FORMAT", format.description().to_owned()),
            ("OS", std::env::consts::OS.to_owned()),
            ("ARCH", std::env::consts::ARCH.to_owned()),
            ("KERNEL", self.kernel.clone()),
            ("CD", workplace.dir.to_string_lossy().into_owned()),
            ("HOSTNAME", self.hostname.clone()),
            ("USER", self.user.clone()),
        ];
        values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
