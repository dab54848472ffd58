//! What can be wrong with the configuration: in which file, at which key, and what would be right.
//!
//! A message never shows a value that may be a secret; a file, a key and what is expected are enough to
//! mend it.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;

use bonded_kernel::{Mistake, did_you_mean};

use super::KeyPath;
use crate::trust::Untrusted;

/// One mistake in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that must be there: a person named it, or a run was begun with it.
    #[error("the configuration file {} does not exist", file.display())]
    Missing { file: PathBuf },
    /// The system does not let it be read, or it is a link where none may be.
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// More than `bytes_max`, and not read.
    #[error("{} is larger than {bytes_max} bytes, too large for a configuration", file.display())]
    TooLarge { file: PathBuf, bytes_max: u64 },
    /// Line and column are counted from 1.
    #[error("{}, line {line}, column {column}: this is not JSON: {why}", file.display())]
    BadJson {
        file: PathBuf,
        line: usize,
        column: usize,
        why: String,
    },
    /// A line of the env file beside a layer; the line is not shown, because it may hold a secret.
    #[error("{}, line {line}: this is not KEY=VALUE", file.display())]
    BadEnvFile { file: PathBuf, line: usize },
    /// A value of another type, or not one of the words that it may be.
    #[error("{}: {key_path} {mistake}", file.display())]
    WrongValue {
        file: PathBuf,
        key_path: KeyPath,
        mistake: Box<Mistake>,
    },
    /// Found only when the entry is used: others may name keys that are not set here.
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
    /// The values fit by themselves and make no sense together.
    #[error("{}: {key_path}: {message}", file.display())]
    Unusable {
        file: PathBuf,
        key_path: KeyPath,
        message: String,
    },
    /// A secret of one author would go to an address of another. See `keeper`.
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
    /// A file that was found wants more than to tighten, and nobody trusts it.
    #[error(transparent)]
    Untrusted(Box<Untrusted>),
    /// A tool is bound to a queue that does not exist; `known` names those that do.
    #[error(
        "{}: {key_path} names the queue {queue:?}, which is not configured; the queues are {known}",
        file.display()
    )]
    UnknownQueue {
        file: PathBuf,
        key_path: KeyPath,
        queue: String,
        known: String,
    },
}

impl ConfigError {
    /// The file that nobody trusts, where that is the problem.
    pub fn untrusted(&self) -> Option<&Untrusted> {
        if let Self::Untrusted(untrusted) = self {
            Some(untrusted)
        } else {
            None
        }
    }

    /// The place of a value that is not what it must be.
    pub(super) fn misshapen(&self) -> Option<&KeyPath> {
        if let Self::WrongValue { key_path, .. } = self {
            Some(key_path)
        } else {
            None
        }
    }
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
        all.any(|problem| problem.untrusted().is_some())
    }

    /// In the order in which they were found.
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
    /// The file that it is about.
    pub file: PathBuf,
    /// Where in the file; the root where it is about all of it.
    pub key_path: KeyPath,
    /// What is odd about it, without a secret.
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
                    "{} settings in {} have no effect or were guessed; list them with `bonded config check` or --verbose",
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
