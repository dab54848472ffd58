//! From the action `kjxlkj_agent` of a rule to a run that works in loops.
//!
//! A run is begun once and resumed ever after from its log. Its memory is a file of the workspace that people may edit
//! between runs; the log of the run that wrote it last is what counts, and a person's edits are laid over it. The file
//! is written when a run ends, and settled here where a process died before it could be.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::{Limits, LoopConfig, Memory, RuleId, Run, RunConfig, RunId, Target, Text};
use bonded_workspace_rules::{Code, LoopAction, ProviderChoice};
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;
use super::prompts::{Prompt, PromptError};
use super::target::target_of;
use bonded_host::HostError;
use bonded_host::memory_file::{MemoryFile, MemoryFileError, MemoryFileState};
use bonded_host::provider::ProviderError;
use bonded_host::{Goal, Host, Queueing};

/// The instructions of one loop that are executed at most.
const INSTRUCTIONS_MAX: u32 = 50;

/// More than the repairs and retries that a turn has.
const ATTEMPTS_MAX: u32 = 10;

/// A run that is driven for longer waits for nothing that will come.
const ELAPSED_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Starts runs of the agent, or takes them up.
#[derive(Debug)]
pub struct Keeper {
    host: Arc<Host>,
    /// Where what an action names lies.
    surroundings: Arc<HostSurroundings>,
    fallbacks: Option<Fallbacks>,
    /// Where runs wait for a worker; without it they are driven here.
    queueing: Option<Queueing>,
}

/// Models at the place of one provider.
#[derive(Debug)]
struct Fallbacks {
    default: ProviderChoice,
    models: Vec<String>,
}

/// One run of the agent.
#[derive(Clone, Debug)]
pub struct LoopOrder {
    /// That of the firing.
    pub run_id: RunId,
    /// The rule that fired, which the log of the run names.
    pub rule_id: RuleId,
    /// With the defaults of the server filled in.
    pub action: LoopAction,
    /// What the agent is asked.
    pub request: String,
    /// Who takes turns with others where runs are queued.
    pub whose: String,
}

/// Why a run of the agent cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The prompt file cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The address of the provider cannot be used.
    #[error("the action's provider: {0}")]
    Provider(#[from] ProviderError),
    /// The rule was saved with a name that is none any more.
    #[error("{name:?} is not the name of a memory; change the rule to use one such as inbox.json")]
    NoMemory { name: String },
    /// The log names another file than the action does; going on could write into the memory of another workspace.
    #[error(
        "the run was started with a memory of another workspace; cancel it and launch the rule again"
    )]
    OtherMemory,
    /// The list of providers became shorter while the run was under way.
    #[error(
        "the run was started with the provider at {endpoint}, which config.json no longer lists; cancel it and launch the rule again"
    )]
    OtherProvider { endpoint: String },
    /// The file of the memory cannot be read or written.
    #[error(transparent)]
    Memory(#[from] MemoryFileError),
    /// The run itself could not begin or go on.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl KeeperError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Prompt(source) => source.code(),
            Self::Provider(_)
            | Self::NoMemory { .. }
            | Self::OtherMemory
            | Self::OtherProvider { .. } => Code::RuleInvalid,
            Self::Memory(_) => Code::AgentMemoryStoreError,
            Self::Host(_) => Code::InternalError,
        }
    }
}

impl Keeper {
    /// Without models to fall back to.
    pub fn new(host: Arc<Host>, surroundings: Arc<HostSurroundings>) -> Self {
        Self {
            host,
            surroundings,
            fallbacks: None,
            queueing: None,
        }
    }

    /// Leaves runs to workers, which must have the notes.
    pub fn queued_as(self, queueing: Option<Queueing>) -> Self {
        Self { queueing, ..self }
    }

    /// Whether they are driven elsewhere.
    pub(super) fn is_queueing(&self) -> bool {
        self.queueing.is_some()
    }

    /// Where the model of an action that goes to the default provider fails, these are asked in their order.
    pub fn falling_back_to(self, default: ProviderChoice, models: Vec<String>) -> Self {
        Self {
            fallbacks: Some(Fallbacks { default, models }),
            ..self
        }
    }

    /// For those who end runs.
    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Starts the run, or takes it up where it stands, and drives it to its end.
    pub async fn drive(
        &self,
        order: LoopOrder,
        cancel: CancellationToken,
    ) -> Result<Run, KeeperError> {
        let id = order.run_id.clone();
        let head = self.host.store.head(&id).await.map_err(HostError::from)?;
        if head.is_some() {
            let begun = self.host.load(&id).await?;
            self.check_begun(&begun, &order.action)?;
            let run = match self.is_queueing() {
                true => self.host.resume_queued(&id, cancel).await?,
                false => self.host.resume(&id, cancel).await?,
            };
            self.settle_memory(&run).await;
            return Ok(run);
        }
        let goal = self.goal(&order).await?;
        let Some(queueing) = &self.queueing else {
            return Ok(self.host.run(id, goal, cancel).await?);
        };
        let queued = self.host.queue(queueing, &order.whose, &id, goal);
        queued.await?;
        let run = self.host.resume_queued(&id, cancel).await?;
        self.settle_memory(&run).await;
        Ok(run)
    }

    /// A run goes on as its log says: with the memory of its workspace and a provider that is listed, or not at all.
    fn check_begun(&self, run: &Run, action: &LoopAction) -> Result<(), KeeperError> {
        let config = run.config();
        let looping = config.looping.as_ref();
        let logged = looping.and_then(|looping| looping.memory_file.as_deref());
        let own = self.memory_file(action)?;
        if logged.is_some_and(|logged| Path::new(logged) != own) {
            return Err(KeeperError::OtherMemory);
        }
        let mut targets = config.targets.iter();
        let foreign =
            targets.find(|it| !self.surroundings.allows_target(&it.provider, &it.endpoint));
        match foreign {
            Some(target) => Err(KeeperError::OtherProvider {
                endpoint: target.endpoint.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Writes what a run that has ended remembers, where nobody came to it because a process died, or because nobody
    /// drove the run. A file that a later run has written stays, and so does what a person changed.
    pub(super) async fn settle_memory(&self, run: &Run) {
        let looping = run.config().looping.as_ref();
        let path = looping.and_then(|looping| looping.memory_file.as_ref());
        let (Some(path), Some(memory), Some(_)) = (path, run.memory(), run.termination()) else {
            return;
        };
        let file = MemoryFile::new(path);
        if self.is_last(run, &file).await {
            // As in a run that ends: the log has the memory, and the next run begins with it.
            let _unwritten = file.write(memory, run.id().as_str(), None);
        }
    }

    /// Whether no run that began after this one has written the file.
    async fn is_last(&self, run: &Run, file: &MemoryFile) -> bool {
        let written_by = match file.run() {
            Ok(Some(written_by)) => RunId::new(&written_by),
            Ok(None) => return true,
            Err(_) => return false,
        };
        let Ok(written_by) = written_by else {
            return false;
        };
        if written_by == *run.id() {
            return true;
        }
        // The process may have died before the run had written the file at all.
        let other = self.host.load(&written_by).await.ok();
        let other = other.and_then(|other| other.audit_of_loop()?.completed_at);
        let began = run.audit_of_loop().map(|audit| audit.started_at);
        matches!((other, began), (Some(ended), Some(began)) if ended <= began)
    }

    /// What the run is to do and with what.
    pub async fn goal(&self, order: &LoopOrder) -> Result<Goal, KeeperError> {
        let action = &order.action;
        let Prompt { prompt, hash } = self.surroundings.read_prompt(&action.prompt_path)?;
        let file = self.memory_file(action)?;
        let memory = self.memory_at_start(MemoryFile::new(&file)).await?;
        let mut looping = LoopConfig::new(order.rule_id, action.scope.clone(), &prompt.segments);
        looping.prompt_hash = hash;
        looping.strict = action.strict_mode;
        looping.allowed_tags.clone_from(&prompt.allowed_tags);
        looping.mode = action.mode_with(prompt.default_mode);
        looping.loop_delay_ms = action.pace.loop_delay_ms;
        looping.idle_delay_ms = action.pace.idle_delay_ms;
        looping.paging_bytes = action.paging_bytes;
        looping.keeps_text = action.memory.retain_full_conversation_logs;
        looping.memory = self.host.secrets.mask().owned(memory.text()).into();
        looping.memory_file = Some(file.to_string_lossy().into_owned());
        let dir = self.surroundings.data_dir().to_string_lossy();
        let mut config = RunConfig::new(dir, self.targets(&action.provider)?);
        config.limits = Limits {
            turns_max: action.pace.max_iterations,
            calls_per_turn_max: INSTRUCTIONS_MAX,
            attempts_per_turn_max: ATTEMPTS_MAX,
            elapsed_ms_max: Some(ELAPSED_MS_MAX),
            ..Limits::default()
        };
        config.output_tokens_max = action.provider.max_tokens;
        config.temperature = Some(action.provider.temperature);
        config.looping = Some(Box::new(looping));
        Ok(Goal {
            text: order.request.as_str().into(),
            system: Text::default(),
            config,
            images: vec![],
        })
    }

    /// Judged again at each start, not only when the rule was saved.
    fn memory_file(&self, action: &LoopAction) -> Result<PathBuf, KeeperError> {
        let (workspace, name) = (&action.scope.workspace_id, &action.memory.kv_store_path);
        let found = self.surroundings.memory_file(workspace, name);
        found.ok_or_else(|| KeeperError::NoMemory { name: name.clone() })
    }

    /// What is asked, in this order.
    fn targets(&self, choice: &ProviderChoice) -> Result<Vec<Target>, ProviderError> {
        let is_default = |fallbacks: &&Fallbacks| {
            let default = &fallbacks.default;
            default.provider_kind == choice.provider_kind && default.base_url == choice.base_url
        };
        let fallbacks = self.fallbacks.as_ref().filter(is_default);
        let others = fallbacks.map_or(&[][..], |fallbacks| &fallbacks.models);
        let others = others.iter().filter(|model| **model != choice.model);
        let choices = std::iter::once(&choice.model).chain(others);
        let target = |model: &String| {
            let choice = ProviderChoice {
                model: model.clone(),
                ..choice.clone()
            };
            target_of(
                &choice,
                |name| self.surroundings.script_file(name),
                |kind, endpoint| self.surroundings.whose_place(kind, endpoint),
                |name| self.surroundings.variable(name),
            )
        };
        choices.map(target).collect()
    }

    /// The memory of the run that wrote the file last, with what a person changed in it since.
    async fn memory_at_start(&self, file: MemoryFile) -> Result<Memory, KeeperError> {
        let (look, read, run) = (file.look()?, file.read()?, file.run()?);
        let logged = match run.and_then(|run| RunId::new(&run).ok()) {
            Some(run) => self.host.load(&run).await.ok(),
            None => None,
        };
        let logged = logged.and_then(|run| run.memory().cloned());
        // A log that is not here any more leaves the file.
        let mut memory = logged.or(read).unwrap_or_default();
        match look {
            MemoryFileState::Edited { edit, .. } => memory.edit(&edit),
            MemoryFileState::Broken { why } => drop(file.put_aside(&why)?),
            MemoryFileState::Missing | MemoryFileState::Unchanged => {}
        }
        Ok(memory)
    }
}
