//! Where the layers of the configuration lie.

use std::path::{Path, PathBuf};

/// The directories of a process. Nothing here reads the environment.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The file that a person named; it must exist.
    pub explicit: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The directory of the agent file.
    pub agent_dir: Option<PathBuf>,
    pub binary_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Commonly `/etc`.
    pub etc: Option<PathBuf>,
}

/// The files of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerFiles {
    pub file: PathBuf,
    pub env_file: PathBuf,
    /// Whether it is an error if the file is not there.
    pub required: bool,
}

impl LayerFiles {
    /// A layer whose file must be there.
    pub(super) fn required(file: PathBuf) -> Self {
        Self {
            env_file: env_file(&file),
            file,
            required: true,
        }
    }
}

impl Places {
    /// The layers, highest first, each file once.
    pub fn layers(&self) -> Vec<LayerFiles> {
        let mut found: Vec<LayerFiles> = Vec::new();
        let mut seen = Vec::new();
        let candidates = self.explicit.iter().map(|file| (file.clone(), true));
        for (file, required) in candidates.chain(self.optional().map(|file| (file, false))) {
            // Two names of one file, such as a link or `..`, are one layer.
            let real = file.canonicalize().unwrap_or_else(|_| file.clone());
            if seen.contains(&real) {
                continue;
            }
            seen.push(real);
            found.push(LayerFiles {
                env_file: env_file(&file),
                file,
                required,
            });
        }
        found
    }

    fn optional(&self) -> impl Iterator<Item = PathBuf> {
        let hidden = |dir: &Path| dir.join(".ai-agent.json");
        let beside = [
            Some(&self.cwd),
            self.agent_dir.as_ref(),
            self.binary_dir.as_ref(),
        ];
        let home = self.home.as_ref().map(|home| home.join(".ai-agent"));
        let etc = self.etc.as_ref().map(|etc| etc.join("ai-agent"));
        let own_dirs = [home, etc].into_iter().flatten();
        beside
            .into_iter()
            .flatten()
            .map(move |dir| hidden(dir))
            .chain(own_dirs.map(|dir| dir.join("ai-agent.json")))
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
