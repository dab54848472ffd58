//! Who has a file open for writing. A file that was replaced and that nobody has open can never be written to again.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The access mode among the flags of an open file, and its value for one that can only be read.
const ACCESS_MODE: u32 = 0o3;
const READ_ONLY: u32 = 0;

/// A file, whatever its name is: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The file on it.
    pub inode: u64,
}

/// Asked whether somebody has a file open for writing.
pub trait Writers: fmt::Debug + Sync {
    /// Those of the files that somebody has. Nobody sees the processes of other people, but root.
    fn written(&self, files: &[FileId]) -> Vec<FileId>;
}

/// Looks at every process that this one may look at.
#[derive(Clone, Copy, Debug)]
pub struct Processes;

impl Writers for Processes {
    fn written(&self, files: &[FileId]) -> Vec<FileId> {
        let mut written = vec![];
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = process.file_name();
            let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
            if is_process && !files.is_empty() {
                look_at(&process.path(), files, &mut written);
            }
        }
        written
    }
}

/// A process that ends meanwhile, or that may not be looked at, is passed over.
fn look_at(process: &Path, files: &[FileId], written: &mut Vec<FileId>) {
    let open = fs::read_dir(process.join("fdinfo"));
    for entry in open.into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        if !is_for_writing(&text) {
            continue;
        }
        let inode = field(&text, "ino:").and_then(|it| it.parse().ok());
        if inode.is_some_and(|inode: u64| files.iter().all(|it| it.inode != inode)) {
            continue;
        }
        // Only now is the file itself asked: some wait for a machine that is far away.
        let Ok(there) = fs::metadata(process.join("fd").join(entry.file_name())) else {
            continue;
        };
        let file = FileId {
            device: there.dev(),
            inode: there.ino(),
        };
        if files.contains(&file) && !written.contains(&file) {
            written.push(file);
        }
    }
}

/// Flags are octal digits, as the system shows them.
fn is_for_writing(info: &str) -> bool {
    let flags = field(info, "flags:").and_then(|it| u32::from_str_radix(it, 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != READ_ONLY)
}

fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    info.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}
