//! Results have the same fields for every outcome.

use bonded_work_rules::{Receipt, ResultFiles, RunResult, WorkStatus};
use serde_json::{Value, json};

use crate::capsule::capsule;
use crate::common::tree;
use crate::receipt::{SEALED, published, unpublished};

const FILES: ResultFiles<'_> = ResultFiles {
    root: "/home/user/repo/",
    receipt: "/store/RECEIPT.json",
    replay_script: None,
};

fn result(receipt: &Receipt) -> Value {
    let result = RunResult::new(receipt, FILES, None);
    serde_json::to_value(result).expect("a result is JSON")
}

#[test]
fn every_outcome_has_every_field_that_is_not_optional() {
    let before = tree(&[("a", "1")]);
    for status in WorkStatus::ALL {
        let mut outcome = unpublished("i", status, before.hash());
        outcome.error = Some("why".into());
        let result = result(&Receipt::seal(outcome, None, SEALED));
        assert_eq!(result["status"], status.as_str());
        assert_eq!(result["receipt_id"], "receipt-i");
        assert_eq!(result["receipt_path"], "/store/RECEIPT.json");
        assert_eq!(result["output_hash"], json!(before.hash()));
        for list in ["modified_files", "created_files", "deleted_files"] {
            assert_eq!(result[list], json!([]), "{list}");
        }
        assert_eq!(result["artifact_hashes"], json!({}));
        for figure in [
            "execution_time_ms",
            "tool_ops_count",
            "delta_size",
            "files_touched",
        ] {
            assert!(result["metrics"][figure].is_u64(), "{figure}");
        }
        assert_eq!(result["error"], "why");
        assert_eq!(result.get("denial_reason"), None);
    }
}

#[test]
fn a_success_names_its_files_by_absolute_paths_and_their_hashes() {
    let before = tree(&[("a", "1"), ("gone", "1")]);
    let after = tree(&[("a", "2"), ("d/new", "3")]);
    let receipt = Receipt::seal(
        published("i", &capsule(&["look"], &before, &after)),
        None,
        SEALED,
    );
    let files = ResultFiles {
        replay_script: Some("/store/replay.sh"),
        ..FILES
    };
    let result = RunResult::new(&receipt, files, Some("ok".into()));
    assert_eq!(result.modified_files, ["/home/user/repo/a"]);
    assert_eq!(result.created_files, ["/home/user/repo/d/new"]);
    assert_eq!(result.deleted_files, ["/home/user/repo/gone"]);
    let hashed: Vec<&String> = result.artifact_hashes.keys().collect();
    assert_eq!(hashed, ["/home/user/repo/a", "/home/user/repo/d/new"]);
    assert_eq!(result.output_hash, after.hash());
    assert_eq!(result.proof_script.as_deref(), Some("/store/replay.sh"));
    assert_eq!(result.test_output.as_deref(), Some("ok"));
    assert_eq!(result.metrics.files_touched, 3);
    assert_eq!(result.metrics.execution_time_ms, 1234);
}

#[test]
fn the_same_work_on_the_same_state_has_the_same_output_hash() {
    let (before, after) = (tree(&[("a", "1")]), tree(&[("a", "2")]));
    let of = |tools: &[&str], time| {
        let outcome = published("i", &capsule(tools, &before, &after));
        RunResult::new(&Receipt::seal(outcome, None, time), FILES, None).output_hash
    };
    assert_eq!(of(&["look"], SEALED), of(&["push", "put"], SEALED.plus(99)));
}
