//! What checks of rules are told about the server that they are for.

use std::path::{Component, Path, PathBuf};

use bonded_kernel::workspace::{BadSchedule, LoopDefaults, Surroundings};

use super::super::cron::Cron;
use crate::provider::{KNOWN_PROVIDERS, SCRIPT};

/// A server, as far as rules depend on it.
#[derive(Clone, Debug)]
pub struct HostSurroundings {
    defaults: LoopDefaults,
    data_dir: PathBuf,
    allowed_dirs: Vec<PathBuf>,
    provider_kinds: Vec<&'static str>,
}

impl HostSurroundings {
    pub(super) fn new(defaults: LoopDefaults, data_dir: &Path, allowed_dirs: &[String]) -> Self {
        let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        let known = KNOWN_PROVIDERS.iter().map(|known| known.name);
        Self {
            defaults,
            allowed_dirs: allowed_dirs.iter().map(|dir| data_dir.join(dir)).collect(),
            data_dir,
            provider_kinds: known.chain([SCRIPT]).collect(),
        }
    }

    /// The place that a rule means: relative ones are below the data directory.
    pub fn place(&self, path: &str) -> PathBuf {
        plain(&self.data_dir.join(path))
    }

    /// The file of the data directory that a rule means.
    pub fn data_file(&self, name: &str) -> PathBuf {
        plain(&data_file(&self.data_dir, name))
    }

    fn is_allowed(&self, place: &Path) -> bool {
        let dirs = std::iter::once(&self.data_dir).chain(&self.allowed_dirs);
        let is_below =
            |dir: &PathBuf| place.starts_with(plain(dir)) || place.starts_with(real(dir));
        dirs.into_iter().any(is_below)
    }
}

impl Surroundings for HostSurroundings {
    fn check_cron(&self, line: &str, timezone: &str) -> Result<(), BadSchedule> {
        let bad = |error: super::super::cron::BadCron| BadSchedule {
            field: error.at(),
            why: error.to_string(),
        };
        Cron::parse(line, timezone).map(|_| ()).map_err(bad)
    }

    fn check_place(&self, path: &str) -> Result<(), String> {
        let place = self.place(path);
        // A link may lead elsewhere.
        if self.is_allowed(&place) && self.is_allowed(&real(&place)) {
            return Ok(());
        }
        Err(format!(
            "rules may use what lies below {} and below the directories that automation.allowed_dirs in config.json names; {} does not",
            self.data_dir.display(),
            place.display()
        ))
    }

    fn provider_kinds(&self) -> &[&str] {
        &self.provider_kinds
    }

    fn is_file_provider(&self, kind: &str) -> bool {
        kind == SCRIPT
    }

    fn loop_defaults(&self) -> &LoopDefaults {
        &self.defaults
    }
}

/// A file of the data directory by the name that a rule or the configuration has for it. What is called `./data/…`
/// there is the data directory itself, wherever that lies.
pub fn data_file(data_dir: &Path, name: &str) -> PathBuf {
    let name = name.strip_prefix("./").unwrap_or(name);
    data_dir.join(name.strip_prefix("data/").unwrap_or(name))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
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

/// Where a path leads, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
