//! What a token or a session is named by, without being shown.
//!
//! A list of tokens has to name them, so that one can be revoked, and must not show them.

use bonded_kernel::Hash;

/// How much of its hash a token or a session is named by: enough that no two are alike, and worth nothing to whoever
/// reads it.
pub(super) const ID_BYTES: u16 = 8;

/// The name of a token or of a session.
pub fn proof_id(secret: &str) -> String {
    shown_id(Hash::of(secret.as_bytes()).as_bytes())
}

/// Hexadecimal digits, as the queries write them too.
pub(super) fn shown_id(hash: &[u8]) -> String {
    let bytes = hash.iter().take(usize::from(ID_BYTES));
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
