//! Reading a text file that somebody named: bounded, regular, UTF-8.
//!
//! A mark of the byte order is taken off. A pipe makes nobody wait, and of a file that grows no more is
//! read than may be.

use std::io;
use std::path::Path;

use super::AgentFileError;
use crate::beneath;

/// More than a prompt, less than a mistake.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The kind is asked a second time once the file is open; the first look is only for the message.
pub(crate) fn read_text(file: &Path) -> Result<String, AgentFileError> {
    // Asked before it is opened, for a word of its own.
    if std::fs::metadata(file).is_ok_and(|kind| !kind.is_file()) {
        return Err(AgentFileError::NotAFile { file: file.into() });
    }
    let read = beneath::open_anywhere(file).and_then(|opened| opened.read(FILE_BYTES_MAX));
    text_of(read, file)
}

/// The text of what was read; `None` is more than may be.
pub(crate) fn text_of(
    read: io::Result<Option<Vec<u8>>>,
    file: &Path,
) -> Result<String, AgentFileError> {
    let bytes = read.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            AgentFileError::Missing { file: file.into() }
        }
        _ => AgentFileError::Unreadable {
            file: file.into(),
            source,
        },
    })?;
    let bytes = bytes.ok_or_else(|| AgentFileError::TooLarge {
        file: file.into(),
        bytes_max: FILE_BYTES_MAX,
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        AgentFileError::NotUtf8 {
            file: file.into(),
            line: 1 + good.iter().filter(|byte| **byte == b'\n').count(),
        }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(without_mark) => without_mark.to_owned(),
        None => text,
    })
}
