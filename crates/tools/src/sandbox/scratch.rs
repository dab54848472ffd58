//! The directory that a command has to itself for as long as it runs, and what its launcher tells us there.
//!
//! Each command has one, in the system's directory for temporary files. It holds the command's own `TMPDIR`,
//! what is put over hidden places, and the file for the launcher's fault. The command may write only the first:
//! the rest lies beside it, read-only wherever anything is enforced.

mod left;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use tempfile::TempDir;

pub(super) use left::remove_beneath;

/// Removed when it is dropped, which must be after the command has ended.
#[derive(Debug)]
pub(super) struct ScratchDir {
    dir: TempDir,
    /// Says that somebody uses it, for as long as this process lives.
    _held: fs::File,
}

/// What scratch directories are called, before the letters that tell them apart.
const PREFIX: &str = "bonded-";

/// A directory may be taken for one that was left in the moment between its making and its lock.
const TRIES: u32 = 10;

impl ScratchDir {
    /// What earlier processes left is removed once in the life of this one, when it makes its first.
    pub(super) fn make() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let above = std::env::temp_dir();
        SWEPT.call_once(|| left::sweep(&above));
        let mut tries = 1;
        loop {
            match Self::make_in(&above) {
                Err(error) if tries < TRIES && error.kind() == io::ErrorKind::NotFound => {
                    tries += 1;
                }
                made => return made,
            }
        }
    }

    /// The lock comes first after the directory itself, to keep the moment short in which another process might
    /// take it for one that was left.
    fn make_in(above: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(above)?;
        let held = left::hold(dir.path())?;
        let mut private = fs::DirBuilder::new();
        private.mode(0o700);
        private.create(tmp(dir.path()))?;
        private.create(void(dir.path()))?;
        fs::set_permissions(void(dir.path()), fs::Permissions::from_mode(0o555))?;
        let mut nothing = fs::OpenOptions::new();
        nothing.write(true).create_new(true).mode(0o000);
        nothing.open(nothing_at(dir.path()))?;
        Ok(Self { dir, _held: held })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A command may have left directories that nobody may write; what is left here is gone for the next one too.
        left::remove(self.dir.path());
    }
}

/// All that is in it.
///
/// A directory with anything else in it is not taken for one of ours, and is never removed by a sweep.
pub(super) const ENTRIES: [&str; 5] = ["tmp", "void", "nothing", "fault", left::HELD];

/// The part that the command may write.
pub(super) fn tmp(scratch: &Path) -> PathBuf {
    scratch.join("tmp")
}

/// An empty directory to put over directories that nobody shall see.
pub(super) fn void(scratch: &Path) -> PathBuf {
    scratch.join("void")
}

/// A file that cannot be read, to put over files that nobody shall see.
pub(super) fn nothing_at(scratch: &Path) -> PathBuf {
    scratch.join("nothing")
}

/// How the command ended, in the launcher's words. It goes through a pipe that the command does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exit(i32),
    Signal(i32),
    /// The launcher could not start it.
    Fault(String),
}

/// The text is a word, a space and the rest. It is written in one piece by one side and read to its end by the
/// other.
impl Ending {
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => format!("signal {signal}"),
            Self::Fault(why) => format!("fault {why}"),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(' ')?;
        match kind {
            "exit" => rest.parse().ok().map(Self::Exit),
            "signal" => rest.parse().ok().map(Self::Signal),
            "fault" => Some(Self::Fault(rest.to_owned())),
            _ => None,
        }
    }
}

/// Where a launcher says why it could not start its command. Where nothing keeps a command from writing here, what it
/// writes is without the token.
#[derive(Debug)]
pub(super) struct LauncherFault {
    file: fs::File,
    token: String,
}

impl LauncherFault {
    fn file(scratch: &Path) -> PathBuf {
        scratch.join("fault")
    }

    /// Opened before the namespaces are made: inside, all around is read-only.
    pub(super) fn open(scratch: &Path, token: &str) -> io::Result<Self> {
        let file = fs::File::create(Self::file(scratch))?;
        let token = token.to_owned();
        Ok(Self { file, token })
    }

    pub(super) fn tell(&self, why: &str) {
        // Whoever reads it finds the words on stderr as well.
        let _ = (&self.file).write_all(format!("{}\n{why}", self.token).as_bytes());
    }

    /// `None` where there is no fault, or the file was not written by the launcher of this command.
    pub(super) fn read(scratch: &Path, token: &str) -> Option<String> {
        let text = fs::read_to_string(Self::file(scratch)).ok()?;
        let (written, why) = text.split_once('\n')?;
        (written == token).then(|| why.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_read_as_it_was_written_and_nothing_else_is() {
        for ending in [
            Ending::Exit(0),
            Ending::Exit(255),
            Ending::Signal(9),
            Ending::Fault("a b\nc".into()),
        ] {
            assert_eq!(Ending::parse(&ending.to_text()), Some(ending));
        }
        for text in ["", "exit", "exit x", "end 1"] {
            assert_eq!(Ending::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_fault_without_the_token_is_nobodys() {
        let scratch = ScratchDir::make().expect("it can be made");
        let read = || LauncherFault::read(scratch.path(), "token");
        assert_eq!(read(), None);
        for forged in ["", "evil", "\nevil", "tok\nevil"] {
            fs::write(LauncherFault::file(scratch.path()), forged).expect("it can be written");
            assert_eq!(read(), None, "{forged}");
        }
        let fault = LauncherFault::open(scratch.path(), "token").expect("it can be made");
        assert_eq!(read(), None);
        fault.tell("a\nb");
        assert_eq!(read().as_deref(), Some("a\nb"));
    }
}
