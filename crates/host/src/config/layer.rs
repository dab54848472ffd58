//! One layer: a JSON file, and the variables that are its own.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::env_file;
use super::{ConfigError, Environment, LayerFiles};

const FILE_BYTES_MAX: u64 = 1024 * 1024;

pub(super) struct Layer {
    pub(super) file: PathBuf,
    pub(super) value: Value,
    pub(super) variables: Environment,
}

impl Layer {
    /// Reads a layer; `None` if its file is not there and need not be.
    pub(super) fn load(files: &LayerFiles) -> Result<Option<Self>, ConfigError> {
        let file = &files.file;
        let Some(bytes) = read(file)? else {
            return match files.required {
                true => Err(ConfigError::Missing { file: file.clone() }),
                false => Ok(None),
            };
        };
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let value = serde_json::from_slice(text).map_err(|error| ConfigError::BadJson {
            file: file.clone(),
            line: error.line(),
            column: error.column(),
            why: reason(&error),
        })?;
        Ok(Some(Self {
            file: file.clone(),
            value,
            variables: variables(&files.env_file)?,
        }))
    }
}

/// The reason without the position, which stands before it already.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

fn variables(file: &Path) -> Result<Environment, ConfigError> {
    let Some(bytes) = read(file)? else {
        return Ok(Environment::default());
    };
    let bad_line = |line| ConfigError::BadEnvFile {
        file: file.into(),
        line,
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        bad_line(1 + good.iter().filter(|byte| **byte == b'\n').count())
    })?;
    let variables = env_file::parse(&text).map_err(bad_line)?;
    Ok(variables.into_iter().collect())
}

fn read(file: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        file: file.into(),
        source,
    };
    // Asked before it is opened: to open a pipe would wait for its other end.
    match std::fs::metadata(file) {
        Ok(kind) if kind.is_file() => {}
        Ok(_) => return Err(unreadable(io::Error::other("it is no regular file"))),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge {
            file: file.into(),
            bytes_max: FILE_BYTES_MAX,
        });
    }
    Ok(Some(bytes))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
