//! Agent files (`.ai`): an optional shebang line, YAML front matter between `---` lines, and a prompt.
//!
//! Nothing is decided here: the options of the front matter are handed on as they are written, with the
//! line at which they stand, and [`crate::config::options::resolve`] weighs them against other sources.
//!
//! A file is read once and kept with the hashes of everything that it pulled in, so that what a person
//! trusts is what is run. Mistakes are collected: whoever loads takes the first, and whoever checks is
//! given all of them.

mod error;
mod fault;
mod form;
mod front_matter;
mod include;
mod read;
mod schema;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use error::AgentFileError;
pub use form::agent_schema;
pub use include::{INCLUDE_DEPTH_MAX, IncludePolicy};
pub use schema::{InputFormat, InputSpec, OutputFormat, OutputSpec, default_input_schema};
pub use variables::Variables;

use crate::beneath::SecretFiles;
use crate::config::options::Given;
use crate::trust::Contents;

/// An agent file as it is written, its includes resolved and its front matter checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFile {
    /// As it was named, not made absolute.
    pub path: PathBuf,
    /// What `agents` and `schemaRef` are relative to.
    pub dir: PathBuf,
    /// What it is for, in its own words; other agents can call it only with one.
    pub description: Option<String>,
    /// How it is to be used, for a person.
    pub usage: Option<String>,
    /// The name under which other agents call this one.
    pub tool_name: Option<String>,
    /// What it takes; `None` where the file does not say, and anything is taken.
    pub input: Option<InputSpec>,
    /// What it gives; `None` where the file does not say, and the caller's format holds.
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
    /// Loads a file without secrets to keep out of its prompt; see `load_beside`.
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

    /// The first mistake, for whoever cannot go on with half an agent.
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

    /// Without a text there is no agent; with one there is, and whatever is wrong leaves its fields
    /// empty.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_the_front_matter_is_told_from_the_top_down() {
        let text = "---\noutput:\n  schemaRef: 5\n  formt: x\n  format: jsn\ncolour: red\nusage: [a]\n---\n";
        let (path, dir) = (Path::new("a.ai"), Path::new("."));
        let policy = IncludePolicy::InsideTree;
        let (_, errors) = AgentFile::read_all(text, path, dir, policy, &SecretFiles::default());
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = [
            "a.ai, line 3: schemaRef must be a text, not the number 5",
            "a.ai, line 4: unknown key formt; did you mean format?",
            "a.ai, line 5: format must be one of json, markdown, text, not \"jsn\"; did you mean json?",
            "a.ai, line 6: unknown key colour",
            "a.ai, line 7: usage must be a text, not a list of 1",
        ];
        assert_eq!(messages, expected);
    }
}
