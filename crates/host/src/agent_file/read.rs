//! Reading a text file that somebody named: bounded, regular, UTF-8.

use std::io;
use std::path::Path;

use super::AgentFileError;
use crate::beneath;

/// More than a prompt, less than a mistake.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

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
