//! Files and directories of what is kept: whoever else uses the machine reads none of it, whatever the umask is.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// Makes a directory, and those above it that are missing. One that is there stays as its owner wants it: it may hold
/// more than what is ours.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir)
}

/// Opens a file to read it and to append to it, and makes it where it is missing. One that others may read was made
/// under a loose umask, and is closed to them if it is ours.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).append(true).create(true).mode(FILE_MODE);
    let file = how.open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.permissions().mode() & 0o077 != 0 {
        // Only its owner can, and whose file it is decides who may read it.
        let _of_another = file.set_permissions(Permissions::from_mode(FILE_MODE));
    }
    Ok(file)
}
