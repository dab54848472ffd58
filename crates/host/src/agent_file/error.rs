//! What can be wrong with an agent file, said to the person who wrote it.

use std::io;
use std::path::PathBuf;

use bonded_kernel::did_you_mean;

#[derive(Debug, thiserror::Error)]
pub enum AgentFileError {
    #[error("the agent file {} does not exist", file.display())]
    Missing { file: PathBuf },
    #[error("{} is no regular file; name an agent file", file.display())]
    NotAFile { file: PathBuf },
    #[error("{} is larger than {bytes_max} bytes; move data out of the prompt", file.display())]
    TooLarge { file: PathBuf, bytes_max: u64 },
    #[error("{}, line {line}: this is not UTF-8; save the file as UTF-8", file.display())]
    NotUtf8 { file: PathBuf, line: usize },
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{}, line {line}: cannot include {path:?}: {why}", file.display())]
    IncludeRefused {
        file: PathBuf,
        line: usize,
        path: String,
        why: String,
    },
    #[error("includes are nested deeper than {depth_max}: {chain}")]
    IncludeTooDeep { depth_max: usize, chain: String },
    #[error("a file includes itself: {chain}")]
    IncludeCycle { chain: String },
    #[error("{}, line {line}: the front matter begins here and has no closing --- line", file.display())]
    FrontMatterOpen { file: PathBuf, line: usize },
    #[error("{}, line {line}: the front matter is not YAML: {why}", file.display())]
    BadYaml {
        file: PathBuf,
        line: usize,
        why: String,
    },
    #[error("{}, line {line}: the front matter must be a list of KEY: VALUE lines", file.display())]
    NotAMapping { file: PathBuf, line: usize },
    #[error("{}, line {line}: unknown key {key}{}", file.display(), did_you_mean(nearest.as_deref()))]
    UnknownKey {
        file: PathBuf,
        line: usize,
        key: String,
        nearest: Option<String>,
    },
    #[error("{}, line {line}: {key} is not set in an agent file: {hint}", file.display())]
    RuntimeKey {
        file: PathBuf,
        line: usize,
        key: String,
        hint: String,
    },
    #[error("{}, line {line}: {key} must be {expected}, not {found}", file.display())]
    WrongType {
        file: PathBuf,
        line: usize,
        key: String,
        expected: String,
        found: String,
    },
    #[error("{}, line {line}: {key} is no JSON Schema: {why}", file.display())]
    BadSchema {
        file: PathBuf,
        line: usize,
        key: String,
        why: String,
    },
}
