//! Receipts as statements in envelopes: what is signed, and what an envelope vouches for.

use bonded_kernel::Hash;
use bonded_work_rules::{
    Envelope, EnvelopeFault, PAYLOAD_TYPE, PREDICATE_TYPE, Receipt, open_envelope,
    open_signed_receipt, pre_authentication, seal_envelope, signed_receipt, statement,
    verify_receipt,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::capsule::capsule;
use crate::common::tree;
use crate::receipt::{SEALED, published};

fn receipt() -> Receipt {
    let capsule = capsule(&["push"], &tree(&[]), &tree(&[("a", "1")]));
    Receipt::seal(published("a", &capsule), None, SEALED)
}

/// Stands for a signature here: only who knows the key can make it.
fn sign(message: &[u8]) -> Vec<u8> {
    Hash::of(&[b"key", message].concat()).as_bytes().to_vec()
}

fn is_good(keyid: &str, message: &[u8], signature: &[u8]) -> bool {
    keyid == "key-1" && signature == sign(message)
}

fn envelope(statement: &str) -> String {
    let envelope = seal_envelope(statement, "key-1", sign);
    serde_json::to_string(&envelope).expect("an envelope is JSON")
}

#[test]
fn what_is_signed_is_encoded_as_dsse_says() {
    // The example of the specification.
    let encoded = pre_authentication("http://example.com/HelloWorld", b"hello world");
    assert_eq!(
        encoded,
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
}

#[test]
fn a_statement_is_about_the_tree_and_holds_the_receipt() {
    let receipt = receipt();
    let statement: Value = serde_json::from_str(&statement(&receipt)).expect("JSON");
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], PREDICATE_TYPE);
    let subject = json!([{ "name": "tree", "digest": { "blake3": tree(&[("a", "1")]).hash() } }]);
    assert_eq!(statement["subject"], subject);
    assert_eq!(
        statement["predicate"]["receipt_hash"],
        json!(receipt.receipt_hash)
    );
}

#[test]
fn a_receipt_goes_into_an_envelope_and_comes_back_the_same() {
    let receipt = receipt();
    let text = envelope(&statement(&receipt));
    let written: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(written["payloadType"], PAYLOAD_TYPE);
    assert_eq!(written["signatures"][0]["keyid"], "key-1");
    assert_eq!(open_envelope(&text, is_good), Ok(receipt));
}

#[test]
fn an_envelope_that_vouches_for_nothing_is_refused() {
    let receipt = receipt();
    let good = statement(&receipt);
    let text = envelope(&good);
    let sealed: Envelope = serde_json::from_str(&text).expect("an envelope");
    let changed = |change: fn(&mut Envelope)| {
        let mut envelope = sealed.clone();
        change(&mut envelope);
        serde_json::to_string(&envelope).expect("an envelope is JSON")
    };
    let other_subject = good.replacen(&receipt.outcome.tree_after.to_string(), &"0".repeat(64), 9);
    let other_predicate = good.replace("receipt_id\":\"receipt-a", "receipt_id\":\"receipt-b");
    let mut other_tree: Value = serde_json::from_str(&good).expect("JSON");
    other_tree["subject"][0]["digest"]["blake3"] = json!(Hash::ZERO);
    let rows = [
        ("{}".into(), "it is not a DSSE envelope"),
        (
            changed(|it| it.signatures.clear()),
            "it has no valid signature",
        ),
        (
            changed(|it| it.signatures[0].keyid = "key-2".into()),
            "no valid signature",
        ),
        (
            changed(|it| it.signatures[0].sig = "AAAA".into()),
            "no valid signature",
        ),
        (
            changed(|it| it.signatures[0].sig = "?".into()),
            "no valid signature",
        ),
        (
            changed(|it| it.payload_type = "text/plain".into()),
            "it holds \"text/plain\"",
        ),
        (
            changed(|it| it.payload = "?".into()),
            "it is not a DSSE envelope",
        ),
        (
            changed(|it| it.payload = "e30=".into()),
            "no valid signature",
        ),
        (envelope("{}"), "it is of another type"),
        (envelope("no json"), "it holds no statement"),
        (envelope(&other_subject), "is not valid"),
        (envelope(&other_predicate), "is not valid"),
        (
            envelope(&other_tree.to_string()),
            "not the tree of its receipt",
        ),
    ];
    for (text, expected) in rows {
        let found = open_envelope(&text, is_good).expect_err(expected);
        assert!(found.to_string().contains(expected), "{found}");
    }
    assert_eq!(
        open_envelope(&text, |_, _, _| false),
        Err(EnvelopeFault::NotSigned)
    );
}

#[test]
fn one_good_signature_among_others_is_enough() {
    let mut sealed = seal_envelope(&statement(&receipt()), "key-2", |_| vec![1, 2, 3]);
    sealed
        .signatures
        .extend(seal_envelope(&statement(&receipt()), "key-1", sign).signatures);
    let text = serde_json::to_string(&sealed).expect("an envelope is JSON");
    assert!(open_envelope(&text, is_good).is_ok());
}

#[test]
fn the_file_of_a_receipt_holds_all_that_is_needed_to_check_it() {
    let receipt = receipt();
    let envelope = seal_envelope(&statement(&receipt), "key-1", sign);
    let file = signed_receipt(&receipt, &envelope, "the public key");
    let is_good = |public_key: &str, keyid: &str, message: &[u8], sig: &[u8]| {
        public_key == "the public key" && is_good(keyid, message, sig)
    };
    assert_eq!(open_signed_receipt(&file, is_good), Ok(receipt.clone()));
    assert_eq!(
        verify_receipt(&file),
        Ok(receipt.clone()),
        "the hash does not need the key"
    );

    let other_key = file.replace("the public key", "another key");
    let other_signature = {
        let other = seal_envelope(&statement(&receipt), "key-1", |_| vec![1, 2, 3]);
        signed_receipt(&receipt, &other, "the public key")
    };
    let unsigned = format!("{}\n", receipt.to_json());
    for file in [other_key, other_signature, unsigned] {
        assert_eq!(
            open_signed_receipt(&file, is_good),
            Err(EnvelopeFault::NotSigned)
        );
    }
    let changed = file.replace("receipt-a", "receipt-b");
    assert!(matches!(
        open_signed_receipt(&changed, is_good),
        Err(EnvelopeFault::Receipt(_))
    ));
}

proptest! {
    #[test]
    fn any_text_is_an_envelope_or_a_fault(text in ".*") {
        prop_assert!(open_envelope(&text, is_good).is_err());
    }
}
