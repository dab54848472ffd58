//! Reading a text file that somebody named: bounded, regular, UTF-8.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::AgentFileError;

/// More than a prompt, less than a mistake.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

pub(crate) fn read_text(file: &Path) -> Result<String, AgentFileError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            AgentFileError::Missing { file: file.into() }
        }
        _ => AgentFileError::Unreadable {
            file: file.into(),
            source,
        },
    };
    // Asked before it is opened: to open a pipe would wait for its other end.
    let kind = std::fs::metadata(file).map_err(unreadable)?;
    if !kind.is_file() {
        return Err(AgentFileError::NotAFile { file: file.into() });
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(AgentFileError::TooLarge {
            file: file.into(),
            bytes_max: FILE_BYTES_MAX,
        });
    }
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
