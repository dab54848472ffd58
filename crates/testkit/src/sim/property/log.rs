//! The log: whole, in order, and enough to rebuild the run.

use bonded_kernel::{AuditFault, Event, Run, audit, replay};

use crate::sim::history::History;

/// What a component saw while the world went on.
pub(super) fn nothing_strange_was_seen(history: &History) -> Result<(), String> {
    match history.complaints.first() {
        Some(complaint) => Err(complaint.clone()),
        None => Ok(()),
    }
}

pub(super) fn the_run_ended(history: &History) -> Result<(), String> {
    let live = history
        .live
        .as_ref()
        .ok_or("no process drove the run to its end")?;
    match live.termination() {
        Some(_) => Ok(()),
        None => Err("the driver returned a run that goes on".into()),
    }
}

pub(super) fn exactly_one_end_and_it_is_last(history: &History) -> Result<(), String> {
    for goal in history.pursued() {
        let ends = goal.entries.iter();
        let ends = ends.filter(|entry| matches!(entry.event, Event::RunEnded(_)));
        let ends: Vec<u64> = ends.map(|entry| entry.seq).collect();
        let last = goal.entries.last().map(|entry| entry.seq);
        if ends.len() != 1 || ends.first().copied() != last {
            return Err(format!("run_ended at {ends:?}, its goal ends at {last:?}"));
        }
    }
    Ok(())
}

/// No request leaves and no tool is executed once the end stands in the log, whoever wrote it, and no other goal behind it.
pub(super) fn nothing_begins_after_the_end(history: &History) -> Result<(), String> {
    let ends = history.pursued();
    let ends = ends.iter().filter_map(|goal| goal.entries.last());
    let ends = ends.filter(|entry| matches!(entry.event, Event::RunEnded(_)));
    let ends: Vec<u64> = ends.map(|entry| entry.seq).collect();
    // A goal is in the log before anything begins for it.
    let is_late = |log_seq: u64| ends.contains(&log_seq);
    let end = ends.last().copied().unwrap_or(u64::MAX);
    let is_last = |log_seq: u64| log_seq >= end;
    let begins = |log_seq: u64| is_late(log_seq) || is_last(log_seq);
    let request = history.requests.iter().find(|sent| begins(sent.log_seq));
    let execution = history.executions.iter().find(|one| begins(one.log_seq));
    match (request, execution) {
        (None, None) => Ok(()),
        late => Err(format!(
            "the run ended with entry {end}, then began {late:?}"
        )),
    }
}

pub(super) fn replay_equals_the_live_run(history: &History) -> Result<(), String> {
    let Some(live) = &history.live else {
        return Ok(());
    };
    let replayed = replay(&history.entries).map_err(|error| error.to_string())?;
    let same = [
        ("head", replayed.head() == live.head()),
        ("turn", replayed.turn() == live.turn()),
        ("messages", replayed.messages() == live.messages()),
        ("spend", replayed.spend() == live.spend()),
        ("elapsed time", replayed.elapsed_ms() == live.elapsed_ms()),
        ("termination", replayed.termination() == live.termination()),
        ("catalogue", replayed.catalog() == live.catalog()),
    ];
    match same.iter().find(|(_, same)| !same) {
        Some((what, _)) => Err(format!(
            "another {what}: {} and {}",
            of(&replayed),
            of(live)
        )),
        None => Ok(()),
    }
}

fn of(run: &Run) -> String {
    let (seq, messages) = (run.head().seq, run.messages().len());
    format!(
        "entry {seq}, turn {}, {messages} messages, {:?}",
        run.turn(),
        run.spend()
    )
}

pub(super) fn the_audit_passes(history: &History) -> Result<(), String> {
    match audit(&history.entries) {
        Ok(audit) if audit.entries == history.entries.len() as u64 => Ok(()),
        Ok(audit) => Err(format!("only {} entries were audited", audit.entries)),
        Err(AuditFault::Diverged(divergence)) => Err(format!("{divergence:?}")),
        Err(fault) => Err(fault.to_string()),
    }
}

pub(super) fn no_acknowledged_entry_is_lost(history: &History) -> Result<(), String> {
    for head in &history.acknowledged {
        let found = history.entries.iter().find(|entry| entry.seq == head.seq);
        if found.is_none_or(|entry| entry.hash != head.hash) {
            return Err(format!(
                "entry {} was acknowledged and is not there",
                head.seq
            ));
        }
    }
    Ok(())
}

pub(super) fn time_never_falls_in_the_log(history: &History) -> Result<(), String> {
    for pair in history.entries.windows(2) {
        if pair[1].at < pair[0].at || pair[1].turn < pair[0].turn {
            return Err(format!(
                "entry {} lies before the one before it",
                pair[1].seq
            ));
        }
    }
    Ok(())
}
