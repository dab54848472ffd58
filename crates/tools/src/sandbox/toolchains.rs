//! What of a person's home commands need in order to start programs that the person's path names. It is shown
//! read-only; everything else of the home is not there.
//!
//! A directory of the path is the sign that a person uses what is in it. Alone it is often not enough, because
//! programs there are links or scripts that lead to a larger tree; for the known toolchains that tree is shown
//! as well. Trees that may hold keys are never shown as a whole: of Cargo's home the programs and what was
//! fetched, not its credentials.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Roots of toolchains that hold programs and libraries, and no keys: a directory of the path in one shows all of it.
///
/// Relative to the home.
const ROOTS: [&str; 27] = [
    ".asdf",
    ".bun",
    ".deno",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".jenv",
    ".juliaup",
    ".linuxbrew",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".opam",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rvm",
    ".sdkman",
    ".swiftly",
    ".volta",
    "anaconda3",
    "mambaforge",
    "miniconda3",
    "miniforge3",
];

/// What programs of a directory of the path need besides.
const BESIDES: [(&str, &[&str]); 2] = [
    (".cargo/bin", &[".rustup"]),
    (
        ".local/bin",
        &[
            ".local/lib",
            ".local/share/fnm",
            ".local/share/mise",
            ".local/share/pipx",
            ".local/share/uv",
        ],
    ),
];

/// What was fetched before. With a network a command fetches into its own home, where it can write.
const FETCHED: [(&str, &[&str]); 2] = [
    (".cargo/bin", &[".cargo/git", ".cargo/registry"]),
    ("go/bin", &["go/pkg/mod"]),
];

/// Variables that name the root of a toolchain.
const NAMED_BY: [&str; 8] = [
    "CONDA_PREFIX",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
];

/// The places in a home that are shown, each once and none in another. `ours` are our variables.
///
/// Only what lies in the home, and never the home itself: a variable that names it would otherwise show
/// everything.
pub(super) fn shown(home: &Path, ours: &[(OsString, OsString)], network: bool) -> Vec<PathBuf> {
    let value = |wanted: &str| {
        let found = ours.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_os_str())
    };
    let named = NAMED_BY.iter().filter_map(|name| value(name));
    let mut wanted: Vec<PathBuf> = named.map(PathBuf::from).collect();
    for dir in std::env::split_paths(value("PATH").unwrap_or(OsStr::new(""))) {
        wanted.extend(needed_by(&dir, home, network));
    }
    let mut there: Vec<PathBuf> = wanted
        .into_iter()
        .filter(|place| place.starts_with(home) && place != home && place.exists())
        .collect();
    there.sort();
    there.dedup_by(|later, earlier| later.starts_with(earlier));
    there
}

/// What is needed of a home for a directory of the path.
///
/// A directory of no known toolchain is shown by itself.
fn needed_by(dir: &Path, home: &Path, network: bool) -> Vec<PathBuf> {
    let Ok(inside) = dir.strip_prefix(home) else {
        return vec![];
    };
    if let Some(root) = ROOTS.iter().find(|root| inside.starts_with(root)) {
        return vec![home.join(root)];
    }
    let fetched = FETCHED.iter().filter(|_| !network);
    let besides = BESIDES.iter().chain(fetched);
    let besides = besides.filter(|(of, _)| Path::new(of) == inside);
    let mut needed = vec![dir.to_owned()];
    needed.extend(besides.flat_map(|(_, more)| more.iter().map(|place| home.join(place))));
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolchains_of_the_path_are_shown_and_nothing_beside_them() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let home = temp.path().canonicalize().expect("it is there");
        for dir in [
            ".cargo/bin",
            ".cargo/registry",
            ".rustup",
            ".nvm/versions/v1/bin",
            ".ssh",
            ".local/bin",
            ".local/lib",
            ".local/share/keyrings",
            "bin",
            "other",
        ] {
            std::fs::create_dir_all(home.join(dir)).expect("it can be made");
        }
        let dirs = [
            ".cargo/bin",
            ".nvm/versions/v1/bin",
            ".local/bin",
            "bin",
            "",
        ];
        let path = std::env::join_paths(dirs.map(|dir| home.join(dir))).expect("a path");
        let ours = [("PATH".into(), path)];
        let seen = |network| {
            let shown = shown(&home, &ours, network).into_iter();
            let names = shown.map(|place| place.strip_prefix(&home).map(Path::to_owned));
            names
                .collect::<Result<Vec<_>, _>>()
                .expect("all are inside")
        };
        let always = [
            ".cargo/bin",
            ".local/bin",
            ".local/lib",
            ".nvm",
            ".rustup",
            "bin",
        ];
        assert_eq!(seen(true), always.map(PathBuf::from));
        assert!(seen(false).contains(&".cargo/registry".into()));
        assert_eq!(seen(false).len(), always.len() + 1);
    }
}
