//! The file in which a person sees, and may change, the memory of an agent. The log is the truth: the file is
//! written from it, whole or not at all, and what a person changed in it goes into the log first.
//!
//! Beside the file lies a note of what was written last and of what was about to be written, so that neither a crash
//! nor a late look takes our own writing for a person's.
//!
//! The order of writing is: the note that says what will be written, the file, the note that says that
//! it was. A crash between any two of them leaves a file that is one of the two known contents.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, Memory, MemoryEdit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A larger file is no memory of an agent.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Files that could not be read are kept up to here; then the last one is replaced.
const BROKEN_MAX: u32 = 100;

/// The file of a memory.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    path: PathBuf,
}

/// What stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryFileState {
    /// There is none, and none was written.
    Missing,
    /// What was written, or nothing any more.
    Unchanged,
    /// What a person made of it. `seen` names the content.
    Edited { edit: MemoryEdit, seen: Hash },
    /// A person left something that is no JSON object.
    Broken { why: String },
}

/// Why the file cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("the memory file {path:?} cannot be {doing}: {source}")]
pub struct MemoryFileError {
    path: PathBuf,
    doing: &'static str,
    source: std::io::Error,
}

impl MemoryFileError {
    /// The stable code.
    pub const CODE: &'static str = "AGENT_MEMORY_STORE_ERROR";
}

/// What is noted beside the file.
///
/// Both contents, so that either of them is known as our own.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// The run whose memory it is.
    run: String,
    written: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writing: Option<Value>,
}

impl MemoryFile {
    /// Nothing is read or made yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The run whose memory was written last.
    pub fn run(&self) -> Result<Option<String>, MemoryFileError> {
        Ok(self.noted()?.map(|noted| noted.run))
    }

    /// The memory that the file holds; `None` where there is none, or where it cannot be read.
    pub fn read(&self) -> Result<Option<Memory>, MemoryFileError> {
        let content = self.content()?;
        Ok(content.and_then(|content| parse(&content).ok()))
    }

    /// Looks whether a person changed the file since it was written.
    pub fn look(&self) -> Result<MemoryFileState, MemoryFileError> {
        let noted = self.noted()?;
        let Some(content) = self.content()? else {
            let was_there = noted.is_some();
            return Ok(if was_there {
                MemoryFileState::Unchanged
            } else {
                MemoryFileState::Missing
            });
        };
        let noted = noted.unwrap_or_default();
        let bases: Vec<Memory> = [Some(&noted.written), noted.writing.as_ref()]
            .into_iter()
            .flatten()
            .map(|value| Memory::read(&value.to_string()).unwrap_or_default())
            .collect();
        if bases.iter().any(|base| rendered(base) == content) {
            return Ok(MemoryFileState::Unchanged);
        }
        let found = match parse(&content) {
            Ok(found) => found,
            Err(why) => return Ok(MemoryFileState::Broken { why }),
        };
        let edits = bases.iter().map(|base| base.edit_to(&found));
        // After a crash either may have been what the person saw; it is the one that was changed less.
        let edit = edits.min_by_key(|edit| edit.set.len() + edit.removed.len());
        let edit = edit.unwrap_or_default();
        match edit.is_empty() {
            true => Ok(MemoryFileState::Unchanged),
            false => Ok(MemoryFileState::Edited {
                edit,
                seen: Hash::of(&content),
            }),
        }
    }

    /// Puts a file that cannot be read aside, with a word about it. Says where it is now.
    pub fn put_aside(&self, why: &str) -> Result<PathBuf, MemoryFileError> {
        let name = |number| self.beside(&format!("broken-{number}"));
        let free = (1..BROKEN_MAX).map(name).find(|path| !path.exists());
        let aside = free.unwrap_or_else(|| name(BROKEN_MAX));
        fs::rename(&self.path, &aside).map_err(|error| self.error("put aside", error))?;
        let explanation = format!(
            "{why}\nThe agent continues with the memory that it had. Correct this file and copy it to {:?} to apply your change.\n",
            self.path
        );
        let mut explained = aside.clone().into_os_string();
        explained.push(".txt");
        self.replace(Path::new(&explained), explanation.as_bytes(), "explained")?;
        Ok(aside)
    }

    /// Writes the memory of a run, unless a person has changed the file meanwhile: then it says what it found.
    /// `taken` names a content that has gone into the log already.
    pub fn write(
        &self,
        memory: &Memory,
        run: &str,
        taken: Option<Hash>,
    ) -> Result<MemoryFileState, MemoryFileError> {
        match self.look()? {
            MemoryFileState::Edited { seen, .. } if taken == Some(seen) => {}
            MemoryFileState::Missing | MemoryFileState::Unchanged => {}
            found @ (MemoryFileState::Edited { .. } | MemoryFileState::Broken { .. }) => {
                return Ok(found);
            }
        }
        let noted = self.noted()?.unwrap_or_default();
        let writing = value_of(memory);
        let mut note = Noted {
            run: run.to_owned(),
            written: noted.written,
            writing: Some(writing.clone()),
        };
        self.note(&note)?;
        self.replace(&self.path, &rendered(memory), "written")?;
        note.written = writing;
        note.writing = None;
        self.note(&note)?;
        Ok(MemoryFileState::Unchanged)
    }

    /// `None` where there is no file; empty, and so broken, where it is too large.
    fn content(&self) -> Result<Option<Vec<u8>>, MemoryFileError> {
        let failed = |error| self.error("read", error);
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
            // What is too large is not read: it is broken whatever it holds.
            Ok(found) if found.len() > FILE_BYTES_MAX => return Ok(Some(vec![])),
            Ok(_) => {}
        }
        match fs::read(&self.path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// A note that cannot be parsed counts as none: a file that is there is then taken for a person's.
    fn noted(&self) -> Result<Option<Noted>, MemoryFileError> {
        match fs::read(self.beside("kept")) {
            Ok(content) => Ok(serde_json::from_slice(&content).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error("compared with what was written", error)),
        }
    }

    fn note(&self, noted: &Noted) -> Result<(), MemoryFileError> {
        let content = serde_json::to_vec(noted).unwrap_or_default();
        self.replace(&self.beside("kept"), &content, "noted")
    }

    /// Puts a content in the place of another one: whoever reads sees one of the two.
    ///
    /// Written beside and renamed, with the bytes on the disk before the name changes.
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        doing: &'static str,
    ) -> Result<(), MemoryFileError> {
        let failed = |error| self.error(doing, error);
        let mut next = path.to_path_buf().into_os_string();
        next.push(".new");
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(failed)?;
        }
        let mut file = private(Path::new(&next)).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        fs::rename(&next, path).map_err(failed)
    }

    /// The name of the file with a word behind it.
    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(end);
        name.into()
    }

    fn error(&self, doing: &'static str, source: std::io::Error) -> MemoryFileError {
        let path = self.path.clone();
        MemoryFileError {
            path,
            doing,
            source,
        }
    }
}

/// What an agent remembers is for its owner's eyes.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

fn value_of(memory: &Memory) -> Value {
    let entries = memory.entries().clone();
    Value::Object(entries.into_iter().collect())
}

/// Always the same bytes for the same memory: what was written is recognised by them.
fn rendered(memory: &Memory) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(&value_of(memory)).unwrap_or_default();
    text.push(b'\n');
    text
}

/// A memory, or what is wrong with the text and where.
fn parse(content: &[u8]) -> Result<Memory, String> {
    let text = std::str::from_utf8(content).map_err(|_| "this is not UTF-8 text".to_owned())?;
    let read: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(text);
    match read {
        Ok(_) => Ok(Memory::read(text).unwrap_or_default()),
        Err(error) => Err(format!("this is not a JSON object: {error}")),
    }
}
