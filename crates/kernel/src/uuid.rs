//! The names of things in a workspace: UUIDs, written in lower case with hyphens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hash::Hash;
use crate::time::Millis;

/// Where the hyphens stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The texts that are ids, for editors.
pub const ID_PATTERN: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is no id: a UUID of 36 characters is needed, as in 6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11"
)]
pub struct BadId {
    /// How the text begins.
    pub given: String,
}

fn parse(text: &str) -> Result<[u8; 16], BadId> {
    let bad = || BadId {
        given: text.chars().take(64).collect(),
    };
    let written = text.as_bytes();
    if written.len() != 36 || HYPHENS.iter().any(|at| written[*at] != b'-') {
        return Err(bad());
    }
    let mut digits = (0..36)
        .filter(|at| !HYPHENS.contains(at))
        .map(|at| char::from(written[at]).to_digit(16));
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        let (high, low) = (digits.next().flatten(), digits.next().flatten());
        let value = high.zip(low).ok_or_else(bad)?;
        *byte = (value.0 * 16 + value.1) as u8;
    }
    Ok(bytes)
}

fn write(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// A UUID (version 8, "custom") that follows from what it names.
fn derived(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let hash = Hash::from(hasher);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Sixteen bytes that the caller drew.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The id that follows from these parts: the same parts, the same id.
            pub fn derived(parts: &[&[u8]]) -> Self {
                Self(derived(parts))
            }

            /// For a store, and for ids that follow from others.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// Names a workspace.
    WorkspaceId;
    /// Names a note for as long as there is one, whatever its title.
    NoteId;
    /// Names a rule.
    RuleId;
    /// Names a person.
    UserId;
    /// Names what a run proposed.
    OperationId;
    /// Names an event of a workspace, or the instant that a schedule stood for.
    EventId;
}

impl EventId {
    /// The id of the event at this place of a workspace's stream. Time and content are part of it, so that a stream
    /// that was restored from a backup and went on otherwise does not use an id again.
    pub fn of_event(workspace: WorkspaceId, event_seq: u64, at: Millis, content: &[u8]) -> Self {
        Self::derived(&[
            b"event",
            workspace.as_bytes(),
            &event_seq.to_le_bytes(),
            &at.0.to_le_bytes(),
            content,
        ])
    }
}
