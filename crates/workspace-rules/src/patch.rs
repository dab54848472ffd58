//! Patches: what is kept, put in and taken away, from the beginning of a text to its end.
//!
//! Characters are counted as Unicode scalar values, which every client can count the same way; bytes and UTF-16 units
//! differ between languages.

use serde::{Deserialize, Serialize};

/// One part of a patch. Lengths are counted in characters (Unicode scalar values).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PatchOp {
    /// So much stays.
    Retain(u64),
    /// This is put in.
    Insert(String),
    /// So much is taken away.
    Delete(u64),
}

/// Why a patch does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPatch {
    /// The operation keeps or takes away more than is left. `length` is that of the text before the patch.
    #[error("operation {index} reaches beyond the end of the text, which has {length} characters")]
    BeyondEnd { index: usize, length: u64 },
    /// The result would be too long; found before it is built up any further.
    #[error("the patched text is longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
}

/// The text after the patch; what the patch does not reach is kept.
/// The bound is checked after every operation, so that a patch of many insertions never grows far beyond it.
pub fn patched(base: &str, ops: &[PatchOp], bytes_max: usize) -> Result<String, BadPatch> {
    let mut rest = base;
    let mut text = String::new();
    for (index, op) in ops.iter().enumerate() {
        match op {
            PatchOp::Insert(inserted) => text.push_str(inserted),
            PatchOp::Retain(count) | PatchOp::Delete(count) => {
                let at = end_of(rest, *count).ok_or_else(|| BadPatch::BeyondEnd {
                    index,
                    length: base.chars().count() as u64,
                })?;
                let (taken, after) = rest.split_at(at);
                if matches!(op, PatchOp::Retain(_)) {
                    text.push_str(taken);
                }
                rest = after;
            }
        }
        if text.len() > bytes_max {
            return Err(BadPatch::TooLong { bytes_max });
        }
    }
    text.push_str(rest);
    if text.len() > bytes_max {
        return Err(BadPatch::TooLong { bytes_max });
    }
    Ok(text)
}

/// Where the first `count` characters end, if there are so many.
fn end_of(text: &str, count: u64) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    // No character has less than one byte, so that a huge count is refused without a walk.
    if count > text.len() {
        return None;
    }
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.nth(count)
}
