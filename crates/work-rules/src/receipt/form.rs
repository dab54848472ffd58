//! The form that receipts of items and of levels have in common: a version, and a hash over everything else.

use bonded_kernel::Hash;
use serde_json::Value;

use crate::canonical::canonical;

/// The version of the receipts' form. One of a newer version is refused, never guessed at.
pub const RECEIPT_FORMAT: u16 = 1;

/// The field that covers all the others.
pub(super) const RECEIPT_HASH: &str = "receipt_hash";

/// The field that holds signatures. They are of the receipt, and so no part of what it says.
pub(crate) const SIGNED: &str = "signed";

/// The hash over all fields but the one that holds it and the signatures.
pub(super) fn hash_without_itself(receipt: &Value) -> Hash {
    let mut others = receipt.clone();
    if let Value::Object(fields) = &mut others {
        fields.remove(RECEIPT_HASH);
        fields.remove(SIGNED);
    }
    Hash::of(canonical(&others).as_bytes())
}
