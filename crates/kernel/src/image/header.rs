//! What stands in image files before their pixels: kind and size, and whether the file has its end.
//!
//! A stranger wrote these bytes. Each reader goes through them once, forward, and holds every length against what is there.

use super::{BadImage, ImageFormat};

/// Where an SVG says that it is one.
const SVG_WITHIN: usize = 1_024;

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: ImageFormat,
    pub(super) width: u32,
    pub(super) height: u32,
}

pub(super) fn read(bytes: &[u8]) -> Result<Header, BadImage> {
    if bytes.is_empty() {
        return Err(BadImage::Empty);
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Reader::of(ImageFormat::Png, bytes, 8).png();
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Reader::of(ImageFormat::Jpeg, bytes, 2).jpeg();
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Reader::of(ImageFormat::Gif, bytes, 6).gif();
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Reader::of(ImageFormat::Webp, bytes, 4).webp();
    }
    let found = other(bytes);
    Err(BadImage::NotTaken { found })
}

/// What else it may be, in words for a person.
fn other(bytes: &[u8]) -> &'static str {
    let head = bytes.get(..SVG_WITHIN).unwrap_or(bytes);
    let has = |mark: &[u8]| head.windows(mark.len()).any(|it| it == mark);
    let brand = bytes.get(4..12).unwrap_or_default();
    if has(b"<svg") {
        return "it is an SVG";
    }
    if head.starts_with(b"BM") {
        return "it is a BMP";
    }
    if head.starts_with(b"II*\0") || head.starts_with(b"MM\0*") {
        return "it is a TIFF";
    }
    if brand.starts_with(b"ftyp") {
        return match &brand[4..] {
            b"avif" | b"avis" => "it is an AVIF",
            b"heic" | b"heix" | b"mif1" | b"msf1" | b"hevc" => "it is a HEIC",
            _ => "it is a video or another container",
        };
    }
    if head.starts_with(b"%PDF") {
        return "it is a PDF";
    }
    "it is not an image"
}

/// Goes through a file.
struct Reader<'a> {
    format: ImageFormat,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn of(format: ImageFormat, bytes: &'a [u8], at: usize) -> Self {
        Self { format, bytes, at }
    }

    fn cut_off(&self) -> BadImage {
        BadImage::CutOff {
            format: self.format,
        }
    }

    fn broken(&self, why: &'static str) -> BadImage {
        BadImage::Broken {
            format: self.format,
            why,
        }
    }

    fn sized(&self, width: u32, height: u32) -> Result<Header, BadImage> {
        match width.min(height) {
            0 => Err(self.broken("it has no pixels")),
            _ => Ok(Header {
                format: self.format,
                width,
                height,
            }),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BadImage> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.cut_off())?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadImage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, BadImage> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn length(&self, length: u32) -> Result<usize, BadImage> {
        usize::try_from(length).map_err(|_| self.cut_off())
    }

    /// Chunks up to `IEND`. Their checksums are not checked: whoever decodes the pixels does that.
    fn png(mut self) -> Result<Header, BadImage> {
        let (mut size, mut has_pixels) = (None, false);
        loop {
            let length = u32::from_be_bytes(self.array()?);
            let kind: [u8; 4] = self.array()?;
            let length = self.length(length)?;
            let data = self.take(length)?;
            self.take(4)?;
            match (&kind, size) {
                (b"IHDR", None) => {
                    let [w0, w1, w2, w3, h0, h1, h2, h3, ..] = *data else {
                        return Err(self.broken("its header is too short"));
                    };
                    let width = u32::from_be_bytes([w0, w1, w2, w3]);
                    let height = u32::from_be_bytes([h0, h1, h2, h3]);
                    size = Some(self.sized(width, height)?);
                }
                (_, None) => return Err(self.broken("it does not begin with a header")),
                (b"IDAT", _) => has_pixels = true,
                (b"IEND", Some(header)) if has_pixels => return Ok(header),
                (b"IEND", _) => return Err(self.broken("it has no pixels")),
                _ => {}
            }
        }
    }

    /// Segments up to the first scan, which the frame's header must precede; then the end, wherever it is.
    fn jpeg(mut self) -> Result<Header, BadImage> {
        let mut size = None;
        loop {
            match self.marker()? {
                // Without a length of their own.
                0x01 | 0xd0..=0xd8 => {}
                0xd9 => return Err(self.broken("it has no pixels")),
                0xda => break,
                marker => {
                    let segment = self.segment()?;
                    let is_frame =
                        matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
                    if is_frame && size.is_none() {
                        let [_, h0, h1, w0, w1, ..] = *segment else {
                            return Err(self.broken("its header is too short"));
                        };
                        let width = u16::from_be_bytes([w0, w1]);
                        let height = u16::from_be_bytes([h0, h1]);
                        size = Some(self.sized(width.into(), height.into())?);
                    }
                }
            }
        }
        let header = size.ok_or_else(|| self.broken("it has no header"))?;
        self.segment()?;
        let rest = &self.bytes[self.at..];
        match rest.windows(2).rev().any(|it| it == [0xff, 0xd9]) {
            true => Ok(header),
            false => Err(self.cut_off()),
        }
    }

    fn marker(&mut self) -> Result<u8, BadImage> {
        if self.byte()? != 0xff {
            return Err(self.broken("there is no marker where one must be"));
        }
        loop {
            match self.byte()? {
                0xff => {}
                0 => return Err(self.broken("there is no marker where one must be")),
                marker => return Ok(marker),
            }
        }
    }

    fn segment(&mut self) -> Result<&'a [u8], BadImage> {
        let length = usize::from(u16::from_be_bytes(self.array()?));
        let length = length.checked_sub(2);
        let length = length.ok_or_else(|| self.broken("a segment has no length"))?;
        self.take(length)
    }

    /// Blocks up to the trailer. A frame may be larger than the screen that it is shown on.
    fn gif(mut self) -> Result<Header, BadImage> {
        let [w0, w1, h0, h1, flags, _, _] = self.array()?;
        let mut width = u32::from(u16::from_le_bytes([w0, w1]));
        let mut height = u32::from(u16::from_le_bytes([h0, h1]));
        self.colours(flags)?;
        let mut has_pixels = false;
        loop {
            match self.byte()? {
                0x21 => {
                    self.byte()?;
                    self.sub_blocks()?;
                }
                0x2c => {
                    let [x0, x1, y0, y1, w0, w1, h0, h1, flags] = self.array()?;
                    let sum = |a: [u8; 2], b: [u8; 2]| {
                        u32::from(u16::from_le_bytes(a)) + u32::from(u16::from_le_bytes(b))
                    };
                    width = width.max(sum([x0, x1], [w0, w1]));
                    height = height.max(sum([y0, y1], [h0, h1]));
                    self.colours(flags)?;
                    self.byte()?;
                    self.sub_blocks()?;
                    has_pixels = true;
                }
                0x3b if has_pixels => return self.sized(width, height),
                0x3b => return Err(self.broken("it has no pixels")),
                _ => return Err(self.broken("there is no block where one must be")),
            }
        }
    }

    fn colours(&mut self, flags: u8) -> Result<(), BadImage> {
        if flags & 0x80 != 0 {
            self.take(3 << ((flags & 7) + 1))?;
        }
        Ok(())
    }

    fn sub_blocks(&mut self) -> Result<(), BadImage> {
        loop {
            match self.byte()? {
                0 => return Ok(()),
                length => self.take(usize::from(length))?,
            };
        }
    }

    /// Chunks up to the end that the container says it has. The first one says how large the image is.
    fn webp(mut self) -> Result<Header, BadImage> {
        let length = u32::from_le_bytes(self.array()?);
        let end = self.length(length)?.checked_add(8);
        let within = end.and_then(|end| self.bytes.get(..end));
        self.bytes = within.ok_or_else(|| self.cut_off())?;
        self.take(4)?;
        let (mut size, mut has_pixels) = (None, false);
        while self.at < self.bytes.len() {
            let kind: [u8; 4] = self.array()?;
            let length = u32::from_le_bytes(self.array()?);
            let length = self.length(length)?;
            let data = self.take(length)?;
            // A chunk of an odd length is filled up; some writers leave that out at the end.
            self.at = self.bytes.len().min(self.at + length % 2);
            has_pixels |= matches!(&kind, b"VP8 " | b"VP8L" | b"ANMF");
            if size.is_none() {
                size = Some(self.webp_size(kind, data)?);
            }
        }
        match size {
            Some((width, height)) if has_pixels => self.sized(width, height),
            _ => Err(self.broken("it has no pixels")),
        }
    }

    fn webp_size(&self, kind: [u8; 4], data: &[u8]) -> Result<(u32, u32), BadImage> {
        match (&kind, data) {
            (b"VP8 ", [_, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1, ..]) => {
                let side = |a: u8, b: u8| u32::from(u16::from_le_bytes([a, b]) & 0x3fff);
                Ok((side(*w0, *w1), side(*h0, *h1)))
            }
            (b"VP8L", [0x2f, a, b, c, d, ..]) => {
                let bits = u32::from_le_bytes([*a, *b, *c, *d]);
                Ok(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            (b"VP8X", [_, _, _, _, w0, w1, w2, h0, h1, h2, ..]) => {
                let side = |a: u8, b: u8, c: u8| u32::from_le_bytes([a, b, c, 0]) + 1;
                Ok((side(*w0, *w1, *w2), side(*h0, *h1, *h2)))
            }
            _ => Err(self.broken("it does not begin with a header")),
        }
    }
}
