//! What every store does: cases that each store is held to, whatever it keeps its logs in, and logs to append.

pub mod cases;
pub mod logs;

use bonded_state::Store;

/// Opens handles on one store, each as another process would.
pub trait World {
    fn open(&self) -> Box<dyn Store>;
}

/// Gives the names of all cases in [`cases`] to a macro, which makes a test of each.
#[macro_export]
macro_rules! each_store_case {
    ($tests:ident) => {
        $tests! {
            what_was_appended_is_loaded_with_its_long_texts
            what_was_appended_is_loaded_with_its_images
            loading_after_an_entry_gives_what_follows_it
            a_log_is_loaded_in_parts_of_whole_appends
            the_head_is_that_of_the_last_entry
            a_run_that_never_started_is_unknown
            an_append_at_another_sequence_number_is_a_conflict
            an_append_after_another_entry_of_the_same_number_is_a_conflict
            a_run_cannot_start_twice
            a_refused_append_leaves_nothing_behind
            entries_that_do_not_follow_each_other_are_refused
            many_runs_append_at_the_same_time
            of_two_who_append_at_the_same_place_one_wins
            an_append_wakes_those_who_wait_for_its_run_only
            an_append_by_another_process_wakes_those_who_wait
            waiting_for_what_was_already_appended_does_not_wait
            a_run_that_has_not_begun_can_be_waited_for
            who_starts_a_run_holds_it_until_it_is_released
            a_run_is_free_when_it_has_ended
            a_run_that_had_ended_is_open_again_with_another_goal
            a_copy_of_a_run_that_had_ended_takes_what_followed
            a_run_is_free_when_its_holder_is_gone
            only_the_holder_releases
            a_list_shows_the_newest_first_with_their_ends_and_holders
            a_list_is_cut_by_prefix_and_limit
            runs_are_paged_in_the_order_in_which_they_began
            steps_are_read_as_they_were_appended
            a_head_is_known_where_an_append_ended
            a_copy_is_the_same_log_and_nobody_continues_it
            a_copy_of_another_log_or_of_a_driven_run_is_refused
            a_run_that_nobody_drives_is_set_aside
            two_handles_are_one_store
        }
    };
}
