//! A path in JSON: a text where it is one, else its bytes in hexadecimal.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PathText {
    Text(String),
    Bytes { hex: String },
}

/// Writes a path.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let text = match path.to_str() {
        Some(text) => PathText::Text(text.to_owned()),
        None => {
            let bytes = path.as_os_str().as_bytes().iter();
            PathText::Bytes {
                hex: bytes.map(|byte| format!("{byte:02x}")).collect(),
            }
        }
    };
    text.serialize(serializer)
}

/// Reads a path.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    match PathText::deserialize(deserializer)? {
        PathText::Text(text) => Ok(text.into()),
        PathText::Bytes { hex } => {
            let digits = hex.as_bytes().chunks(2);
            let byte = |pair: &[u8]| {
                let pair = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(pair, 16).ok()
            };
            let bytes: Option<Vec<u8>> = digits.map(byte).collect();
            let bytes = bytes.ok_or_else(|| serde::de::Error::custom("no bytes of a path"))?;
            Ok(OsString::from_vec(bytes).into())
        }
    }
}
