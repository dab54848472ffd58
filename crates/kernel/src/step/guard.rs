//! The context guard: no request leaves that a window does not hold, and there is always room for the last.

use super::Stepper;
use crate::context::{self, DROPPED, Projection};
use crate::event::{Blocked, ContextGuarded, Counters, Dropped, Event, GuardPoint};
use crate::prompt::{self, Brief};
use crate::run::{Phase, Run};
use crate::step::ToolOutput;

/// A request that the guard has looked at.
pub(super) struct Guarded {
    pub(super) brief: Brief,
    /// `None` where no target has a known window.
    view: Option<View>,
}

struct View {
    projection: Projection,
    /// What must stay free besides for the last turn.
    kept_free: u64,
    /// By target: what its window takes, where that is known.
    limits: Vec<Option<i64>>,
}

impl View {
    fn new(run: &Run, brief: &Brief, turn: u32, last: bool) -> Self {
        let notices = brief.notices.iter().map(|it| context::text_tokens(it));
        let schema = run.schema.of(brief.offer);
        let config = run.config();
        Self {
            projection: run.context.project(notices.sum(), schema),
            kept_free: if last || config.edition.fills_windows() {
                0
            } else {
                prompt::last_turn_tokens(run, turn.saturating_add(1))
            },
            limits: config
                .targets
                .iter()
                .map(|target| context::limit(target, config))
                .collect(),
        }
    }

    fn projected(&self) -> u64 {
        self.projection.tokens().saturating_add(self.kept_free)
    }

    fn room(&self, target: usize) -> u64 {
        let limit = self.limits.get(target).copied().flatten();
        limit.map_or(u64::MAX, |limit| room(limit, self.projected()))
    }

    /// The targets whose windows do not hold the request, or leave no room to reply before the last turn.
    fn blocked(&self, least_reply: u64) -> Vec<Blocked> {
        let limits = self.limits.iter().enumerate();
        limits
            .filter_map(|(target, limit)| {
                let limit = (*limit)?;
                let needed = self.projected().saturating_add(least_reply);
                over(limit, needed).then_some(Blocked {
                    target: target as u32,
                    projected: self.projected(),
                    limit,
                })
            })
            .collect()
    }
}

fn over(limit: i64, tokens: u64) -> bool {
    i64::try_from(tokens).unwrap_or(i64::MAX) > limit
}

fn room(limit: i64, used: u64) -> u64 {
    let used = i64::try_from(used).unwrap_or(i64::MAX);
    u64::try_from(limit.saturating_sub(used)).unwrap_or(0)
}

impl Guarded {
    pub(super) fn fits(&self, target: usize) -> bool {
        let blocked = |view: &View| {
            view.blocked(0)
                .iter()
                .any(|it| it.target as usize == target)
        };
        !self.view.as_ref().is_some_and(blocked)
    }

    /// How long the reply may be. In the last turn nothing has to be kept free for another.
    pub(super) fn reply_room(&self, target: u32) -> u64 {
        match &self.view {
            Some(view) if view.kept_free > 0 => view.room(target as usize),
            _ => u64::MAX,
        }
    }

    pub(super) fn counters(&self) -> Option<Counters> {
        let view = self.view.as_ref()?;
        Some(Counters {
            current: view.projection.current,
            pending: view.projection.pending,
            schema: view.projection.schema,
        })
    }
}

/// The tightest window that would be exceeded if so many tokens more were said in this turn.
pub(crate) fn exceeded(run: &Run, tokens: u64) -> Option<Blocked> {
    if !context::is_guarded(run.config()) || run.is_looping() {
        return None;
    }
    let turn = run.turn.saturating_add(1);
    let brief = prompt::brief(run, turn);
    let mut view = View::new(run, &brief, turn, false);
    view.projection.pending = view.projection.pending.saturating_add(tokens);
    view.blocked(0).into_iter().min_by_key(|it| it.limit)
}

/// The targets that do not hold the next request of a run that waits.
pub(super) fn blocked_targets(run: &Run) -> Vec<usize> {
    if !context::is_guarded(run.config()) {
        return vec![];
    }
    let turn = match run.phase {
        Phase::Between => run.turn.saturating_add(1),
        _ => run.turn,
    };
    let brief = prompt::brief(run, turn);
    let blocked = View::new(run, &brief, turn, keeps_nothing_free(run, turn)).blocked(0);
    blocked.iter().map(|it| it.target as usize).collect()
}

/// In the last turn, and where no turn needs room for another, nothing is kept free.
fn keeps_nothing_free(run: &Run, turn: u32) -> bool {
    run.is_last(turn) || run.is_looping()
}

impl Stepper<'_> {
    /// Looks at the next request of a turn; one that does not fit makes the turn the last.
    pub(super) fn preflight(&mut self, turn: u32) -> Guarded {
        let brief = prompt::brief(self.run, turn);
        if !context::is_guarded(self.run.config()) {
            return Guarded { brief, view: None };
        }
        let last = keeps_nothing_free(self.run, turn);
        let view = View::new(self.run, &brief, turn, last);
        let least_reply = match last || self.run.config().edition.fills_windows() {
            true => 0,
            false => context::least_reply(self.run.config()),
        };
        let blocked = view.blocked(least_reply);
        if blocked.is_empty() || self.run.over || self.run.is_looping() {
            let view = Some(view);
            return Guarded { brief, view };
        }
        let still_over = self.still_over(turn);
        self.emit_in(
            turn,
            Event::ContextGuarded(Box::new(ContextGuarded {
                at: GuardPoint::TurnPreflight,
                blocked,
                still_over,
            })),
        );
        let brief = prompt::brief(self.run, turn);
        let view = Some(View::new(self.run, &brief, turn, true));
        Guarded { brief, view }
    }

    /// What would not fit even with nothing but the report offered.
    fn still_over(&self, turn: u32) -> Vec<Blocked> {
        let mut then = self.run.clone();
        then.force(turn);
        let brief = prompt::brief(&then, turn);
        View::new(&then, &brief, turn, true).blocked(0)
    }

    /// Whether an output can be put before the model; else what is put there in its place.
    pub(super) fn admit(&self, output: &ToolOutput, tokens: u64) -> Option<Box<Dropped>> {
        let blocked = exceeded(self.run, self.run.answer_tokens(output, tokens))?;
        Some(Box::new(Dropped {
            output: output.text.as_str().into(),
            tokens,
            stub_tokens: context::text_tokens(DROPPED),
            projected: blocked.projected,
            limit: blocked.limit,
        }))
    }

    /// After an output was dropped only the report is left.
    pub(super) fn force_after_drop(&mut self, dropped: &Dropped) {
        if self.run.is_forced() {
            return;
        }
        let config = self.run.config();
        let over_for = |(target, it): (usize, &crate::config::Target)| {
            let limit = context::limit(it, config)?;
            over(limit, dropped.projected).then_some(Blocked {
                target: target as u32,
                projected: dropped.projected,
                limit,
            })
        };
        let blocked = config
            .targets
            .iter()
            .enumerate()
            .filter_map(over_for)
            .collect();
        self.emit(Event::ContextGuarded(Box::new(ContextGuarded {
            at: GuardPoint::ToolPreflight,
            blocked,
            still_over: vec![],
        })));
    }
}
