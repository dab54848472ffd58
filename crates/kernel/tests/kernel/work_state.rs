//! How an item may move, and what blocks it.

use bonded_kernel::work::{ItemState, WorkStatus, blocked};
use serde_json::json;

use crate::work_common::{id, item};

#[test]
fn an_item_runs_before_it_ends_and_what_has_ended_stays_so() {
    use ItemState::{Ended, Queued, Running};
    let ended = WorkStatus::ALL.map(Ended);
    let states: Vec<ItemState> = [Queued, Running].into_iter().chain(ended).collect();
    let allowed = |from: ItemState, to: ItemState| match from {
        Queued => matches!(
            to,
            Running | Ended(WorkStatus::Failure) | Ended(WorkStatus::Denied)
        ),
        Running => matches!(to, Ended(_)),
        Ended(_) => false,
    };
    for &from in &states {
        for &to in &states {
            assert_eq!(from.to(to).is_ok(), allowed(from, to), "{from:?} to {to:?}");
        }
    }
    let error = Queued
        .to(Ended(WorkStatus::Success))
        .expect_err("it never ran");
    assert_eq!(
        error.to_string(),
        "an item that is queued cannot become success"
    );
}

#[test]
fn an_item_is_blocked_by_the_first_dependency_that_did_not_succeed() {
    let needs = |names: &[&str]| item(&json!({ "dependencies": names }));
    let one = needs(&["done-before"]);
    assert_eq!(blocked(&one, |_| None), None);
    for status in WorkStatus::ALL {
        let ended = |dependency: &_| (*dependency == id("done-before")).then_some(status);
        let expected = (status != WorkStatus::Success)
            .then(|| format!("Blocked by dependency done-before: {}", status.as_str()));
        assert_eq!(blocked(&one, ended), expected);
    }
}
