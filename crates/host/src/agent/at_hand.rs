//! What a machine must have at hand to drive a run, so that one that lacks it leaves the run to another.
//!
//! The words are kept with a queued run and shown to people. A program that does not know some of them, because a newer one
//! wrote them, does not have what they mean.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use bonded_kernel::{AgentConfig, RunConfig, SandboxConfig, SandboxLevel};
use bonded_tools::sandbox::{Launcher, shortfalls};

use super::sub_agent::canonical;
use super::{Agent, AgentError, AgentTools, Workplace};
use crate::builtin::BUILTIN_WORD;
use crate::config::{Config, McpTransport};

const PROGRAM: &str = "the program ";
const SANDBOX: &str = "the sandbox ";
const WORKSPACE: &str = "the workspace in ";
const TREE_COPIES: &str = "a place for copies of trees (bonded worker --items)";

/// The built-in tool that starts commands.
const COMMANDS: &str = "run";

/// Something that a machine has or lacks, beside directories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtHand {
    /// The program of a tool server: a name that is looked for, or an absolute path.
    Program(String),
    /// All that a level of the sandbox demands.
    Sandbox(SandboxLevel),
    /// The notes of the workspace in a data directory.
    Workspace(String),
    /// A place in which the trees of plans are made again, for their items to work in.
    TreeCopies,
}

/// A machine, as far as it decides what it has at hand.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The directories in which programs are looked for.
    pub path: &'a OsStr,
    /// What builds sandboxes.
    pub launcher: &'a Launcher,
    /// The data directory of the workspace that is open.
    pub workspace: Option<&'a Path>,
    /// Whether copies of trees are made here.
    pub has_tree_copies: bool,
}

impl fmt::Display for AtHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "{PROGRAM}{name}"),
            Self::Sandbox(level) => write!(f, "{SANDBOX}{}", level.as_str()),
            Self::Workspace(dir) => write!(f, "{WORKSPACE}{dir}"),
            Self::TreeCopies => f.write_str(TREE_COPIES),
        }
    }
}

impl AtHand {
    /// Reads what [`fmt::Display`] has written.
    pub fn parse(words: &str) -> Option<Self> {
        let program = words.strip_prefix(PROGRAM);
        let level = words.strip_prefix(SANDBOX).and_then(SandboxLevel::parse);
        let workspace = words.strip_prefix(WORKSPACE);
        let copies = (words == TREE_COPIES).then_some(Self::TreeCopies);
        program
            .map(|name| Self::Program(name.to_owned()))
            .or(level.map(Self::Sandbox))
            .or(workspace.map(|dir| Self::Workspace(dir.to_owned())))
            .or(copies)
    }

    /// Whether this machine has it.
    pub fn is_here(&self, machine: Machine<'_>) -> bool {
        match self {
            Self::Program(name) if name.contains('/') => Path::new(name).is_file(),
            Self::Program(name) => {
                std::env::split_paths(machine.path).any(|dir| dir.join(name).is_file())
            }
            Self::Sandbox(level) => shortfalls(*level, machine.launcher).is_empty(),
            Self::Workspace(dir) => machine.workspace == Some(Path::new(dir)),
            Self::TreeCopies => machine.has_tree_copies,
        }
    }
}

impl AgentTools {
    /// What a machine must have for a run of this configuration, and for those of the agents that it calls: the programs of
    /// the servers that they do not begin without, and all of their sandbox where they start something and no less will do.
    pub fn at_hand(&self, run: &RunConfig) -> Result<Vec<AtHand>, AgentError> {
        if run.looping.is_some() {
            // Its tools are the notes; it starts nothing.
            return Ok(vec![AtHand::Workspace(run.dir.clone())]);
        }
        let mut found = BTreeSet::new();
        let dir = Path::new(&run.dir);
        let starts_commands = match (&run.agent, &run.builtin) {
            (Some(agent), _) => {
                let config = self.config(&agent.config_files, dir)?;
                found.extend(programs(&config, &agent.tools, dir)?);
                self.called(agent, dir, &mut found)?;
                starts_commands(&agent.tools)
            }
            (None, Some(builtin)) => starts_commands(builtin),
            (None, None) => true,
        };
        let demanded = run.sandbox.as_deref().cloned().unwrap_or_default();
        let is_started = starts_commands || !found.is_empty();
        found.extend(sandbox(&demanded, is_started));
        found.extend(run.item.is_some().then_some(AtHand::TreeCopies));
        Ok(found.into_iter().collect())
    }

    /// The same for the agents that one may call, down to the last. They are checked when its goal is made.
    fn called(
        &self,
        agent: &AgentConfig,
        dir: &Path,
        found: &mut BTreeSet<AtHand>,
    ) -> Result<(), AgentError> {
        let Some(workplace) = &self.workplace else {
            return Ok(());
        };
        let above = match &agent.handed_down {
            Some(handed) => workplace.handing_down(handed),
            None => workplace.clone(),
        };
        let place = Workplace {
            dir: dir.to_owned(),
            ..above.for_children()
        };
        let files = agent.agents.iter().map(|it| PathBuf::from(&it.file));
        let mut left: Vec<PathBuf> = files.collect();
        let mut seen = BTreeSet::new();
        while let Some(file) = left.pop() {
            if !seen.insert(canonical(&file)) {
                continue;
            }
            let called = Agent::load(&file, &place, above.options_for_all())?;
            let tools = &called.options.tools;
            let programs = programs(&called.config, tools, dir)?;
            let is_started = starts_commands(tools) || !programs.is_empty();
            found.extend(programs);
            found.extend(sandbox(&called.options.sandbox, is_started));
            left.extend(called.called_files());
        }
        Ok(())
    }
}

fn starts_commands(tools: &[String]) -> bool {
    tools.iter().any(|it| it == BUILTIN_WORD || it == COMMANDS)
}

/// All of the sandbox, where something is started in it.
fn sandbox(demanded: &SandboxConfig, is_started: bool) -> Option<AtHand> {
    let is_needed = demanded.required || is_started;
    let is_all = !demanded.best_effort && demanded.level != SandboxLevel::Full;
    (is_needed && is_all).then_some(AtHand::Sandbox(demanded.level))
}

/// A server that says itself where programs lie is left out: it alone knows what it finds there.
fn programs(config: &Config, tools: &[String], dir: &Path) -> Result<Vec<AtHand>, AgentError> {
    let mut found = vec![];
    for name in tools {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_a_newer_program_wrote_is_not_known() {
        let programs = ["npx", "/opt/a server"].map(|name| AtHand::Program(name.into()));
        let levels = SandboxLevel::ALL.map(AtHand::Sandbox);
        let workspace = AtHand::Workspace("/srv/data".into());
        for thing in programs
            .into_iter()
            .chain(levels)
            .chain([workspace, AtHand::TreeCopies])
        {
            assert_eq!(AtHand::parse(&thing.to_string()), Some(thing));
        }
        for words in ["", "the sandbox of tomorrow", "a moon"] {
            assert_eq!(AtHand::parse(words), None, "{words}");
        }
    }
}
