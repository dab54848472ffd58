//! What a machine must have at hand to drive a run, so that one that lacks it leaves the run to another.
//!
//! The words are kept with a queued run and shown to people. A program that does not know some of them, because a newer one
//! wrote them, does not have what they mean.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use bonded_kernel::{AgentConfig, RunConfig, SandboxLevel};
use bonded_tools::sandbox::{Launcher, shortfalls};

use super::{AgentError, AgentTools};
use crate::builtin::BUILTIN_WORD;
use crate::config::McpTransport;

const PROGRAM: &str = "the program ";
const SANDBOX: &str = "the sandbox ";

/// The built-in tool that starts commands.
const COMMANDS: &str = "run";

/// Something that a machine has or lacks, beside directories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtHand {
    /// The program of a tool server: a name that is looked for, or an absolute path.
    Program(String),
    /// All that a level of the sandbox demands.
    Sandbox(SandboxLevel),
}

impl fmt::Display for AtHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "{PROGRAM}{name}"),
            Self::Sandbox(level) => write!(f, "{SANDBOX}{}", level.as_str()),
        }
    }
}

impl AtHand {
    /// Reads what [`fmt::Display`] has written.
    pub fn parse(words: &str) -> Option<Self> {
        let program = words.strip_prefix(PROGRAM);
        let level = words.strip_prefix(SANDBOX).and_then(SandboxLevel::parse);
        program
            .map(|name| Self::Program(name.to_owned()))
            .or(level.map(Self::Sandbox))
    }

    /// Whether this machine has it. Programs are looked for in the directories of `path`.
    pub fn is_here(&self, path: &OsStr, launcher: &Launcher) -> bool {
        match self {
            Self::Program(name) if name.contains('/') => Path::new(name).is_file(),
            Self::Program(name) => std::env::split_paths(path).any(|dir| dir.join(name).is_file()),
            Self::Sandbox(level) => shortfalls(*level, launcher).is_empty(),
        }
    }
}

impl AgentTools {
    /// What a machine must have for a run of this configuration: the programs of the servers that it does not begin
    /// without, and all of its sandbox where it starts something and no less will do.
    pub fn at_hand(&self, run: &RunConfig) -> Result<Vec<AtHand>, AgentError> {
        let mut found = match &run.agent {
            Some(agent) => self.programs(run, agent)?,
            None => vec![],
        };
        let starts_commands = match (&run.agent, &run.builtin) {
            (Some(agent), _) => agent
                .tools
                .iter()
                .any(|it| it == BUILTIN_WORD || it == COMMANDS),
            (None, Some(builtin)) => builtin.iter().any(|it| it == COMMANDS),
            (None, None) => true,
        };
        let demanded = run.sandbox.as_deref().cloned().unwrap_or_default();
        let is_needed = demanded.required || starts_commands || !found.is_empty();
        if is_needed && !demanded.best_effort && demanded.level != SandboxLevel::Full {
            found.push(AtHand::Sandbox(demanded.level));
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// A server that says itself where programs lie is left out: it alone knows what it finds there.
    fn programs(&self, run: &RunConfig, agent: &AgentConfig) -> Result<Vec<AtHand>, AgentError> {
        let dir = Path::new(&run.dir);
        let config = self.config(&agent.config_files, dir)?;
        let mut found = vec![];
        for name in &agent.tools {
            let Some(server) = config.mcp_server(name)? else {
                continue;
            };
            let is_required = server.enabled && server.required.unwrap_or(true);
            let McpTransport::Stdio {
                program, env, cwd, ..
            } = server.transport
            else {
                continue;
            };
            if !is_required || env.contains_key("PATH") {
                continue;
            }
            found.push(AtHand::Program(match program.contains('/') {
                true => {
                    let own = cwd.map_or_else(|| dir.to_owned(), |cwd| dir.join(cwd));
                    own.join(program).to_string_lossy().into_owned()
                }
                false => program,
            }));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_a_newer_program_wrote_is_not_known() {
        let programs = ["npx", "/opt/a server"].map(|name| AtHand::Program(name.into()));
        let levels = SandboxLevel::ALL.map(AtHand::Sandbox);
        for thing in programs.into_iter().chain(levels) {
            assert_eq!(AtHand::parse(&thing.to_string()), Some(thing));
        }
        for words in ["", "the sandbox of tomorrow", "a moon"] {
            assert_eq!(AtHand::parse(words), None, "{words}");
        }
    }
}
