//! The frames that a record consists of, and how they are written.
//!
//! A frame is a line, `HASH LENGTH JSON`, then as many bytes of content as the line says, then a line break. The hash
//! covers the hash before it, the JSON and the content: like the log, a record is a chain, and whatever is changed, taken
//! out or put in somewhere breaks it from there on.

use std::path::PathBuf;

use bonded_kernel::{Hash, RunId};
use bonded_tools::recording::DirTime;
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::path_text;

/// The version of the format. A record of a newer version is refused.
pub(crate) const FORMAT: u16 = 1;

/// No line of a frame is longer.
pub(crate) const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    /// The first frame of every record.
    Began {
        format: u16,
        run: RunId,
        #[serde(with = "path_text")]
        dir: PathBuf,
    },
    /// A content is the frame's, or that of `base` and the frame's after it.
    Kept {
        hash: Hash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<Hash>,
    },
    /// Something is about to be changed.
    Changing(ChangeSet),
    /// All parts of an undo are in their places: from here on it is only completed.
    Swapped { set: u64 },
    /// What came of it.
    Changed { set: u64, outcome: Outcome },
}

/// Changes that are made together: those of a call, or of an undo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Counted from 1 in each record.
    pub set: u64,
    /// Who makes them.
    pub by: ChangedBy,
    /// Each path once.
    pub changes: Vec<PathChange>,
    /// The directories whose entries change, before that.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "dir_times")]
    pub dirs: Vec<DirTime>,
    /// The times that an undo gives back to directories when it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "dir_times")]
    pub times: Vec<DirTime>,
    /// What a call that is killed may leave behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "paths")]
    pub leftovers: Vec<PathBuf>,
}

/// Who makes changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedBy {
    /// A call of the run, or of an agent that it called.
    Call {
        /// Whose log has the call.
        run: RunId,
        /// The turn of that run.
        turn: u32,
        /// Its place in the reply, from 0.
        call: u32,
        /// The tool.
        tool: String,
    },
    /// A person, who undoes what was changed from a turn on, or all of it.
    Undo {
        /// The turn that the directory is as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// A person, who takes back an undo.
    Redo {
        /// The changes of that undo.
        of: u64,
    },
}

/// A path, what is there, and what will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// Relative to the directory of the run, without links.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What is there before.
    pub from: Node,
    /// What is there after.
    pub to: Node,
    /// Paths of the same number are names of one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<u32>,
}

/// What came of changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// They were made.
    Made {
        /// Mode and owner of a file that was made anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rights: Option<(u32, u32, u32)>,
        /// The directories of before, as they are after.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "dir_times")]
        dirs: Vec<DirTime>,
    },
    /// None of them was: everything is as before.
    NotMade,
}

/// The line of a frame without its hash, and the hash.
pub(crate) fn seal(prev: Hash, frame: &Frame, content: &[u8]) -> (Vec<u8>, Hash) {
    // Every frame has string keys and no failing serializer, so this cannot fail.
    let json = serde_json::to_vec(frame).unwrap_or_default();
    let hash = chain(prev, &json, content);
    let mut bytes = Vec::with_capacity(json.len() + content.len() + 96);
    bytes.extend_from_slice(format!("{hash} {} ", content.len()).as_bytes());
    bytes.extend_from_slice(&json);
    bytes.push(b'\n');
    bytes.extend_from_slice(content);
    bytes.push(b'\n');
    (bytes, hash)
}

/// The hash of a frame that follows `prev`.
pub(crate) fn chain(prev: Hash, json: &[u8], content: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(prev.as_bytes());
    hasher.update(&(json.len() as u64).to_le_bytes());
    hasher.update(json);
    hasher.update(content);
    hasher.into()
}

/// The parts of a frame's line: hash, length of the content, JSON.
pub(crate) fn parts(line: &[u8]) -> Option<(Hash, u64, &[u8])> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let hash = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let length = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    Some((hash, length, parts.next()?))
}

mod dir_times {
    use std::path::PathBuf;

    use bonded_tools::recording::DirTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::path_text;

    #[derive(Serialize, Deserialize)]
    struct WrittenTime {
        #[serde(with = "path_text")]
        path: PathBuf,
        changed: (i64, u32),
    }

    pub(super) fn serialize<S: Serializer>(
        times: &[DirTime],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|time| WrittenTime {
            path: time.path.clone(),
            changed: time.changed,
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<DirTime>, D::Error> {
        let times = Vec::<WrittenTime>::deserialize(deserializer)?.into_iter();
        Ok(times
            .map(|WrittenTime { path, changed }| DirTime { path, changed })
            .collect())
    }
}

mod paths {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::path_text;

    #[derive(Serialize, Deserialize)]
    struct WrittenPath(#[serde(with = "path_text")] PathBuf);

    pub(super) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let paths = paths.iter().map(|path: &PathBuf| Path::to_owned(path));
        serializer.collect_seq(paths.map(WrittenPath))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<WrittenPath>::deserialize(deserializer)?.into_iter();
        Ok(paths.map(|WrittenPath(path)| path).collect())
    }
}
