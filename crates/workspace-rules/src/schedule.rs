//! The schedule of a rule: when it is due, and what becomes of the times that were missed.
//!
//! This crate knows no calendar and no time zone: a host says when a cron line is due ([`Instants`]), and here is
//! decided which of those instants fire.

use bonded_kernel::{FormKind, FormRow, Millis, words};
use serde::{Deserialize, Serialize};

use super::fault::{FaultKind, RuleFields};
use super::surroundings::Surroundings;

/// In bytes, before the host parses it.
const LINE_BYTES_MAX: usize = 200;
/// In bytes; no name of a time zone is nearly as long.
const ZONE_BYTES_MAX: usize = 64;

/// An instant that is looked at later than this was missed.
pub const ON_TIME_MS: u64 = 60_000;

/// A clock that stands this far behind what was considered already had been wrong, and is believed now.
pub const CLOCK_CORRECTED_MS: u64 = 24 * 60 * 60 * 1000;

/// With `catch_up: all` so many of the instants that were missed fire, the latest ones.
pub const CAUGHT_UP_MAX: usize = 100;

/// Instants that are left out are counted up to here.
const LEFT_OUT_COUNTED_MAX: u64 = 10_000;

/// When a rule with the trigger `automation_schedule.cron` fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Five fields: minute, hour, day of the month, month, day of the week.
    pub cron: String,
    /// A name of the IANA time zone database.
    #[serde(default = "utc")]
    pub timezone: String,
    /// What becomes of the instants that were missed; by default the latest fires once.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// What becomes of an instant while a run of the rule goes on; by default it does not fire.
    #[serde(default)]
    pub overlap: Overlap,
}

/// For schedules that were written without one.
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

const CATCH_UP: [(&str, CatchUp); 3] = [
    ("skip", CatchUp::Skip),
    ("once", CatchUp::Once),
    ("all", CatchUp::All),
];
const OVERLAP: [(&str, Overlap); 2] = [("queue", Overlap::Queue), ("skip", Overlap::Skip)];
const CATCH_UP_WORDS: &[&str] = &words(&CATCH_UP);
const OVERLAP_WORDS: &[&str] = &words(&OVERLAP);

pub(super) const FORM: &[FormRow] = &[
    FormRow::new(
        "cron",
        FormKind::Text {
            bytes_max: LINE_BYTES_MAX,
        },
        "Minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly and the like",
    )
    .required(),
    FormRow::new(
        "timezone",
        FormKind::Text {
            bytes_max: ZONE_BYTES_MAX,
        },
        "A name of the IANA time zone database [default: UTC]",
    ),
    FormRow::new(
        "catch_up",
        FormKind::Word(CATCH_UP_WORDS),
        "What to do about missed times: skip, once or all [default: once]",
    ),
    FormRow::new(
        "overlap",
        FormKind::Word(OVERLAP_WORDS),
        "What to do when a time comes while a run of the rule is under way: skip or queue [default: skip]",
    ),
];

/// Reads a schedule whose fields are held to its form. The host says whether its line is one that ever fires, and its zone one that exists.
pub(super) fn read(mut fields: RuleFields<'_, '_>, host: &dyn Surroundings) -> Option<Schedule> {
    let cron = fields.text_row("cron");
    let timezone = fields.text_row("timezone").unwrap_or("UTC");
    let catch_up = fields.word("catch_up", &CATCH_UP).unwrap_or_default();
    let overlap = fields.word("overlap", &OVERLAP).unwrap_or_default();
    let cron = cron?;
    if let Err(bad) = host.check_cron(cron, timezone) {
        let why = bad.why;
        fields.fault(bad.field, FaultKind::Reason { why });
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
    /// What was missed and is not made up for, because it is too much.
    pub left_out: Option<LeftOut>,
}

/// Instants that were missed and do not fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The earliest of them.
    pub first: Millis,
    /// The latest of them.
    pub last: Millis,
    /// How many; there may be more where it is 10,000.
    pub count: u64,
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
        left_out: None,
    };
    if now <= considered_until {
        let is_corrected = considered_until - now >= CLOCK_CORRECTED_MS;
        return nothing(if is_corrected { now } else { considered_until });
    }
    let (candidates, left_out) = candidates(schedule, considered_until, now, instants);
    let is_missed = |at: &Millis| now - *at > ON_TIME_MS;
    let mut is_busy = is_busy;
    let fires = |at: &Millis| {
        let fires = is_missed(at) || !is_busy || schedule.overlap == Overlap::Queue;
        is_busy |= fires;
        fires
    };
    Due {
        instants: candidates.into_iter().filter(fires).collect(),
        considered_until: now,
        left_out,
    }
}

/// The instants that the catch-up policy leaves, and what it leaves out because it is too much.
/// Walks backwards from the latest instant, so that a long sleep costs no more than the bound.
fn candidates(
    schedule: &Schedule,
    considered_until: Millis,
    now: Millis,
    instants: &dyn Instants,
) -> (Vec<Millis>, Option<LeftOut>) {
    let (from, most) = match schedule.catch_up {
        CatchUp::Once => (considered_until, 1),
        CatchUp::Skip => {
            let oldest_on_time = Millis(now.0.saturating_sub(ON_TIME_MS + 1));
            (considered_until.max(oldest_on_time), CAUGHT_UP_MAX)
        }
        CatchUp::All => (considered_until, CAUGHT_UP_MAX),
    };
    let before = |at: &Millis| {
        let latest = instants.latest(Millis(at.0.checked_sub(1)?))?;
        (latest < *at && latest > from).then_some(latest)
    };
    let latest = instants.latest(now).filter(|at| *at > from);
    let mut fired: Vec<Millis> = std::iter::successors(latest, before).take(most).collect();
    fired.reverse();
    let left_out = match schedule.catch_up {
        CatchUp::All => fired
            .first()
            .and_then(|oldest| left_out(from, *oldest, instants)),
        CatchUp::Once | CatchUp::Skip => None,
    };
    (fired, left_out)
}

/// The instants after one and before another.
/// Both ends are outside. Counting stops at a bound, so that a line for every minute after years costs little.
fn left_out(after: Millis, until: Millis, instants: &dyn Instants) -> Option<LeftOut> {
    let next = |at: &Millis| {
        instants
            .after(*at)
            .filter(|next| *next > *at && *next < until)
    };
    let first = next(&after)?;
    let last = instants.latest(Millis(until.0.saturating_sub(1)))?;
    let counted = std::iter::successors(Some(first), next);
    let count = counted.take(LEFT_OUT_COUNTED_MAX as usize).count() as u64;
    Some(LeftOut { first, last, count })
}
