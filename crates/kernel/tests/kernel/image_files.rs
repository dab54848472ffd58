//! What is an image, and what is none: by its bytes alone.

use bonded_kernel::{BadImage, IMAGE_BYTES_MAX, IMAGE_EDGE_MAX, Image, ImageFormat, ImageInput};
use proptest::prelude::*;

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&length[..], kind, data, &[0; 4]].concat()
}

/// A PNG file of this size, with so many bytes of pixels.
pub(crate) fn png(width: u32, height: u32, pixels: usize) -> Vec<u8> {
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    let header = [&width[..], &height, &[8, 2, 0, 0, 0]].concat();
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"tEXt", b"Comment\0IEND"),
        chunk(b"IDAT", &vec![7; pixels]),
        chunk(b"IEND", &[]),
    ]
    .concat()
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let segment = |marker: u8, data: &[u8]| {
        let length = (data.len() as u16 + 2).to_be_bytes();
        [&[0xff, marker][..], &length, data].concat()
    };
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    let frame = [&[8][..], &height, &width, &[1, 1, 0x11, 0]].concat();
    [
        vec![0xff, 0xd8],
        segment(0xe0, b"JFIF\0\x01\x02\0\0\x01\0\x01\0\0"),
        // A table, whose marker is among those of frames.
        segment(0xc4, &[0; 20]),
        vec![0xff],
        segment(0xc2, &frame),
        segment(0xda, &[1, 1, 0, 0, 63, 0]),
        vec![1, 2, 0xff, 0, 3],
        vec![0xff, 0xd9],
    ]
    .concat()
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    let (width, height) = (width.to_le_bytes(), height.to_le_bytes());
    let frame = [
        b",\0\0\0\0",
        &width[..],
        &height,
        &[0x80],
        &[9; 6],
        &[2, 3, 1, 2, 3, 0],
    ]
    .concat();
    [
        b"GIF89a".to_vec(),
        [&width[..], &height, &[0x81, 0, 0], &[5; 12]].concat(),
        b"!\xf9\x04\0\0\0\0\0".to_vec(),
        frame,
        b";".to_vec(),
    ]
    .concat()
}

fn riff(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (kind, data) in chunks {
        body.extend_from_slice(*kind);
        body.extend((data.len() as u32).to_le_bytes());
        body.extend(data);
        body.extend(vec![0; data.len() % 2]);
    }
    [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
}

fn lossy(width: u16, height: u16) -> (&'static [u8; 4], Vec<u8>) {
    let (width, height) = (width.to_le_bytes(), height.to_le_bytes());
    (
        b"VP8 ",
        [
            &[0, 0, 0, 0x9d, 0x01, 0x2a][..],
            &width,
            &height,
            &[1, 2, 3],
        ]
        .concat(),
    )
}

fn lossless(width: u32, height: u32) -> (&'static [u8; 4], Vec<u8>) {
    let bits = (width - 1) | (height - 1) << 14;
    (
        b"VP8L",
        [&[0x2f][..], &bits.to_le_bytes(), &[1, 2]].concat(),
    )
}

fn extended(width: u32, height: u32) -> (&'static [u8; 4], Vec<u8>) {
    let side = |side: u32| (side - 1).to_le_bytes();
    (
        b"VP8X",
        [&[0; 4][..], &side(width)[..3], &side(height)[..3]].concat(),
    )
}

/// One of each kind, with its size.
fn files() -> Vec<(ImageFormat, u32, u32, Vec<u8>)> {
    vec![
        (ImageFormat::Png, 800, 600, png(800, 600, 40)),
        (ImageFormat::Jpeg, 4000, 3000, jpeg(4000, 3000)),
        (ImageFormat::Gif, 320, 200, gif(320, 200)),
        (ImageFormat::Webp, 1000, 1, riff(&[lossy(1000, 1)])),
        (ImageFormat::Webp, 7999, 2, riff(&[lossless(7999, 2)])),
        (
            ImageFormat::Webp,
            640,
            480,
            riff(&[extended(640, 480), lossy(640, 480)]),
        ),
        (
            ImageFormat::Webp,
            64,
            48,
            riff(&[extended(64, 48), (b"ANMF", vec![0; 16])]),
        ),
    ]
}

#[test]
fn kind_and_size_are_read_from_the_bytes() {
    for (format, width, height, bytes) in files() {
        let image = Image::read(bytes.clone()).expect("it is one");
        assert_eq!(
            (image.format(), image.width(), image.height()),
            (format, width, height)
        );
        assert_eq!(image.blob().bytes, bytes.len() as u64);
        let again = Image::read_base64(&image.base64()).expect("the same bytes");
        assert_eq!(again, image);
        // What is behind its end belongs to nobody: cameras and phones put films there.
        let longer = [bytes.as_slice(), b"MotionPhoto"].concat();
        let longer = Image::read(longer).expect("it is one still");
        assert_eq!(
            (longer.width(), longer.height()),
            (width, height),
            "{format:?}"
        );
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_no_image() {
    for (format, .., bytes) in files() {
        for length in 0..bytes.len() {
            let cut = Image::read(bytes[..length].to_vec());
            assert!(
                cut.is_err(),
                "{format:?} cut to {length} of {} bytes",
                bytes.len()
            );
        }
    }
}

#[test]
fn what_is_no_image_is_refused_by_what_it_is() {
    let rows: [(&[u8], &str); 8] = [
        (b"hello", "it is not an image"),
        (
            b"<?xml version='1.0'?>\n<!-- a drawing -->\n<svg/>",
            "it is an SVG",
        ),
        (b"BM\x46\0\0\0\0\0\0\0", "it is a BMP"),
        (b"II*\0\x08\0\0\0", "it is a TIFF"),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "it is an AVIF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "it is a HEIC"),
        (
            b"\0\0\0\x18ftypmp42\0\0\0\0",
            "it is a video or another container",
        ),
        (b"%PDF-1.7\n", "it is a PDF"),
    ];
    for (bytes, found) in rows {
        assert_eq!(
            Image::read(bytes.to_vec()),
            Err(BadImage::NotTaken { found })
        );
    }
    assert_eq!(Image::read(vec![]), Err(BadImage::Empty));
}

#[test]
fn an_image_that_services_would_refuse_is_refused_first() {
    let edge = IMAGE_EDGE_MAX;
    assert!(Image::read(png(edge, edge, 1)).is_ok());
    for (width, height) in [
        (edge + 1, 1),
        (1, edge + 1),
        (u32::MAX, u32::MAX),
        (100_000, 100_000),
    ] {
        let bomb = Image::read(png(width, height, 1));
        assert_eq!(bomb, Err(BadImage::TooWide { width, height }));
    }
    let most = IMAGE_BYTES_MAX as usize - png(1, 1, 0).len();
    assert!(Image::read(png(1, 1, most)).is_ok());
    let bytes = IMAGE_BYTES_MAX + 1;
    let large = Image::read(png(1, 1, most + 1));
    assert_eq!(large, Err(BadImage::TooLarge { bytes }));
    let huge = Image::read_base64(&"A".repeat(100_000_000));
    assert!(matches!(huge, Err(BadImage::TooLarge { .. })), "{huge:?}");
    for empty in [png(0, 5, 1), jpeg(5, 0), gif(0, 0)] {
        // A GIF is as large as its frames.
        let refused = Image::read(empty);
        assert!(
            matches!(refused, Err(BadImage::Broken { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_file_without_pixels_or_with_its_parts_in_disorder_is_broken() {
    let signature = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
    let (pixels, end) = (chunk(b"IDAT", &[1]), chunk(b"IEND", &[]));
    let rows: Vec<Vec<u8>> = vec![
        [&signature[..], &pixels, &header, &end].concat(),
        [&signature[..], &header, &end].concat(),
        [&signature[..], &chunk(b"IHDR", &[0; 4]), &pixels, &end].concat(),
        vec![0xff, 0xd8, 0xff, 0xd9],
        vec![0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xd9],
        vec![0xff, 0xd8, 0xff, 0xe0, 0, 1],
        b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(),
        b"GIF89a\x01\0\x01\0\0\0\0?".to_vec(),
        riff(&[extended(1, 1)]),
        riff(&[(b"ALPH", vec![0; 8])]),
    ];
    for bytes in rows {
        let refused = Image::read(bytes.clone());
        assert!(
            matches!(refused, Err(BadImage::Broken { .. })),
            "{bytes:?}: {refused:?}"
        );
    }
}

proptest! {
    #[test]
    fn bytes_that_were_changed_are_an_image_within_bounds_or_refused(
        which in 0..7_usize,
        at in 0..4096_usize,
        byte in any::<u8>(),
        length in 0..4096_usize,
    ) {
        let mut bytes = files().remove(which).3;
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(length.max(1));
        if let Ok(image) = Image::read(bytes) {
            prop_assert!((1..=IMAGE_EDGE_MAX).contains(&image.width()));
            prop_assert!((1..=IMAGE_EDGE_MAX).contains(&image.height()));
        }
    }

    #[test]
    fn no_image_counts_for_nothing_or_without_bound(width in 1..=8_000_u32, height in 1..=8_000_u32) {
        for input in [ImageInput::Unknown, ImageInput::None, ImageInput::Squares] {
            let tokens = input.tokens(width, height);
            prop_assert!((1..=40_000).contains(&tokens), "{input:?} {tokens}");
        }
    }
}

#[test]
fn images_count_for_what_the_services_document() {
    let area = ImageInput::Area {
        pixels: 750,
        most: 1_600,
    };
    let tiles = ImageInput::Tiles {
        base: 85,
        tile: 170,
    };
    let patches = ImageInput::Patches {
        most: 1_536,
        percent: 162,
    };
    for (input, width, height, tokens) in [
        // Anthropic: tokens = (width px * height px) / 750, up to about 1,600.
        (area, 200, 200, 54),
        (area, 1000, 1000, 1_334),
        (area, 1092, 1092, 1_590),
        (area, 4000, 4000, 1_600),
        // OpenAI: 4 tiles of 512, 6 tiles of 512, and a panorama.
        (tiles, 1024, 1024, 765),
        (tiles, 2048, 4096, 1_105),
        (tiles, 8000, 10, 1_445),
        // OpenAI's small models: a patch is 1.62 tokens.
        (patches, 1024, 1024, 1_659),
        (patches, 8000, 8000, 2_489),
        (patches, 1, 1, 2),
        // Google: 258 for a small one, and for each tile of a larger one.
        (ImageInput::Squares, 384, 384, 258),
        (ImageInput::Squares, 960, 540, 6 * 258),
        (ImageInput::Same { tokens: 1_120 }, 8000, 8000, 1_120),
    ] {
        assert_eq!(
            input.tokens(width, height),
            tokens,
            "{input:?} {width}x{height}"
        );
    }
}
