//! What can be wrong with an agent file, said to the person who wrote it.
//!
//! Each names the file and the line in which the mistake was written, which may be an included file and
//! not the one that was named.

use std::io;
use std::path::PathBuf;

use bonded_kernel::{Mistake, did_you_mean};

/// Why an agent file, or something that it includes, cannot be used as it is.
#[derive(Debug, thiserror::Error)]
pub enum AgentFileError {
    /// Nothing has this name.
    #[error("the agent file {} does not exist", file.display())]
    Missing { file: PathBuf },
    /// A directory, a pipe or a device.
    #[error("{} is not a regular file; name an agent file", file.display())]
    NotAFile { file: PathBuf },
    /// One file, or the text with all of its includes, is larger than a prompt can be.
    #[error("{} is larger than {bytes_max} bytes; move data out of the prompt", file.display())]
    TooLarge { file: PathBuf, bytes_max: u64 },
    /// `line` is the one with the first byte that is no UTF-8.
    #[error("{}, line {line}: this is not UTF-8; save the file as UTF-8", file.display())]
    NotUtf8 { file: PathBuf, line: usize },
    /// The system does not let it be read.
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// An include that leads out of the tree, holds secrets, or cannot be read.
    #[error("{}, line {line}: cannot include {path:?}: {why}", file.display())]
    IncludeRefused {
        file: PathBuf,
        line: usize,
        path: String,
        why: String,
    },
    /// Includes in includes, more than `depth_max` of them; `chain` names the files on the way.
    #[error("includes are nested deeper than {depth_max}: {chain}")]
    IncludeTooDeep { depth_max: usize, chain: String },
    /// An include leads back to a file that is being read; `chain` names the files on the way.
    #[error("a file includes itself: {chain}")]
    IncludeCycle { chain: String },
    /// Everything below would be taken for settings, and the prompt would be empty.
    #[error("{}, line {line}: the front matter begins here and has no closing --- line", file.display())]
    FrontMatterOpen { file: PathBuf, line: usize },
    /// The text between the fences cannot be parsed.
    #[error("{}, line {line}: the front matter is not YAML: {why}", file.display())]
    BadYaml {
        file: PathBuf,
        line: usize,
        why: String,
    },
    /// The text between the fences is YAML, but a list or a single value.
    #[error("{}, line {line}: the front matter must be a list of KEY: VALUE lines", file.display())]
    NotAMapping { file: PathBuf, line: usize },
    /// A key that nobody reads; it is refused, because a slip would otherwise go unnoticed.
    #[error("{}, line {line}: unknown key {key}{}", file.display(), did_you_mean(nearest.as_deref()))]
    UnknownKey {
        file: PathBuf,
        line: usize,
        key: String,
        nearest: Option<String>,
    },
    /// A key that belongs elsewhere; `hint` says where.
    #[error("{}, line {line}: {key} cannot be set in an agent file: {hint}", file.display())]
    RuntimeKey {
        file: PathBuf,
        line: usize,
        key: String,
        hint: String,
    },
    /// The value of a key is of another type, or not one of the words that it may be.
    #[error("{}, line {line}: {key} {mistake}", file.display())]
    WrongValue {
        file: PathBuf,
        line: usize,
        key: String,
        mistake: Box<Mistake>,
    },
    /// A schema that is no JSON Schema, or whose file cannot be read.
    #[error("{}, line {line}: {key} is not a JSON Schema: {why}", file.display())]
    BadSchema {
        file: PathBuf,
        line: usize,
        key: String,
        why: String,
    },
}
