//! Images that go with a goal: read from where a person named them, and held against the models that will be asked.
//!
//! A flag names any regular file. A goal names files beneath the working directory alone, since it may hold what somebody
//! else wrote.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{BadImage, IMAGE_BYTES_MAX, IMAGES_MAX, Image, RunConfig, too_many_images};
use bonded_tools::beneath::{Links, OpenError, Root};
use bonded_transport::dialect::why_not_shown;

use crate::regular;

/// A file of any size is opened; so much is read to say what it is.
const READ_BYTES_MAX: u64 = IMAGE_BYTES_MAX;

/// The ends of names that stand for images in a goal.
const ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// What may stand behind the name of a file in a sentence.
const BEHIND: [char; 11] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'];

/// Why images cannot go with a goal.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file that a flag names cannot be read.
    #[error("cannot read the image {path}")]
    Unread {
        /// As it was named.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The file that a goal names cannot be read, or lies elsewhere.
    #[error("cannot read an image that the goal names")]
    NotBeneath {
        /// It names the path.
        source: OpenError,
    },
    /// It is no image, or none that models take.
    #[error("{path} cannot be sent as an image")]
    NoImage {
        /// As it was named.
        path: String,
        /// What is wrong with it.
        source: BadImage,
    },
    /// A model is known not to take it.
    #[error(
        "{why}: name a model that does, or set accepts.images in the configuration if it does take it"
    )]
    NotTaken {
        /// With the name of the model.
        why: String,
    },
    /// There are too many, or they are too large together.
    #[error("{why}")]
    TooMany {
        /// With the bound.
        why: String,
    },
}

/// An image that a flag names, wherever it lies.
pub fn read(path: &Path) -> Result<Image, ImageError> {
    let named = || path.display().to_string();
    let unread = |source| ImageError::Unread {
        path: named(),
        source,
    };
    let size = regular::open(path)
        .and_then(|file| file.metadata())
        .map_err(unread)?
        .len();
    if size > READ_BYTES_MAX {
        let source = BadImage::TooLarge { bytes: size };
        return Err(ImageError::NoImage {
            path: named(),
            source,
        });
    }
    let bytes = regular::read(path, READ_BYTES_MAX).map_err(unread)?;
    image(&named(), bytes)
}

/// The images that a goal names as `@shot.png`, or `@"my shot.png"`, beneath the working directory. Each once.
pub fn named_in(goal: &str, dir: &Path) -> Result<Vec<Image>, ImageError> {
    let names = names_in(goal);
    if names.is_empty() {
        return Ok(vec![]);
    }
    too_many(names.len())?;
    let not_beneath = |source| ImageError::NotBeneath { source };
    let root = Root::open(dir).map_err(not_beneath)?;
    let mut images = vec![];
    for name in names {
        let read = root.read(Path::new(&name), Links::Inside, READ_BYTES_MAX);
        images.push(image(&name, read.map_err(not_beneath)?)?);
    }
    Ok(images)
}

/// Whether a goal names any.
pub fn names_any(goal: &str) -> bool {
    !names_in(goal).is_empty()
}

/// Whether the models of a run can be shown the images of its goal, as far as that is known.
pub fn check(config: &RunConfig, images: &[Image]) -> Result<(), ImageError> {
    if let Some(why) = too_many_images(images) {
        return Err(ImageError::TooMany { why });
    }
    let mut refused = config
        .targets
        .iter()
        .flat_map(|target| images.iter().filter_map(|it| why_not_shown(target, it)));
    match refused.next() {
        Some(why) => Err(ImageError::NotTaken { why }),
        None => Ok(()),
    }
}

/// Before so many files are read.
fn too_many(count: usize) -> Result<(), ImageError> {
    if count <= IMAGES_MAX {
        return Ok(());
    }
    let why = format!("the goal names {count} images: {IMAGES_MAX} at most are taken");
    Err(ImageError::TooMany { why })
}

fn image(path: &str, bytes: Vec<u8>) -> Result<Image, ImageError> {
    let bytes: Arc<[u8]> = bytes.into();
    Image::read(bytes).map_err(|source| ImageError::NoImage {
        path: path.to_owned(),
        source,
    })
}

/// The paths in the order of the goal. A name stands at the beginning of a word; what is quoted may hold blanks.
fn names_in(goal: &str) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    let mut before = None;
    for (at, letter) in goal.char_indices() {
        let begins = before.is_none_or(|it: char| it.is_whitespace() || "([{<'\"".contains(it));
        if letter == '@' && begins {
            let name = name_at(&goal[at + 1..]);
            let name = name.filter(|name| !names.iter().any(|it| it == name));
            names.extend(name.map(str::to_owned));
        }
        before = Some(letter);
    }
    names
}

fn name_at(rest: &str) -> Option<&str> {
    let name = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest
            .split(char::is_whitespace)
            .next()?
            .trim_end_matches(BEHIND),
    };
    let lower = name.to_ascii_lowercase();
    let is_image = ENDINGS
        .iter()
        .any(|ending| lower.len() > ending.len() && lower.ends_with(*ending));
    is_image.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_found_where_a_word_begins() {
        let rows: [(&str, &[&str]); 12] = [
            ("what is in @shot.png?", &["shot.png"]),
            (
                "@a.PNG and (@b/c.jpeg), @d.webp.",
                &["a.PNG", "b/c.jpeg", "d.webp"],
            ),
            ("@\"my shot.png\" is it", &["my shot.png"]),
            ("twice @a.gif @a.gif", &["a.gif"]),
            ("'@a.gif'", &["a.gif"]),
            ("mail me@example.png", &[]),
            ("@.png", &[]),
            ("@logo.svg and @readme.md", &[]),
            ("@", &[]),
            ("@\"", &[]),
            ("ü@a.png @ü.png", &["ü.png"]),
            ("@a.png@b.png", &["a.png@b.png"]),
        ];
        for (goal, expected) in rows {
            assert_eq!(names_in(goal), expected, "{goal}");
        }
    }
}
