//! The working directory as a capability: what the file tools can reach, and nothing else.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::ToolsError;
use crate::fault::{self, ToolFault};

/// An open directory. Paths are resolved beneath it by the operating system, so that neither a link nor
/// a rename in the middle of a call leads out. A link with an absolute target is refused even where the
/// target lies inside.
#[derive(Debug)]
pub struct Workdir {
    dir: Dir,
    /// The absolute spellings of the directory that a caller may put before a path.
    spellings: [PathBuf; 2],
}

impl Workdir {
    pub fn open(dir: &Path) -> Result<Self, ToolsError> {
        let open = || {
            let canonical = dir.canonicalize()?;
            Ok(Self {
                dir: Dir::open_ambient_dir(&canonical, ambient_authority())?,
                spellings: [std::path::absolute(dir)?, canonical],
            })
        };
        open().map_err(|source| ToolsError::OpenDirectory {
            path: dir.into(),
            source,
        })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The path relative to this directory, without `.`; refused if it leads out by its own spelling.
    /// Links in it are not looked at: opening it does that.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, ToolFault> {
        if path.is_empty() || path.contains('\0') {
            let message = format!("{path:?} is not a path; use \".\" for the working directory");
            return Err(ToolFault::new(fault::BAD_PATH, message));
        }
        let given = Path::new(path);
        let inside = if given.is_absolute() {
            self.spellings
                .iter()
                .find_map(|root| given.strip_prefix(root).ok())
                .ok_or_else(|| ToolFault::outside(path))?
        } else {
            given
        };
        let mut relative = PathBuf::new();
        let mut depth = 0_usize;
        for component in inside.components() {
            depth = match component {
                Component::CurDir => continue,
                Component::Normal(_) => depth + 1,
                Component::ParentDir => depth
                    .checked_sub(1)
                    .ok_or_else(|| ToolFault::outside(path))?,
                Component::RootDir | Component::Prefix(_) => return Err(ToolFault::outside(path)),
            };
            relative.push(component);
        }
        if relative.as_os_str().is_empty() {
            relative.push(".");
        }
        Ok(relative)
    }
}

/// Opens for reading without ever waiting: not for the other end of a pipe, nor for a device.
pub(crate) fn open_nonblocking(dir: &Dir, path: &Path, follow: Follow) -> io::Result<File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if matches!(follow, Follow::No) {
        flags |= OFlags::NOFOLLOW;
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    dir.open_with(path, &options)
}

/// Whether a link as the last part of a path is followed (inside the directory).
#[derive(Clone, Copy)]
pub(crate) enum Follow {
    Yes,
    No,
}

/// Opens a regular file, and refuses anything else.
pub(crate) fn open_regular(
    dir: &Dir,
    path: &Path,
    follow: Follow,
    shown: &str,
) -> Result<(File, Metadata), ToolFault> {
    let on_path = |error: io::Error| ToolFault::from_io(&error, shown);
    let file = open_nonblocking(dir, path, follow).map_err(on_path)?;
    let metadata = file.metadata().map_err(on_path)?;
    if metadata.is_dir() {
        return Err(ToolFault::is_directory(shown));
    }
    if !metadata.is_file() {
        let message = format!("{shown:?} is a pipe, a socket or a device, not a regular file");
        return Err(ToolFault::new(fault::NOT_A_FILE, message));
    }
    Ok((file, metadata))
}

/// The whole content, or nothing if there is more of it than `bytes_max`, also where the file has grown
/// since its metadata was read.
pub(crate) fn load(
    file: &mut File,
    metadata: &Metadata,
    bytes_max: u64,
) -> io::Result<Option<Vec<u8>>> {
    if metadata.len() > bytes_max {
        return Ok(None);
    }
    // A little more than is needed, so that the end is found without growing.
    let likely = usize::try_from(metadata.len()).unwrap_or_default() + 64;
    let mut bytes = Vec::with_capacity(likely);
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// A path as the model is shown it.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_by_its_spelling_is_refused_and_one_inside_is_made_relative() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("it exists");
        let workdir = Workdir::open(&root).expect("it can be opened");
        let inside = format!("{}/a/b", root.display());
        let evil = format!("{}-evil/a", root.display());
        let climbing = format!("{}/../x", root.display());
        let table: &[(&str, Result<&str, &str>)] = &[
            (".", Ok(".")),
            ("./a//b/", Ok("a/b")),
            ("a/../b", Ok("a/../b")),
            (&inside, Ok("a/b")),
            (&evil, Err(fault::OUTSIDE_DIRECTORY)),
            (&climbing, Err(fault::OUTSIDE_DIRECTORY)),
            ("..", Err(fault::OUTSIDE_DIRECTORY)),
            ("a/../../b", Err(fault::OUTSIDE_DIRECTORY)),
            ("/etc/passwd", Err(fault::OUTSIDE_DIRECTORY)),
            ("", Err(fault::BAD_PATH)),
            ("a\0b", Err(fault::BAD_PATH)),
        ];
        for (path, expected) in table {
            let got = workdir.relative(path).map_err(|fault| fault.code);
            assert_eq!(got, expected.map(PathBuf::from), "{path:?}");
        }
    }

    #[test]
    fn a_missing_working_directory_is_an_error_that_names_it() {
        let error = Workdir::open(Path::new("/nonexistent/dir")).expect_err("it is missing");
        assert!(error.to_string().contains("/nonexistent/dir"), "{error}");
    }
}
