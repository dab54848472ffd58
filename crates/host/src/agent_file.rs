//! Agent files (`.ai`): an optional shebang line, YAML front matter between `---` lines, and a prompt.
//!
//! Nothing is decided here: the options of the front matter are handed on as they are written, with the
//! line at which they stand, and [`crate::config::options::resolve`] weighs them against other sources.

mod error;
mod front_matter;
mod include;
mod read;
mod schema;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use error::AgentFileError;
pub use include::{INCLUDE_DEPTH_MAX, IncludePolicy};
pub use schema::{InputFormat, InputSpec, OutputFormat, OutputSpec, default_input_schema};
pub use variables::Variables;

use crate::beneath::SecretFiles;
use crate::config::options::Given;
use crate::trust::Contents;

/// An agent file as it is written, its includes resolved and its front matter checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFile {
    pub path: PathBuf,
    /// What `agents` and `schemaRef` are relative to.
    pub dir: PathBuf,
    pub description: Option<String>,
    pub usage: Option<String>,
    /// The name under which other agents call this one.
    pub tool_name: Option<String>,
    pub input: Option<InputSpec>,
    pub output: Option<OutputSpec>,
    /// Whether the AGENTS.md of the working directory belongs to the system text.
    pub project_instructions: bool,
    /// Option key to value, for [`crate::config::options::Sources::front_matter`].
    pub options: BTreeMap<String, Given>,
    /// The prompt before its variables are put in: some of them follow from the options.
    pub body: String,
    /// The file with everything that it pulls in, for whoever decides whether it is trusted.
    pub contents: Contents,
}

impl AgentFile {
    pub fn load(path: &Path, policy: IncludePolicy) -> Result<Self, AgentFileError> {
        Self::load_beside(path, policy, &SecretFiles::default())
    }

    /// The same beside files whose secrets must not get into a prompt, under whatever name.
    pub fn load_beside(
        path: &Path,
        policy: IncludePolicy,
        secrets: &SecretFiles,
    ) -> Result<Self, AgentFileError> {
        let text = read::read_text(path)?;
        Self::read(&text, path, dir_of(path), policy, secrets)
    }

    /// The same for whoever wants to know every mistake: what can be made of the file, and all that is wrong with it.
    pub(crate) fn inspect_beside(
        path: &Path,
        policy: IncludePolicy,
        secrets: &SecretFiles,
    ) -> (Option<Self>, Vec<AgentFileError>) {
        match read::read_text(path) {
            Ok(text) => Self::read_all(&text, path, dir_of(path), policy, secrets),
            Err(error) => (None, vec![error]),
        }
    }

    /// Reads a text that stands for the file `path` in the directory `dir`.
    pub fn from_text(
        text: &str,
        path: &Path,
        dir: &Path,
        policy: IncludePolicy,
    ) -> Result<Self, AgentFileError> {
        Self::read(text, path, dir, policy, &SecretFiles::default())
    }

    fn read(
        text: &str,
        path: &Path,
        dir: &Path,
        policy: IncludePolicy,
        secrets: &SecretFiles,
    ) -> Result<Self, AgentFileError> {
        let (agent, errors) = Self::read_all(text, path, dir, policy, secrets);
        match (agent, errors.into_iter().next()) {
            (Some(agent), None) => Ok(agent),
            (_, Some(error)) => Err(error),
            (None, None) => Err(AgentFileError::Missing { file: path.into() }),
        }
    }

    fn read_all(
        text: &str,
        path: &Path,
        dir: &Path,
        policy: IncludePolicy,
        secrets: &SecretFiles,
    ) -> (Option<Self>, Vec<AgentFileError>) {
        let mut errors = vec![];
        let assembled = include::assemble(text, path, dir, policy, secrets, &mut errors);
        let Some(assembled) = assembled else {
            return (None, errors);
        };
        let mut agent = Self {
            path: path.into(),
            dir: dir.into(),
            description: None,
            usage: None,
            tool_name: None,
            input: None,
            output: None,
            project_instructions: false,
            options: BTreeMap::new(),
            body: String::new(),
            contents: assembled.contents.clone(),
        };
        front_matter::read(&assembled, policy, secrets, &mut agent, &mut errors);
        (Some(agent), errors)
    }

    /// The prompt with the variables put in. Those that `variables` does not hold are left alone.
    pub fn prompt(&self, variables: &Variables) -> String {
        variables::substitute(&self.body, variables)
    }

    /// Whether it says what it is for: other agents can call it only then.
    pub(crate) fn is_described(&self) -> bool {
        let description = self.description.as_deref();
        description.is_some_and(|it| !it.trim().is_empty())
    }

    /// The schema of the agent's input: its own, or that of a prompt and a format.
    pub fn input_schema(&self) -> Value {
        let own = self.input.as_ref().and_then(|input| input.schema.clone());
        own.unwrap_or_else(default_input_schema)
    }
}

/// The directory of an agent file.
fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    }
}
