//! What the check of a rule asks this machine: schedules, files, providers.

use std::path::{Path, PathBuf};

use bonded_host::workspace::Cron;
use bonded_kernel::workspace::{BadSchedule, LoopDefaults};

const PROVIDERS: [&str; 3] = ["lmstudio", "openrouter", "script"];

/// The data directory, and what rules may use from it.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    dir: PathBuf,
    defaults: LoopDefaults,
}

impl Surroundings {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            defaults: LoopDefaults::default(),
        }
    }
}

impl bonded_kernel::workspace::Surroundings for Surroundings {
    fn check_cron(&self, line: &str, timezone: &str) -> Result<(), BadSchedule> {
        Cron::parse(line, timezone)
            .map(|_| ())
            .map_err(|bad| BadSchedule {
                field: bad.at(),
                why: bad.to_string(),
            })
    }

    fn check_place(&self, path: &str) -> Result<(), String> {
        let path = Path::new(path);
        let leaves = path
            .components()
            .any(|part| part == std::path::Component::ParentDir);
        if leaves || (path.is_absolute() && !path.starts_with(&self.dir)) {
            return Err("rules use files of the data directory only".to_owned());
        }
        Ok(())
    }

    fn provider_kinds(&self) -> &[&str] {
        &PROVIDERS
    }

    fn is_file_provider(&self, kind: &str) -> bool {
        kind == "script"
    }

    fn loop_defaults(&self) -> &LoopDefaults {
        &self.defaults
    }
}
