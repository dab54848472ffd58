//! The light launcher: a small program beside ours that starts in a fraction of the time, because there is little of
//! it to load. Ours does the same where it is missing.
//!
//! What starts our commands unconfined must not be what a command has left there. So the file is remembered when this
//! process begins, and what is executed is a copy in memory, which nobody can change, of a file that is still the
//! same.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// The name of its file.
const NAME: &str = "bonded-sandbox";

/// Its file as it was when it was first looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LightLauncher {
    path: PathBuf,
    seen: FileStamp,
}

/// Whoever changes a file changes one of these, and cannot set them back.
type FileStamp = (u64, u64, u64, i64, i64);

/// Of the open file and not of a path, so that what was looked at is what is read.
fn identity(file: &File) -> io::Result<FileStamp> {
    let it = file.metadata()?;
    Ok((it.dev(), it.ino(), it.size(), it.ctime(), it.ctime_nsec()))
}

impl LightLauncher {
    /// The one beside a program, if it is there.
    pub fn beside(program: &Path) -> Option<Self> {
        Self::at(&program.with_file_name(NAME))
    }

    /// `None` where it is missing or cannot be read; this program does its work then.
    fn at(path: &Path) -> Option<Self> {
        let seen = identity(&File::open(path).ok()?).ok()?;
        let path = path.to_owned();
        Some(Self { path, seen })
    }

    /// A copy that can be executed for as long as it is held.
    ///
    /// The file is compared after it was copied: a change while it was being read shows as well. The copy is
    /// sealed, so that not even this process can change it.
    pub(super) fn copy(&self) -> io::Result<Copy> {
        let mut file = File::open(&self.path)?;
        let memory = in_memory()?;
        let mut copy = File::from(memory);
        io::copy(&mut file, &mut copy)?;
        if identity(&file)? != self.seen {
            return Err(io::Error::other("the file was changed"));
        }
        let fixed = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&copy, fixed)?;
        Ok(Copy(copy.into()))
    }
}

/// Kernels that do not know the right to execute give it without being asked.
fn in_memory() -> rustix::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    memfd_create(NAME, flags | MemfdFlags::EXEC).or_else(|_| memfd_create(NAME, flags))
}

/// The descriptor closes when a program is executed, so that no command inherits it; its path still works for
/// the execution itself.
#[derive(Debug)]
pub(super) struct Copy(OwnedFd);

impl Copy {
    /// Where children of this process find it until they execute it.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_copy_is_executed_and_cannot_be_changed() {
        let light = LightLauncher::at(Path::new("/bin/echo")).expect("it is there");
        let copy = light.copy().expect("it can be copied");
        let output = Command::new(copy.path()).arg("light").output();
        assert_eq!(output.expect("it starts").stdout, b"light\n");
        assert!(fs::write(copy.path(), "changed").is_err());
    }

    #[test]
    fn a_file_that_was_changed_or_replaced_since_is_not_executed() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join(NAME);
        let changes: [fn(&Path); 2] = [
            |path| fs::write(path, "evi1").expect("it can be written"),
            |path| {
                let other = path.with_extension("other");
                fs::write(&other, "evil").expect("it can be written");
                fs::rename(other, path).expect("it can be renamed");
            },
        ];
        for change in changes {
            fs::write(&path, "good").expect("it can be written");
            let light = LightLauncher::at(&path).expect("it is there");
            light.copy().expect("it is as it was");
            // Times are kept in steps of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change(&path);
            assert!(light.copy().is_err());
        }
    }
}
