//! Where the layers of the configuration lie.
//!
//! The order of the places is the order of precedence: the named file, the working directory, the
//! directory of the agent, that of the program, the person's home, the machine. Whose a file is follows
//! from where it lies and not from what it says.

use std::path::{Path, PathBuf};

use super::Origin;
use crate::trust::{OwnPlaces, Trust};

/// The directories of a process. Nothing here reads the environment.
#[derive(Clone, Debug, Default)]
pub struct ConfigDirs {
    /// The file that a person named; it must exist.
    pub explicit: Option<PathBuf>,
    /// The working directory. What lies there was found.
    pub cwd: PathBuf,
    /// The directory of the agent file.
    pub agent_dir: Option<PathBuf>,
    /// The directory of the program; its file is the person's own unless an agent works there.
    pub binary_dir: Option<PathBuf>,
    /// The person's home; the configuration lies in `.ai-agent` there.
    pub home: Option<PathBuf>,
    /// Commonly `/etc`.
    pub etc: Option<PathBuf>,
}

/// The files of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerFiles {
    /// The JSON file, which need not be there unless it is required.
    pub file: PathBuf,
    /// The file beside it that holds its variables.
    pub env_file: PathBuf,
    /// Who answers for both.
    pub origin: Origin,
    /// Whether it is an error if the file is not there.
    pub required: bool,
}

impl LayerFiles {
    /// A file that must be there, as if it were found.
    pub(super) fn found(file: &Path) -> Self {
        Self {
            env_file: env_file(file),
            file: file.to_owned(),
            origin: Origin::Found,
            required: true,
        }
    }

    /// A layer whose file was read when a run began, and must be there.
    ///
    /// A file that a person named when the run began still counts as named, and every other one that is
    /// not the person's own as found.
    pub(super) fn again(file: PathBuf, cwd: &Path, trust: &Trust) -> Self {
        let origin = match trust.own.holds(&file, cwd) {
            true => Origin::Own,
            false if trust.was_named(&super::layer::real(&file)) => Origin::Named,
            false => Origin::Found,
        };
        Self {
            env_file: env_file(&file),
            file,
            origin,
            required: true,
        }
    }
}

impl ConfigDirs {
    /// The layers, highest first, each file once.
    pub fn layers(&self) -> Vec<LayerFiles> {
        let mut found: Vec<LayerFiles> = Vec::new();
        let mut seen = Vec::new();
        let candidates = self
            .explicit
            .iter()
            .map(|file| (file.clone(), Origin::Named));
        for (file, origin) in candidates.chain(self.optional()) {
            // Two names of one file, such as a link or `..`, are one layer.
            let real = file.canonicalize().unwrap_or_else(|_| file.clone());
            if seen.contains(&real) {
                continue;
            }
            seen.push(real);
            found.push(LayerFiles {
                env_file: env_file(&file),
                file,
                origin,
                required: origin == Origin::Named,
            });
        }
        found
    }

    /// All of them may be missing.
    fn optional(&self) -> impl Iterator<Item = (PathBuf, Origin)> {
        let hidden = |dir: &PathBuf| dir.join(".ai-agent.json");
        let own = self.own();
        let cwd = self.cwd.clone();
        let beside = [self.agent_dir.as_ref(), self.binary_dir.as_ref()];
        let beside = beside.into_iter().flatten().map(move |dir| {
            let file = hidden(dir);
            let origin = match own.holds(&file, &cwd) {
                true => Origin::Own,
                false => Origin::Found,
            };
            (file, origin)
        });
        let home = self.home.as_ref().map(|home| home.join(".ai-agent"));
        let etc = self.etc.as_ref().map(|etc| etc.join("ai-agent"));
        let own_dirs = [home, etc].into_iter().flatten();
        std::iter::once((hidden(&self.cwd), Origin::Found))
            .chain(beside)
            .chain(own_dirs.map(|dir| (dir.join("ai-agent.json"), Origin::Own)))
    }

    /// The places whose files are the person's own.
    pub fn own(&self) -> OwnPlaces {
        OwnPlaces {
            home: self.home.clone(),
            etc: self.etc.clone(),
            binary_dir: self.binary_dir.clone(),
        }
    }

    /// The files beside the layers that hold their secrets.
    pub fn env_files(&self) -> impl Iterator<Item = PathBuf> {
        self.layers().into_iter().map(|layer| layer.env_file)
    }
}

/// The env file beside a configuration file is hidden where that is not `ai-agent.json` itself.
fn env_file(file: &Path) -> PathBuf {
    let name = match file.file_name() {
        Some(name) if name == "ai-agent.json" => "ai-agent.env",
        _ => ".ai-agent.env",
    };
    file.with_file_name(name)
}
