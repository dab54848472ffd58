//! Whether a directory that is held open belongs to what git keeps, whatever it is called.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// Deeper than any path can name.
const LEVELS_MAX: usize = 4096;

/// More than git writes into the file that a `.git` may be.
const POINTER_BYTES_MAX: u64 = 8192;

/// What lies around a directory, up to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    Repository,
    /// The directory does not lie beneath the root any more.
    Elsewhere,
}

/// A file or directory by its device and number.
pub(crate) type Identity = (u64, u64);

/// Climbs from a directory to the root by descriptors, and says whether the directory, with one more entry, or one that
/// it lies in is a repository: it has what git asks of one, or the `.git` of a directory on the way leads to it.
pub(crate) fn around(
    top: Identity,
    dir: BorrowedFd<'_>,
    dir_identity: Identity,
    coming: &OsStr,
) -> Result<Around, Errno> {
    let mut passed: Vec<Identity> = Vec::new();
    let mut at: Option<OwnedFd> = None;
    let mut own = dir_identity;
    let mut coming = Some(coming);
    for _ in 0..LEVELS_MAX {
        let here = at.as_ref().map_or(dir, AsFd::as_fd);
        // Above the root of all there is nothing but itself.
        if passed.last() == Some(&own) {
            return Ok(Around::Elsewhere);
        }
        passed.push(own);
        let led_to = git_of(here).is_some_and(|git| passed.contains(&git));
        if led_to || is_repository(here, coming.take()) {
            return Ok(Around::Repository);
        }
        if own == top {
            return Ok(Around::Nothing);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = openat(here, "..", flags, Mode::empty())?;
        own = identity(&fstat(&above)?);
        at = Some(above);
    }
    Ok(Around::Elsewhere)
}

pub(crate) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Whether git would take the directory for a repository's own, were this entry there too.
fn is_repository(dir: BorrowedFd<'_>, coming: Option<&OsStr>) -> bool {
    let has = |name: &str| {
        coming.is_some_and(|coming| coming.eq_ignore_ascii_case(name))
            || statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// The directory that the `.git` in this one is or leads to.
fn git_of(dir: BorrowedFd<'_>) -> Option<Identity> {
    let stat = statat(dir, ".git", AtFlags::empty()).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Some(identity(&stat)),
        FileType::RegularFile => {
            let named = pointer(dir)?;
            let stat = statat(dir, named.as_path(), AtFlags::empty()).ok()?;
            Some(identity(&stat))
        }
        _ => None,
    }
}

/// What a `.git` that is a file names.
fn pointer(dir: BorrowedFd<'_>) -> Option<std::path::PathBuf> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(openat(dir, ".git", flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    file.take(POINTER_BYTES_MAX).read_to_end(&mut text).ok()?;
    let named = text.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(Path::new(OsStr::from_bytes(named)).to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn look(top: &Path, dir: &str, coming: &str) -> Around {
        let open = |path: &Path| {
            rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
                .expect("it is there")
        };
        let (root, dir) = (open(top), open(&top.join(dir)));
        let identity = |dir: &OwnedFd| identity(&fstat(dir).expect("it is there"));
        let (top, own) = (identity(&root), identity(&dir));
        around(top, dir.as_fd(), own, OsStr::new(coming)).expect("it can be climbed")
    }

    #[test]
    fn a_repository_is_known_by_what_it_holds_and_by_what_leads_to_it() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().join("top");
        for dir in [
            "plain/sub",
            "bare/refs/heads",
            "bare/objects",
            "almost/objects",
            "linked/elsewhere/deep",
            "pointed/kept",
            "common",
            "normal/.git/hooks",
        ] {
            fs::create_dir_all(top.join(dir)).expect("it can be made");
        }
        fs::create_dir_all(temp.path().join("outside")).expect("it can be made");
        fs::write(top.join("bare/HEAD"), "ref: refs/heads/main\n").expect("it can be written");
        fs::write(top.join("pointed/.git"), "gitdir: kept\n").expect("it can be written");
        fs::write(top.join("common/commondir"), "..\n").expect("it can be written");
        fs::create_dir(top.join("almost/refs")).expect("it can be made");
        symlink("elsewhere", top.join("linked/.git")).expect("it can be made");
        for (dir, coming, expected) in [
            ("", "x", Around::Nothing),
            ("plain/sub", "HEAD", Around::Nothing),
            ("bare", "config", Around::Repository),
            ("bare/refs/heads", "main", Around::Repository),
            ("almost", "config", Around::Nothing),
            ("almost", "HEAD", Around::Repository),
            ("almost", "head", Around::Repository),
            ("common", "HEAD", Around::Repository),
            ("linked/elsewhere/deep", "x", Around::Repository),
            ("linked", "x", Around::Nothing),
            ("pointed/kept", "config", Around::Repository),
            ("normal/.git/hooks", "x", Around::Repository),
            ("normal", "x", Around::Nothing),
            ("../outside", "x", Around::Elsewhere),
        ] {
            assert_eq!(look(&top, dir, coming), expected, "{coming} in {dir}");
        }
    }
}
