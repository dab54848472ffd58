//! What the metadata of a note may hold.
//!
//! Names are slugs, values are any JSON within bounds. Three names are the kernel's own: they say what an agent did,
//! and a note that carries them can be believed, because nobody else can write them. Names that begin with `system.`
//! are kept free.

use serde_json::Value;

use super::note::Metadata;
use super::refused::Refused;

/// How many names a note has metadata under.
pub const METADATA_KEYS_MAX: usize = 100;
/// All of a note's metadata, written as JSON.
pub const METADATA_BYTES_MAX: usize = 64 << 10;
/// In characters, which are bytes here: only ASCII is allowed.
const KEY_CHARS_MAX: usize = 64;
/// How deep a value may nest; deeper ones could exhaust the stack of whoever reads them.
const DEPTH_MAX: usize = 32;

/// Names that say what an agent did; only what an agent writes may carry them.
pub(super) const CREATED_BY_AGENT: &str = "created_by_agent";
pub(super) const AGENT_RUN_ID: &str = "agent_run_id";
pub(super) const AGENT_OPERATION: &str = "agent_operation";

/// Whether the name is one of those that the kernel sets.
pub(super) fn is_agents(key: &str) -> bool {
    [CREATED_BY_AGENT, AGENT_RUN_ID, AGENT_OPERATION].contains(&key)
}

/// Whether a text is a name: a lower-case letter, then lower-case letters, digits, '.', '_' or '-'.
fn is_key(key: &str) -> bool {
    key.len() <= KEY_CHARS_MAX
        && key.starts_with(|c: char| c.is_ascii_lowercase())
        && key
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
}

/// A long name is cut in the message.
pub(super) fn check_key(key: &str) -> Result<(), Refused> {
    let shown: String = key.chars().take(KEY_CHARS_MAX).collect();
    if !is_key(key) {
        return Err(Refused::bad(format!(
            "metadata key {shown:?}: 1 to {KEY_CHARS_MAX} lower-case letters, digits, '.', '_' or '-', beginning with a letter"
        )));
    }
    if key.starts_with("system.") {
        return Err(Refused::bad(format!(
            "metadata key {shown:?}: names that begin with \"system.\" are reserved; choose another"
        )));
    }
    Ok(())
}

/// Whether all of this may be a note's metadata.
pub fn check_metadata(metadata: &Metadata) -> Result<(), Refused> {
    if metadata.len() > METADATA_KEYS_MAX {
        return Err(Refused::bad(format!(
            "a note has at most {METADATA_KEYS_MAX} metadata keys"
        )));
    }
    for (key, value) in metadata {
        check_key(key)?;
        if !is_shallow(value, DEPTH_MAX) {
            return Err(Refused::bad(format!(
                "metadata {key:?}: nested deeper than {DEPTH_MAX} levels"
            )));
        }
    }
    let bytes = serde_json::to_vec(metadata).map_or(0, |written| written.len());
    if bytes > METADATA_BYTES_MAX {
        return Err(Refused::bad(format!(
            "the metadata of a note is at most {METADATA_BYTES_MAX} bytes of JSON, this is {bytes}"
        )));
    }
    Ok(())
}

/// Whether it nests at most so deep.
fn is_shallow(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1)),
        Value::Object(items) => depth > 0 && items.values().all(|item| is_shallow(item, depth - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
