//! Many calls and many runs through one server.

use std::sync::Arc;

use bonded_kernel::{Limits, Mask, Outcome};
use futures_util::future::join_all;
use serde_json::json;

use crate::world::{invocation, pool, registry, server};

const RUNS: usize = 64;
const CALLS: usize = 1024;

#[tokio::test]
async fn a_queue_is_never_overfull_however_many_runs_use_it() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = server("srv", &temp, &[]);
    wanted.queue = Some("four".into());
    let pool = pool(4);
    let runs = (0..RUNS).map(|_| async {
        let started = pool.start(std::slice::from_ref(&wanted)).await;
        let registry = registry(started.expect("it starts"));
        let call = invocation(&registry, &Limits::default(), "srv__peak", &json!({}));
        let mut peaks = vec![];
        for _ in 0..CALLS / RUNS {
            let output = registry.invoke(&call, &Mask::default()).await;
            assert_eq!(output.outcome, Outcome::Ok, "{}", output.text);
            peaks.push(output.text.parse::<usize>().expect("a number"));
        }
        peaks
    });
    let peaks = join_all(runs).await.concat();
    assert_eq!(peaks.len(), CALLS);
    assert_eq!(peaks.iter().max(), Some(&4));
}

#[tokio::test]
async fn calls_of_many_runs_are_executed_in_the_order_in_which_they_came() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = server("srv", &temp, &[]);
    wanted.queue = Some("narrow".into());
    let pool = pool(4);
    let registry = Arc::new(registry(pool.start(&[wanted]).await.expect("it starts")));
    let calls = (0..RUNS).map(|number| {
        let arguments = json!({ "text": number.to_string() });
        let call = invocation(&registry, &Limits::default(), "srv__note", &arguments);
        let registry = Arc::clone(&registry);
        async move { registry.invoke(&call, &Mask::default()).await.outcome }
    });
    let outcomes = join_all(calls).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Ok));
    let noted = std::fs::read_to_string(temp.path().join("count")).expect("it was written");
    let expected: Vec<String> = (0..RUNS).map(|number| number.to_string()).collect();
    assert_eq!(noted.lines().collect::<Vec<_>>(), expected);
}
