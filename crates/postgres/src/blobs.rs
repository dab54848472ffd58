//! The long texts and images that steps refer to by their hashes.

use std::collections::BTreeMap;

use bonded_kernel::{Blob, Hash};
use bonded_state::Append;
use tokio_postgres::Row;

/// The contents that were read, each as its hash says.
pub(crate) type Blobs = BTreeMap<Hash, Blob>;

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
        .map(|(reference, content)| (reference.hash.as_bytes().as_slice(), content.as_bytes()))
        .unzip()
}

/// The hashes that a row names.
pub(crate) fn named(row: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    row.chunks(32).map(<[u8]>::to_vec)
}

/// Reads rows of hash and content. What is not as its hash says is as if it were not there.
pub(crate) fn read(rows: &[Row]) -> Result<Blobs, tokio_postgres::Error> {
    let mut contents = Blobs::new();
    for row in rows {
        let bytes: &[u8] = row.try_get("bytes")?;
        contents.insert(Hash::of(bytes), Blob::read(bytes));
    }
    Ok(contents)
}
