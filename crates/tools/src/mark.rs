//! A short mark of a file's content, by which a model can say which version it means.

use bonded_kernel::Hash;

/// The first 16 digits of the BLAKE3 hash. The mark tells versions of one file apart and is no proof; the
/// model reads it with every file, so it is short.
pub(crate) fn mark(content: &[u8]) -> String {
    let mut digits = Hash::of(content).to_string();
    digits.truncate(16);
    digits
}
