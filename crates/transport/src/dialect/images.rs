//! Images that go out: those that the model and its service take. Of the others the model is told that they were there.

use std::borrow::Cow;

use bonded_kernel::{Image, Message, Target};

use super::{accepted_by, of};

/// Why a target cannot be shown an image, where that is known.
///
/// ```
/// use bonded_kernel::{Accepts, Image, ImageInput, Target};
/// use bonded_transport::dialect;
///
/// let pixel = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01\0\0;";
/// let image = Image::read(pixel.as_slice())?;
/// let mut target = Target::new("local", "http://127.0.0.1:8080/v1", "m-1");
/// assert_eq!(dialect::why_not_shown(&target, &image), None);
///
/// let images = ImageInput::None;
/// target.accepts = Some(Box::new(Accepts { images, ..Accepts::default() }));
/// let why = dialect::why_not_shown(&target, &image);
/// assert_eq!(why.as_deref(), Some("m-1 takes no images"));
/// # Ok::<(), bonded_kernel::BadImage>(())
/// ```
pub fn why_not_shown(target: &Target, image: &Image) -> Option<String> {
    let model = &target.model;
    if !accepted_by(target).images.may_take() {
        return Some(format!("{model} takes no images"));
    }
    let format = image.format();
    let is_taken = of(target.dialect).images.contains(&format);
    (!is_taken).then(|| format!("{model} takes no {}", format.as_str()))
}

/// The conversation with those images that its target takes.
pub(super) fn shown<'m>(target: &Target, messages: Cow<'m, [Message]>) -> Cow<'m, [Message]> {
    let is_refused = |image: &Image| why_not_shown(target, image).is_some();
    let refuses = |message: &Message| message.images().iter().any(is_refused);
    if !messages.iter().any(refuses) {
        return messages;
    }
    let fitted = messages.iter().map(|message| fit(target, message));
    Cow::Owned(fitted.collect())
}

fn fit(target: &Target, message: &Message) -> Message {
    let mut message = message.clone();
    let (Message::User { text, images } | Message::Tool { text, images, .. }) = &mut message else {
        return message;
    };
    let mut said = text.to_string();
    images.retain(|image| match why_not_shown(target, image) {
        None => true,
        Some(why) => {
            said.push_str(&format!("\n{}", image.stub(&why)));
            false
        }
    });
    *text = said.into();
    message
}
