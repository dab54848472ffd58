//! What lies beside the log by its hash: a long text, or the bytes of an image.

use std::fmt;
use std::sync::Arc;

/// The content of a blob.
#[derive(Clone, PartialEq, Eq)]
pub enum Blob {
    /// Whatever is UTF-8.
    Text(Arc<str>),
    /// Anything else.
    Bytes(Arc<[u8]>),
}

impl Blob {
    /// What a store has under a hash.
    pub fn read(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Bytes(bytes.into()),
        }
    }

    /// What the hash is of.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// `None` where it is no text.
    pub(crate) fn into_text(self) -> Option<Arc<str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }

    /// Without a copy.
    pub(crate) fn into_bytes(self) -> Arc<[u8]> {
        match self {
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Nobody wants to read an image.
impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Bytes(bytes) => write!(f, "<{} bytes>", bytes.len()),
        }
    }
}

impl<T: Into<Arc<str>>> From<T> for Blob {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}
