//! Where agents work: the environment, directories, flags and trust that hold for all agents of a process.

mod handed_down;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent_error::AgentError;
use crate::agent_file::{AgentFile, AgentFileError, IncludePolicy};
use crate::beneath::SecretFiles;
use crate::config::options::Given;
use crate::config::{ConfigDirs, Environment};
use crate::trust::Trust;

/// Where agents are looked for and what holds for all of them.
#[derive(Clone, Debug)]
pub struct Workplace {
    /// The variables of the process, and the secrets that were met in them.
    pub environment: Environment,
    /// The file of `--config`.
    pub config_file: Option<PathBuf>,
    /// The directory that the tools work in, absolute.
    pub dir: PathBuf,
    /// The directory of the program, one of the places of a configuration; `None` where it is not
    /// known.
    pub binary_dir: Option<PathBuf>,
    /// The person's home, one of the places of a configuration; `None` where there is none.
    pub home: Option<PathBuf>,
    /// The directory of the machine's configuration; `None` where none is looked for.
    pub etc: Option<PathBuf>,
    /// For all agents of a run, also those that another one calls.
    pub overrides: BTreeMap<String, Given>,
    /// The flags, for the agent that was named on the command line.
    pub command_line: BTreeMap<String, Given>,
    /// What holds where nobody says anything: variables that are set once for everything.
    pub variables: BTreeMap<String, Given>,
    /// Which files the prompt of an agent may pull in.
    pub includes: IncludePolicy,
    /// What counts of files that are found.
    pub trust: Arc<Trust>,
}

impl Workplace {
    /// A place without files or flags, for a run that is taken up with what its log says.
    pub fn bare(environment: Environment) -> Self {
        Self {
            environment,
            config_file: None,
            dir: PathBuf::new(),
            binary_dir: None,
            home: None,
            etc: None,
            overrides: BTreeMap::new(),
            command_line: BTreeMap::new(),
            variables: BTreeMap::new(),
            includes: IncludePolicy::InsideTree,
            trust: Arc::default(),
        }
    }

    /// Where the configuration lies for an agent of this directory, or for none.
    pub fn places(&self, agent_dir: Option<&Path>) -> ConfigDirs {
        ConfigDirs {
            explicit: self.config_file.clone(),
            cwd: self.dir.clone(),
            agent_dir: agent_dir.map(Path::to_owned),
            binary_dir: self.binary_dir.clone(),
            home: self.home.clone(),
            etc: self.etc.clone(),
        }
    }

    /// An agent file, whose prompt gets nothing of the secrets beside the layers.
    pub(crate) fn agent_file(&self, path: &Path) -> Result<AgentFile, AgentError> {
        let secrets = self.secrets_beside(path);
        Ok(AgentFile::load_beside(path, self.includes, &secrets)?)
    }

    /// What can be made of an agent file, and everything that is wrong with it.
    pub(crate) fn inspect_file(&self, path: &Path) -> (Option<AgentFile>, Vec<AgentFileError>) {
        let secrets = self.secrets_beside(path);
        AgentFile::inspect_beside(path, self.includes, &secrets)
    }

    /// The env files of all layers that would hold for the agent, by what they are and not by name.
    fn secrets_beside(&self, path: &Path) -> SecretFiles {
        let dir = path.parent().filter(|dir| *dir != Path::new(""));
        let places = self.places(Some(dir.unwrap_or(Path::new("."))));
        SecretFiles::of(places.env_files())
    }

    /// The place of agents that another one calls: the command line spoke to that one. An override holds
    /// for them too, but not that of `agents`: whoever it names would call itself.
    ///
    /// Options that are inherited take the place of the flags, and lose against what a file says.
    pub fn for_children(&self) -> Self {
        let mut overrides = self.overrides.clone();
        overrides.remove("agents");
        Self {
            command_line: BTreeMap::new(),
            overrides,
            ..self.clone()
        }
    }
}

/// Without a look at the disk: a path that cannot be made absolute stays as it is.
pub(crate) fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_string_lossy().into_owned()
}
