//! What is asked of an item's run: how it is held when it begins, and whether what it left may be tested when it has
//! ended.

use bonded_kernel::{RunConfig, SandboxLevel, Termination, TerminationKind};

use super::admission::{Denial, Invariant, admit};
use super::capsule::Capsule;
use super::item::WorkItem;
use super::missing::missing_outputs;
use super::path::TreePath;
use super::tree::Tree;

/// Holds a run to what its item may take, and to its copy: a command that reaches beyond it could not be undone.
pub fn bind(config: &mut RunConfig, item: &WorkItem) -> Result<(), String> {
    let sandbox = config.sandbox.get_or_insert_default();
    if sandbox.level == SandboxLevel::Full {
        return Err(
            "Without a sandbox nothing could be undone; use another level than full".into(),
        );
    }
    sandbox.required = true;
    let limit = item.constraints.timeout_ms;
    let own = config.limits.elapsed_ms_max.unwrap_or(limit);
    config.limits.elapsed_ms_max = Some(own.min(limit));
    Ok(())
}

/// What git keeps is no item's to change; these paths of it were found to be changed in a copy.
pub fn touches_git(paths: Vec<TreePath>) -> Option<Denial> {
    let invariant = Invariant::GitUntouched;
    (!paths.is_empty()).then_some(Denial::Invariant { invariant, paths })
}

/// How an item's run came to its end.
#[derive(Clone, Debug)]
pub struct EndedRun<'a> {
    /// The limit for which it was stopped, here or by a process before this one.
    pub stopped: Option<Denial>,
    /// Whether it was stopped for the time that all its processes took.
    pub is_out_of_time: bool,
    /// Why it ended; none where its log does not say.
    pub termination: Option<&'a Termination>,
    /// The receipt of an admitted run with the same content hash on the same tree.
    pub admitted_before: Option<String>,
}

/// Why what a run left is not tested, and so not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTested {
    /// It is not admitted.
    Denied(Denial),
    /// It took longer than its item may.
    OutOfTime,
    /// It did not reach its goal, or did not leave what was declared.
    Failed(String),
}

/// Whether what an ended run left is admitted and may be tested.
pub fn may_be_tested(
    item: &WorkItem,
    run: EndedRun<'_>,
    capsule: &Capsule,
    after: &Tree,
) -> Result<(), NotTested> {
    if let Some(denial) = run.stopped {
        return Err(NotTested::Denied(denial));
    }
    if run.is_out_of_time {
        return Err(NotTested::OutOfTime);
    }
    let kind = run.termination.map_or(TerminationKind::Fatal, |it| it.kind);
    match kind {
        TerminationKind::Done => {}
        TerminationKind::TimedOut => return Err(NotTested::OutOfTime),
        TerminationKind::Blocked
        | TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Cancelled
        | TerminationKind::Fatal
        | TerminationKind::BudgetExhausted
        | TerminationKind::Denied => {
            let reason = run.termination.map(|it| it.reason().to_string());
            let reason = reason.unwrap_or_default();
            return Err(NotTested::Failed(format!("{}: {reason}", kind.as_str())));
        }
    }
    admit(item, capsule, |_| run.admitted_before).map_err(NotTested::Denied)?;
    match missing_outputs(item, after) {
        None => Ok(()),
        Some(why) => Err(NotTested::Failed(why)),
    }
}
