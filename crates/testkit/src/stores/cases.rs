//! The cases. Each opens handles on one store, as several processes would.

mod copying;

use std::time::Duration;

use bonded_kernel::{Head, RunId};
use bonded_state::{Holder, ListFilter, Store, StoreError};
use futures_util::future::{join_all, try_join_all};

use super::World;
use super::logs::{Log, id, long};
pub use copying::*;

fn unknown(run: &RunId) -> StoreError {
    StoreError::UnknownRun { run: run.clone() }
}

/// Waits in real time for the file, in virtual time for the memory.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("it comes within the time")
}

pub async fn what_was_appended_is_loaded_with_its_long_texts(world: &dyn World) {
    let store = world.open();
    let mut log = Log::start("r", &long("goal "));
    log.turn(&long("first "));
    log.turn("short");
    log.turn(&long("first "));
    log.append_all(&*store).await;
    let loaded = store.load(&log.id, 0).await.expect("it loads");
    assert_eq!(loaded, log.entries());
    let bodies = loaded.iter().map(|entry| entry.body.len()).max();
    assert!(bodies < Some(3000), "a long text lies in the log itself");
    let contents: Vec<String> = loaded.iter().map(|e| format!("{:?}", e.event)).collect();
    let with_first = contents.iter().filter(|c| c.contains(&long("first ")));
    assert_eq!(with_first.count(), 2);
}

pub async fn what_was_appended_is_loaded_with_its_images(world: &dyn World) {
    let store = world.open();
    let mut log = Log::start("r", "look at this");
    let image = log.turn_with_image("seen");
    log.turn_with_image("seen again");
    log.append_all(&*store).await;
    let loaded = store.load(&log.id, 0).await.expect("it loads");
    assert_eq!(loaded, log.entries());
    let images: Vec<_> = loaded.iter().flat_map(|it| it.event.images()).collect();
    assert_eq!(images.len(), 2);
    for found in images {
        assert_eq!(found.content(), image.content(), "byte for byte");
    }
}

pub async fn loading_after_an_entry_gives_what_follows_it(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 3);
    log.append_all(&*store).await;
    Log::with_turns("s", 1).append_all(&*store).await;
    let all = log.entries();
    for after in 0..=all.len() {
        let loaded = store.load(&log.id, after as u64).await.expect("it loads");
        assert_eq!(loaded, all[after..], "after {after}");
    }
    for after in [all.len() as u64 + 1, 1 << 24, u64::MAX] {
        let loaded = store.load(&log.id, after).await;
        assert_eq!(loaded, Ok(vec![]), "after {after}");
    }
}

pub async fn a_log_is_loaded_in_parts_of_whole_appends(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 7);
    log.append_all(&*store).await;
    for count in [1, 3, 100] {
        let mut entries = vec![];
        loop {
            let after = entries.len() as u64;
            let part = store.load_part(&log.id, after, count).await;
            let part = part.expect("it loads");
            if part.is_empty() {
                break;
            }
            entries.extend(part);
        }
        assert_eq!(entries, log.entries(), "in parts of {count}");
    }
}

pub async fn the_head_is_that_of_the_last_entry(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 1);
    assert_eq!(store.head(&log.id).await, Ok(None));
    for (number, step) in log.steps.iter().enumerate() {
        log.append(&*store, number).await.expect("it appends");
        assert_eq!(store.head(&log.id).await, Ok(Some(step.after())));
    }
}

pub async fn a_run_that_never_started_is_unknown(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 1);
    let run = &log.id;
    assert_eq!(store.load(run, 0).await, Err(unknown(run)));
    assert_eq!(store.head(run).await, Ok(None));
    assert_eq!(store.claim(run).await, Err(unknown(run)));
    assert_eq!(store.release(run).await, Err(unknown(run)));
    assert_eq!(log.append(&*store, 1).await, Err(unknown(run)));
}

pub async fn an_append_at_another_sequence_number_is_a_conflict(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 2);
    for step in 0..3 {
        log.append(&*store, step).await.expect("it appends");
    }
    let found = log.steps[2].after().seq;
    for step in [0, 1, 2, 4] {
        let conflict = StoreError::Conflict {
            run: log.id.clone(),
            expected: log.steps[step].before().seq,
            found,
        };
        assert_eq!(log.append(&*store, step).await, Err(conflict));
    }
    log.append(&*store, 3).await.expect("the right one appends");
}

pub async fn an_append_after_another_entry_of_the_same_number_is_a_conflict(world: &dyn World) {
    let store = world.open();
    let mut one = Log::start("r", "say something");
    one.turn("this");
    let mut other = Log::start("r", "say something");
    other.turn("that");
    other.turn("more");
    one.append_all(&*store).await;
    let expected = other.steps[3].before();
    assert_eq!(expected.seq, one.steps[2].after().seq);
    let conflict = StoreError::Conflict {
        run: one.id.clone(),
        expected: expected.seq,
        found: expected.seq,
    };
    assert_eq!(other.append(&*store, 3).await, Err(conflict));
}

pub async fn a_run_cannot_start_twice(world: &dyn World) {
    let store = world.open();
    Log::start("r", "one").append_all(&*store).await;
    let again = Log::start("r", "another");
    let refused = again.append(&*store, 0).await;
    assert!(
        matches!(
            refused,
            Err(StoreError::Conflict {
                expected: 0,
                found: 2,
                ..
            })
        ),
        "{refused:?}"
    );
}

pub async fn a_refused_append_leaves_nothing_behind(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 1);
    log.append(&*store, 0).await.expect("it appends");
    log.append(&*store, 2).await.expect_err("it skips a step");
    assert_eq!(store.head(&log.id).await, Ok(Some(log.steps[0].after())));
    let stray = Log::with_turns("stray", 1);
    stray
        .append(&*store, 1)
        .await
        .expect_err("it never started");
    assert_eq!(store.head(&stray.id).await, Ok(None));
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    assert_eq!(listed.len(), 1);
}

pub async fn entries_that_do_not_follow_each_other_are_refused(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 1);
    log.append(&*store, 0).await.expect("it appends");
    let other = Log::with_turns("s", 1).entries();
    let entries = log.entries();
    let head = log.steps[0].after();
    let table = [
        ("no entry", head, vec![]),
        ("a gap", head, vec![entries[2].clone(), entries[4].clone()]),
        (
            "swapped",
            head,
            vec![entries[3].clone(), entries[2].clone()],
        ),
        (
            "another run",
            head,
            vec![entries[2].clone(), other[3].clone()],
        ),
        ("no start", Head::EMPTY, vec![entries[2].clone()]),
        (
            "another head",
            log.steps[1].after(),
            vec![entries[2].clone()],
        ),
    ];
    for (case, expected, entries) in table {
        let refused = store.append(expected, entries.into()).await;
        assert!(
            matches!(refused, Err(StoreError::NotAppendable { .. })),
            "{case}: {refused:?}"
        );
    }
    assert_eq!(store.head(&log.id).await, Ok(Some(head)));
}

pub async fn many_runs_append_at_the_same_time(world: &dyn World) {
    let store = world.open();
    let logs: Vec<Log> = (0..64)
        .map(|i| Log::with_turns(&format!("r{i}"), 3))
        .collect();
    join_all(logs.iter().map(|log| log.append_all(&*store))).await;
    for log in &logs {
        assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    }
}

pub async fn of_two_who_append_at_the_same_place_one_wins(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    for round in 0..10 {
        let name = format!("r{round}");
        let (mut one, mut two) = (Log::start(&name, "race"), Log::start(&name, "race"));
        one.turn("one");
        two.turn("two");
        one.append(&*here, 0).await.expect("it appends");
        one.append_as_guest(&*there, 1).await.expect("it appends");
        let (first, second) = tokio::join!(one.append(&*here, 2), two.append_as_guest(&*there, 2));
        assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
        let (winner, lost) = if first.is_ok() {
            (one, second)
        } else {
            (two, first)
        };
        assert!(matches!(lost, Err(StoreError::Conflict { .. })), "{lost:?}");
        assert_eq!(here.load(&winner.id, 0).await, Ok(winner.entries()));
    }
}

pub async fn an_append_wakes_those_who_wait_for_its_run_only(world: &dyn World) {
    let store = world.open();
    let (log, other) = (Log::with_turns("r", 1), Log::with_turns("s", 1));
    log.append(&*store, 0).await.expect("it appends");
    other.append(&*store, 0).await.expect("it appends");
    let head = log.steps[0].after();
    let mut waits: Vec<_> = (0..8).map(|_| store.changed(&log.id, head.seq)).collect();
    let mut idle = store.changed(&other.id, other.steps[0].after().seq);
    assert!(futures_util::poll!(&mut idle).is_pending());
    for wait in &mut waits {
        assert!(futures_util::poll!(wait).is_pending());
    }
    other
        .append(&*store, 2)
        .await
        .expect_err("it is refused and wakes nobody");
    log.append(&*store, 1).await.expect("it appends");
    soon(try_join_all(waits)).await.expect("all are woken");
    assert!(futures_util::poll!(&mut idle).is_pending());
    other.append(&*store, 1).await.expect("it appends");
    soon(idle).await.expect("now this one is woken too");
}

pub async fn an_append_by_another_process_wakes_those_who_wait(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let log = Log::with_turns("r", 10);
    log.append(&*here, 0).await.expect("it appends");
    for step in 1..log.steps.len() {
        let mut wait = there.changed(&log.id, log.steps[step].before().seq);
        assert!(futures_util::poll!(&mut wait).is_pending());
        log.append(&*here, step).await.expect("it appends");
        soon(wait).await.expect("it is woken");
    }
}

pub async fn waiting_for_what_was_already_appended_does_not_wait(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let log = Log::with_turns("r", 1);
    log.append_all(&*here).await;
    let head = log.steps[2].after();
    for store in [&here, &there] {
        for seq in 0..head.seq {
            soon(store.changed(&log.id, seq))
                .await
                .expect("it is there");
        }
    }
}

async fn held(store: &dyn Store, run: &RunId) -> Holder {
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    let listed = listed.into_iter().find(|listed| listed.run == *run);
    listed.expect("the run is listed").held
}

pub async fn a_run_that_has_not_begun_can_be_waited_for(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 1);
    let (waited, ()) =
        soon(async { tokio::join!(store.changed(&log.id, 0), log.append_all(&*store)) }).await;
    assert_eq!(waited, Ok(()));
}

pub async fn who_starts_a_run_holds_it_until_it_is_released(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let log = Log::start("r", "hold it");
    log.append_all(&*here).await;
    assert_eq!(held(&*here, &log.id).await, Holder::This);
    assert_eq!(held(&*there, &log.id).await, Holder::Other);
    let refused = there.claim(&log.id).await;
    assert!(
        matches!(&refused, Err(StoreError::Held { run, .. }) if *run == log.id),
        "{refused:?}"
    );
    here.claim(&log.id).await.expect("it is held already");
    here.release(&log.id).await.expect("it is released");
    assert_eq!(held(&*here, &log.id).await, Holder::Nobody);
    there.claim(&log.id).await.expect("it is free");
    assert_eq!(held(&*here, &log.id).await, Holder::Other);
    assert_eq!(held(&*there, &log.id).await, Holder::This);
    here.claim(&log.id)
        .await
        .expect_err("it is held by the other now");
}

pub async fn a_run_is_free_when_it_has_ended(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let mut log = Log::start("r", "end it");
    log.end();
    log.append(&*here, 0).await.expect("it appends");
    assert_eq!(held(&*there, &log.id).await, Holder::Other);
    log.append(&*here, 1).await.expect("it appends");
    assert_eq!(held(&*here, &log.id).await, Holder::Nobody);
    there.claim(&log.id).await.expect("it is free");
}

pub async fn a_run_that_had_ended_is_open_again_with_another_goal(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let mut log = Log::with_turns("r", 1);
    log.end();
    log.append_all(&*here).await;
    let ended = log.steps.len();
    log.goal(&long("and then "));
    log.turn("it is there");
    // Another process gives the goal, and drives the run from then on.
    there.claim(&log.id).await.expect("it is free");
    here.claim(&log.id).await.expect_err("its new holder lives");
    log.append(&*there, ended).await.expect("it appends");
    assert_eq!(held(&*here, &log.id).await, Holder::Other);
    assert_eq!(held(&*there, &log.id).await, Holder::This);
    let lost = tokio::time::timeout(Duration::from_millis(50), there.lost(&log.id));
    lost.await.expect_err("its holder does not lose it");
    for step in ended + 1..log.steps.len() {
        log.append(&*there, step).await.expect("it appends");
    }
    assert_eq!(here.load(&log.id, 0).await, Ok(log.entries()));
    log.end();
    log.append(&*there, log.steps.len() - 1)
        .await
        .expect("it appends");
    assert_eq!(held(&*here, &log.id).await, Holder::Nobody);
    let listed = here.list(ListFilter::default()).await.expect("it lists");
    let ends = listed[0].ends.as_ref().expect("the log is whole");
    assert!(ends.last.event.ended().is_some());
    // Who drove it first gives it the third goal.
    here.claim(&log.id).await.expect("it is free");
    log.goal("once more");
    log.append(&*here, log.steps.len() - 1)
        .await
        .expect("it appends");
    assert_eq!(held(&*there, &log.id).await, Holder::Other);
    drop(here);
    there.claim(&log.id).await.expect("its holder is gone");
    assert_eq!(there.load(&log.id, 0).await, Ok(log.entries()));
}

pub async fn a_run_is_free_when_its_holder_is_gone(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let log = Log::start("r", "take it over");
    log.append_all(&*here).await;
    there.claim(&log.id).await.expect_err("its holder lives");
    drop(here);
    assert_eq!(held(&*there, &log.id).await, Holder::Nobody);
    there.claim(&log.id).await.expect("its holder is gone");
    assert_eq!(held(&*there, &log.id).await, Holder::This);
    let third = world.open();
    third
        .claim(&log.id)
        .await
        .expect_err("its new holder lives");
}

pub async fn only_the_holder_releases(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let log = Log::start("r", "keep it");
    log.append_all(&*here).await;
    there.release(&log.id).await.expect("it does nothing");
    assert_eq!(held(&*here, &log.id).await, Holder::This);
}

pub async fn a_list_shows_the_newest_first_with_their_ends_and_holders(world: &dyn World) {
    let store = world.open();
    assert_eq!(store.list(ListFilter::default()).await, Ok(vec![]));
    let mut logs = vec![
        Log::start("b", &long("b ")),
        Log::with_turns("c", 2),
        Log::start("a", "a"),
    ];
    logs[1].end();
    for log in &logs {
        log.append_all(&*store).await;
    }
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    assert_eq!(listed.len(), logs.len());
    for (listed, log) in listed.iter().zip(logs.iter().rev()) {
        let entries = log.entries();
        assert_eq!((&listed.run, &listed.goal), (&log.id, &entries[0].goal));
        let ends = listed.ends.as_ref().expect("the log is whole");
        assert_eq!(Some(&ends.first), entries.first());
        assert_eq!(Some(&ends.last), entries.last());
        let expected = if log.id == id("c") {
            Holder::Nobody
        } else {
            Holder::This
        };
        assert_eq!(listed.held, expected, "{}", log.id);
    }
}

pub async fn a_list_is_cut_by_prefix_and_limit(world: &dyn World) {
    let store = world.open();
    for name in ["a1", "b1", "a2", "a-3", "A4"] {
        Log::start(name, "list it").append_all(&*store).await;
    }
    let table: [(Option<&str>, usize, &[&str]); 8] = [
        (None, 10, &["A4", "a-3", "a2", "b1", "a1"]),
        (None, 2, &["A4", "a-3"]),
        (None, 0, &[]),
        (Some(""), usize::MAX, &["A4", "a-3", "a2", "b1", "a1"]),
        (Some("a"), 10, &["a-3", "a2", "a1"]),
        (Some("a"), 1, &["a-3"]),
        (Some("a1"), 10, &["a1"]),
        (Some("%"), 10, &[]),
    ];
    for (prefix, limit, expected) in table {
        let filter = ListFilter {
            prefix: prefix.map(Into::into),
            limit,
        };
        let listed = store.list(filter).await.expect("it lists");
        let names: Vec<&str> = listed.iter().map(|listed| listed.run.as_str()).collect();
        assert_eq!(names, expected, "{prefix:?} {limit}");
    }
}
