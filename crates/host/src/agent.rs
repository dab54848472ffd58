//! Agents: from an agent file, the configuration and what was said on the spot to a goal that can be run.
//!
//! Everything that a run needs is resolved here once and frozen in its log. What must not be in a log, the
//! keys, is looked up again by [`Keyring`] whenever a request is sent.

mod error;
mod input;
mod keyring;
mod login;
mod rest;
mod sub_agent;
mod target;
mod tools;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bonded_kernel::{
    AgentConfig, Encoding, Limits, Parent, ReportFormat, ReportSpec, RunConfig, Text,
};

use crate::agent_file::{AgentFile, IncludePolicy, OutputFormat};
use crate::config::options::{self, Given, Options, Source, Sources, ToolEncoding};
use crate::config::{Config, Environment, Places, Warning};
use crate::host::Goal;
use crate::policy;

pub use error::AgentError;
pub use keyring::Keyring;
pub use login::LoginPlace;
pub use sub_agent::{AGENT_DEPTH_MAX, ChildArguments, child_spec};
pub use target::{UnknownWindow, all as targets};
pub(crate) use tools::BUILTIN;
pub use tools::{AgentTools, BUILTIN_WORD};
pub use variables::Moment;

/// Where agents are looked for and what holds for all of them.
#[derive(Clone, Debug)]
pub struct Workplace {
    pub environment: Environment,
    /// The file of `--config`.
    pub config_file: Option<PathBuf>,
    /// The directory that the tools work in, absolute.
    pub dir: PathBuf,
    pub binary_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub etc: Option<PathBuf>,
    /// For all agents of a run, also those that another one calls.
    pub overrides: BTreeMap<String, Given>,
    pub command_line: BTreeMap<String, Given>,
    pub includes: IncludePolicy,
}

/// An agent that is ready to be given goals.
#[derive(Debug)]
pub struct Agent {
    pub name: String,
    pub file: AgentFile,
    pub options: Options,
    /// Which source won, by option key.
    pub sources: BTreeMap<&'static str, Source>,
    pub config: Config,
    workplace: Workplace,
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
            includes: IncludePolicy::InsideTree,
        }
    }

    /// The place of agents that another one calls: the command line spoke to that one. An override holds
    /// for them too, but not that of `agents`: whoever it names would call itself.
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

/// What one run of an agent is given.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The goal: text, or JSON where the agent's input is JSON.
    pub input: String,
    /// The format where neither the agent nor an option says one.
    pub format: ReportFormat,
    /// Drawn for this run.
    pub nonce: String,
    pub now: Moment,
    /// The limits that no agent option speaks of: time, tokens, money, no progress.
    pub limits: Limits,
    pub parent: Option<Parent>,
}

impl Agent {
    /// Loads an agent file with its configuration and options. `inherited` is what a parent agent hands
    /// down.
    pub fn load(
        path: &Path,
        workplace: &Workplace,
        inherited: BTreeMap<String, Given>,
    ) -> Result<Self, AgentError> {
        let file = AgentFile::load(path, workplace.includes)?;
        let places = Places {
            explicit: workplace.config_file.clone(),
            cwd: workplace.dir.clone(),
            agent_dir: Some(file.dir.clone()),
            binary_dir: workplace.binary_dir.clone(),
            home: workplace.home.clone(),
            etc: workplace.etc.clone(),
        };
        let config = Config::load(&places, workplace.environment.clone())?;
        let resolved = options::resolve(&Sources {
            overrides: workplace.overrides.clone(),
            command_line: workplace.command_line.clone(),
            front_matter: file.options.clone(),
            inherited,
            config: config.defaults()?,
        })?;
        Ok(Self {
            name: agent_name(&file),
            file,
            options: resolved.options,
            sources: resolved.sources,
            config,
            workplace: workplace.clone(),
        })
    }

    pub fn warnings(&self) -> &[Warning] {
        self.config.warnings()
    }

    /// The format of the report: what the agent's output demands, else the option, else the caller's.
    pub fn format(&self, usual: ReportFormat) -> ReportFormat {
        let output = self.file.output.as_ref().map(|output| output.format);
        let said = self.options.format.and_then(ReportFormat::parse);
        match output {
            Some(OutputFormat::Json) => ReportFormat::Json,
            _ if said.is_some() => said.unwrap_or(usual),
            // An agent that another one calls answers that one, whatever it would show a person.
            _ if usual == ReportFormat::SubAgent => usual,
            Some(OutputFormat::Markdown) => ReportFormat::Markdown,
            Some(OutputFormat::Text) => ReportFormat::Pipe,
            None => usual,
        }
    }

    /// Whether an input fits what the agent takes.
    pub fn check_input(&self, input: &str) -> Result<(), AgentError> {
        input::check(self, input)
    }

    /// Whether the agent has tools or agents, and so progress to tell of.
    pub fn works(&self) -> bool {
        tools::works(&self.options)
    }

    /// Makes the goal of one run.
    pub fn goal(&self, assignment: Assignment) -> Result<Goal, AgentError> {
        self.check_input(&assignment.input)?;
        self.unchecked_goal(assignment)
    }

    /// The same for a run that works in another directory. The agent's configuration stays that of its own.
    pub fn goal_in(&self, dir: &Path, assignment: Assignment) -> Result<Goal, AgentError> {
        self.check_input(&assignment.input)?;
        let there = Workplace {
            dir: dir.to_owned(),
            ..self.workplace.clone()
        };
        self.goal_at(&there, assignment)
    }

    /// The same without a look at the input, for whoever makes many goals and checks the input of each.
    pub fn unchecked_goal(&self, assignment: Assignment) -> Result<Goal, AgentError> {
        self.goal_at(&self.workplace, assignment)
    }

    fn goal_at(&self, workplace: &Workplace, assignment: Assignment) -> Result<Goal, AgentError> {
        let format = self.format(assignment.format);
        let report = ReportSpec {
            format,
            schema: self.file.output.as_ref().and_then(|it| it.schema.clone()),
        };
        report
            .check()
            .map_err(|source| AgentError::BadOutputSchema {
                file: self.file.path.clone(),
                source,
            })?;
        let options = &self.options;
        let agent = AgentConfig {
            name: self.name.clone(),
            encoding: match options.encoding {
                ToolEncoding::Native => Encoding::Native,
                ToolEncoding::Xml => Encoding::Xml,
                ToolEncoding::XmlFinal => Encoding::XmlFinal,
            },
            nonce: assignment.nonce,
            report,
            tools: tools::named(self)?,
            agents: sub_agent::listed(self, &self.workplace)?,
            config_files: self.config.files().map(absolute).collect(),
            quotes_are_text: true,
        };
        let policy = policy(options, &agent.agents, &agent.nonce);
        let config = RunConfig {
            limits: Limits {
                turns_max: options.turns_max,
                calls_per_turn_max: options.calls_per_turn_max,
                attempts_per_turn_max: options.attempts_per_turn_max,
                tool_timeout_ms: options.tool_timeout_ms,
                tool_output_bytes_max: options.tool_response_bytes_max,
                ..assignment.limits
            },
            output_tokens_max: options.output_tokens_max,
            keeps_originals: options.trace_tools,
            own_tools: tools::own(options),
            agent: Some(Box::new(agent)),
            parent: assignment.parent,
            policy,
            sandbox: Some(Box::new(options.sandbox.clone())),
            ..RunConfig::new(
                workplace.dir.to_string_lossy(),
                target::all(
                    &self.config,
                    options,
                    &self.workplace.environment,
                    UnknownWindow::Usual,
                )?,
            )
        };
        let variables = assignment.now.variables(workplace, options, format);
        Ok(Goal {
            text: assignment.input.into(),
            system: self.system(&variables)?,
            config,
        })
    }

    /// The prompt, and the project's own instructions where the agent asks for them.
    fn system(&self, variables: &crate::agent_file::Variables) -> Result<Text, AgentError> {
        let mut system = self.file.prompt(variables);
        let path = self.workplace.dir.join("AGENTS.md");
        if self.file.project_instructions && path.is_file() {
            let instructions = std::fs::read_to_string(&path)
                .map_err(|source| AgentError::Unreadable { path, source })?;
            system.push_str("\n\n# Project instructions (AGENTS.md)\n\n");
            system.push_str(&instructions);
        }
        Ok(system.into())
    }
}

/// The name that a file gives its agent: what it says, else what it is called.
fn agent_name(file: &AgentFile) -> String {
    let stem = || {
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        stem.chars()
            .map(|c| if usable(c) { c } else { '_' })
            .collect::<String>()
    };
    let name = file.tool_name.clone().unwrap_or_else(stem);
    if name.is_empty() {
        "agent".into()
    } else {
        name
    }
}

/// A run may be taken up in another directory, so no path may depend on this one.
fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_string_lossy().into_owned()
}
