//! What must hold of every run of a fleet when its world is over.

use std::collections::BTreeSet;

use bonded_kernel::{Entry, Event, RunId, TerminationKind, audit, replay};

use super::effects::last_word;

/// What is known of a run beside its log.
pub(super) struct JudgedRun<'a> {
    pub(super) run: &'a RunId,
    pub(super) log: &'a [Entry],
    pub(super) turns: u32,
    /// Whether anybody tried to cancel it.
    pub(super) may_be_cancelled: bool,
}

impl JudgedRun<'_> {
    pub(super) fn judge(&self) -> Result<(), String> {
        let run = self.run;
        let ends = self.log.iter();
        let ends = ends.filter(|it| matches!(it.event, Event::RunEnded(_)));
        let ends: Vec<u64> = ends.map(|it| it.seq).collect();
        let last = self.log.last().map(|it| it.seq);
        if ends.len() != 1 || ends.first().copied() != last {
            return Err(format!("{run} ends at {ends:?}, its log at {last:?}"));
        }
        match audit(self.log) {
            Ok(audit) if audit.entries == self.log.len() as u64 => {}
            other => return Err(format!("the audit of {run}: {other:?}")),
        }
        if self.log.windows(2).any(|two| two[1].at < two[0].at) {
            return Err(format!("time falls in the log of {run}"));
        }
        self.judge_end()
    }

    /// It ends as one that nothing happens to, unless it was cancelled.
    fn judge_end(&self) -> Result<(), String> {
        let run = self.run;
        let replayed = replay(self.log).map_err(|error| format!("{run}: {error}"))?;
        let end = replayed.termination().ok_or("the replay does not end")?;
        let is_usual = end.kind == TerminationKind::Done
            && end.reason().as_str() == last_word(run.as_str())
            && replayed.turn() == self.turns;
        let is_cancelled = end.kind == TerminationKind::Cancelled && self.may_be_cancelled;
        match is_usual || is_cancelled {
            true => Ok(()),
            false => Err(format!("{run} ends as {end:?} in turn {}", replayed.turn())),
        }
    }

    pub(super) fn judge_acknowledged(
        &self,
        acknowledged: &BTreeSet<(RunId, u64, String)>,
    ) -> Result<(), String> {
        for (run, seq, hash) in acknowledged.iter().filter(|it| it.0 == *self.run) {
            let found = self.log.iter().find(|entry| entry.seq == *seq);
            if found.is_none_or(|entry| entry.hash.to_string() != *hash) {
                return Err(format!("entry {seq} of {run} was acknowledged and is lost"));
            }
        }
        Ok(())
    }
}
