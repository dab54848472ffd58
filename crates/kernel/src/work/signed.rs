//! A receipt as a file holds it: with the envelope that vouches for it, and the key that the signature can be checked
//! with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::canonical;
use super::receipt::{Receipt, ReceiptFault, verify_receipt};
use super::statement::{Envelope, EnvelopeFault, open_envelope};

const ENVELOPE: &str = "envelope";
const PUBLIC_KEY: &str = "public_key";

/// What stands in a file beside the fields of the receipt.
#[derive(Serialize, Deserialize)]
struct Vouched {
    envelope: Envelope,
    public_key: String,
}

/// A receipt that is whole, and signed by whoever has the key.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedReceipt {
    pub receipt: Receipt,
    /// The key that the file names. That it belongs to somebody who is trusted is for the reader to know.
    pub public_key: String,
}

/// The text of a file: the receipt's own fields, and the two that vouch for them. Canonical JSON, on one line.
pub fn signed_receipt(receipt: &Receipt, envelope: &Envelope, public_key: &str) -> String {
    let mut value = receipt.to_value();
    let vouched = serde_json::to_value(Vouched {
        envelope: envelope.clone(),
        public_key: public_key.to_owned(),
    });
    if let (Value::Object(fields), Ok(Value::Object(vouched))) = (&mut value, vouched) {
        fields.extend(vouched);
    }
    format!("{}\n", canonical(&value))
}

/// Reads a file and checks all of it: the receipt, the signature, and that both speak of the same. `is_good` is given
/// the public key, the bytes that were signed, and the signature.
pub fn open_signed(
    text: &str,
    is_good: impl Fn(&str, &[u8], &[u8]) -> bool,
) -> Result<SignedReceipt, EnvelopeFault> {
    let not_json = |why: String| EnvelopeFault::Receipt(ReceiptFault::NotJson { why });
    let text = text.strip_suffix('\n').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(error.to_string()))?;
    if canonical(&value) != text {
        return Err(ReceiptFault::NotCanonical.into());
    }
    let mut bare = value.clone();
    if let Value::Object(fields) = &mut bare {
        fields.remove(ENVELOPE);
        fields.remove(PUBLIC_KEY);
    }
    let receipt = verify_receipt(&canonical(&bare))?;
    let vouched: Vouched =
        serde_json::from_value(value).map_err(|error| EnvelopeFault::NotAnEnvelope {
            why: error.to_string(),
        })?;
    let envelope = serde_json::to_string(&vouched.envelope).unwrap_or_default();
    let key = &vouched.public_key;
    let signed = open_envelope(&envelope, |_, bytes, signature| is_good(key, bytes, signature))?;
    match signed == receipt {
        true => Ok(SignedReceipt {
            receipt,
            public_key: vouched.public_key,
        }),
        false => Err(EnvelopeFault::OtherReceipt),
    }
}
