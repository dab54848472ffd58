//! Trees and edits that nobody would think of.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::rng::Rng;

/// Few, so that edits meet what is there.
const NAMES: [&str; 9] = ["a", "b", "c d", "ü", "-e", "f'g", "h\"i", "$j", "k\\l"];
const MODES: [u32; 6] = [0o644, 0o600, 0o755, 0o444, 0o4755, 0o000];
const DIRECTORY_MODES: [u32; 4] = [0o755, 0o700, 0o1777, 0o500];
const TARGETS: [&str; 5] = ["a", "../b", "nowhere", ".", "/etc/hostname"];

/// Fills a directory.
pub(crate) fn plant(rng: &mut Rng, root: &Path) {
    let mut directories = vec![root.to_owned()];
    for number in 0..8 + rng.below(24) {
        let holder = rng.one_of(&directories).clone();
        let path = holder.join(rng.one_of(&NAMES));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match rng.below(6) {
            0 | 1 => {
                fs::create_dir(&path).expect("a directory can be made");
                directories.push(path);
            }
            2 => symlink(rng.one_of(&TARGETS), &path).expect("a link can be made"),
            _ => {
                let content = format!("{number}\n").repeat(rng.below(2000) as usize);
                fs::write(&path, content).expect("a file can be written");
                set_mode(&path, *rng.one_of(&MODES));
            }
        }
    }
    // It cannot be named in a receipt, and need not be, as long as nobody changes it.
    let odd = std::ffi::OsStr::from_bytes(b"not \xff utf-8");
    fs::write(root.join(odd), "odd").expect("a file can be written");
    for directory in directories.iter().skip(1) {
        set_mode(directory, *rng.one_of(&DIRECTORY_MODES));
    }
}

fn set_mode(path: &Path, mode: u32) {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, mode).expect("a mode can be set");
}

/// Commands that change a tree; what one of them cannot do is passed over.
pub(crate) fn edits(rng: &mut Rng) -> String {
    let mut commands = vec![];
    for number in 0..4 + rng.below(12) {
        let (one, two) = (path(rng), path(rng));
        let mode = rng.one_of(&MODES);
        commands.push(match rng.below(9) {
            0 => format!("rm -rf {one}"),
            1 => format!("mkdir -p {one}"),
            2 => format!("chmod {mode:o} {one}"),
            3 => format!("ln -sfn {two} {one}"),
            4 => format!("mv {one} {two}"),
            5 => format!("cp -R {one} {two}"),
            6 => format!("printf {number} >> {one}"),
            _ => format!("printf {number} > {one}"),
        });
    }
    let quiet: Vec<String> = commands
        .into_iter()
        .map(|command| format!("( {command} ) 2> /dev/null"))
        .collect();
    quiet.join("\n")
}

/// A path of one to three names, in quotes.
fn path(rng: &mut Rng) -> String {
    let names: Vec<&str> = (0..=rng.below(3)).map(|_| *rng.one_of(&NAMES)).collect();
    format!("'./{}'", names.join("/").replace('\'', r"'\''"))
}
