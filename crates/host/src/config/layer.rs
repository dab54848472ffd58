//! One layer: a JSON file, the variables that are its own, and what it pulls in.
//!
//! What is read is kept, together with a hash of it: what was shown to a person is what counts, however
//! the file changes meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::env_file;
use super::{ConfigError, Environment, KeyPath, LayerFiles, Origin, Warning};
use crate::beneath;
use crate::trust::{Contents, TrustExtent};

/// More than any configuration has.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// One file of the configuration, and who answers for it.
pub(super) struct Layer {
    pub(super) file: PathBuf,
    pub(super) origin: Origin,
    /// How much of it counts.
    pub(super) held: TrustExtent,
    pub(super) value: Value,
    pub(super) variables: Environment,
    pub(super) contents: Contents,
    /// The bytes of files that it pulls in, where they are held against what was trusted.
    pub(super) pulled: BTreeMap<PathBuf, Vec<u8>>,
}

impl Layer {
    /// Reads a layer; `None` if its file is not there and need not be, or cannot be read. What is wrong with the
    /// variables beside it does not hide what is wrong with the file.
    ///
    /// An env file that is a link in a found place is an error; one that cannot be read for other
    /// reasons is passed over with a warning.
    pub(super) fn load(
        files: &LayerFiles,
        problems: &mut Vec<ConfigError>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let (bytes, value) = match Self::value(files) {
            Ok(read) => read?,
            Err(problem) => {
                problems.push(problem);
                return None;
            }
        };
        let file = &files.file;
        let beside = read(&files.env_file, files.origin).unwrap_or_else(|problem| {
            match is_link(&problem) {
                true => problems.push(problem),
                false => warnings.push(passed_over(&files.env_file, &problem)),
            }
            None
        });
        let mut contents = Contents::new(&real(file), &bytes);
        contents.add(&real(&files.env_file), beside.as_deref());
        let variables = beside.map(|bytes| variables(&files.env_file, bytes));
        let variables = variables.transpose().unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        Some(Self {
            file: file.clone(),
            origin: files.origin,
            held: TrustExtent::Whole,
            value,
            variables: variables.unwrap_or_default(),
            contents,
            pulled: BTreeMap::new(),
        })
    }

    /// The bytes of a layer's file and what they say.
    fn value(files: &LayerFiles) -> Result<Option<(Vec<u8>, Value)>, ConfigError> {
        let file = &files.file;
        let Some(bytes) = read(file, files.origin)? else {
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
        Ok(Some((bytes, value)))
    }

    /// The directory of its file, without links.
    pub(super) fn dir(&self) -> PathBuf {
        let dir = self.contents.main().parent();
        dir.map(Path::to_owned).unwrap_or_default()
    }
}

/// A link is somebody's attempt to have another file read.
fn is_link(problem: &ConfigError) -> bool {
    matches!(problem, ConfigError::Unreadable { source, .. } if beneath::is_link(source))
}

/// An env file that cannot be read is as good as none: its variables are looked for in the environment.
fn passed_over(file: &Path, problem: &ConfigError) -> Warning {
    let why = if let ConfigError::Unreadable { source, .. } = problem {
        format!("it cannot be read ({source})")
    } else {
        problem.to_string()
    };
    Warning {
        file: file.into(),
        key_path: KeyPath::root(),
        message: format!("{why}, so its variables are taken from the environment"),
        nearest: None,
        is_minor: false,
    }
}

/// Where a file lies; the file itself may be a link, or not be there.
pub(crate) fn real(file: &Path) -> PathBuf {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match (absolute.parent(), absolute.file_name()) {
        (Some(dir), Some(name)) => {
            let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
            dir.join(name)
        }
        _ => absolute,
    }
}

/// The reason without the position, which stands before it already.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The line of the first byte that is no UTF-8 is told, as that of a line that is no variable.
fn variables(file: &Path, bytes: Vec<u8>) -> Result<Environment, ConfigError> {
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

/// A person may link his own files; what is found is a file itself, so that it cannot be somebody else's.
fn read(file: &Path, origin: Origin) -> Result<Option<Vec<u8>>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        file: file.into(),
        source,
    };
    let opened = match origin.is_persons() {
        true => beneath::open_anywhere(file),
        false => beneath::open_no_link(file),
    };
    let opened = match opened {
        Err(error) if is_absent(&error) => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let bytes = opened.read(FILE_BYTES_MAX).map_err(unreadable)?;
    bytes.map(Some).ok_or_else(|| ConfigError::TooLarge {
        file: file.into(),
        bytes_max: FILE_BYTES_MAX,
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
