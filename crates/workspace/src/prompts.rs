//! The prompt files that rules name: read when a rule is saved, when it is launched, and when its run begins.
//!
//! A prompt of the configuration may lie anywhere, because whoever runs the server chose it. One that a rule names lies
//! in one directory and is no link. Messages never say where on the disk it was looked for.

use std::path::{Path, PathBuf};

use bonded_tools::beneath::{Links, OpenError, Root};
use bonded_workspace_rules::{AgentPrompt, Code, PromptFault, RuleDraft};

use super::config::{HostSurroundings, PromptFile};

/// A longer file is no prompt.
const PROMPT_BYTES_MAX: u64 = 4 << 20;

/// Why a prompt cannot be used. It is named as the rule names it: where the data directory lies is not for who writes
/// rules.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// It is not there, is a link or no regular file, or is too long.
    #[error(
        "the prompt file {path:?} cannot be read: {why}; write one, or name another as prompt_path"
    )]
    Unreadable { path: String, why: String },
    /// It was read and is no prompt.
    #[error("the prompt file {path:?}: {source}")]
    Invalid { path: String, source: PromptFault },
}

impl PromptError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => Code::PromptJsonInvalid,
            Self::Invalid { source, .. } => source.code(),
        }
    }
}

/// A prompt that was read.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) prompt: AgentPrompt,
    /// SHA-256 of its file, in hexadecimal digits.
    pub(super) hash: String,
}

impl HostSurroundings {
    /// Whether the prompt that a rule names is one. Rules without a prompt, and those whose action is wrong in other
    /// ways, have nothing to be looked at here.
    pub fn check_prompt_of(&self, draft: &RuleDraft) -> Result<(), PromptError> {
        let Ok(action) = draft.action(self) else {
            return Ok(());
        };
        match action.prompt_path() {
            Some(path) => self.read_prompt(path).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The hash is of the bytes as they lie there, and goes into the log of the run.
    pub(super) fn read_prompt(&self, written: &str) -> Result<Prompt, PromptError> {
        let bytes = read(self.prompt_file(written)).map_err(|error| PromptError::Unreadable {
            path: written.to_owned(),
            why: why(&error),
        })?;
        let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
        let hash: String = digest.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        match AgentPrompt::read(&bytes) {
            Ok(read) => Ok(Prompt {
                prompt: read.prompt,
                hash,
            }),
            Err(source) => Err(PromptError::Invalid {
                path: written.to_owned(),
                source,
            }),
        }
    }
}

/// A link is followed for the default one only.
fn read(file: Option<PromptFile>) -> Result<Vec<u8>, OpenError> {
    let missing = |path: &Path| OpenError::Missing { path: path.into() };
    let (file, links): (PathBuf, _) = match file {
        // Whoever runs the server chose it, and may have it lie elsewhere.
        Some(PromptFile::Default(file)) => {
            let found = file.canonicalize().map_err(|_| missing(&file))?;
            (found, Links::Inside)
        }
        Some(PromptFile::Named(file)) => (file, Links::Refused),
        None => return Err(missing(Path::new(""))),
    };
    let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(missing(&file));
    };
    Root::open(dir)?.read(Path::new(name), links, PROMPT_BYTES_MAX)
}

/// What is wrong, without the path.
fn why(error: &OpenError) -> String {
    match error {
        OpenError::Missing { .. } => "there is no such file".into(),
        OpenError::Link { .. } | OpenError::Dangling { .. } | OpenError::Outside { .. } => {
            "it is a link, and links are not followed here".into()
        }
        OpenError::TooLarge { bytes_max, .. } => format!("it has more than {bytes_max} bytes"),
        OpenError::Io { source, .. } => source.to_string(),
        OpenError::Directory { .. }
        | OpenError::NotADirectory { .. }
        | OpenError::Special { .. }
        | OpenError::TooManyEntries { .. } => "it is not a regular file".into(),
    }
}
