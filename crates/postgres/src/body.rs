//! The entries of one append as they lie in one row: each with its format, its time, its turn and its length before it.

use std::sync::Arc;

use bonded_kernel::{Entry, Millis};

/// Format, time, turn and length.
const HEADER_BYTES: usize = 2 + 8 + 4 + 4;

/// An entry without what its place tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StepPart {
    pub(crate) format: u16,
    pub(crate) at: Millis,
    pub(crate) turn: u32,
    pub(crate) body: Arc<[u8]>,
}

/// Writes the entries one after the other.
pub(crate) fn write(entries: &[Entry]) -> Vec<u8> {
    let bytes = entries.iter().map(|it| it.body.len() + HEADER_BYTES).sum();
    let mut row = Vec::with_capacity(bytes);
    for entry in entries {
        row.extend(entry.format.to_le_bytes());
        row.extend(entry.at.0.to_le_bytes());
        row.extend(entry.turn.to_le_bytes());
        // A server takes no row of more than a gigabyte.
        row.extend((entry.body.len() as u32).to_le_bytes());
        row.extend(&entry.body[..]);
    }
    row
}

/// Reads them again; `None` where the bytes are something else.
pub(crate) fn read(mut row: &[u8]) -> Option<Vec<StepPart>> {
    let mut parts = vec![];
    while !row.is_empty() {
        let format = u16::from_le_bytes(take(&mut row)?);
        let at = Millis(u64::from_le_bytes(take(&mut row)?));
        let turn = u32::from_le_bytes(take(&mut row)?);
        let length = u32::from_le_bytes(take(&mut row)?);
        let (body, rest) = row.split_at_checked(usize::try_from(length).ok()?)?;
        row = rest;
        parts.push(StepPart {
            format,
            at,
            turn,
            body: body.into(),
        });
    }
    Some(parts)
}

fn take<const N: usize>(row: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = row.split_first_chunk::<N>()?;
    *row = rest;
    Some(*taken)
}
