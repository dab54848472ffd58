//! What a file holds, with everything that it pulls in: one identity for all of it.
//!
//! A file that is missing is part of it too: whoever puts one there later changes what the whole means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file and what it pulls in, each with the hash of the bytes that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    main: PathBuf,
    /// By absolute path; `None` where nothing was there.
    files: BTreeMap<PathBuf, Option<String>>,
}

impl Contents {
    /// `main` is the file's real path, `bytes` what was read from it.
    pub fn new(main: &Path, bytes: &[u8]) -> Self {
        let mut contents = Self {
            main: main.to_owned(),
            files: BTreeMap::new(),
        };
        contents.add(main, Some(bytes));
        contents
    }

    /// Adds a file that is pulled in.
    pub fn add(&mut self, file: &Path, bytes: Option<&[u8]>) {
        let hash = bytes.map(|bytes| blake3::hash(bytes).to_hex().to_string());
        self.files.insert(file.to_owned(), hash);
    }

    /// The file that was found; its real path.
    pub fn main(&self) -> &Path {
        &self.main
    }

    /// With the file itself.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, &Option<String>)> {
        let files = self.files.iter();
        files.map(|(file, hash)| (file.to_string_lossy().into_owned(), hash))
    }

    /// The hash of everything. Files beside the first one count by their names there, so that a copy of a directory
    /// has the same.
    ///
    /// Lengths are hashed with the parts, so that no two different sets give the same bytes.
    pub fn identity(&self) -> String {
        let dir = self.main.parent().unwrap_or(Path::new("/"));
        let mut hasher = blake3::Hasher::new();
        for (file, hash) in &self.files {
            let name = file.strip_prefix(dir).unwrap_or(file);
            for part in [
                name.as_os_str().as_encoded_bytes(),
                hash.as_deref().unwrap_or("absent").as_bytes(),
            ] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}
