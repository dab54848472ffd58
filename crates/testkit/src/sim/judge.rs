//! The person who is asked about a call: late, from another process, more than once, or not at all.

use std::sync::Arc;
use std::time::Duration;

use bonded_host::{Host, PendingReview, Reviewed};
use bonded_kernel::{Run, Verdict};

use super::model::{Asked, SimModel};
use super::process::{Process, Shared};
use super::tool::SimTools;

/// Lets some time pass and, mostly, answers what a run asks.
pub(crate) async fn judge(shared: &Arc<Shared>, run: &Run) {
    let pause_ms = shared.draw(|rng| rng.pick(&[0, 200, 3_600_000, 86_400_000]));
    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    // Somebody starts the program again before a person has answered.
    if shared.draw(|rng| rng.chance(250)) {
        return;
    }
    let host = outsider(shared, u32::MAX);
    if shared.draw(|rng| rng.chance(40)) {
        shared.ledger().tally.cancels += 1;
        if let Err(error) = host.cancel_waiting(&shared.run, "not worth it").await {
            shared.complain(format!("a run that waits cannot be cancelled: {error}"));
        }
        return;
    }
    let waiting = PendingReview::of(&*host.store, run).await;
    let Ok(Some(waiting)) = waiting else {
        return shared.complain(format!("a run paused and waits for nothing: {waiting:?}"));
    };
    mistake(shared, &host, &waiting).await;
    answer(shared, &host, &waiting, Reviewed::Recorded).await;
    if shared.draw(|rng| rng.chance(300)) {
        answer(shared, &host, &waiting, Reviewed::TooLate).await;
    }
}

/// An answer to another question than the one that is asked.
async fn mistake(shared: &Shared, host: &Host, waiting: &PendingReview) {
    if shared.draw(|rng| rng.chance(300)) {
        let mut other = waiting.clone();
        other.call.call += 1;
        answer(shared, host, &other, Reviewed::TooLate).await;
    }
}

async fn answer(shared: &Shared, host: &Host, waiting: &PendingReview, expected: Reviewed) {
    let verdict = match shared.draw(|rng| rng.chance(600)) {
        true => Verdict::Approved,
        false => Verdict::Denied {
            reason: "not like this".into(),
        },
    };
    match host.review(waiting, verdict, "a simulated person").await {
        Ok(found) if found == expected => {}
        other => shared.complain(format!("a verdict was {other:?} and not {expected:?}")),
    }
}

/// A process of its own, without the faults of the driver's.
pub(super) fn outsider(shared: &Arc<Shared>, number: u32) -> Host {
    let outsider = Arc::new(Process::new(shared.clone(), number));
    Host {
        store: Arc::new(shared.log.another()),
        transport: Arc::new(SimModel::new(outsider.clone(), Asked::default())),
        tools: Arc::new(SimTools::new(outsider)),
        clock: Arc::new(shared.clock.clone()),
        children: None,
        secrets: Arc::default(),
        live: None,
        watch: None,
        interrupt: bonded_host::CancellationToken::new(),
        drain: bonded_host::CancellationToken::new(),
    }
}
