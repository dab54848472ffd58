//! When tests are passed.

use bonded_work_rules::{TestCounts, TestReport};
use serde_json::json;

use crate::common::item;
use crate::receipt::tests;

fn counts(passed: u64, failed: u64) -> Option<TestCounts> {
    Some(TestCounts {
        passed,
        failed,
        skipped: 0,
    })
}

#[test]
fn the_exit_code_decides_and_where_tests_are_expected_their_number_too() {
    let rows = [
        (None, 0, None, None),
        (None, 0, counts(0, 0), None),
        (None, 0, counts(1, 1), None),
        (None, 1, None, Some("make test exited with 1")),
        (
            None,
            2,
            counts(3, 1),
            Some("exited with 2 (3 passed, 1 failed)"),
        ),
        (Some(3), 0, counts(3, 0), None),
        (Some(3), 0, counts(4, 0), None),
        (Some(0), 0, counts(0, 0), None),
        (
            Some(3),
            0,
            counts(2, 0),
            Some("3 expected, 2 passed and 0 failed"),
        ),
        (
            Some(3),
            0,
            counts(0, 0),
            Some("3 expected, 0 passed and 0 failed"),
        ),
        (
            Some(3),
            0,
            counts(3, 1),
            Some("3 expected, 3 passed and 1 failed"),
        ),
        (Some(3), 0, None, Some("does not say how many ran")),
        (Some(3), 1, counts(3, 0), Some("exited with 1")),
    ];
    for (expected, exit_code, counts, fault) in rows {
        let item = item(&json!({ "test_command": "make test", "tests_expected": expected }));
        let judged = tests(exit_code, counts).judge(&item);
        let said = judged.err().map(|it| it.to_string());
        match fault {
            None => assert_eq!(said, None, "{expected:?} {exit_code} {counts:?}"),
            Some(fault) => {
                let said = said.expect(fault);
                assert!(
                    said.starts_with("Tests failed: ") && said.contains(fault),
                    "{said}"
                );
            }
        }
    }
}

#[test]
fn tests_that_a_signal_ended_are_not_passed() {
    let killed = TestReport {
        exit_code: None,
        ..tests(0, counts(3, 0))
    };
    let fault = killed.judge(&item(&json!({}))).expect_err("it was killed");
    assert_eq!(
        fault.to_string(),
        "Tests failed: make test was ended by a signal"
    );
}
