//! Faults: what went wrong in a call, in words that the model can act upon.

use std::fmt;
use std::io;

use crate::beneath::OpenError;

/// A failed call. The model is shown `(tool failed: CODE: message)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFault {
    /// Stable: programs and prompts may rely on it.
    pub code: &'static str,
    /// What happened, and what the model can do about it.
    pub message: String,
}

pub(crate) const ALREADY_EXISTS: &str = "already_exists";
pub(crate) const BAD_ARGUMENTS: &str = "bad_arguments";
pub(crate) const BAD_PATH: &str = "bad_path";
pub(crate) const CANCELLED: &str = "cancelled";
/// A file has names that are not seen, and would change under all of them.
pub(crate) const HARD_LINKED: &str = "hard_linked";
pub(crate) const IO: &str = "io";
pub(crate) const IS_DIRECTORY: &str = "is_directory";
pub(crate) const NOT_A_DIRECTORY: &str = "not_a_directory";
pub(crate) const NOT_A_FILE: &str = "not_a_file";
pub(crate) const NOT_FOUND: &str = "not_found";
pub(crate) const NOT_UTF8: &str = "not_utf8";
pub(crate) const OUTSIDE_DIRECTORY: &str = "outside_directory";
/// A part of a file that was asked for lies behind its end.
pub(crate) const PAST_END: &str = "past_end";
pub(crate) const PERMISSION_DENIED: &str = "permission_denied";
pub(crate) const PRECONDITION_FAILED: &str = "precondition_failed";
pub(crate) const PROTECTED: &str = "protected";
/// Nothing may be written in this run.
pub(crate) const READ_ONLY: &str = "read_only";
pub(crate) const SPAWN_FAILED: &str = "spawn_failed";
pub(crate) const TIMEOUT: &str = "timeout";
/// A tool is not what it was when the run began.
pub(crate) const TOOL_CHANGED: &str = "tool_changed";
pub(crate) const TOO_LARGE: &str = "too_large";
pub(crate) const UNEXPECTED_MATCH_COUNT: &str = "unexpected_match_count";
pub(crate) const UNKNOWN_TOOL: &str = "unknown_tool";

impl ToolFault {
    /// A code of a tool outside of this crate should be none of those that tools here have: prompts tell them apart by it.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A call that ran longer than it may. The registry reports it as timed out, not as failed.
    pub fn timeout() -> Self {
        Self::new(TIMEOUT, "the call ran longer than it may")
    }

    /// What an operating-system error on `path` means to the model.
    pub(crate) fn from_io(error: &io::Error, path: &str) -> Self {
        let (code, why) = match error.kind() {
            // The capability layer reports an escape without an error number; the system has one.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                return Self::outside(path);
            }
            io::ErrorKind::PermissionDenied => (PERMISSION_DENIED, "access was denied"),
            io::ErrorKind::NotFound => (NOT_FOUND, "there is no such file or directory"),
            io::ErrorKind::IsADirectory => (IS_DIRECTORY, "it is a directory"),
            io::ErrorKind::NotADirectory => {
                (NOT_A_DIRECTORY, "a part of the path is not a directory")
            }
            io::ErrorKind::InvalidFilename => (BAD_PATH, "a name in the path is too long"),
            io::ErrorKind::InvalidInput => (BAD_PATH, "the path is not usable"),
            _ => return Self::new(IO, format!("{path:?}: {error}")),
        };
        Self::new(code, format!("{path:?}: {why}"))
    }

    /// What it means to the model that a path was not opened.
    pub(crate) fn from_open(error: OpenError, path: &str) -> Self {
        let dangling = format!("{path:?} is a link to a file that does not exist");
        match error {
            OpenError::Missing { .. } => {
                Self::from_io(&io::Error::from(io::ErrorKind::NotFound), path)
            }
            OpenError::Dangling { .. } => Self::new(NOT_FOUND, dangling),
            OpenError::Outside { .. } => Self::outside(path),
            OpenError::Directory { .. } => Self::is_directory(path),
            OpenError::NotADirectory { .. } => {
                Self::from_io(&io::Error::from(io::ErrorKind::NotADirectory), path)
            }
            OpenError::Special { .. } => Self::not_a_file(path),
            OpenError::Io { source, .. } => Self::from_io(&source, path),
            error => Self::new(IO, error.to_string()),
        }
    }

    /// What is refused unless a person approves the call.
    pub(crate) fn protected(path: &str, why: impl fmt::Display, tool: &str) -> Self {
        let message = format!("{path:?} {why}; a person must approve this call (--ask {tool})");
        Self::new(PROTECTED, message)
    }

    pub(crate) fn outside(path: &str) -> Self {
        let message = format!("{path:?} leads outside the working directory; use a path inside it");
        Self::new(OUTSIDE_DIRECTORY, message)
    }

    pub(crate) fn is_directory(path: &str) -> Self {
        Self::new(IS_DIRECTORY, format!("{path:?} is a directory, not a file"))
    }

    pub(crate) fn not_a_file(path: &str) -> Self {
        let message = format!("{path:?} is a pipe, a socket or a device, not a regular file");
        Self::new(NOT_A_FILE, message)
    }

    pub(crate) fn too_large(path: &str, size_bytes: u64, bytes_max: u64) -> Self {
        let message = format!(
            "{path:?} has {size_bytes} bytes, more than the {bytes_max} that this tool handles"
        );
        Self::new(TOO_LARGE, message)
    }

    pub(crate) fn not_utf8(path: &str, size_bytes: u64) -> Self {
        Self::new(
            NOT_UTF8,
            format!("{path:?} is binary or not UTF-8 ({size_bytes} bytes)"),
        )
    }
}

impl fmt::Display for ToolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ToolFault {}
