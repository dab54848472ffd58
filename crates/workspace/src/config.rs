//! `config.json` in the data directory: what the operator of a workspace server configures.
//!
//! Every key has a value of ours, so that an empty object is a whole configuration. No secret belongs into it: keys of
//! providers come from the environment or from `.env` beside it.

mod check;
mod described;
mod sections;
mod surroundings;

use std::path::{Path, PathBuf};

use bonded_kernel::Mode;
use bonded_workspace_rules::{LoopDefaults, MemoryChoice, Pace, ProviderChoice};
use serde_json::Value;

use bonded_host::config::{Environment, env_file};
pub use described::{DescribedSetting, SettingSource};
pub use sections::{
    AgentSection, AutomationSection, LoggingSection, SearchSection, SecuritySection, ServerSection,
    WebsocketSection, WorkspaceConfig,
};
pub use surroundings::{HostSurroundings, PromptFile, data_file};

/// A longer file is no configuration.
const FILE_BYTES_MAX: usize = 1 << 20;

/// A configuration, and what is odd about it but does no harm.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadConfig {
    /// What was written, and the defaults for the rest.
    pub config: WorkspaceConfig,
    /// Sentences for whoever runs the server, with the line that each is about.
    pub warnings: Vec<String>,
}

/// Why a server cannot start with its configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceConfigError {
    /// The file is there and cannot be read, is not a regular file, or is too long.
    #[error("{} cannot be read: {why}", file.display())]
    Unreadable { file: PathBuf, why: String },
    /// The place is where reading stopped.
    #[error("{}, line {line}, column {column}: this is not JSON: {why}", file.display())]
    NotJson {
        file: PathBuf,
        line: usize,
        column: usize,
        why: String,
    },
    /// A line of `.env` that is no assignment.
    #[error("{}, line {line}: this is not KEY=VALUE", file.display())]
    BadEnvFile { file: PathBuf, line: usize },
    /// Everything that is wrong with the file, each with its line.
    #[error("{}: {}", file.display(), faults.join("; "))]
    Faults { file: PathBuf, faults: Vec<String> },
}

impl WorkspaceConfig {
    /// Reads the file; one that is not there is one that says nothing.
    pub fn load(file: &Path) -> Result<ReadConfig, WorkspaceConfigError> {
        let text = read_text(file)?;
        Self::parse(&text.unwrap_or_else(|| "{}".into()), file)
    }

    /// Reads the text of a file; its name is for messages.
    pub fn parse(text: &str, file: &Path) -> Result<ReadConfig, WorkspaceConfigError> {
        let written: Value =
            serde_json::from_str(text).map_err(|error| WorkspaceConfigError::NotJson {
                file: file.into(),
                line: error.line(),
                column: error.column(),
                why: error.to_string(),
            })?;
        let checked = check::checked(&written, &Self::default(), text);
        let (merged, warnings) = checked.map_err(|faults| WorkspaceConfigError::Faults {
            file: file.into(),
            faults,
        })?;
        Ok(ReadConfig {
            config: merged,
            warnings,
        })
    }

    /// The file that a new data directory begins with.
    /// All keys with their values, so that whoever edits the file sees what there is.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".into());
        text + "\n"
    }

    /// What holds for actions of rules that do not say it themselves.
    pub fn loop_defaults(&self) -> LoopDefaults {
        let (agent, automation) = (&self.agent, &self.automation);
        LoopDefaults {
            prompt_path: agent.prompt_path.clone(),
            provider: ProviderChoice {
                provider_kind: automation.default_provider_kind.clone(),
                base_url: Some(automation.endpoint().to_owned()).filter(|it| !it.is_empty()),
                model: automation.model.clone(),
                timeout_ms: automation.timeout_ms,
                max_tokens: automation.max_tokens,
                temperature: automation.temperature,
            },
            mode: match agent.mode.as_deref() {
                Some("yolo") => Some(Mode::Yolo),
                Some("reviewed") => Some(Mode::Reviewed),
                _ => None,
            },
            memory: MemoryChoice {
                kv_store_path: agent.memory_store_path.clone(),
                retain_full_conversation_logs: agent.retain_full_conversation_logs,
            },
            pace: Pace {
                loop_delay_ms: agent.loop_delay_ms,
                idle_delay_ms: agent.idle_delay_ms,
                max_iterations: agent.max_iterations,
            },
            strict_mode: agent.strict_mode,
            paging_bytes: agent.paging_bytes,
        }
    }

    /// What checks of rules are told about this server.
    /// Everything that the rules of this server may refer to: its own places and the lists of the configuration.
    pub fn surroundings(&self, data_dir: &Path) -> HostSurroundings {
        HostSurroundings::new(self.loop_defaults(), data_dir, &self.automation)
    }
}

/// The variables of a server: those of the process, and under them those of `.env` in its data directory.
/// Variables of the process win, so that a start can override the file.
pub fn environment(
    data_dir: &Path,
    process: impl IntoIterator<Item = (String, String)>,
) -> Result<Environment, WorkspaceConfigError> {
    let file = data_dir.join(".env");
    let bad = |line| WorkspaceConfigError::BadEnvFile {
        file: file.clone(),
        line,
    };
    let text = read_text(&file)?.unwrap_or_default();
    let written = env_file::parse(&text).map_err(bad)?;
    Ok(written.into_iter().chain(process).collect())
}

/// `None` where there is no such file.
fn read_text(file: &Path) -> Result<Option<String>, WorkspaceConfigError> {
    let unreadable = |why: String| WorkspaceConfigError::Unreadable {
        file: file.into(),
        why,
    };
    // Asked before it is opened: to open a pipe would wait for its other end.
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
        Ok(found) if !found.is_file() => return Err(unreadable("it is not a regular file".into())),
        Ok(found) if found.len() > FILE_BYTES_MAX as u64 => {
            let why = format!("it is longer than {FILE_BYTES_MAX} bytes");
            return Err(unreadable(why));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(file);
    text.map(Some)
        .map_err(|error| unreadable(error.to_string()))
}
