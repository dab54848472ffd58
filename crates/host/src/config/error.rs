//! What can be wrong with the configuration: in which file, at which key, and what would be right.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;

use bonded_kernel::did_you_mean;

use super::KeyPath;
use crate::trust::Untrusted;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration file {} does not exist", file.display())]
    Missing { file: PathBuf },
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{} is larger than {bytes_max} bytes; this is no configuration", file.display())]
    TooLarge { file: PathBuf, bytes_max: u64 },
    #[error("{}, line {line}, column {column}: this is not JSON: {why}", file.display())]
    BadJson {
        file: PathBuf,
        line: usize,
        column: usize,
        why: String,
    },
    #[error("{}, line {line}: this is not KEY=VALUE", file.display())]
    BadEnvFile { file: PathBuf, line: usize },
    #[error("{}: {key_path} must be {expected}, not {found}", file.display())]
    WrongValue {
        file: PathBuf,
        key_path: KeyPath,
        expected: String,
        found: String,
    },
    #[error(
        "{}: {key_path} needs the variable {variable}, \
         which is neither in the env file beside it nor in the environment",
        file.display()
    )]
    MissingVariable {
        file: PathBuf,
        key_path: KeyPath,
        variable: String,
    },
    #[error("{}: {key_path}: {message}", file.display())]
    Unusable {
        file: PathBuf,
        key_path: KeyPath,
        message: String,
    },
    #[error(
        "{}: {key_path} would send {secret} of {} to an address that is not written there; write both in one file",
        file.display(), held_in.display()
    )]
    Misdirected {
        file: PathBuf,
        key_path: KeyPath,
        secret: KeyPath,
        held_in: PathBuf,
    },
    #[error(transparent)]
    Untrusted(Box<Untrusted>),
    #[error(
        "{}: {key_path} names the queue {queue:?}, which is not configured; known are {known}",
        file.display()
    )]
    UnknownQueue {
        file: PathBuf,
        key_path: KeyPath,
        queue: String,
        known: String,
    },
}

/// Everything that is wrong, never nothing.
#[derive(Debug)]
pub struct Problems(Vec<ConfigError>);

impl Problems {
    /// Passes if there are no problems.
    pub(crate) fn none_of(problems: Vec<ConfigError>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self(problems))
        }
    }

    pub(crate) fn of(problem: ConfigError) -> Self {
        Self(vec![problem])
    }

    /// Whether one of them is that nobody trusts a file.
    pub(crate) fn are_untrusted(&self) -> bool {
        let mut all = self.0.iter();
        all.any(|problem| matches!(problem, ConfigError::Untrusted(_)))
    }

    pub fn all(&self) -> &[ConfigError] {
        &self.0
    }

    pub(crate) fn into_all(self) -> Vec<ConfigError> {
        self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Something odd that does no harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub file: PathBuf,
    pub key_path: KeyPath,
    pub message: String,
    /// The known key that was probably meant.
    pub nearest: Option<String>,
    /// Whether it says only that something has no effect, or was guessed: many of these are told of in one line.
    pub is_minor: bool,
}

impl Warning {
    /// The lines for a person who wants to run something: each that matters, and one for all others together.
    pub fn in_short(warnings: &[Self]) -> Vec<String> {
        let (minor, own): (Vec<&Self>, Vec<&Self>) = warnings.iter().partition(|it| it.is_minor);
        let mut lines: Vec<String> = own.iter().map(ToString::to_string).collect();
        match minor.as_slice() {
            [] => {}
            [one] => lines.push(one.to_string()),
            many => {
                let files: BTreeSet<String> = many
                    .iter()
                    .map(|it| it.file.display().to_string())
                    .collect();
                let files: Vec<String> = files.into_iter().collect();
                lines.push(format!(
                    "{} things in {} have no effect here or are guessed; `bonded config check` and --verbose name them",
                    many.len(),
                    files.join(", ")
                ));
            }
        }
        lines
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let hint = did_you_mean(self.nearest.as_deref());
        write!(f, "{file}: {}: {}{hint}", self.key_path, self.message)
    }
}
