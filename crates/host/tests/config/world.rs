//! A directory with a home, a working directory and the other places, and nothing of the real ones.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_host::Secrets;
use bonded_host::config::{Config, ConfigDirs, Environment, Problems};
use bonded_host::trust::Trust;
use tempfile::TempDir;

pub(crate) struct World {
    root: TempDir,
    environment: Vec<(String, String)>,
    pub(crate) places: ConfigDirs,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory can be made");
        let dir = |name: &str| root.path().join(name);
        let places = ConfigDirs {
            explicit: None,
            cwd: dir("cwd"),
            agent_dir: Some(dir("agent")),
            binary_dir: Some(dir("bin")),
            home: Some(dir("home")),
            etc: Some(dir("etc")),
        };
        Self {
            root,
            environment: Vec::new(),
            places,
        }
    }

    /// A world whose working directory holds this configuration.
    pub(crate) fn with(config: &str) -> Self {
        Self::new().file("cwd/.ai-agent.json", config)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        let dir = path.parent().expect("a file lies in a directory");
        std::fs::create_dir_all(dir).expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn try_load(&self) -> Result<Config, Problems> {
        let environment: Environment = self.environment.iter().cloned().collect();
        Config::load(&self.places, environment, &Trust::once())
    }

    pub(crate) fn load(&self) -> Config {
        self.try_load().expect("the configuration is valid")
    }

    /// The configuration, and the secrets that are met in it.
    pub(crate) fn load_with_secrets(&self) -> (Config, Arc<Secrets>) {
        let environment: Environment = self.environment.iter().cloned().collect();
        let secrets = Arc::clone(environment.secrets());
        let config = Config::load(&self.places, environment, &Trust::once());
        (config.expect("the configuration is valid"), secrets)
    }

    /// What is wrong with it, the directory of this world written as nothing.
    pub(crate) fn problems(&self) -> String {
        let problems = self.try_load().expect_err("the configuration is bad");
        self.shown(&problems)
    }

    pub(crate) fn shown(&self, what: &impl ToString) -> String {
        let root = format!("{}/", self.root.path().display());
        what.to_string().replace(&root, "")
    }
}
