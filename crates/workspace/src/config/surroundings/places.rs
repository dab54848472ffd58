//! The directories that whoever runs the server lets rules of a workspace work in. Never the data directory: it holds the
//! owner's token and what all workspaces wrote.
//! A path is judged by where it leads, after links, and by what a directory is, not by its name: a bind mount or a link
//! must not open the data directory. The answer is only as good as the moment in which it was given, so it is asked
//! again when a run begins.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use bonded_kernel::WorkspaceId;

/// What stands for every workspace.
pub(in super::super) const EVERY_WORKSPACE: &str = "*";

/// The listed directories, by the id of a workspace in lower case, or a star.
#[derive(Clone, Debug)]
pub(super) struct Places {
    data_dir: PathBuf,
    of_workspace: BTreeMap<String, Vec<PathBuf>>,
}

/// What a directory is, whatever it is called.
type DirIdentity = (u64, u64);

impl Places {
    /// Relative entries begin at the data directory.
    pub(super) fn new(data_dir: &Path, listed: &BTreeMap<String, Vec<String>>) -> Self {
        let place = |dir: &String| plain(&data_dir.join(dir));
        let of_workspace = listed
            .iter()
            .map(|(workspace, dirs)| (workspace.to_lowercase(), dirs.iter().map(place).collect()));
        Self {
            data_dir: data_dir.to_owned(),
            of_workspace: of_workspace.collect(),
        }
    }

    /// Those of the workspace come before those of all.
    fn of(&self, workspace: &WorkspaceId) -> impl Iterator<Item = &PathBuf> {
        let own = self.of_workspace.get(&workspace.to_string());
        let all = self.of_workspace.get(EVERY_WORKSPACE);
        own.into_iter().chain(all).flatten()
    }

    /// Where a path leads, if rules of the workspace may use that. Relative ones begin at the first directory.
    pub(super) fn find(&self, workspace: &WorkspaceId, path: &str) -> Result<PathBuf, String> {
        let Some(first) = self.of(workspace).next() else {
            return Err(
                "rules of this workspace may not use any directory; the operator of the server allows some in automation.allowed_dirs of config.json"
                    .into(),
            );
        };
        // A link may lead elsewhere.
        let place = real(&plain(&first.join(path)));
        if self.is_near_data(&place) {
            return Err(
                "must not be the data directory of the server, nor anything above or in it".into(),
            );
        }
        match self.of(workspace).any(|dir| place.starts_with(real(dir))) {
            true => Ok(place),
            false => Err(
                "must lie in one of the directories that automation.allowed_dirs of config.json lists for this workspace"
                    .into(),
            ),
        }
    }

    /// Whether it is the data directory, lies in it, or has it in itself; by what directories are, not by their names.
    fn is_near_data(&self, place: &Path) -> bool {
        let data = real(&self.data_dir);
        if place.starts_with(&data) || data.starts_with(place) {
            return true;
        }
        let (data_is, place_is) = (identity(&data), identity(place));
        let has = |path: &Path, wanted: Option<DirIdentity>| {
            wanted.is_some() && path.ancestors().any(|it| identity(it) == wanted)
        };
        has(place, data_is) || has(&data, place_is)
    }
}

/// Device and inode; None for what cannot be looked at.
fn identity(path: &Path) -> Option<DirIdentity> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Where a path leads: what is there without links, and the rest as it is.
/// What does not exist yet has no links; the longest part that exists is resolved, and the rest is put behind it.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            // Joined with nothing, a file would end in a slash.
            return match rest.as_os_str().is_empty() {
                true => found,
                false => found.join(rest),
            };
        }
    }
    path.to_owned()
}

/// The path without `.` and `..`.
/// By the text alone, without a look at the disk; links are resolved afterwards.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
