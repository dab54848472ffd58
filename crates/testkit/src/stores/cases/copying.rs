//! What a store does for copies of logs.

use bonded_kernel::Head;
use bonded_state::{Append, CopiedPart, Holder, RunAside, RunCopies, Store, StoreError, StoredRun};

use super::super::World;
use super::super::logs::{Log, id, long};

fn copies(store: &dyn Store) -> &dyn RunCopies {
    store.copies().expect("it can be copied")
}

/// Steps of a log, as they come from another store.
fn part(log: &Log, steps: std::ops::Range<usize>) -> CopiedPart {
    let steps = log.steps[steps].iter();
    let steps = steps.map(|step| Append::new(step.before(), step.entries().clone()));
    CopiedPart {
        steps: steps.map(|it| it.expect("it is an append")).collect(),
        from: "elsewhere".into(),
        queued: None,
    }
}

async fn stored(store: &dyn Store, log: &Log) -> StoredRun {
    let found = copies(store).runs_named(vec![log.id.clone()]).await;
    let mut found = found.expect("it can be asked");
    found.pop().expect("the run is there")
}

fn heads(steps: &[Append]) -> Vec<(Head, Head)> {
    steps.iter().map(|it| (it.expected, it.head)).collect()
}

fn is_elsewhere<T: std::fmt::Debug>(done: Result<T, StoreError>, aside: &RunAside) {
    match done {
        Err(StoreError::Elsewhere { aside: found, .. }) => assert_eq!(found, *aside),
        other => panic!("it is continued here: {other:?}"),
    }
}

pub async fn runs_are_paged_in_the_order_in_which_they_began(world: &dyn World) {
    let store = world.open();
    for number in 0..5 {
        Log::with_turns(&format!("r{}", 9 - number), 1)
            .append_all(&*store)
            .await;
    }
    let (mut place, mut found) = (0, vec![]);
    loop {
        let page = copies(&*store).runs_after(place, 2).await.expect("a page");
        let Some(last) = page.last() else { break };
        place = last.place;
        found.extend(page.into_iter().map(|it| it.run.as_str().to_owned()));
    }
    assert_eq!(found, ["r9", "r8", "r7", "r6", "r5"]);
    let named = copies(&*store).runs_named(vec![id("r7"), id("none")]).await;
    assert_eq!(named.expect("it can be asked").len(), 1);
}

pub async fn steps_are_read_as_they_were_appended(world: &dyn World) {
    let store = world.open();
    let mut log = Log::with_turns("r", 3);
    log.turn(&long("a long output "));
    log.turn_with_image("seen");
    let other = Log::with_turns("s", 1);
    log.append_all(&*store).await;
    other.append_all(&*store).await;
    for steps_max in [1, 2, 100] {
        let mut at = vec![
            (log.id.clone(), Head::EMPTY),
            (other.id.clone(), Head::EMPTY),
        ];
        let mut read = vec![vec![], vec![]];
        loop {
            let parts = copies(&*store).read_steps(at.clone(), steps_max).await;
            let parts = parts.expect("it can be read");
            let count: usize = parts.iter().map(|it| it.steps.len()).sum();
            assert!(count <= steps_max, "{count} of {steps_max}");
            if count == 0 {
                break;
            }
            for (number, part) in parts.into_iter().enumerate() {
                assert_eq!(part.fault, None);
                at[number].1 = part.steps.last().map_or(at[number].1, |it| it.head);
                read[number].extend(part.steps);
            }
        }
        for (log, read) in [&log, &other].into_iter().zip(&read) {
            let steps = log.steps.iter().map(|it| (it.before(), it.after()));
            assert_eq!(heads(read), steps.collect::<Vec<_>>());
            let entries = read.iter().flat_map(|it| it.entries.iter().cloned());
            assert_eq!(entries.collect::<Vec<_>>(), log.entries());
        }
    }
}

pub async fn a_head_is_known_where_an_append_ended(world: &dyn World) {
    let store = world.open();
    let log = Log::with_turns("r", 2);
    log.append_all(&*store).await;
    let ends: Vec<Head> = log.steps.iter().map(|it| it.after()).collect();
    for seq in 0..=log.entries().len() as u64 + 1 {
        let expected = ends.iter().find(|it| it.seq == seq).copied();
        let found = copies(&*store).head_at(&log.id, seq).await;
        assert_eq!(found, Ok(expected), "entry {seq}");
    }
}

pub async fn a_copy_is_the_same_log_and_nobody_continues_it(world: &dyn World) {
    let store = world.open();
    let mut log = Log::with_turns("r", 2);
    log.turn(&long("twice "));
    log.turn_with_image(&long("twice "));
    let mut ended = Log::with_turns("s", 1);
    ended.end();
    let last = log.steps.len() - 1;
    let parts = vec![part(&log, 0..2), part(&ended, 0..ended.steps.len())];
    let added = copies(&*store).add_copies(parts).await;
    assert_eq!(added, Ok(vec![Ok(()), Ok(())]));
    let added = copies(&*store).add_copies(vec![part(&log, 2..last)]).await;
    assert_eq!(added, Ok(vec![Ok(())]));
    let there = store.load(&log.id, 0).await.expect("it loads");
    let whole = log.entries();
    assert_eq!(there, whole[..there.len()]);
    assert_eq!(there.len() as u64, log.steps[last].before().seq);
    let aside = RunAside::CopyOf("elsewhere".into());
    let found = stored(&*store, &log).await;
    assert_eq!(found.aside, Some(aside.clone()));
    assert_eq!((found.held, found.has_ended), (Holder::Nobody, false));
    is_elsewhere(store.claim(&log.id).await, &aside);
    is_elsewhere(log.append(&*store, last).await, &aside);
    let found = stored(&*store, &ended).await;
    assert_eq!((found.aside, found.has_ended), (None, true));
    assert_eq!(store.load(&ended.id, 0).await, Ok(ended.entries()));
    copies(&*store).let_go(&log.id).await.expect("it is let go");
    store.claim(&log.id).await.expect("it is free");
    log.append(&*store, last).await.expect("it continues");
    assert_eq!(store.load(&log.id, 0).await, Ok(whole));
}

pub async fn a_copy_of_a_run_that_had_ended_takes_what_followed(world: &dyn World) {
    let store = world.open();
    let mut log = Log::with_turns("r", 1);
    log.end();
    let ended = log.steps.len();
    log.goal("go on");
    log.turn("more");
    let open = log.steps.len();
    log.end();
    let copies = copies(&*store);
    let steps = [0..ended, ended..open, open..log.steps.len()];
    for (steps, has_ended) in steps.into_iter().zip([true, false, true]) {
        let added = copies.add_copies(vec![part(&log, steps)]).await;
        assert_eq!(added.expect("it can be asked"), [Ok(())]);
        let found = stored(&*store, &log).await;
        assert_eq!(found.has_ended, has_ended);
        assert_eq!(
            found.aside.is_some(),
            !has_ended,
            "nobody continues it here"
        );
    }
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    store.claim(&log.id).await.expect("it is free");
}

pub async fn a_copy_of_another_log_or_of_a_driven_run_is_refused(world: &dyn World) {
    let (store, driver) = (world.open(), world.open());
    let mut one = Log::start("r", "say something");
    one.turn("this");
    let mut other = Log::start("r", "say something");
    other.turn("that");
    other.turn("more");
    one.append_all(&*driver).await;
    let (held, good) = (one.steps.len(), Log::with_turns("good", 1));
    one.turn("later");
    let parts = vec![
        part(&one, held..held + 1),
        part(&other, held..held + 1),
        part(&other, 0..1),
        part(&good, 0..3),
    ];
    let added = copies(&*store).add_copies(parts).await.expect("an answer");
    assert!(
        matches!(
            added[..],
            [
                Err(StoreError::Held { .. }),
                Err(StoreError::Conflict { .. }),
                Err(StoreError::Conflict { .. }),
                Ok(())
            ]
        ),
        "{added:?}"
    );
    assert_eq!(stored(&*store, &one).await.head, one.steps[held].before());
    assert_eq!(store.load(&good.id, 0).await, Ok(good.entries()));
}

pub async fn a_run_that_nobody_drives_is_set_aside(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let mut log = Log::with_turns("r", 1);
    log.append_all(&*here).await;
    let (last, head) = (log.steps.len(), log.steps[log.steps.len() - 1].after());
    log.turn("later");
    let moved = RunAside::MovedTo("postgres://elsewhere".into());
    let refused = copies(&*there).set_aside(&log.id, moved.clone()).await;
    assert!(
        matches!(refused, Err(StoreError::Held { .. })),
        "{refused:?}"
    );
    here.release(&log.id).await.expect("it is released");
    let aside = copies(&*there).set_aside(&log.id, moved.clone()).await;
    assert_eq!(aside, Ok(Some(head)));
    is_elsewhere(here.claim(&log.id).await, &moved);
    is_elsewhere(log.append(&*here, last).await, &moved);
    assert_eq!(stored(&*here, &log).await.aside, Some(moved.clone()));
    let mut ended = Log::start("s", "end it");
    ended.end();
    ended.append_all(&*here).await;
    let aside = copies(&*there).set_aside(&ended.id, moved.clone()).await;
    assert_eq!(aside, Ok(None));
    // It comes back as a copy.
    let back = copies(&*there)
        .add_copies(vec![part(&log, last..last + 1)])
        .await;
    assert_eq!(back, Ok(vec![Ok(())]));
    copies(&*there).let_go(&log.id).await.expect("it is let go");
    here.claim(&log.id).await.expect("it is free");
}

pub async fn two_handles_are_one_store(world: &dyn World) {
    let (here, there) = (world.open(), world.open());
    let (one, other) = (
        copies(&*here).identity().await,
        copies(&*there).identity().await,
    );
    assert!(one.as_ref().is_ok_and(|it| !it.is_empty()), "{one:?}");
    assert_eq!(one, other);
}
