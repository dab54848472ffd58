//! A receipt can be checked by anybody who has nothing but its text.

use bonded_kernel::{Hash, Millis};
use bonded_work_rules::{
    Capsule, ItemOutcome, Receipt, ReceiptFault, TestCounts, TestReport, WorkStatus, canonical,
    verify_receipt,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::capsule::capsule;
use crate::common::{item, tree};

pub(crate) const SEALED: Millis = Millis(2_000_000);

pub(crate) fn unpublished(id: &str, status: WorkStatus, tree: Hash) -> ItemOutcome {
    let item = item(&json!({ "id": id }));
    ItemOutcome::unpublished(
        format!("receipt-{id}"),
        "plan-1".into(),
        0,
        item,
        status,
        tree,
    )
}

/// An item that turned one tree into another, which nobody else touched.
pub(crate) fn published(id: &str, capsule: &Capsule) -> ItemOutcome {
    let (before, after) = (capsule.before_hash, capsule.after_hash);
    let mut outcome = unpublished(id, WorkStatus::Success, before)
        .with_run(capsule, "5a".repeat(32))
        .published(capsule, before, after);
    outcome.metrics.execution_time_ms = 1234;
    outcome.versions.insert("bonded".into(), "0.1.0".into());
    outcome
}

pub(crate) fn tests(exit_code: i32, counts: Option<TestCounts>) -> TestReport {
    TestReport {
        command: "make test".into(),
        exit_code: Some(exit_code),
        counts,
        duration_ms: 7,
        output_hash: Hash::of(b"all is well"),
        output_bytes: 11,
    }
}

fn good() -> Receipt {
    let before = tree(&[("a", "1"), ("gone", "1")]);
    let after = tree(&[("a", "2"), ("new/n", "1")]);
    let capsule = capsule(&["look", "push"], &before, &after);
    let counts = TestCounts {
        passed: 3,
        failed: 0,
        skipped: 1,
    };
    let outcome = published("a", &capsule).with_tests(tests(0, Some(counts)));
    Receipt::seal(outcome, None, SEALED)
}

/// The text of a receipt with one thing changed and its hash made right again.
fn resealed(receipt: &Receipt, change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&receipt.to_json()).expect("a receipt is JSON");
    change(&mut value);
    let fields = value.as_object_mut().expect("a receipt is an object");
    fields.remove("receipt_hash");
    let hash = Hash::of(canonical(&value).as_bytes());
    value["receipt_hash"] = json!(hash);
    canonical(&value)
}

#[test]
fn a_receipt_says_all_that_its_contract_names_and_comes_back_whole() {
    let receipt = good();
    let text = receipt.to_json();
    assert_eq!(verify_receipt(&text), Ok(receipt.clone()));
    assert_eq!(verify_receipt(&format!("{text}\n")), Ok(receipt));
    let value: Value = serde_json::from_str(&text).expect("a receipt is JSON");
    let places = [
        "/status",
        "/receipt_id",
        "/plan_id",
        "/level",
        "/before_hash",
        "/after_hash",
        "/tree_before",
        "/tree_after",
        "/content_hash",
        "/receipt_hash",
        "/previous_receipt_hash",
        "/admission/admitted",
        "/artifacts/0/hash",
        "/deltas/deltaO/0/path",
        "/tool_trace/0/arguments_hash",
        "/tool_trace/0/output_hash",
        "/tests/counts/passed",
        "/metrics/execution_time_ms",
        "/metrics/tool_ops_count",
        "/metrics/delta_size",
        "/metrics/files_touched",
        "/metrics/tests_passed",
        "/metrics/tests_failed",
        "/work_item/constraints/max_files",
        "/run/event_head",
        "/run/prompt_hash",
        "/run/policy_hash",
        "/run/tool_catalog_hash",
        "/run/started_at",
        "/versions/bonded",
        "/sealed_at",
    ];
    for place in places {
        assert!(value.pointer(place).is_some(), "{place} in {text}");
    }
}

#[test]
fn a_file_of_a_receipt_has_the_hash_that_the_receipt_says() {
    let receipt = good();
    let artifact = &receipt.outcome.artifacts[0];
    assert_eq!(artifact.path.to_string(), "a");
    assert_eq!(artifact.hash, Some(Hash::of(b"2")));
}

#[test]
fn what_was_changed_or_written_otherwise_is_no_receipt() {
    let text = good().to_json();
    let as_text = |value: &str| ReceiptFault::HashMismatch {
        written: value.into(),
        computed: Hash::ZERO,
    };
    let rows = [
        (text.replace("\"level\":0", "\"level\":1"), as_text("")),
        (
            text.replace("\"status\":\"success\"", "\"status\":\"failure\""),
            as_text(""),
        ),
        (
            text.replace("receipt_hash", "receipt_hish"),
            as_text("missing"),
        ),
        ("{}".into(), as_text("missing")),
        ("[]".into(), as_text("missing")),
        (
            text[1..].into(),
            ReceiptFault::NotJson { why: String::new() },
        ),
        (String::new(), ReceiptFault::NotJson { why: String::new() }),
        (text.replace(',', ", "), ReceiptFault::NotCanonical),
        (
            text.replacen('{', "{\"status\":\"denied\",", 1),
            ReceiptFault::NotCanonical,
        ),
        (format!("{text}\n\n"), ReceiptFault::NotCanonical),
        (
            resealed(&good(), |it| it["format"] = json!(2)),
            ReceiptFault::NewerFormat { found: 2 },
        ),
        (
            resealed(&good(), |it| it["status"] = json!("splendid")),
            ReceiptFault::NotAReceipt { why: String::new() },
        ),
    ];
    for (changed, expected) in rows {
        assert_ne!(changed, text);
        let found = verify_receipt(&changed).expect_err("it was changed");
        let same_kind = std::mem::discriminant(&found) == std::mem::discriminant(&expected);
        assert!(same_kind, "{found:?} is not like {expected:?}");
    }
}

#[test]
fn a_receipt_that_contradicts_itself_is_refused_whoever_sealed_it() {
    let receipt = good();
    let empty = tree(&[]).hash();
    type Forgery = fn(&mut Value);
    let rows: [(Forgery, &str); 24] = [
        (|it| it["admission"]["admitted"] = json!(false), "admission"),
        (|it| it["admission"] = Value::Null, "admission"),
        (|it| it["before_hash"] = json!(Hash::ZERO), "content_hash"),
        (|it| it["deltas"]["deltaO"] = json!([]), "content_hash"),
        (|it| it["artifacts"] = json!([]), "artifacts"),
        (|it| it["tool_trace"] = json!([]), "tool_ops_count"),
        (|it| it["metrics"]["files_touched"] = json!(1), "metrics"),
        (
            |it| it["work_item"]["constraints"]["max_files"] = json!(2),
            "beyond its limits",
        ),
        (|it| it["error"] = json!("oh"), "with an error"),
        (|it| it["status"] = json!("failure"), "the tree changed"),
        (
            |it| it["chain_index"] = json!(4),
            "first receipt of a chain",
        ),
        (
            |it| it["tests"]["exit_code"] = json!(1),
            "tests are not passed",
        ),
        (
            |it| {
                it["work_item"]["test_command"] = json!("make");
                it["tests"].take();
                it["metrics"]["tests_passed"].take();
                it["metrics"]["tests_failed"].take();
            },
            "tests were not run",
        ),
        (
            |it| it["work_item"]["test_command"] = json!("make other"),
            "not those that the item asks for",
        ),
        (
            |it| it["metrics"]["tests_failed"] = json!(2),
            "not those of its tests",
        ),
        (
            |it| it["metrics"]["tests_passed"] = json!(4),
            "not those of its tests",
        ),
        (
            |it| it["metrics"]["execution_time_ms"] = json!(400_000),
            "longer than allowed",
        ),
        (
            |it| it["run"]["started_at"] = json!(1_000_001),
            "ended before it started",
        ),
        (
            |it| it["tool_trace"][0]["started_at"] = json!(9_000_000),
            "call ended before",
        ),
        (|it| it["denial_reason"] = json!("no"), "admission"),
        (
            |it| it["run"]["termination"] = json!("cancelled"),
            "not done",
        ),
        (|it| it["run"]["termination"] = Value::Null, "not done"),
        (
            |it| {
                it["earlier_attempts"] = json!([{ "status": "failure", "execution_time_ms": 1 }]);
            },
            "more often",
        ),
        (
            |it| {
                it["merged"] = json!([{ "path": "elsewhere" }]);
            },
            "what was merged",
        ),
    ];
    for (change, expected) in rows {
        let text = resealed(&receipt, change);
        let found = verify_receipt(&text).expect_err("it contradicts itself");
        assert!(found.to_string().contains(expected), "{found}");
    }
    for status in WorkStatus::ALL {
        let outcome = unpublished("a", status, empty);
        let text = Receipt::seal(outcome, None, SEALED).to_json();
        assert!(
            verify_receipt(&text).is_ok(),
            "{status:?}: nothing changed, whatever came of it"
        );
    }
}

#[test]
fn a_receipt_says_whether_its_changes_were_admitted_where_it_came_so_far() {
    let admitted = |status, tests: Option<TestReport>| {
        let mut outcome = unpublished("a", status, Hash::ZERO);
        outcome.tests = tests;
        outcome.denial_reason = (status == WorkStatus::Denied).then(|| "too much".into());
        let admission = Receipt::seal(outcome, None, SEALED).admission;
        admission.map(|it| (it.admitted, it.reason))
    };
    let rows = [
        (WorkStatus::Success, None, Some((true, None))),
        (
            WorkStatus::Denied,
            None,
            Some((false, Some("too much".into()))),
        ),
        (
            WorkStatus::Failure,
            Some(tests(1, None)),
            Some((true, None)),
        ),
        (
            WorkStatus::Timeout,
            Some(tests(1, None)),
            Some((true, None)),
        ),
        (WorkStatus::Failure, None, None),
        (WorkStatus::Timeout, None, None),
    ];
    for (status, tests, expected) in rows {
        assert_eq!(admitted(status, tests), expected, "{status:?}");
    }
}

#[test]
fn a_receipt_of_the_first_format_can_be_checked_by_every_later_build() {
    let golden = include_str!("../golden/receipt-1.json");
    let receipt = verify_receipt(golden).expect("the golden receipt");
    assert_eq!(format!("{}\n", receipt.to_json()), golden);
    let hash = "d7c16a9eef919aaa1e9daa06507eee15145332c7620bef20751b2218f63e2d96";
    assert_eq!(receipt.receipt_hash.to_string(), hash);
}

proptest! {
    #[test]
    fn any_text_is_a_receipt_or_a_fault(text in ".*") {
        prop_assert!(verify_receipt(&text).is_err());
    }
}
