//! A receipt as an in-toto statement in a DSSE envelope, so that the tools of others can check its signature. The
//! rules have no key: who signs and who checks a signature is given.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::canonical::canonical;
use super::receipt::{Receipt, ReceiptFault, SIGNED, verify_receipt};

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// Says that the predicate is a receipt.
pub const PREDICATE_TYPE: &str = "urn:bonded:work-receipt:v1";

/// What an envelope with a statement says that it holds.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A signed payload, as DSSE writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// [`PAYLOAD_TYPE`] for a statement.
    pub payload_type: String,
    /// In base64.
    pub payload: String,
    /// One is enough, if it is good.
    pub signatures: Vec<Signature>,
}

/// A signature over the payload, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Names the key; nothing is trusted because of it.
    #[serde(default)]
    pub keyid: String,
    /// In base64.
    pub sig: String,
}

/// Why an envelope does not vouch for a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeFault {
    /// It is JSON of another shape, or its base64 is none.
    #[error("it is not a DSSE envelope: {why}")]
    NotAnEnvelope { why: String },
    /// It is signed, but no statement.
    #[error("it holds {found:?}, not {PAYLOAD_TYPE}")]
    OtherPayload { found: String },
    /// Nobody whose key is at hand has signed it.
    #[error("it has no valid signature")]
    NotSigned,
    /// Its payload is no statement of ours.
    #[error("it holds no statement about a receipt: {why}")]
    NotAStatement { why: String },
    /// The predicate is a receipt that fails its own checks.
    #[error("its receipt is not valid: {0}")]
    Receipt(#[from] ReceiptFault),
    /// Statement and receipt speak of two states.
    #[error("its subject is not the tree of its receipt")]
    OtherSubject,
}

/// The statement that a receipt makes: about the tree as it was afterwards.
pub fn statement(receipt: &Receipt) -> String {
    canonical(&json!({
        "_type": STATEMENT_TYPE,
        "subject": subject(receipt),
        "predicateType": PREDICATE_TYPE,
        "predicate": receipt.to_value(),
    }))
}

fn subject(receipt: &Receipt) -> Value {
    json!([{ "name": "tree", "digest": { "blake3": receipt.outcome.tree_after } }])
}

/// What is signed of a payload: DSSE's pre-authentication encoding.
pub fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

/// Puts a statement into an envelope. `sign` is given the bytes to sign.
pub fn seal_envelope(
    statement: &str,
    keyid: impl Into<String>,
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Envelope {
    let signed = sign(&pre_authentication(PAYLOAD_TYPE, statement.as_bytes()));
    Envelope {
        payload_type: PAYLOAD_TYPE.into(),
        payload: STANDARD.encode(statement),
        signatures: vec![Signature {
            keyid: keyid.into(),
            sig: STANDARD.encode(signed),
        }],
    }
}

/// Opens an envelope: at least one signature must be good, and what it holds must be a statement about the tree
/// of a receipt that is whole. `is_good` is given the key's id, the bytes that were signed, and the signature.
pub fn open_envelope(
    text: &str,
    is_good: impl Fn(&str, &[u8], &[u8]) -> bool,
) -> Result<Receipt, EnvelopeFault> {
    let not_one = |why: String| EnvelopeFault::NotAnEnvelope { why };
    let envelope: Envelope =
        serde_json::from_str(text).map_err(|error| not_one(error.to_string()))?;
    if envelope.payload_type != PAYLOAD_TYPE {
        let found = envelope.payload_type.chars().take(100).collect();
        return Err(EnvelopeFault::OtherPayload { found });
    }
    let decode = |text: &str| STANDARD.decode(text).map_err(|error| error.to_string());
    let payload = decode(&envelope.payload).map_err(not_one)?;
    let signed = pre_authentication(PAYLOAD_TYPE, &payload);
    let is_signed = envelope.signatures.iter().any(|signature| {
        decode(&signature.sig).is_ok_and(|sig| is_good(&signature.keyid, &signed, &sig))
    });
    match is_signed {
        true => receipt_of(&payload),
        false => Err(EnvelopeFault::NotSigned),
    }
}

/// What a receipt's own file holds besides it, so that it needs no other to be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Signed {
    /// As PEM.
    public_key: String,
    /// Of the statement that the receipt makes, as in its envelope.
    signatures: Vec<Signature>,
}

/// The file of a receipt: canonical JSON on one line, with the signatures of its envelope and the key that checks
/// them.
pub fn signed_receipt(receipt: &Receipt, envelope: &Envelope, public_key: &str) -> String {
    let signed = Signed {
        public_key: public_key.into(),
        signatures: envelope.signatures.clone(),
    };
    let mut value = receipt.to_value();
    value[SIGNED] = json!(signed);
    format!("{}\n", canonical(&value))
}

/// Opens the file of a receipt: it must be whole, and at least one signature good. `is_good` is given the public
/// key that stands in the file, the key's id, the bytes that were signed, and the signature.
pub fn open_signed_receipt(
    text: &str,
    is_good: impl Fn(&str, &str, &[u8], &[u8]) -> bool,
) -> Result<Receipt, EnvelopeFault> {
    let receipt = verify_receipt(text)?;
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let signed: Option<Signed> = value
        .get(SIGNED)
        .and_then(|signed| Signed::deserialize(signed).ok());
    let Some(Signed {
        public_key,
        signatures,
    }) = signed
    else {
        return Err(EnvelopeFault::NotSigned);
    };
    let message = pre_authentication(PAYLOAD_TYPE, statement(&receipt).as_bytes());
    let is_signed = signatures.iter().any(|signature| {
        let sig = STANDARD.decode(&signature.sig);
        sig.is_ok_and(|sig| is_good(&public_key, &signature.keyid, &message, &sig))
    });
    match is_signed {
        true => Ok(receipt),
        false => Err(EnvelopeFault::NotSigned),
    }
}

fn receipt_of(payload: &[u8]) -> Result<Receipt, EnvelopeFault> {
    let not_one = |why: &str| EnvelopeFault::NotAStatement { why: why.into() };
    let statement: Value =
        serde_json::from_slice(payload).map_err(|error| not_one(&error.to_string()))?;
    if statement["_type"] != STATEMENT_TYPE || statement["predicateType"] != PREDICATE_TYPE {
        return Err(not_one("it is of another type"));
    }
    let receipt = verify_receipt(&canonical(&statement["predicate"]))?;
    match statement["subject"] == subject(&receipt) {
        true => Ok(receipt),
        false => Err(EnvelopeFault::OtherSubject),
    }
}
