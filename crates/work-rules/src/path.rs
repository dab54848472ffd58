//! Where something lies in a tree.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path below the root of a tree: names joined by `/`, none of them empty, `.` or `..`. It is bytes, because
/// names of files are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Box<[u8]>);

/// Why bytes are no path in a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside a tree; write it from the tree's root, without `..`")]
pub struct BadTreePath {
    /// What was written, as far as it is text.
    pub path: String,
}

impl TreePath {
    /// Takes names with `/` between them, none of which is empty, `.` or `..`.
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self, BadTreePath> {
        let path = path.as_ref();
        let is_bad = |name: &[u8]| matches!(name, b"" | b"." | b"..") || name.contains(&0);
        if path.split(|&byte| byte == b'/').any(is_bad) {
            return Err(BadTreePath {
                path: String::from_utf8_lossy(path).into_owned(),
            });
        }
        Ok(Self(path.into()))
    }

    /// The path as the file system has it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, where it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The names on the way, from the root.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|&byte| byte == b'/')
    }

    /// The directory that holds this; nothing where that is the root.
    pub fn parent(&self) -> Option<Self> {
        let end = self.0.iter().rposition(|&byte| byte == b'/')?;
        Some(Self(self.0[..end].into()))
    }

    /// The path of a name in the directory at `parent`, or in the root.
    pub fn child(parent: Option<&Self>, name: &[u8]) -> Result<Self, BadTreePath> {
        match parent {
            Some(parent) => Self::new([&parent.0, &b"/"[..], name].concat()),
            None => Self::new(name),
        }
    }

    /// Whether this lies below `above`, or is it.
    pub fn is_within(&self, above: &Self) -> bool {
        let rest = self.0.strip_prefix(above.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// Bytes that are no text are shown as `\xNN`.
impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            chunk
                .invalid()
                .iter()
                .try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text, or `{"bytes": [..]}` where the path is none.
impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some(text) => serializer.serialize_str(text),
            None => Written::Bytes {
                bytes: self.0.to_vec(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match Written::deserialize(deserializer)? {
            Written::Text(text) => text.into_bytes(),
            Written::Bytes { bytes } => bytes,
        };
        Self::new(bytes).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes { bytes: Vec<u8> },
}
