//! Images: any bytes are an image within bounds or refused, whatever was put behind, and the same each time.

#![no_main]

use bonded_kernel::{BadImage, IMAGE_BYTES_MAX, IMAGE_EDGE_MAX, Image, ImageInput};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = Image::read(bytes);
    assert_eq!(read, Image::read(bytes));
    match read {
        Ok(image) => {
            assert!((1..=IMAGE_EDGE_MAX).contains(&image.width()));
            assert!((1..=IMAGE_EDGE_MAX).contains(&image.height()));
            assert!(image.blob().bytes <= IMAGE_BYTES_MAX);
            assert_eq!(Image::read_base64(&image.base64()), Ok(image.clone()));
            let longer = Image::read([bytes, b"film"].concat()).expect("it is one still");
            assert_eq!(
                (longer.format(), longer.width(), longer.height()),
                (image.format(), image.width(), image.height())
            );
            for input in [ImageInput::Unknown, ImageInput::Squares, ImageInput::None] {
                assert!(input.tokens(image.width(), image.height()) > 0);
            }
            let written = serde_json::to_string(&image).expect("plain fields");
            let again: Image = serde_json::from_str(&written).expect("as it was written");
            assert_eq!(again, image);
        }
        Err(BadImage::TooLarge { bytes }) => assert!(bytes > IMAGE_BYTES_MAX),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
