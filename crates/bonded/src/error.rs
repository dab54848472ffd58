//! Errors as a person meets them: a stable code, what happened, what to do, and an exit code.
//!
//! Libraries below have their own error types; here each of them is mapped to one code (`code`), and nowhere else. The
//! texts may change, and codes may not. The messages of causes are joined, because a person on a terminal has nobody who
//! unwraps them.

mod code;

use bonded_host::agent::AgentError;
use bonded_host::agent_file::AgentFileError;
use bonded_host::changes::ChangesFailure;
use bonded_host::config::options::OptionError;
use bonded_host::config::{ConfigError, Problems};
use bonded_host::keeping::LedgerError;
use bonded_host::letters::written_out;
use bonded_host::shapes::text::short_id;
use bonded_host::skills::UnusableSkill;
use bonded_host::trust::{TrustError, Untrusted};
use bonded_host::with_causes;
use bonded_host::{HostError, ProviderError};
use bonded_kernel::{BadEntry, BadRunId, RunId};
use bonded_serve::workspace::configured::OpenError;
use bonded_serve::workspace::data_dir::DataDirError;
use bonded_state::{ServerProblem, StoreError};
use bonded_work::tree::{LockError, TreeError};
use bonded_work::{ExchangeError, WorkError};
use bonded_workspace::store::WorkspaceError;

use crate::signals;

pub(crate) use code::Code;

/// What a command failed with.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: Code,
    /// What happened, in one sentence where that is possible. It may hold texts of others; it is made harmless when
    /// it is written.
    message: String,
    /// What to do, the most likely first. Where one error stands for several problems, the further ones are here
    /// too.
    hints: Vec<String>,
}

impl CliError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hints: vec![],
        }
    }

    /// Nothing is lost: the run is kept at its last recorded step.
    fn interrupted_run(run: &RunId) -> Self {
        let run = short_id(run);
        let message = format!("run {run} is kept at its last recorded step");
        Self::new(Code::Interrupted, message).hint(format!("Resume: bonded resume {run}"))
    }

    /// Adds a line below the message.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// An interrupted process ends as its signal says, so that whoever started it can tell a reboot from a failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.code == Code::Interrupted {
            true => signals::interrupted_code(),
            false => self.code.exit_code(),
        }
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As it is written to stderr: code and message, the hints indented, and where there is more.
    pub(crate) fn render(&self) -> String {
        let name = self.code.name();
        // What a person has stopped did not fail.
        let is_stopped = self.code == Code::Interrupted && signals::is_stopped_by_key();
        let mut text = match is_stopped {
            true => format!("stopped: {}", self.message),
            false => format!("error[{name}]: {}", self.message),
        };
        for hint in &self.hints {
            text.push_str("\n  ");
            text.push_str(&hint.replace('\n', "\n  "));
        }
        // The last line of an interruption is the command that resumes.
        if self.code != Code::Interrupted {
            text.push_str(&format!("\n  more: bonded explain {name}"));
        }
        text
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::UnknownRun { .. } => Code::UnknownRun,
            StoreError::Held { .. } => Code::RunHeld,
            StoreError::Conflict { .. } | StoreError::TakenOver { .. } => Code::TakenOver,
            StoreError::Elsewhere { .. } => Code::RunElsewhere,
            StoreError::LeaseLost { .. } => Code::LeaseLost,
            StoreError::Server { problem, .. } => of_server(problem),
            StoreError::Missing { .. } => Code::StoreMissing,
            StoreError::NotAFile { .. } | StoreError::NotAStore { .. } => Code::StoreNotAStore,
            StoreError::Corrupt { .. } => Code::StoreCorrupt,
            StoreError::NewerFormat { .. } => Code::StoreNewer,
            StoreError::Full { .. } => Code::StoreFull,
            StoreError::ReadOnly { .. } => Code::StoreReadOnly,
            StoreError::Locked { .. } => Code::StoreLocked,
            StoreError::Replaced { .. } => Code::StoreReplaced,
            StoreError::Io { .. } | StoreError::Closed { .. } => Code::StoreIo,
            StoreError::BadLog { source, .. } => match source {
                BadEntry::NewerFormat { .. } => Code::StoreNewer,
                BadEntry::BrokenChain { .. }
                | BadEntry::MissingBlob { .. }
                | BadEntry::Unreadable { .. } => Code::BrokenLog,
            },
            StoreError::NotAppendable { .. } | StoreError::TooLong { .. } => Code::Internal,
        };
        Self::new(code, with_causes(&error))
    }
}

fn of_server(problem: &ServerProblem) -> Code {
    match problem {
        ServerProblem::BadAddress { .. } => Code::Usage,
        ServerProblem::Unreachable { .. } => Code::StoreUnreachable,
        ServerProblem::Denied { .. } => Code::StoreDenied,
        ServerProblem::NoStore
        | ServerProblem::OlderFormat { .. }
        | ServerProblem::OldServer { .. } => Code::StoreNotReady,
        ServerProblem::ReadOnly { .. } => Code::StoreReadOnly,
        ServerProblem::Unsynced { .. } => Code::StoreUnsynced,
        ServerProblem::NoConnection { .. } => Code::StoreConnections,
        ServerProblem::Pooler { .. } => Code::StorePooler,
    }
}

impl From<HostError> for CliError {
    fn from(error: HostError) -> Self {
        let code = match error {
            HostError::Store(error) => return error.into(),
            HostError::BadLog { .. } => Code::BrokenLog,
            HostError::Cut { .. } => Code::Tampered,
            HostError::Interrupted { run } => return Self::interrupted_run(&run),
            HostError::TakenOver { .. } => Code::TakenOver,
            HostError::OtherGoal { .. } | HostError::IdTaken { .. } => Code::IdTaken,
            HostError::OfPlan { .. } => Code::RunHeld,
            HostError::TakesNoGoal { .. } => Code::CannotContinue,
            HostError::SecretGoal { .. } | HostError::Images(_) => Code::BadGoal,
            HostError::NoQueues => Code::Usage,
            HostError::NoSuchTurn { .. } => Code::NoSuchTurn,
            HostError::Workdir { .. } => Code::Workdir,
            HostError::Sandbox { .. } => Code::Sandbox,
            HostError::Agent(error) => return (*error).into(),
            HostError::Catalog { .. }
            | HostError::NotDurable { .. }
            | HostError::Panicked { .. } => Code::Internal,
        };
        Self::new(code, with_causes(&error))
    }
}

impl From<ChangesFailure> for CliError {
    fn from(failure: ChangesFailure) -> Self {
        let message = with_causes(&failure);
        match failure {
            ChangesFailure::Host(error) => error.into(),
            ChangesFailure::Changes(_) | ChangesFailure::NoRecords => {
                Self::new(Code::UndoFailed, message)
            }
            ChangesFailure::NoSuchTurn { .. } => Self::new(Code::NoSuchTurn, message),
            ChangesFailure::OfPlan { .. } => Self::new(Code::UndoRefused, message),
            ChangesFailure::Called { origin, .. } => Self::new(Code::UndoRefused, message)
                .hint(format!("name that one: bonded diff {}", short_id(&origin))),
            ChangesFailure::NotEnded { run } => {
                let run = short_id(&run);
                Self::new(Code::UndoRefused, message).hint(format!(
                    "finish it: bonded resume {run}; or end it: bonded cancel {run}"
                ))
            }
        }
    }
}

impl From<WorkError> for CliError {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Host(error) => error.into(),
            WorkError::Tree(error) => error.into(),
            WorkError::Exchange(error) => error.into(),
            WorkError::Sandbox { .. } => Self::new(Code::Sandbox, with_causes(&error)),
            WorkError::Interrupted => Self::new(Code::Interrupted, with_causes(&error))
                .hint("Resume: bonded work --resume"),
            WorkError::SealedBefore { .. } => Self::new(Code::Tampered, with_causes(&error)),
            WorkError::Publish(_)
            | WorkError::Commit(_)
            | WorkError::Key(_)
            | WorkError::Io(_)
            | WorkError::NoRoom { .. }
            | WorkError::NoLog
            | WorkError::CopyDiffers { .. } => Self::new(Code::TreeFailed, with_causes(&error)),
        }
    }
}

/// What is not as it was put into the store has been changed by somebody.
impl From<ExchangeError> for CliError {
    fn from(error: ExchangeError) -> Self {
        let code = match error {
            ExchangeError::Store(error) => return error.into(),
            ExchangeError::Tree(error) => return error.into(),
            ExchangeError::Device { .. } => Code::Tree,
            ExchangeError::NoObjects => Code::Usage,
            ExchangeError::OtherContent { .. }
            | ExchangeError::OtherLength { .. }
            | ExchangeError::OtherTree { .. }
            | ExchangeError::OtherState { .. }
            | ExchangeError::OtherOrder { .. } => Code::Tampered,
            ExchangeError::Io(_)
            | ExchangeError::Missing { .. }
            | ExchangeError::Unreadable { .. } => Code::TreeFailed,
        };
        Self::new(code, with_causes(&error))
    }
}

/// What a person can put right by himself is `Tree`; the rest is the machine's.
impl From<TreeError> for CliError {
    fn from(error: TreeError) -> Self {
        let code = match error {
            TreeError::NoDirectory { .. } => Code::Workdir,
            TreeError::Bare { .. }
            | TreeError::InTheMiddle { .. }
            | TreeError::Mount { .. }
            | TreeError::KeptInside { .. } => Code::Tree,
            TreeError::Busy { .. } => Code::TreeBusy,
            TreeError::Unreadable { .. }
            | TreeError::TooLong { .. }
            | TreeError::Kept { .. }
            | TreeError::Missing { .. }
            | TreeError::Damaged { .. }
            | TreeError::NotEmpty { .. }
            | TreeError::Unmade { .. }
            | TreeError::Device { .. }
            | TreeError::NoCopy { .. } => Code::TreeFailed,
        };
        Self::new(code, with_causes(&error))
    }
}

impl From<LockError> for CliError {
    fn from(error: LockError) -> Self {
        let code = match error {
            LockError::Busy { .. } | LockError::BusyAbove { .. } => Code::TreeBusy,
            LockError::Unusable { .. } => Code::Workdir,
            LockError::NoLocks { .. } => Code::TreeFailed,
        };
        Self::new(code, with_causes(&error))
    }
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> Self {
        let code = match error {
            AgentError::Provider(error) => return error.into(),
            AgentError::Option(error) => return error.into(),
            AgentError::Config(problems) => return problems.into(),
            AgentError::Untrusted(untrusted) => return Self::untrusted(&[&untrusted]),
            AgentError::NotWithout { .. } => Code::Untrusted,
            AgentError::NoModel => Code::NoModel,
            AgentError::NoPrice { .. } => {
                return Self::new(Code::NoPrice, error.to_string()).hint(
                    "say it in dollars a million tokens: --price INPUT,OUTPUT, or `pricing` in the configuration; \
                     --price 0,0 if it costs nothing",
                );
            }
            AgentError::File(AgentFileError::BadSchema { .. })
            | AgentError::BadOutputSchema { .. }
            | AgentError::InputInvalid { .. }
            | AgentError::Catalog(_) => Code::Schema,
            AgentError::InputNotJson { .. } => Code::BadGoal,
            AgentError::Script(_) => Code::BadScript,
            AgentError::Skill(_) => Code::UnknownSkill,
            AgentError::NoLogin { .. } | AgentError::DisabledServer { .. } => Code::UnknownTool,
            AgentError::Mcp(_) | AgentError::Queue(_) => Code::ToolServer,
            AgentError::Rest(_) => Code::Config,
            AgentError::Tools(_) => Code::Workdir,
            AgentError::Sandbox(_) => Code::Sandbox,
            AgentError::UnknownTokenizer { .. }
            | AgentError::NoKey { .. }
            | AgentError::UnknownLike { .. }
            | AgentError::Accepts { .. } => Code::Config,
            AgentError::File(_)
            | AgentError::Unreadable { .. }
            | AgentError::Cycle { .. }
            | AgentError::TooDeep { .. }
            | AgentError::NoDescription { .. }
            | AgentError::DuplicateAgent { .. }
            | AgentError::ReservedName { .. } => Code::AgentFile,
        };
        Self::new(code, with_causes(&error))
    }
}

impl From<UnusableSkill> for CliError {
    fn from(error: UnusableSkill) -> Self {
        Self::new(Code::UnknownSkill, error.to_string())
    }
}

impl From<TrustError> for CliError {
    fn from(error: TrustError) -> Self {
        Self::new(Code::TrustRecord, with_causes(&error))
    }
}

impl CliError {
    /// Says what files want that nobody trusts, and how they would be trusted.
    fn untrusted(all: &[&Untrusted]) -> Self {
        let messages: Vec<String> = all.iter().map(ToString::to_string).collect();
        let places: Vec<String> = all
            .iter()
            .map(|it| shell_word(&it.question.place().to_string_lossy()))
            .collect();
        let error = Self::new(Code::Untrusted, messages.join("\n"));
        let error = match all.iter().any(|it| it.trouble.is_some()) {
            true => error,
            false => error.hint(format!(
                "if you trust it: bonded trust {}; it is asked about again when it changes",
                places.join(" ")
            )),
        };
        error.hint("trust it once: --trust; or use only its restrictions: --no-trust")
    }
}

/// A path as a shell takes it, with nothing in it that acts on a terminal.
fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%".contains(c);
    match path.chars().all(plain) {
        true => path.to_owned(),
        false => format!("'{}'", written_out(&path.replace('\'', "'\\''"))),
    }
}

/// A bad value of the models' option has a code of its own, because it has a page on how models are named.
impl From<OptionError> for CliError {
    fn from(error: OptionError) -> Self {
        let code = match &error {
            OptionError::BareModel { .. } => Code::BadModel,
            OptionError::BadValue { key, .. } if key == "models" => Code::BadModel,
            OptionError::BadValue { .. }
            | OptionError::UnknownKey { .. }
            | OptionError::NotHere { .. }
            | OptionError::BadOverride { .. } => Code::Usage,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Problems> for CliError {
    /// The first problem is the message, the others are hints.
    fn from(problems: Problems) -> Self {
        let untrusted: Vec<&Untrusted> = problems
            .all()
            .iter()
            .filter_map(ConfigError::untrusted)
            .collect();
        if !untrusted.is_empty() {
            return Self::untrusted(&untrusted);
        }
        let mut all = problems.all().iter().map(|it| with_causes(it));
        let first = all.next().unwrap_or_default();
        all.fold(Self::new(Code::Config, first), Self::hint)
    }
}

/// Whatever is wrong with naming a provider is a wrong model to the person, but for scripts, which are files.
impl From<ProviderError> for CliError {
    fn from(error: ProviderError) -> Self {
        let code = match error {
            ProviderError::NoScript { .. } => Code::BadScript,
            ProviderError::NoProvider { .. }
            | ProviderError::BareModel { .. }
            | ProviderError::NoModel { .. }
            | ProviderError::BadUrl { .. }
            | ProviderError::SecretInUrl
            | ProviderError::NoAzureEndpoint
            | ProviderError::Misdirected { .. } => Code::BadModel,
        };
        Self::new(code, error.to_string())
    }
}

impl From<BadRunId> for CliError {
    fn from(error: BadRunId) -> Self {
        Self::new(Code::BadRunId, error.to_string())
    }
}

impl From<DataDirError> for CliError {
    fn from(error: DataDirError) -> Self {
        let message = error.to_string();
        match error {
            DataDirError::Missing(path) => Self::new(Code::DataDir, message)
                .hint(format!("create one: bonded init {}", path.display()))
                .hint("or say where it is: --data DIR, or BONDED_DATA"),
            DataDirError::Prompt { .. } => Self::new(Code::DataDir, message)
                .hint("correct the file, or remove it and start again: it is then created again"),
            DataDirError::File { .. } => Self::new(Code::DataDir, message).hint(
                "the data directory must exist and be writable: choose another with --data DIR",
            ),
            DataDirError::Store(error) => store_error(error),
            DataDirError::NoToken(message) => Self::new(Code::Internal, message),
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Dir(error) => error.into(),
            OpenError::ConfigFile(error) => Self::new(Code::Config, error.to_string())
                .hint("correct the file, or remove it and start again: it is then created again"),
            OpenError::Value(message) => Self::new(Code::Config, message),
        }
    }
}

impl From<LedgerError> for CliError {
    fn from(error: LedgerError) -> Self {
        Self::new(Code::Config, error.to_string()).hint("name another file: --billing-file FILE")
    }
}

/// A store that failed, as a person on a terminal meets it.
pub(crate) fn store_error(error: WorkspaceError) -> CliError {
    match error {
        WorkspaceError::Store(error) => error.into(),
        WorkspaceError::Refused(refused) => {
            let message = format!("{}: {}", refused.code(), with_causes(&refused));
            CliError::new(Code::Refused, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_names_it_and_its_exit_code() {
        for code in Code::ALL {
            let page = code.page();
            assert!(
                page.starts_with(&format!("# {}\n", code.name())),
                "{code:?}"
            );
            let exit = format!("Exit code {}.", code.exit_code());
            assert!(page.contains(&exit), "{code:?}: the page lacks {exit:?}");
        }
    }

    #[test]
    fn no_two_codes_share_a_name() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
