//! The schedule of a rule: when it is due, and what becomes of the times that were missed.
//!
//! The kernel knows no calendar and no time zone: a host says when a cron line is due ([`Instants`]), and here is
//! decided which of those instants fire.

use serde::{Deserialize, Serialize};

use super::fault::FaultKind;
use super::fields::Fields;
use super::rule::Surroundings;
use crate::time::Millis;

const LINE_BYTES_MAX: usize = 200;
const ZONE_BYTES_MAX: usize = 64;

/// An instant that is looked at later than this was missed.
pub const ON_TIME_MS: u64 = 60_000;

/// A clock that stands this far behind what was considered already had been wrong, and is believed now.
pub const CLOCK_CORRECTED_MS: u64 = 24 * 60 * 60 * 1000;

/// Instants that fire in one look; those after them fire in the next.
pub const FIRED_AT_ONCE_MAX: usize = 100;

/// When a rule with the trigger `automation_schedule.cron` fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Five fields: minute, hour, day of the month, month, day of the week.
    pub cron: String,
    /// A name of the IANA time zone database.
    #[serde(default = "utc")]
    pub timezone: String,
    #[serde(default)]
    pub catch_up: CatchUp,
    #[serde(default)]
    pub overlap: Overlap,
}

fn utc() -> String {
    "UTC".into()
}

/// What becomes of instants that were missed, because nothing ran or the machine slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They do not fire.
    Skip,
    /// Of all that are due, the latest fires.
    #[default]
    Once,
    /// Each of them fires, in order.
    All,
}

/// What becomes of an instant that comes in time while a run of the rule has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It fires, and its run waits.
    Queue,
    /// It does not fire.
    #[default]
    Skip,
}

const FIELDS: [&str; 4] = ["cron", "timezone", "catch_up", "overlap"];
const CATCH_UP: [(&str, CatchUp); 3] = [
    ("skip", CatchUp::Skip),
    ("once", CatchUp::Once),
    ("all", CatchUp::All),
];
const OVERLAP: [(&str, Overlap); 2] = [("queue", Overlap::Queue), ("skip", Overlap::Skip)];

/// Reads a schedule. The host says whether its line is one that ever fires, and its zone one that exists.
pub(super) fn read(mut fields: Fields<'_, '_>, host: &dyn Surroundings) -> Option<Schedule> {
    fields.refuse_unknown(&FIELDS);
    let cron = fields.required_text("cron", LINE_BYTES_MAX);
    let timezone = fields.text("timezone", ZONE_BYTES_MAX).unwrap_or("UTC");
    let catch_up = fields.word("catch_up", &CATCH_UP).unwrap_or_default();
    let overlap = fields.word("overlap", &OVERLAP).unwrap_or_default();
    let cron = cron?;
    if let Err(told) = host.check_cron(cron, timezone) {
        let why = told.why;
        fields.fault(told.field, FaultKind::Told { why });
    }
    Some(Schedule {
        cron: cron.to_owned(),
        timezone: timezone.to_owned(),
        catch_up,
        overlap,
    })
}

/// When a schedule is due, as a host knows it.
pub trait Instants {
    /// The first instant after this one.
    fn after(&self, at: Millis) -> Option<Millis>;
    /// The last instant that is not after this one.
    fn latest(&self, until: Millis) -> Option<Millis>;
}

/// What a look at a schedule came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The instants that fire now, in order.
    pub instants: Vec<Millis>,
    /// Up to where the schedule was considered, to be made durable together with the firings.
    pub considered_until: Millis,
}

/// What of a schedule fires now. `considered_until` is what the last look gave, and `is_busy` says whether a run of
/// the rule has not ended.
///
/// An instant is looked at once: `considered_until` never goes back, so that a clock which does fires nothing again.
/// The one exception is a clock that was wrong by a day or more; then the firing's own key keeps it single.
pub fn due(
    schedule: &Schedule,
    considered_until: Millis,
    now: Millis,
    is_busy: bool,
    instants: &dyn Instants,
) -> Due {
    let nothing = |considered_until| Due {
        instants: vec![],
        considered_until,
    };
    if now <= considered_until {
        let is_corrected = considered_until - now >= CLOCK_CORRECTED_MS;
        return nothing(if is_corrected { now } else { considered_until });
    }
    let (candidates, considered_until) = candidates(schedule, considered_until, now, instants);
    let is_missed = |at: &Millis| now - *at > ON_TIME_MS;
    let mut is_busy = is_busy;
    let fires = |at: &Millis| {
        let fires = is_missed(at) || !is_busy || schedule.overlap == Overlap::Queue;
        is_busy |= fires;
        fires
    };
    Due {
        instants: candidates.into_iter().filter(fires).collect(),
        considered_until,
    }
}

/// The instants that the catch-up policy leaves, and up to where that speaks for the schedule.
fn candidates(
    schedule: &Schedule,
    considered_until: Millis,
    now: Millis,
    instants: &dyn Instants,
) -> (Vec<Millis>, Millis) {
    let from = match schedule.catch_up {
        CatchUp::Once => {
            let latest = instants.latest(now);
            let latest = latest.filter(|at| *at > considered_until);
            return (latest.into_iter().collect(), now);
        }
        CatchUp::Skip => {
            let oldest_on_time = Millis(now.0.saturating_sub(ON_TIME_MS + 1));
            considered_until.max(oldest_on_time)
        }
        CatchUp::All => considered_until,
    };
    let next = |at: &Millis| {
        instants
            .after(*at)
            .filter(|next| *next > *at && *next <= now)
    };
    let due = std::iter::successors(next(&from), next);
    let fired: Vec<Millis> = due.take(FIRED_AT_ONCE_MAX).collect();
    let until = match fired.last() {
        Some(last) if fired.len() == FIRED_AT_ONCE_MAX => *last,
        _ => now,
    };
    (fired, until)
}
