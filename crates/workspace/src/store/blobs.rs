//! Long texts, each kept once under its hash.
//!
//! An event and the row of a note name the text by its hash, so that a version which comes again costs nothing. What is
//! read is checked against the hash: a damaged file is told, never taken for a note.

use std::io::{Read, Write};
use std::sync::Arc;

use super::connection::Connection;
use bonded_kernel::{BlobRef, Hash, Text};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::params;

use super::error::StoreFault;
use super::rows;

/// Shorter texts are read often and win little.
const PACKED_BYTES_MIN: usize = 16 << 10;

/// Keeps the text if it is long.
pub(super) fn keep(connection: Connection<'_>, text: &Text) -> Result<(), StoreFault> {
    let Some(blob) = text.blob() else {
        return Ok(());
    };
    let hash = blob.hash.as_bytes().as_slice();
    let sql = "SELECT 1 FROM blob WHERE hash = ?1";
    if rows::one(connection, sql, [hash], |_| Ok(()))?.is_none() {
        let packed = packed(text.as_bytes());
        let (is_packed, bytes) = match &packed {
            Some(packed) => (true, packed.as_slice()),
            None => (false, text.as_bytes()),
        };
        connection.execute(
            "INSERT INTO blob (hash, packed, bytes) VALUES (?1, ?2, ?3)",
            params![hash, is_packed, bytes],
        )?;
    }
    Ok(())
}

/// The deflated text, if that is worth it.
fn packed(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() < PACKED_BYTES_MIN {
        return None;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).ok()?;
    let packed = encoder.finish().ok()?;
    (packed.len() < text.len()).then_some(packed)
}

/// Gives a text that was read from the file its content.
pub(super) fn resolve(connection: Connection<'_>, text: &mut Text) -> Result<(), StoreFault> {
    match text.blob() {
        Some(blob) if !text.is_resolved() => {
            text.resolve(load(connection, blob)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A text that is missing, cannot be unpacked or has another hash is damage.
fn load(connection: Connection<'_>, blob: BlobRef) -> Result<Arc<str>, StoreFault> {
    let sql = "SELECT packed, bytes FROM blob WHERE hash = ?1";
    let kept: Option<(bool, Vec<u8>)> =
        rows::one(connection, sql, [blob.hash.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let missing = || StoreFault::Damaged(format!("the text {} is missing or damaged", blob.hash));
    let (is_packed, bytes) = kept.ok_or_else(missing)?;
    let bytes = if is_packed {
        unpacked(&bytes, blob.bytes).ok_or_else(missing)?
    } else {
        bytes
    };
    let text = String::from_utf8(bytes).map_err(|_| missing())?;
    if Hash::of(text.as_bytes()) != blob.hash {
        return Err(missing());
    }
    Ok(text.into())
}

/// As many bytes as there were; a damaged file cannot make it more.
fn unpacked(packed: &[u8], bytes: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    DeflateDecoder::new(packed)
        .take(bytes)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}
