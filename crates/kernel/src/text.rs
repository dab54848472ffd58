//! Text that an event carries: short text lies in the log itself, long text beside it as a blob.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::blob::Blob;
use crate::hash::Hash;

/// Longer texts are written as a reference to a blob, so that a text said twice is stored once.
pub const INLINE_BYTES_MAX: usize = 512;

/// An immutable text, cheap to clone.
///
/// A text that was read from a log and lies in a blob is *unresolved* until [`Text::resolve`] is given
/// the blob's content; only a store ever sees unresolved texts.
#[derive(Clone)]
pub struct Text {
    content: Option<Arc<str>>,
    blob: Option<BlobRef>,
}

/// Where a long text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobRef {
    /// Of the text, by which the blob is named.
    pub hash: Hash,
    /// What the text has, so that a reader knows before it fetches.
    pub bytes: u64,
}

impl Text {
    /// A long text is hashed here, once.
    pub fn new(content: impl Into<Arc<str>>) -> Self {
        let content: Arc<str> = content.into();
        let blob = (content.len() > INLINE_BYTES_MAX).then(|| BlobRef {
            hash: Hash::of(content.as_bytes()),
            bytes: content.len() as u64,
        });
        Self {
            content: Some(content),
            blob,
        }
    }

    /// The blob that this text is written to, if it is long enough to need one.
    pub fn blob(&self) -> Option<BlobRef> {
        self.blob
    }

    /// What lies in the blob that this text is written to, where the text is at hand.
    pub fn blob_content(&self) -> Option<Blob> {
        self.content.clone().map(Blob::Text)
    }

    /// Whether the content is at hand.
    pub fn is_resolved(&self) -> bool {
        self.content.is_some()
    }

    /// Gives an unresolved text its content. The store has checked the content against the hash.
    pub fn resolve(&mut self, content: Arc<str>) {
        self.content = Some(content);
    }

    /// Empty where the text is unresolved.
    pub fn as_str(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// What identifies the text in a digest: its hash where one is known, else the bytes.
    pub(crate) fn digest_bytes(&self) -> &[u8] {
        match &self.blob {
            Some(blob) => blob.hash.as_bytes(),
            None => self.as_str().as_bytes(),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<T: Into<Arc<str>>> From<T> for Text {
    fn from(content: T) -> Self {
        Self::new(content)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        match (&self.blob, &other.blob) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.content, &self.blob) {
            (None, Some(blob)) => write!(f, "<blob {} of {} bytes>", blob.hash, blob.bytes),
            _ => write!(f, "{:?}", self.as_str()),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.blob {
            None => serializer.serialize_str(self.as_str()),
            Some(blob) => {
                let mut reference = serializer.serialize_struct("Blob", 2)?;
                reference.serialize_field("blob", &blob.hash)?;
                reference.serialize_field("bytes", &blob.bytes)?;
                reference.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a reference to a blob")
            }

            fn visit_str<E: serde::de::Error>(self, content: &str) -> Result<Text, E> {
                Ok(Text::new(content))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let (mut hash, mut bytes) = (None, None);
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "blob" => hash = Some(map.next_value()?),
                        "bytes" => bytes = Some(map.next_value()?),
                        other => return Err(A::Error::unknown_field(other, &["blob", "bytes"])),
                    }
                }
                let blob = BlobRef {
                    hash: hash.ok_or_else(|| A::Error::missing_field("blob"))?,
                    bytes: bytes.ok_or_else(|| A::Error::missing_field("bytes"))?,
                };
                Ok(Text {
                    content: None,
                    blob: Some(blob),
                })
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}
