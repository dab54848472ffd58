//! Scripts: replies and failures written down in a file and played in order.
//!
//! A script is JSON Lines; blank lines and lines that begin with `#` are left out. Each line answers one
//! request, the first line the first request, unless it says `"repeat"`. A line is a reply:
//!
//! ```json
//! {"text": "I look at the file.", "calls": [{"tool": "read", "arguments": {"path": "a.txt"}}]}
//! ```
//!
//! with any of `text`, `reasoning`, `calls` (each `tool`, `arguments` as an object or as raw text, and
//! optionally `id`), `usage` (`input`, `output`, `cached`, `written`), `finish`, `stop_reason`, `signed` (an
//! object, or raw text), `cost` in dollars, `provider`, `delay_ms`, `expect` (texts that the end of the
//! conversation must contain) and `repeat`; or it is a failure:
//!
//! ```json
//! {"fail": "rate_limit", "status": 429, "retry_after_ms": 10}
//! ```
//!
//! with `message`, `status`, `retry_after_ms`, `delay_ms` and `repeat`.

mod line;

use std::path::{Path, PathBuf};

use bonded_kernel::{Failure, FailureClass, Reply};

use line::{ScriptLine, parse_line};

/// A script, read and checked whole.
#[derive(Clone, Debug)]
pub struct Script {
    path: PathBuf,
    lines: Vec<ScriptLine>,
}

/// Why a file is not a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not there, is a directory, or is no text.
    #[error("script {} cannot be read; check the path", path.display())]
    Unreadable {
        /// As it was given.
        path: PathBuf,

        /// The answer of the system.
        source: std::io::Error,
    },
    /// No part of the script is played.
    #[error("script {}, line {line}: {why}", path.display())]
    BadLine {
        /// As it was given.
        path: PathBuf,

        /// From 1.
        line: usize,

        /// What is wrong with it.
        why: String,
    },
    /// A run would fail at its first request.
    #[error("script {} has no lines to play", path.display())]
    Empty {
        /// As it was given.
        path: PathBuf,
    },
}

/// What a script answers to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedAnswer {
    /// How long the answer is to be held back.
    pub delay_ms: u64,
    /// A reply without usage is one whose line does not state it.
    pub outcome: Result<Reply, Failure>,
}

impl Script {
    /// Reads a script from its file, whole: what becomes of the file later means nothing to it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Unreadable {
            path: path.into(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads a script from its text; `path` names it in errors.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let mut lines: Vec<ScriptLine> = Vec::new();
        for (nth, text) in text.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let end = lines.last().map_or(0, |line| line.end);
            let line = parse_line(text, end).map_err(|why| ScriptError::BadLine {
                path: path.into(),
                line: nth + 1,
                why,
            })?;
            lines.push(line);
        }
        let path = path.to_owned();
        if lines.is_empty() {
            return Err(ScriptError::Empty { path });
        }
        Ok(Self { path, lines })
    }

    /// How many requests the script answers.
    pub fn replies(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.end)
    }

    /// Whether the answer to this request depends on the end of the conversation.
    pub fn expects(&self, ordinal: u32) -> bool {
        self.line(ordinal)
            .is_some_and(|line| !line.expect.is_empty())
    }

    /// The answer to the request with this ordinal, which counts from 0. `last_text` is the end of the
    /// conversation: everything after the last message of the assistant.
    pub fn play(&self, ordinal: u32, last_text: &str) -> ScriptedAnswer {
        let Some(line) = self.line(ordinal) else {
            let replies = self.replies();
            let request = u64::from(ordinal) + 1;
            return self.broken(&format!(
                "has {replies} replies; request {request} has none"
            ));
        };
        let missing = line.expect.iter().find(|part| !last_text.contains(*part));
        if let Some(part) = missing {
            let request = u64::from(ordinal) + 1;
            return self.broken(&format!(
                "expected request {request} to end with a text that contains {part:?}, and it does not"
            ));
        }
        ScriptedAnswer {
            delay_ms: line.delay_ms,
            outcome: line
                .answer
                .clone()
                .map(|reply| with_call_ids(reply, ordinal)),
        }
    }

    /// Lines are in the order of their ends, so that the one for a request is found by halving, however often a
    /// line repeats.
    fn line(&self, ordinal: u32) -> Option<&ScriptLine> {
        let at = self
            .lines
            .partition_point(|line| line.end <= u64::from(ordinal));
        self.lines.get(at)
    }

    /// A run cannot go on from a script that does not fit it, and quota failures end a run at once.
    fn broken(&self, what: &str) -> ScriptedAnswer {
        let message = format!("script {} {what}", self.path.display());
        ScriptedAnswer {
            delay_ms: 0,
            outcome: Err(Failure::new(FailureClass::Quota, message)),
        }
    }
}

/// The ids are made of the ordinal and the place, so that a script that is played again gives the same log.
fn with_call_ids(mut reply: Reply, ordinal: u32) -> Reply {
    for (nth, call) in reply.calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{ordinal}_{nth}");
        }
    }
    reply
}
