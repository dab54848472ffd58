//! Images that a model is shown: what is known of one, and what may be one.
//!
//! The log holds of an image what it is, how large and its hash; its bytes lie beside the log under that hash. An [`Image`] is
//! made of bytes that were looked at, so that nothing else is sent for one. They are never decoded: only headers are read.

mod header;
mod weight;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::blob::Blob;
use crate::hash::Hash;
use crate::text::BlobRef;

pub use weight::ImageInput;

/// The largest image: as base64 it has the five mebibytes that the strictest service takes.
pub const IMAGE_BYTES_MAX: u64 = 3_932_160;

/// The longest edge that the strictest service takes, in pixels.
pub const IMAGE_EDGE_MAX: u32 = 8_000;

/// So many images are in a conversation at most: of more, services take smaller ones only.
pub const IMAGES_MAX: usize = 20;

/// What all images of a conversation have together at most: as base64, with the rest of a request, less than the 20 MB that
/// the strictest service takes.
pub const IMAGES_BYTES_MAX: u64 = 14_000_000;

/// What the bytes of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImageFormat {
    /// Animated ones included.
    #[serde(rename = "image/png")]
    Png,
    /// Baseline and progressive.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// Animated ones included.
    #[serde(rename = "image/gif")]
    Gif,
    /// With and without loss, animated ones included.
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageFormat {
    /// Its media type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// An image, cheap to clone. One that was read from a log is *unresolved* until a store has given it its bytes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "WrittenImage", into = "WrittenImage")]
pub struct Image {
    format: ImageFormat,
    width: u32,
    height: u32,
    blob: BlobRef,
    content: Option<Arc<[u8]>>,
}

/// As it stands in the log.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenImage {
    blob: Hash,
    bytes: u64,
    #[serde(rename = "type")]
    format: ImageFormat,
    width: u32,
    height: u32,
}

/// Why bytes are no image that a model can be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadImage {
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// Nothing that is known, or known and taken by no model.
    #[error("{found}: only PNG, JPEG, GIF and WebP are taken")]
    NotTaken {
        /// What it seems to be.
        found: &'static str,
    },
    /// It has more bytes than services take.
    #[error("it has {bytes} bytes, {IMAGE_BYTES_MAX} at most are taken: make it smaller")]
    TooLarge {
        /// How many it has.
        bytes: u64,
    },
    /// It has more pixels than services take.
    #[error(
        "it is {width}x{height} pixels, {IMAGE_EDGE_MAX} at most are taken on each side: make it smaller"
    )]
    TooWide {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// Something is missing at its end.
    #[error("it is cut off: the end of the {} file is missing", format_name(*.format))]
    CutOff {
        /// What it begins as.
        format: ImageFormat,
    },
    /// Its bytes do not hang together.
    #[error("it is a broken {} file: {why}", format_name(*.format))]
    Broken {
        /// What it begins as.
        format: ImageFormat,
        /// What does not.
        why: &'static str,
    },
}

fn format_name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        ImageFormat::Webp => "WebP",
    }
}

impl Image {
    /// Looks at bytes. Only what all that stands before the pixels says of them is read, and that the file has its end.
    ///
    /// ```
    /// use bonded_kernel::{BadImage, Image};
    ///
    /// let svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>".as_slice();
    /// assert!(matches!(Image::read(svg), Err(BadImage::NotTaken { .. })));
    /// ```
    pub fn read(bytes: impl Into<Arc<[u8]>>) -> Result<Self, BadImage> {
        let content: Arc<[u8]> = bytes.into();
        let bytes = content.len() as u64;
        if bytes > IMAGE_BYTES_MAX {
            return Err(BadImage::TooLarge { bytes });
        }
        let header = header::read(&content)?;
        let (width, height) = (header.width, header.height);
        if width.max(height) > IMAGE_EDGE_MAX {
            return Err(BadImage::TooWide { width, height });
        }
        Ok(Self {
            format: header.format,
            width,
            height,
            blob: BlobRef {
                hash: Hash::of(&content),
                bytes,
            },
            content: Some(content),
        })
    }

    /// Reads what was sent as base64, with or without line breaks.
    pub fn read_base64(text: &str) -> Result<Self, BadImage> {
        let digits = text.len() as u64;
        // Before anything is copied.
        if digits / 4 * 3 > IMAGE_BYTES_MAX.saturating_mul(2) {
            return Err(BadImage::TooLarge {
                bytes: digits / 4 * 3,
            });
        }
        let digits: String = text.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(digits).map_err(|_| BadImage::NotTaken {
            found: "it is not base64",
        })?;
        Self::read(bytes)
    }

    /// What its bytes are, whatever anybody says of them.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// In pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// In pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Where its bytes lie.
    pub fn blob(&self) -> BlobRef {
        self.blob
    }

    /// What lies there, where it is at hand.
    pub fn blob_content(&self) -> Option<Blob> {
        self.content.clone().map(Blob::Bytes)
    }

    /// Its bytes, where they are at hand.
    pub fn content(&self) -> Option<&Arc<[u8]>> {
        self.content.as_ref()
    }

    /// Gives an unresolved image its bytes. The store has checked them against the hash.
    pub fn resolve(&mut self, content: Blob) {
        self.content = Some(content.into_bytes());
    }

    /// Its bytes as services want them; nothing where they are not at hand.
    pub fn base64(&self) -> String {
        STANDARD.encode(self.content.as_deref().unwrap_or_default())
    }

    /// The same after `data:` and the media type, as an address that holds what it names.
    pub fn data_url(&self) -> String {
        let mut url = format!("data:{};base64,", self.format.as_str());
        STANDARD.encode_string(self.content.as_deref().unwrap_or_default(), &mut url);
        url
    }

    /// What a person is told of it: type and size.
    pub fn described(&self) -> String {
        let (format, bytes) = (self.format.as_str(), self.blob.bytes);
        format!("{format}, {}x{}, {bytes} bytes", self.width, self.height)
    }

    /// What stands in its place before a model that does not see it.
    pub fn stub(&self, why: &str) -> String {
        format!("[image, {}, not shown: {why}]", self.described())
    }
}

/// By hash: the rest follows from the bytes.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.blob == other.blob
    }
}

impl Eq for Image {}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}>", self.described(), self.blob.hash)
    }
}

impl From<WrittenImage> for Image {
    fn from(written: WrittenImage) -> Self {
        Self {
            format: written.format,
            width: written.width,
            height: written.height,
            blob: BlobRef {
                hash: written.blob,
                bytes: written.bytes,
            },
            content: None,
        }
    }
}

impl From<Image> for WrittenImage {
    fn from(image: Image) -> Self {
        Self {
            blob: image.blob.hash,
            bytes: image.blob.bytes,
            format: image.format,
            width: image.width,
            height: image.height,
        }
    }
}

/// What stands in the place of several.
pub(crate) fn stubs(images: &[Image], why: &str) -> String {
    let stubs: Vec<String> = images.iter().map(|it| it.stub(why)).collect();
    stubs.join("\n")
}

/// Why more images cannot stand in a conversation beside those that do, where they cannot.
pub fn too_many_images<'a>(images: impl IntoIterator<Item = &'a Image>) -> Option<String> {
    let (mut count, mut bytes) = (0_usize, 0_u64);
    for image in images {
        count += 1;
        bytes = bytes.saturating_add(image.blob.bytes);
    }
    if count > IMAGES_MAX {
        return Some(format!(
            "{count} images are too many: {IMAGES_MAX} at most stand in one conversation"
        ));
    }
    (bytes > IMAGES_BYTES_MAX).then(|| {
        format!("{count} images have {bytes} bytes together: {IMAGES_BYTES_MAX} at most stand in one conversation")
    })
}
