//! The short hash of a request.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// A short hash that identifies a request within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 8]);

impl From<Hash> for Digest {
    fn from(hash: Hash) -> Self {
        let mut short = [0; 8];
        short.copy_from_slice(&hash.as_bytes()[..8]);
        Self(short)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 16];
        for (i, byte) in self.0.iter().enumerate() {
            text[2 * i] = HEX[usize::from(byte >> 4)];
            text[2 * i + 1] = HEX[usize::from(byte & 15)];
        }
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bad = || serde::de::Error::custom("a digest has 16 hexadecimal digits");
        let digits = hex.as_bytes();
        if digits.len() != 16 {
            return Err(bad());
        }
        let mut bytes = [0u8; 8];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |b: u8| char::from(b).to_digit(16).ok_or_else(bad);
            *byte = (nibble(pair[0])? * 16 + nibble(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}
