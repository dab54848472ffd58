//! The next request held against the windows of the targets.
//!
//! A view is made of one request: by target what it would hold, what the window takes, and how long the reply may be. Whether
//! it fits, which targets take it and by how much it is too large are read from the view.

use super::{Run, RunPhase};
use crate::context::{self, Projection};
use crate::event::{Blocked, Counters};
use crate::prompt::Brief;

/// A request that the guard has looked at.
pub(crate) struct Guarded {
    pub(crate) brief: Brief,
    /// `None` where no target has a known window.
    pub(crate) view: Option<View>,
}

pub(crate) struct View {
    /// By target: what the request holds.
    projections: Vec<Projection>,
    /// What the whole of it is estimated at.
    estimated: Option<u64>,
    /// What must stay free besides for the last turn.
    kept_free: u64,
    /// By target: what its window takes, where that is known.
    limits: Vec<Option<i64>>,
    /// By target: the whole window, where a request may fill it.
    windows: Vec<Option<u64>>,
    /// By target: the longest reply that is asked for.
    replies: Vec<u64>,
}

impl View {
    pub(crate) fn new(run: &Run, brief: &Brief, turn: u32, last: bool) -> Self {
        Self::with(run, brief, turn, last, 0)
    }

    /// As if so much more were said first, as it is estimated.
    pub(crate) fn with(run: &Run, brief: &Brief, turn: u32, last: bool, more: u64) -> Self {
        let notices = brief.notices.iter();
        let notices = notices.map(|it| run.meter.text_tokens(it));
        let config = run.config();
        let shortens = run.profile().conduct().shortens_replies;
        let more = notices.fold(more, u64::saturating_add);
        let extras = run.meter.extras(more, brief.offer);
        Self {
            projections: (0..config.targets.len())
                .map(|target| run.meter.context.project(extras, target))
                .collect(),
            estimated: match config.edition.measures_tokens() {
                true => run.meter.context.whole(extras),
                false => None,
            },
            kept_free: if last || config.edition.fills_windows() {
                0
            } else {
                run.last_turn_tokens(turn.saturating_add(1))
            },
            limits: run
                .targets()
                .map(|target| context::limit(target, config, shortens))
                .collect(),
            windows: match config.edition.fills_windows() {
                true => run.targets().map(|it| Some(it.window?.tokens)).collect(),
                false => vec![],
            },
            replies: run
                .targets()
                .map(|target| context::reply_max(target, config, shortens))
                .collect(),
        }
    }

    /// By how much the window is exceeded that is exceeded most, what the request would hold there, and the limit.
    pub(crate) fn excess(&self) -> Option<(u64, u64, i64)> {
        let over = tightest(self.blocked(0))?;
        Some((margin(&over).unsigned_abs(), over.projected, over.limit))
    }

    fn projected(&self, target: usize) -> u64 {
        let projection = self.projections.get(target);
        let tokens = projection.map_or(0, Projection::tokens);
        tokens.saturating_add(self.kept_free)
    }

    fn room(&self, target: usize) -> u64 {
        let limit = self.limits.get(target).copied().flatten();
        limit.map_or(u64::MAX, |limit| room(limit, self.projected(target)))
    }

    /// The targets whose windows do not hold the request, or leave no room to reply before the last turn.
    pub(crate) fn blocked(&self, least_reply: u64) -> Vec<Blocked> {
        let limits = self.limits.iter().enumerate();
        limits
            .filter_map(|(target, limit)| {
                let limit = (*limit)?;
                let projected = self.projected(target);
                let needed = projected.saturating_add(least_reply);
                over(limit, needed).then_some(Blocked {
                    target: target as u32,
                    projected,
                    limit,
                })
            })
            .collect()
    }
}

/// The window that is exceeded most.
fn tightest(blocked: Vec<Blocked>) -> Option<Blocked> {
    blocked.into_iter().min_by_key(margin)
}

/// What a window has left, below 0 where it is exceeded.
fn margin(blocked: &Blocked) -> i64 {
    let projected = i64::try_from(blocked.projected).unwrap_or(i64::MAX);
    blocked.limit.saturating_sub(projected)
}

pub(crate) fn over(limit: i64, tokens: u64) -> bool {
    i64::try_from(tokens).unwrap_or(i64::MAX) > limit
}

pub(crate) fn room(limit: i64, used: u64) -> u64 {
    let used = i64::try_from(used).unwrap_or(i64::MAX);
    u64::try_from(limit.saturating_sub(used)).unwrap_or(0)
}

impl Guarded {
    pub(crate) fn fits(&self, target: usize) -> bool {
        let blocked = |view: &View| {
            view.blocked(0)
                .iter()
                .any(|it| it.target as usize == target)
        };
        !self.view.as_ref().is_some_and(blocked)
    }

    /// How long the reply may be. In the last turn nothing has to be kept free for another.
    pub(crate) fn reply_room(&self, target: u32) -> u64 {
        let Some(view) = &self.view else {
            return u64::MAX;
        };
        if let Some(window) = view.windows.get(target as usize).copied().flatten() {
            // As long as it was asked for, but for a last turn that begins with a full window.
            let room = window.saturating_sub(view.projected(target as usize));
            let most = view.replies.get(target as usize).copied();
            let room = room.max(context::reply_room_min());
            return room.min(most.unwrap_or(u64::MAX));
        }
        match view.kept_free > 0 {
            true => view.room(target as usize),
            false => u64::MAX,
        }
    }

    /// The target with the largest window and what is to be sent, where that is more than twice too much for every target.
    pub(crate) fn hopeless(&self) -> Option<(u32, u64)> {
        let view = self.view.as_ref()?;
        let windows: Option<Vec<u64>> = view.windows.iter().copied().collect();
        let (window, target) = windows?.into_iter().zip(0_u32..).max()?;
        let projected = view.projections.get(target as usize)?.tokens();
        (projected / 2 > window).then_some((target, projected))
    }

    pub(crate) fn counters(&self, target: u32) -> Option<Counters> {
        let view = self.view.as_ref()?;
        let projection = view.projections.get(target as usize)?;
        Some(Counters {
            current: projection.current,
            pending: projection.pending,
            schema: projection.schema,
            estimated: view.estimated,
        })
    }
}

/// The tightest window that would be exceeded if so many tokens more were said in this turn.
pub(crate) fn exceeded(run: &Run, tokens: u64) -> Option<Blocked> {
    if !run.is_guarded() || !run.converses() {
        return None;
    }
    let turn = run.turn.saturating_add(1);
    let brief = run.brief(turn);
    tightest(View::with(run, &brief, turn, false, tokens).blocked(0))
}

/// The tightest window that the next request of a turn exceeds.
pub(crate) fn next_excess(run: &Run, turn: u32) -> Option<Blocked> {
    if !context::is_guarded(run.config()) || !run.converses() {
        return None;
    }
    let brief = run.brief(turn);
    tightest(View::new(run, &brief, turn, keeps_nothing_free(run, turn)).blocked(0))
}

/// The targets that do not hold the next request of a run that waits.
pub(crate) fn blocked_targets(run: &Run) -> Vec<usize> {
    if !run.is_guarded() {
        return vec![];
    }
    let begins = matches!(run.phase, RunPhase::Between) && !run.goes_on_in_last_turn();
    let turn = run.turn.saturating_add(u32::from(begins));
    let brief = run.brief(turn);
    let blocked = View::new(run, &brief, turn, keeps_nothing_free(run, turn)).blocked(0);
    blocked.iter().map(|it| it.target as usize).collect()
}

/// In the last turn, and where no turn needs room for another, nothing is kept free.
pub(crate) fn keeps_nothing_free(run: &Run, turn: u32) -> bool {
    run.is_last(turn) || !run.converses()
}
