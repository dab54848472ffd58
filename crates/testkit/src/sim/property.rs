//! What must hold in every world, whatever happens in it.

mod agents;
mod conversation;
mod lessons;
mod limits;
mod log;
mod loops;
mod own_tools;
mod policy;
mod tool_search;
mod tools;

use bonded_kernel::Entry;

use super::history::History;

/// A property holds, or says what breaks it.
pub type Property = fn(&History) -> Result<(), String>;

/// Every property, by name.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("nothing_strange_was_seen", log::nothing_strange_was_seen),
    ("the_run_ended", log::the_run_ended),
    (
        "exactly_one_end_and_it_is_last",
        log::exactly_one_end_and_it_is_last,
    ),
    (
        "nothing_begins_after_the_end",
        log::nothing_begins_after_the_end,
    ),
    (
        "replay_equals_the_live_run",
        log::replay_equals_the_live_run,
    ),
    ("the_audit_passes", log::the_audit_passes),
    (
        "no_acknowledged_entry_is_lost",
        log::no_acknowledged_entry_is_lost,
    ),
    (
        "time_never_falls_in_the_log",
        log::time_never_falls_in_the_log,
    ),
    (
        "turns_stay_within_the_cap",
        limits::turns_stay_within_the_cap,
    ),
    (
        "calls_stay_within_the_cap",
        limits::calls_stay_within_the_cap,
    ),
    (
        "attempts_stay_within_the_cap",
        limits::attempts_stay_within_the_cap,
    ),
    (
        "nothing_is_asked_beyond_the_budget",
        limits::nothing_is_asked_beyond_the_budget,
    ),
    (
        "the_reserve_covers_every_honest_request",
        limits::the_reserve_covers_every_honest_request,
    ),
    (
        "honest_spending_stays_within_the_budget",
        limits::honest_spending_stays_within_the_budget,
    ),
    (
        "elapsed_time_stays_within_the_limit",
        limits::elapsed_time_stays_within_the_limit,
    ),
    ("rate_limits_are_honoured", limits::rate_limits_are_honoured),
    (
        "every_execution_was_decided",
        tools::every_execution_was_decided,
    ),
    (
        "every_execution_was_logged_before",
        tools::every_execution_was_logged_before,
    ),
    (
        "refused_calls_are_never_executed",
        tools::refused_calls_are_never_executed,
    ),
    (
        "a_push_is_executed_at_most_once",
        tools::a_push_is_executed_at_most_once,
    ),
    (
        "only_a_resume_repeats_a_call",
        tools::only_a_resume_repeats_a_call,
    ),
    (
        "every_accepted_call_has_an_outcome",
        tools::every_accepted_call_has_an_outcome,
    ),
    ("success_is_never_made_up", tools::success_is_never_made_up),
    (
        "a_batch_has_the_results_of_its_members",
        own_tools::a_batch_has_the_results_of_its_members,
    ),
    (
        "no_page_is_longer_than_an_output_may_be",
        own_tools::no_page_is_longer_than_an_output_may_be,
    ),
    (
        "a_tool_that_waits_is_sent_once_it_was_named",
        tool_search::a_tool_that_waits_is_sent_once_it_was_named,
    ),
    (
        "every_call_is_answered",
        conversation::every_call_is_answered,
    ),
    (
        "no_request_exceeds_a_window",
        agents::no_request_exceeds_a_window,
    ),
    (
        "the_last_turn_is_for_the_report",
        agents::the_last_turn_is_for_the_report,
    ),
    (
        "nothing_starts_in_a_full_context",
        agents::nothing_starts_in_a_full_context,
    ),
    (
        "skipped_calls_are_never_executed",
        agents::skipped_calls_are_never_executed,
    ),
    (
        "a_dropped_output_is_never_shown",
        agents::a_dropped_output_is_never_shown,
    ),
    (
        "an_agent_delivers_one_report",
        agents::an_agent_delivers_one_report,
    ),
    (
        "the_status_follows_the_source",
        agents::the_status_follows_the_source,
    ),
    (
        "what_was_booked_is_what_providers_reported",
        agents::what_was_booked_is_what_providers_reported,
    ),
    (
        "a_rejected_reply_executes_nothing",
        agents::a_rejected_reply_executes_nothing,
    ),
    (
        "nothing_held_is_invoked_unapproved",
        policy::nothing_held_is_invoked_unapproved,
    ),
    (
        "a_run_that_reads_only_changes_nothing",
        policy::a_run_that_reads_only_changes_nothing,
    ),
    (
        "every_verdict_answers_one_question",
        policy::every_verdict_answers_one_question,
    ),
    (
        "the_memory_is_the_fold_of_the_log",
        loops::the_memory_is_the_fold_of_the_log,
    ),
    (
        "no_loop_goes_beyond_its_scope",
        loops::no_loop_goes_beyond_its_scope,
    ),
    (
        "a_log_without_replies_has_none",
        loops::a_log_without_replies_has_none,
    ),
    (
        "a_lesson_is_learned_once",
        lessons::a_lesson_is_learned_once,
    ),
    ("a_window_only_shrinks", lessons::a_window_only_shrinks),
    (
        "a_lesson_changes_no_limit",
        lessons::a_lesson_changes_no_limit,
    ),
    ("what_can_be_met_is_met", lessons::what_can_be_met_is_met),
    ("summaries_are_few", limits::summaries_are_few),
    (
        "nothing_is_asked_in_vain_twice",
        conversation::nothing_is_asked_in_vain_twice,
    ),
    (
        "each_request_was_logged_and_sent_once",
        conversation::each_request_was_logged_and_sent_once,
    ),
];

/// A property that does not hold in a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("world {seed}: {property} does not hold: {message}")]
pub struct Violation {
    pub seed: u64,
    pub property: &'static str,
    pub message: String,
}

/// Checks every property and gives the first that does not hold.
pub fn check(history: &History) -> Result<(), Violation> {
    match violations(history).into_iter().next() {
        Some(violation) => Err(violation),
        None => Ok(()),
    }
}

/// Every property that does not hold.
pub fn violations(history: &History) -> Vec<Violation> {
    let failing = PROPERTIES.iter().filter_map(|(property, holds)| {
        let message = holds(history).err()?;
        Some(Violation {
            seed: history.seed,
            property,
            message,
        })
    });
    failing.collect()
}

/// The same seed must give the same log, entry by entry and byte by byte.
pub fn same_log(first: &History, second: &History) -> Result<(), Violation> {
    let (one, other) = (&first.entries, &second.entries);
    let differs = (0..one.len().max(other.len())).find(|&i| match (one.get(i), other.get(i)) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    });
    let Some(i) = differs else {
        return Ok(());
    };
    let shown =
        |entry: Option<&Entry>| entry.map(|entry| (entry.seq, entry.at, entry.event.clone()));
    Err(Violation {
        seed: first.seed,
        property: "the_same_seed_gives_the_same_log",
        message: format!(
            "first {:?}, then {:?}",
            shown(one.get(i)),
            shown(other.get(i))
        ),
    })
}
