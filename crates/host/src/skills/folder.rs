//! The folder of a skill, read once: its head, and the hashes of all files that a run may read of it.
//!
//! All of it is read, and not its head alone: what a person trusts, and what a run holds fast when it begins, is the
//! whole folder. So it is bounded. A link that leads out of the folder is no part of it.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, OfferedSkill};
use bonded_tools::beneath::{EntryKind, Links, OpenError, Root};

use super::SKILL_FILE;
use super::head::{self, BadHead, SkillHead};
use crate::beneath::{self, SecretFiles};
use crate::letters::written_out;
use crate::trust::{Contents, Wants};

/// Of the instructions themselves: more than a model should be given at once.
const INSTRUCTIONS_BYTES_MAX: u64 = 64 * 1024;
/// Of all files together.
pub(super) const FOLDER_BYTES_MAX: u64 = 8 * 1024 * 1024;
const FILES_MAX: usize = 256;
const DEPTH_MAX: usize = 8;
/// Directories that programs make beside what they run.
const MADE_BY_PROGRAMS: [&str; 2] = ["__pycache__", "node_modules"];
/// How many of the files that are left out are named.
const NAMED_MAX: usize = 3;

/// What is in a folder.
#[derive(Debug)]
pub(super) struct SkillFolder {
    dir: PathBuf,
    pub(super) head: SkillHead,
    files: BTreeMap<String, Hash>,
    /// For who decides whether the folder is trusted.
    pub(super) contents: Contents,
    pub(super) bytes: u64,
    left_out: Vec<String>,
}

/// Why a folder is no skill that can be offered, with what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadSkill {
    #[error(transparent)]
    Head(#[from] BadHead),
    #[error(
        "its SKILL.md has more than {INSTRUCTIONS_BYTES_MAX} bytes; keep what is always needed, and move the rest into other files of the folder"
    )]
    LongInstructions,
    #[error(
        "its files have more than {FOLDER_BYTES_MAX} bytes together; move large ones out of the folder"
    )]
    TooLarge,
    #[error("it has more than {FILES_MAX} files; move those that no task needs out of the folder")]
    TooManyFiles,
    #[error("its directories are nested more than {DEPTH_MAX} deep; move the files up")]
    TooDeep,
    #[error("its SKILL.md is a link that leads out of the folder; put the file itself there")]
    LeadsOut,
    #[error("its SKILL.md is not UTF-8")]
    NotUtf8,
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: String, why: String },
}

/// Reads a folder. `dir` is its real path.
pub(super) fn read(dir: &Path, secrets: &SecretFiles) -> Result<SkillFolder, BadSkill> {
    let main = dir.join(SKILL_FILE);
    let instructions = match beneath::open(dir, Path::new(SKILL_FILE)) {
        Err(error) if beneath::leads_out(&error) => return Err(BadSkill::LeadsOut),
        opened => opened.map_err(|error| unreadable(Path::new(SKILL_FILE), &error))?,
    };
    let refused = |why: String| unreadable(Path::new(SKILL_FILE), &io::Error::other(why));
    instructions.check_secret(secrets).map_err(refused)?;
    let read = instructions.read(INSTRUCTIONS_BYTES_MAX);
    let bytes = read.map_err(|error| unreadable(Path::new(SKILL_FILE), &error))?;
    let bytes = bytes.ok_or(BadSkill::LongInstructions)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| BadSkill::NotUtf8)?;
    let mut folder = SkillFolder {
        dir: dir.to_owned(),
        head: head::read(text)?,
        files: BTreeMap::from([(SKILL_FILE.to_owned(), Hash::of(&bytes))]),
        contents: Contents::new(&main, &bytes),
        bytes: bytes.len() as u64,
        left_out: vec![],
    };
    let root = Root::open(dir).map_err(|error| unopened(Path::new("the folder"), error))?;
    let mut paths = vec![];
    walk(&root, Path::new(""), 0, &mut paths)?;
    for path in paths {
        folder.add(&path, secrets)?;
    }
    Ok(folder)
}

/// The paths of all files below a directory of the folder, links to whatever they lead included. Hidden ones are
/// passed over.
fn walk(root: &Root, below: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), BadSkill> {
    if depth > DEPTH_MAX {
        return Err(BadSkill::TooDeep);
    }
    let dir = root.directory(below, Links::Refused);
    let dir = dir.map_err(|error| unopened(below, error))?;
    let entries = dir.entries(4 * FILES_MAX);
    for entry in entries.map_err(|error| unopened(below, error))? {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') || MADE_BY_PROGRAMS.contains(&&*name) {
            continue;
        }
        let path = below.join(&entry.name);
        match entry.kind {
            EntryKind::Directory => walk(root, &path, depth + 1, paths)?,
            EntryKind::File | EntryKind::Link if path != Path::new(SKILL_FILE) => paths.push(path),
            EntryKind::File | EntryKind::Link | EntryKind::Other => {}
        }
        if paths.len() >= FILES_MAX {
            return Err(BadSkill::TooManyFiles);
        }
    }
    Ok(())
}

impl SkillFolder {
    /// What cannot be opened inside the folder, or holds secrets, is left out.
    fn add(&mut self, path: &Path, secrets: &SecretFiles) -> Result<(), BadSkill> {
        let opened = beneath::open(&self.dir, path);
        let opened = opened.ok().filter(|it| it.check_secret(secrets).is_ok());
        let (Some(opened), Some(name)) = (opened, path.to_str()) else {
            self.left_out.push(path.to_string_lossy().into_owned());
            return Ok(());
        };
        let read = opened.read(FOLDER_BYTES_MAX - self.bytes);
        let bytes = read.map_err(|error| unreadable(path, &error))?;
        let bytes = bytes.ok_or(BadSkill::TooLarge)?;
        self.bytes += bytes.len() as u64;
        self.files.insert(name.to_owned(), Hash::of(&bytes));
        self.contents.add(&self.dir.join(path), Some(&bytes));
        Ok(())
    }

    /// What a run holds fast of it.
    pub(super) fn offered(&self) -> OfferedSkill {
        OfferedSkill {
            name: self.head.name.clone(),
            dir: self.dir.to_string_lossy().into_owned(),
            files: self.files.clone(),
        }
    }

    /// What a person is shown who is to trust it.
    pub(super) fn wants(&self) -> Wants {
        let files: Vec<&str> = self.files.keys().map(String::as_str).collect();
        let line = format!(
            "the model, as the skill {}: {} ({} bytes in {})",
            self.head.name,
            self.head.description,
            self.bytes,
            files.join(", ")
        );
        Wants {
            instructs: vec![line],
            ..Wants::default()
        }
    }

    /// What a person is told of the files that the model cannot read, where there are any.
    pub(super) fn warning(&self) -> Option<String> {
        let named: Vec<String> = self.left_out.iter().map(|it| written_out(it)).collect();
        let more = match named.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let some = named.get(..NAMED_MAX).unwrap_or(&named).join(", ");
        (!named.is_empty()).then(|| {
            format!(
                "the skill {} is offered without {some}{more}: such a file is a link that leads out of the folder, holds secrets, or cannot be read",
                self.head.name
            )
        })
    }
}

fn unreadable(path: &Path, error: &io::Error) -> BadSkill {
    BadSkill::Unreadable {
        path: written_out(&path.to_string_lossy()),
        why: error.to_string(),
    }
}

fn unopened(path: &Path, error: OpenError) -> BadSkill {
    match error {
        OpenError::TooManyEntries { .. } => BadSkill::TooManyFiles,
        error @ (OpenError::Missing { .. }
        | OpenError::Dangling { .. }
        | OpenError::Outside { .. }
        | OpenError::Directory { .. }
        | OpenError::NotADirectory { .. }
        | OpenError::Special { .. }
        | OpenError::Link { .. }
        | OpenError::TooLarge { .. }
        | OpenError::Io { .. }) => unreadable(path, &io::Error::other(error)),
    }
}
