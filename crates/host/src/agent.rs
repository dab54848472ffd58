//! Agents: from an agent file, the configuration and what was said on the spot to a goal that can be run.
//!
//! Everything that a run needs is resolved here once and frozen in its log. What must not be in a log, the
//! keys, is looked up again by [`Keyring`] whenever a request is sent.
//!
//! The order matters: the file is read first, because its directory says where the configuration lies;
//! the configuration next, because it says what counts of the options; and trust in the agent file
//! last, when it is known what it would get. Nothing is started before all of that has passed.
//!
//! A run that is taken up again is not resolved again. It goes on with what its log says, in whatever
//! directory and under whatever flags it is taken up.

mod at_hand;
mod input;
mod inspect;
mod keyring;
mod login;
mod rest;
mod sub_agent;
mod target;
mod tools;
mod variables;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{
    AgentConfig, Encoding, Limits, Parent, ReportFormat, ReportSpec, RunConfig, Text,
};

use crate::agent_file::{AgentFile, OutputFormat};
use crate::beneath::SecretFiles;
use crate::config::options::{self, Given, Options, Source, Sources, ToolEncoding};
use crate::config::policy::policy;
use crate::config::{Config, Warning};
use crate::host::Goal;
use crate::instructions;
use crate::skills::Skills;
use crate::trust::{Contents, Trust, TrustExtent, Wants};
use crate::workplace::absolute;

pub use crate::agent_error::AgentError;
pub use crate::builtin::{BUILTIN, BUILTIN_WORD};
pub use crate::workplace::Workplace;
pub use at_hand::{AtHand, Machine};
pub use inspect::{Finding, Inspection};
pub use keyring::Keyring;
pub use login::LoginPlace;
pub use sub_agent::{AGENT_DEPTH_MAX, ChildArguments, child_spec};
pub use target::{
    UnknownWindow, WINDOW_TOKENS, all as targets, list_price, list_price_behind, listed,
    unconfigured, unsent,
};
pub use tools::{AgentTools, ServerStart};
pub use variables::Moment;

/// An agent that is ready to be given goals.
#[derive(Debug)]
pub struct Agent {
    /// Its `toolName`, else the name of its file with everything unusual replaced by `_`.
    pub name: String,
    /// The agent file with its includes, as it was read when the agent was loaded.
    pub file: AgentFile,
    /// What all sources together come to.
    pub options: Options,
    /// Which source won, by option key.
    pub sources: BTreeMap<&'static str, Source>,
    /// The layers that hold for the directory of the agent file.
    pub config: Config,
    /// Where it was loaded; its runs work there unless they are given another directory.
    workplace: Workplace,
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
    /// The clock and the machine, for the variables of the prompt.
    pub now: Moment,
    /// The limits that no agent option speaks of: time, tokens, money, no progress.
    pub limits: Limits,
    /// Who called the agent; `None` for the one that a person started.
    pub parent: Option<Parent>,
}

impl Agent {
    /// Loads an agent file with its configuration and options. `inherited` is what a parent agent hands
    /// down.
    ///
    /// A file that is not the person's own is weighed by what it wants: where that is more than a run
    /// without it has, somebody must trust it, and an agent that would lose its tools without trust is
    /// refused rather than run without them.
    pub fn load(
        path: &Path,
        workplace: &Workplace,
        inherited: BTreeMap<String, Given>,
    ) -> Result<Self, AgentError> {
        let file = workplace.agent_file(path)?;
        let places = workplace.places(Some(&file.dir));
        let trust = &workplace.trust;
        let config = Config::load(&places, workplace.environment.clone(), trust)?;
        let mut configured = config.sources()?;
        let is_own = places.own().holds(&file.path, &workplace.dir);
        if is_own {
            // What the person wrote himself is not bounded by what he wrote elsewhere.
            configured.own.clear();
        }
        let resolved = options::resolve(&Sources {
            overrides: workplace.overrides.clone(),
            command_line: workplace.command_line.clone(),
            front_matter: file.options.clone(),
            inherited,
            variables: workplace.variables.clone(),
            ..configured
        })?;
        let wants = wants(&config, &resolved.options, &resolved.sources);
        if !is_own && !wants.is_empty() {
            let held = trust.decide(&file.contents, &wants);
            let held = held.map_err(AgentError::Untrusted)?;
            if held == TrustExtent::Tightening {
                let file = file.path;
                return Err(AgentError::NotWithout { file });
            }
        }
        Ok(Self {
            name: agent_name(&file),
            file,
            options: resolved.options,
            sources: resolved.sources,
            config,
            workplace: workplace.clone(),
        })
    }

    /// What an agent file holds and wants, whoever trusts it. Nothing of it counts.
    pub fn examine(path: &Path, workplace: &Workplace) -> Result<(Contents, Wants), AgentError> {
        let workplace = Workplace {
            trust: Arc::new(Trust::once()),
            ..workplace.clone()
        };
        let agent = Self::load(path, &workplace, BTreeMap::new())?;
        let wants = wants(&agent.config, &agent.options, &agent.sources);
        Ok((agent.file.contents, wants))
    }

    /// What a person who runs the agent is told of its configuration, in short unless they want more, and of skills
    /// that it is not offered.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.config.warnings();
        let mut all = match self.options.verbose {
            true => warnings.iter().map(ToString::to_string).collect(),
            false => Warning::in_short(warnings),
        };
        // One that is missing stops the run itself.
        all.extend(self.skills().unwrap_or_default().warnings);
        all
    }

    /// The skills that its runs offer, as they are now.
    pub fn skills(&self) -> Result<Skills, AgentError> {
        let found = Skills::find(&self.workplace, &self.options.skills);
        found.map_err(AgentError::Skill)
    }

    /// The format of the report: what the agent's output demands, else the option, else the caller's.
    pub fn format(&self, default: ReportFormat) -> ReportFormat {
        let output = self.file.output.as_ref().map(|output| output.format);
        let option = self.options.format.and_then(ReportFormat::parse);
        match output {
            Some(OutputFormat::Json) => ReportFormat::Json,
            _ if option.is_some() => option.unwrap_or(default),
            // An agent that another one calls answers that one, whatever it would show a person.
            _ if default == ReportFormat::SubAgent => default,
            Some(OutputFormat::Markdown) => ReportFormat::Markdown,
            Some(OutputFormat::Text) => ReportFormat::Pipe,
            None => default,
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

    /// The directory that its runs work in, or that theirs lie in.
    pub fn dir(&self) -> &Path {
        &self.workplace.dir
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

    /// What the report is to be like, `default` being the caller's format.
    fn report(&self, default: ReportFormat) -> Result<ReportSpec, AgentError> {
        let report = ReportSpec {
            format: self.format(default),
            schema: self.file.output.as_ref().and_then(|it| it.schema.clone()),
        };
        match report.check() {
            Ok(()) => Ok(report),
            Err(source) => Err(AgentError::BadOutputSchema {
                file: self.file.path.clone(),
                source,
            }),
        }
    }

    /// The configuration of the agent stays that of its own place; only the directory that the tools
    /// work in and the variables of the prompt follow the given one.
    fn goal_at(&self, workplace: &Workplace, assignment: Assignment) -> Result<Goal, AgentError> {
        let report = self.report(assignment.format)?;
        let format = report.format;
        let options = &self.options;
        let agents = sub_agent::listed(self, &self.workplace)?;
        let calls = !agents.is_empty();
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
            agents,
            deferred_above: options.tool_search_above,
            config_files: self.config_files(),
            quotes_are_text: true,
            handed_down: calls.then(|| Box::new(workplace.handed_down())),
        };
        let skills = self.skills()?;
        let policy = policy(options, &agent.agents, &skills.offered, &agent.nonce);
        let mut config = RunConfig {
            limits: Limits {
                turns_max: options.turns_max,
                calls_per_turn_max: options.calls_per_turn_max,
                attempts_per_turn_max: options.attempts_per_turn_max,
                tool_timeout_ms: options.tool_timeout_ms,
                tool_output_bytes_max: options.tool_response_bytes_max,
                ..assignment.limits
            },
            output_tokens_max: options.output_tokens_max,
            output_is_default: self.sources.get("maxOutputTokens") == Some(&Source::BuiltIn),
            keeps_originals: options.trace_tools,
            context_summary: options.context_summary,
            own_tools: tools::own(options),
            agent: Some(Box::new(agent)),
            parent: assignment.parent,
            policy,
            sandbox: Some(Box::new(options.sandbox.clone())),
            held: self.workplace.trust.held(),
            skills: skills.offered.clone(),
            ..RunConfig::new(
                workplace.dir.to_string_lossy(),
                target::all(
                    &self.config,
                    options,
                    &self.workplace.environment,
                    UnknownWindow::Assumed,
                )?,
            )
        };
        config.confine_to_policy();
        let variables = assignment.now.variables(workplace, options, format);
        Ok(Goal {
            text: assignment.input.into(),
            system: skills.after(self.system(&variables)?),
            config,
            images: vec![],
        })
    }

    /// The prompt, and the project's own instructions where the agent asks for them.
    fn system(&self, variables: &crate::agent_file::Variables) -> Result<Text, AgentError> {
        let mut system = self.file.prompt(variables);
        if let Some(section) = self.instructions()? {
            system.push_str("\n\n");
            system.push_str(&section);
        }
        Ok(system.into())
    }

    /// What the project says of itself, where the agent wants it and there is something. What cannot be read is an
    /// error and is not passed over: the agent would work without what it was promised.
    fn instructions(&self) -> Result<Option<String>, AgentError> {
        if !self.file.project_instructions {
            return Ok(None);
        }
        let dir = &self.workplace.dir;
        let secrets = SecretFiles::of(self.workplace.places(Some(&self.file.dir)).env_files());
        let read = instructions::asked_for(dir, &secrets);
        read.map_err(|source| AgentError::Unreadable {
            path: dir.join(instructions::INSTRUCTIONS_FILE),
            source,
        })
    }
}

/// What an agent file wants beyond what a run without it has: servers and requests that the person keeps for agents,
/// with the person's keys.
///
/// Tools that come from a flag or an override are the person's own words, and are not asked about.
fn wants(config: &Config, options: &Options, sources: &BTreeMap<&'static str, Source>) -> Wants {
    let mut wants = Wants::default();
    if sources.get("tools") != Some(&Source::FrontMatter) {
        return wants;
    }
    let names = options.tools.iter();
    let own = names.filter(|name| config.is_own_tool(rest::bare_name(name)));
    for name in own {
        let line = format!("{name}, a tool of your own configuration, for this agent");
        wants.starts.push(line);
    }
    wants
}

/// The name that a file gives its agent: what it says, else what it is called.
///
/// It becomes part of a tool's name, so that only letters, digits, `-` and `_` are kept.
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
impl Agent {
    /// The files of the configuration, as runs name them.
    pub fn config_files(&self) -> Vec<String> {
        self.config.files().map(absolute).collect()
    }
}
