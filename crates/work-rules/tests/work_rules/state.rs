//! What blocks an item.

use bonded_work_rules::{WorkStatus, blocked};
use serde_json::json;

use crate::common::{id, item};

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
