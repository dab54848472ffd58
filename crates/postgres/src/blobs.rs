//! The long texts that steps refer to by their hashes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bonded_kernel::Hash;
use bonded_state::Append;
use tokio_postgres::Row;

/// The contents that were read, each as its hash says.
pub(crate) type BlobTexts = BTreeMap<Hash, Arc<str>>;

/// The hashes that an append refers to, one after the other; `None` if it refers to none.
pub(crate) fn referred(append: &Append) -> Option<Vec<u8>> {
    let mut hashes: Vec<[u8; 32]> = append
        .blobs
        .iter()
        .map(|(it, _)| *it.hash.as_bytes())
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    (!hashes.is_empty()).then(|| hashes.concat())
}

/// The hashes and the contents of an append, as two columns.
pub(crate) fn columns(append: &Append) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let pairs = append.blobs.iter();
    pairs
        .map(|(reference, text)| (reference.hash.as_bytes().as_slice(), text.as_bytes()))
        .unzip()
}

/// The hashes that a row names.
pub(crate) fn named(row: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    row.chunks(32).map(<[u8]>::to_vec)
}

/// Reads rows of hash and content. What is not as its hash says is as if it were not there.
pub(crate) fn read(rows: &[Row]) -> Result<BlobTexts, tokio_postgres::Error> {
    let mut contents = BlobTexts::new();
    for row in rows {
        let bytes: &[u8] = row.try_get("bytes")?;
        if let Ok(text) = std::str::from_utf8(bytes) {
            contents.insert(Hash::of(bytes), text.into());
        }
    }
    Ok(contents)
}
