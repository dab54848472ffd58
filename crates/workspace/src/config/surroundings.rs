//! What checks of rules are told about the server that they are for, and where the things of a rule lie.
//!
//! Who writes a rule is a member of a workspace and not whoever runs the server: a rule names memories and prompts, no
//! paths of the data directory, and reaches directories and providers only where `config.json` lists them.

mod places;
mod providers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bonded_kernel::WorkspaceId;
use bonded_workspace_rules::{
    BadSchedule, LoopDefaults, ProviderChoice, Surroundings, memory_name,
};

use super::super::cron::Cron;
use super::super::webhook_address::AllowedWebhooks;
use super::sections::AutomationSection;
use bonded_host::config::Environment;
use bonded_host::config::Whose;
use bonded_host::provider::{KNOWN_PROVIDERS, SCRIPT};
pub(super) use places::EVERY_WORKSPACE;
use places::{Places, plain};
use providers::Allowed;
pub(super) use providers::listed;
use reqwest::Url;

/// Where the memories of workspaces lie, each workspace in a directory of its own.
const MEMORY_DIR: &str = "memory";
/// Where whoever runs the server puts prompts that rules may name.
const PROMPT_DIR: &str = "prompts";

/// A server, as far as rules depend on it.
#[derive(Clone, Debug)]
pub struct HostSurroundings {
    defaults: LoopDefaults,
    data_dir: PathBuf,
    places: Places,
    providers: Allowed,
    webhooks: AllowedWebhooks,
    provider_kinds: Vec<&'static str>,
    /// The one that was there first: the default memory is its own, where it always lay.
    first_workspace: Option<WorkspaceId>,
    /// Where the keys of providers are.
    environment: Environment,
}

/// A file that a rule means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptFile {
    /// That of `config.json`, wherever it lies.
    Default(PathBuf),
    /// One of those that rules may name.
    Named(PathBuf),
}

impl HostSurroundings {
    /// The data directory is made absolute once, so that a change of the working directory does not move it.
    pub(super) fn new(
        defaults: LoopDefaults,
        data_dir: &Path,
        automation: &AutomationSection,
    ) -> Self {
        let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        let known = KNOWN_PROVIDERS.iter().map(|known| known.name);
        Self {
            providers: Allowed::new(&defaults.provider, &automation.allowed_providers),
            webhooks: AllowedWebhooks::new(&automation.allowed_webhooks),
            places: Places::new(&data_dir, &automation.allowed_dirs),
            defaults,
            data_dir,
            provider_kinds: known.chain([SCRIPT]).collect(),
            first_workspace: None,
            environment: Environment::default(),
        }
    }

    /// The same for a server with these variables.
    pub fn with_environment(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// A variable of the server.
    /// Keys of providers are read from here and from nowhere else.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    /// The same for a server whose first workspace is this one.
    pub fn with_first(self, workspace: Option<WorkspaceId>) -> Self {
        Self {
            first_workspace: workspace,
            ..self
        }
    }

    /// The data directory, as an absolute path.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The place that a rule of a workspace means, without links, if it may use it.
    pub fn place(&self, workspace: &WorkspaceId, path: &str) -> Result<PathBuf, String> {
        self.places.find(workspace, path)
    }

    /// The file of a memory of a workspace. No two workspaces have one in common.
    pub fn memory_file(&self, workspace: &WorkspaceId, written: &str) -> Option<PathBuf> {
        let default = &self.defaults.memory.kv_store_path;
        let default_file = data_file(&self.data_dir, default);
        let is_default = written == default || data_file(&self.data_dir, written) == default_file;
        if is_default && self.first_workspace == Some(*workspace) {
            return Some(plain(&default_file));
        }
        let name = match is_default {
            true => default_file.file_name().and_then(|name| name.to_str())?,
            false => written,
        };
        let name = memory_name(name)?;
        let dir = self.data_dir.join(MEMORY_DIR).join(workspace.to_string());
        Some(dir.join(format!("{name}.json")))
    }

    /// The prompt that a rule means.
    /// A named prompt is a plain file name in one directory; nothing that is written can lead out of it.
    pub fn prompt_file(&self, written: &str) -> Option<PromptFile> {
        if written == self.defaults.prompt_path {
            return Some(PromptFile::Default(data_file(&self.data_dir, written)));
        }
        let name = written.strip_prefix("./").unwrap_or(written);
        let name = name.strip_prefix("data/").unwrap_or(name);
        let name = name.strip_prefix(PROMPT_DIR)?.strip_prefix('/')?;
        let name = name.ends_with(".json").then(|| memory_name(name))??;
        let dir = self.data_dir.join(PROMPT_DIR);
        Some(PromptFile::Named(dir.join(format!("{name}.json"))))
    }

    /// The file of the provider that plays one.
    pub fn script_file(&self, written: &str) -> PathBuf {
        data_file(&self.data_dir, written)
    }

    /// Whether a run of a rule may go on to ask this provider at this place.
    /// Asked when a run goes on after a restart: the list may have become shorter since it began.
    pub fn allows_target(&self, provider: &str, endpoint: &str) -> bool {
        let own = |file: &str| self.script_file(file).to_string_lossy().into_owned();
        self.providers.allow_target(provider, endpoint, own)
    }

    /// Who answers for a place of a provider: whoever lists it here, everybody, or only the rule that names it.
    pub(crate) fn whose_place(&self, kind: &str, endpoint: &str) -> Whose {
        self.providers.whose(kind, endpoint)
    }

    /// The address that a rule may send to.
    pub(crate) fn webhook(&self, url: &str) -> Result<Url, String> {
        self.webhooks.find(url)
    }

    /// Whether the address that a host leads to may be connected to.
    pub(crate) fn may_connect(&self, url: &Url, address: SocketAddr) -> bool {
        self.webhooks.may_connect(url, address)
    }

    /// What a rule asks that does not say.
    pub fn default_provider(&self) -> &ProviderChoice {
        &self.defaults.provider
    }
}

impl Surroundings for HostSurroundings {
    /// A line is parsed to its end, and its time zone looked up, so that what is saved can fire.
    fn check_cron(&self, line: &str, timezone: &str) -> Result<(), BadSchedule> {
        let bad = |error: super::super::cron::BadCron| BadSchedule {
            field: error.at(),
            why: error.to_string(),
        };
        Cron::parse(line, timezone).map(|_| ()).map_err(bad)
    }

    /// The answer says nothing about what lies on the disk: only whether the place is among those that are listed.
    fn check_place(&self, workspace: &WorkspaceId, path: &str) -> Result<(), String> {
        self.places.find(workspace, path).map(|_| ())
    }

    /// Whether the file is there and can be used is asked when the rule is saved.
    fn check_prompt(&self, path: &str) -> Result<(), String> {
        match self.prompt_file(path) {
            Some(_) => Ok(()),
            None => Err(format!(
                "must be {:?}, the default, or prompts/NAME.json, which the operator of the server puts in the data directory",
                self.defaults.prompt_path
            )),
        }
    }

    /// By kind and address together.
    fn check_provider(&self, kind: &str, base_url: Option<&str>) -> Result<(), String> {
        self.providers.check(kind, base_url)
    }

    /// Where a name leads is looked at when something is sent.
    fn check_webhook(&self, url: &str) -> Result<(), String> {
        self.webhooks.find(url).map(|_| ())
    }

    /// The known ones, and the one that plays a file.
    fn provider_kinds(&self) -> &[&str] {
        &self.provider_kinds
    }

    fn is_file_provider(&self, kind: &str) -> bool {
        kind == SCRIPT
    }

    fn loop_defaults(&self) -> &LoopDefaults {
        &self.defaults
    }
}

/// A file of the data directory by the name that the configuration has for it. What is called `./data/…` there is the
/// data directory itself, wherever that lies.
pub fn data_file(data_dir: &Path, name: &str) -> PathBuf {
    let name = name.strip_prefix("./").unwrap_or(name);
    data_dir.join(name.strip_prefix("data/").unwrap_or(name))
}
