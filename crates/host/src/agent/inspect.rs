//! Everything that is wrong with an agent and with all that it may call, found without running anything.
//!
//! A run stops at the first mistake; here each stage goes on with what the ones before it left.
//!
//! No server is started, no request is sent, and nothing is written. An agent is looked at once,
//! however many others call it, and what is said of one file is said once.
//!
//! What is wrong with an entry of the configuration that no agent uses would stop no run, so it is told
//! as a warning; `done` tells the two apart at the end, when it is known which entries were met.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bonded_kernel::ReportFormat;
use bonded_transport::Script;

use super::sub_agent::{AGENT_DEPTH_MAX, called_name, canonical};
use super::{Agent, AgentError, UnknownWindow, Workplace, agent_name, target, tools};
use crate::agent_file::AgentFile;
use crate::config::options::{OptionError, Sources, resolve_all};
use crate::config::{Config, ConfigError, Problems};
use crate::provider::SCRIPT;

/// What was found.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What would stop a run, in the order in which it was found.
    pub problems: Vec<Finding>,
    /// What is odd and does no harm, and what is wrong with parts of the configuration that no agent here uses.
    pub warnings: Vec<String>,
}

/// A mistake that a run would meet.
#[derive(Debug)]
pub struct Finding {
    /// The file of the agent that would meet it, where it is not the one that was asked about.
    pub called: Option<PathBuf>,
    /// The error that a run would end with before it begins.
    pub error: AgentError,
}

impl Agent {
    /// Looks at an agent and at every agent that it may call.
    pub fn inspect(path: &Path, workplace: &Workplace) -> Inspection {
        let mut inspector = Inspector::default();
        inspector.agent(path, workplace, &mut vec![]);
        inspector.done()
    }
}

/// The state of one inspection, over all agents that it comes to.
#[derive(Default)]
struct Inspector {
    done: Inspection,
    /// What was said, so that nothing is said twice.
    reported: BTreeSet<(Option<PathBuf>, String)>,
    warned: BTreeSet<String>,
    /// The agents that were looked at.
    seen: BTreeSet<PathBuf>,
    /// What is wrong with entries, whoever uses them.
    entries: Vec<ConfigError>,
}

impl Inspector {
    /// Looks at an agent, once, and gives its file as far as it can be read. `chain` is who calls it, the first first.
    ///
    /// An agent that was seen before still gives its file, because its caller needs the name and the
    /// description.
    fn agent(
        &mut self,
        path: &Path,
        workplace: &Workplace,
        chain: &mut Vec<PathBuf>,
    ) -> Option<AgentFile> {
        let (file, errors) = workplace.inspect_file(path);
        let real = canonical(path);
        if !self.seen.insert(real.clone()) {
            return file;
        }
        let mut looks = Looks {
            called: (!chain.is_empty()).then(|| path.to_owned()),
            inspector: self,
        };
        errors.into_iter().for_each(|error| looks.found(error));
        let file = file?;
        let agent = looks.assembled(file.clone(), workplace);
        looks.stages(&agent);
        looks.entries(&agent.config);
        chain.push(real);
        self.children(&agent, workplace, chain);
        chain.pop();
        Some(file)
    }

    /// The names are collected by caller: two callers may each have an agent of one name.
    fn children(&mut self, agent: &Agent, workplace: &Workplace, chain: &mut Vec<PathBuf>) {
        let mut names = BTreeSet::new();
        let called = (chain.len() > 1).then(|| agent.file.path.clone());
        for path in agent.called_files() {
            let file = match self.child(&path, &workplace.for_children(), chain) {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                Err(error) => {
                    self.found(called.clone(), error);
                    continue;
                }
            };
            if !file.is_described() {
                let error = AgentError::NoDescription { file: path };
                self.found(called.clone(), error);
            }
            if let Err(error) = called_name(&file, &mut names) {
                self.found(called.clone(), error);
            }
        }
    }

    /// The chain is checked before the agent is looked at, so that a circle ends here.
    fn child(
        &mut self,
        path: &Path,
        workplace: &Workplace,
        chain: &mut Vec<PathBuf>,
    ) -> Result<Option<AgentFile>, AgentError> {
        let file = path.to_owned();
        if chain.contains(&canonical(path)) {
            let names: Vec<String> = chain.iter().map(|it| it.display().to_string()).collect();
            let chain = names.join(" -> ");
            return Err(AgentError::Cycle { file, chain });
        }
        if chain.len() > AGENT_DEPTH_MAX {
            let max = AGENT_DEPTH_MAX;
            return Err(AgentError::TooDeep { file, max });
        }
        Ok(self.agent(path, workplace, chain))
    }

    /// Told once by file and text.
    fn found(&mut self, called: Option<PathBuf>, error: AgentError) {
        // What is wrong with the configuration is wrong for all of them.
        let called = called.filter(|_| error.is_of_agent());
        if self.reported.insert((called.clone(), error.to_string())) {
            self.done.problems.push(Finding { called, error });
        }
    }

    fn warn(&mut self, warning: String) {
        if self.warned.insert(warning.clone()) {
            self.done.warnings.push(warning);
        }
    }

    /// What is wrong with entries and was not met is used by nobody here.
    fn done(mut self) -> Inspection {
        for problem in std::mem::take(&mut self.entries) {
            if !self.reported.contains(&(None, problem.to_string())) {
                self.warn(format!("{problem}; none of the agents checked uses this"));
            }
        }
        self.done
    }
}

/// The looks at one agent.
///
/// It knows whose mistakes it finds, so that each can be told with the file of that agent.
struct Looks<'i> {
    called: Option<PathBuf>,
    inspector: &'i mut Inspector,
}

impl Looks<'_> {
    /// Several problems of a configuration become one finding each: they are told apart by their text.
    fn found(&mut self, error: impl Into<AgentError>) {
        let error = error.into();
        let AgentError::Config(problems) = error else {
            return self.inspector.found(self.called.clone(), error);
        };
        for problem in problems.into_all() {
            let error = AgentError::Config(Problems::of(problem));
            self.inspector.found(self.called.clone(), error);
        }
    }

    fn result<T>(&mut self, result: Result<T, impl Into<AgentError>>) -> Option<T> {
        result.map_err(|error| self.found(error)).ok()
    }

    /// What can be made of an agent.
    ///
    /// What is wrong says nothing: the agent is made of the rest, so that later stages find their own
    /// mistakes. A missing model is told only where the value of `models` is not wrong itself.
    fn assembled(&mut self, file: AgentFile, workplace: &Workplace) -> Agent {
        let places = workplace.places(Some(&file.dir));
        let environment = workplace.environment.clone();
        let (config, problems) = Config::inspect(&places, environment, &workplace.trust);
        let problems = problems.into_iter().map(Problems::of);
        problems.for_each(|problem| self.found(problem));
        let mut configured = self.result(config.sources()).unwrap_or_default();
        if places.own().holds(&file.path, &workplace.dir) {
            configured.own.clear();
        }
        let (resolved, errors) = resolve_all(&Sources {
            overrides: workplace.overrides.clone(),
            command_line: workplace.command_line.clone(),
            front_matter: file.options.clone(),
            inherited: BTreeMap::new(),
            variables: workplace.variables.clone(),
            ..configured
        });
        let is_of_models = |error: &OptionError| matches!(error, OptionError::BadValue { key, .. } if key == "models");
        if resolved.options.models.is_empty() && !errors.iter().any(is_of_models) {
            self.found(AgentError::NoModel);
        }
        errors.into_iter().for_each(|error| self.found(error));
        Agent {
            name: agent_name(&file),
            file,
            options: resolved.options,
            sources: resolved.sources,
            config,
            workplace: workplace.clone(),
        }
    }

    /// What a goal of the agent would need, part by part.
    ///
    /// The same steps as for a goal, each by itself and none of them stopping the next. A script is
    /// read, because a run would read it first.
    fn stages(&mut self, agent: &Agent) {
        self.result(agent.report(ReportFormat::Pipe));
        self.result(agent.instructions());
        let skills = self.result(agent.skills()).unwrap_or_default();
        for warning in skills.warnings {
            self.inspector.warn(warning);
        }
        for name in &agent.options.tools {
            let known = self.result(tools::is_known(&agent.config, name));
            if known == Some(false) {
                let warning = tools::unknown(&agent.config, name);
                let file = agent.file.path.display();
                self.inspector.warn(format!("{file}: {warning}"));
            }
        }
        for model in &agent.options.models {
            let environment = &agent.workplace.environment;
            let (config, options) = (&agent.config, &agent.options);
            let assumed = UnknownWindow::Assumed;
            let made = target::target(model, config, options, environment, assumed);
            if self.result(made).is_some() && model.provider == SCRIPT {
                self.result(Script::load(Path::new(&model.model)));
            }
        }
    }

    /// Kept until the end, when it is known which of them a run would meet.
    fn entries(&mut self, config: &Config) {
        for warning in config.warnings() {
            self.inspector.warn(warning.to_string());
        }
        self.inspector.entries.extend(config.check_entries());
    }
}
