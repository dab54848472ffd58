//! Errors as a person meets them: a stable code, what happened, what to do, and an exit code.
//!
//! Libraries below have their own error types; here each of them is mapped to one code, and nowhere else. A code is
//! a promise: scripts branch on its name and on the exit code, so that neither changes, and the texts may. The
//! messages of causes are joined, because a person on a terminal has nobody who unwraps them. Exit codes: 1 says
//! that something is not as it should be, 3 that the machine failed, 4 that what was typed or configured does, 5 a
//! schema, 6 and 7 that nothing failed and something is still open.

use bonded_host::agent::AgentError;
use bonded_host::agent_file::AgentFileError;
use bonded_host::changes::ChangesFailure;
use bonded_host::config::options::OptionError;
use bonded_host::config::{ConfigError, Problems};
use bonded_host::keeping::LedgerError;
use bonded_host::letters::written_out;
use bonded_host::shapes::text::short_id;
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

/// The stable codes. Each has a page in `docs/errors`, which `bonded explain CODE` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// A mistake in the arguments; nothing was begun, and nothing is put on record.
    Usage,
    /// Neither a flag, a file nor a variable names a model.
    NoModel,
    /// The name of the model leads to no endpoint.
    BadModel,
    /// The goal is empty, too large, no UTF-8, or not what the agent takes.
    BadGoal,
    /// A file of scripted replies is missing, or a line of it is no reply.
    BadScript,
    /// The text cannot be the id of any run.
    BadRunId,
    /// No run of this store has this id, nor one that begins so.
    UnknownRun,
    /// Several ids begin with what was typed; the hint lists them.
    AmbiguousRun,
    /// A chosen id belongs to another run.
    IdTaken,
    /// The run has fewer turns.
    NoSuchTurn,
    /// No call of the run waits for a person.
    NothingWaits,
    /// Another call waits than the one that was looked at; nothing was recorded.
    OtherCall,
    /// Nobody could be asked, or not all was shown: nothing was approved.
    LookFirst,
    /// There is a limit of cost, and no price for one of the models.
    NoPrice,
    /// There is no such plan to resume, or its record cannot be read.
    UnknownPlan,
    /// The plan has faults; all of them are listed, and nothing was run.
    BadPlan,
    /// The working directory is missing, cannot be read, or has no UTF-8 path.
    Workdir,
    /// The tree cannot be worked on as it is, and is untouched.
    Tree,
    /// An agent file, or one that it includes or calls, cannot be used.
    AgentFile,
    /// The configuration cannot be used; the hints are its further problems.
    Config,
    /// Something that was found wants more than to tighten, and nobody trusts it. Nothing of it was started.
    Untrusted,
    /// The record of what the person trusts cannot be read or written; until then nothing is trusted.
    TrustRecord,
    /// A tool that is not built in, a server that is switched off, or a login that a server cannot have.
    UnknownTool,
    /// A schema is no JSON Schema, or something does not fit it.
    Schema,
    /// A tool server did not start, so that the run did not begin.
    ToolServer,
    /// The machine cannot enforce the sandbox that is required, or no command can be started in it.
    Sandbox,
    /// The address of a server cannot be listened on.
    Listen,
    /// Something of the tree, of its copies or of what is kept beside the store could not be read or written.
    TreeFailed,
    /// Another plan works on the tree, or on one around it. It is untouched.
    TreeBusy,
    /// The run takes no other goal, as it is or by what the configuration says now.
    CannotContinue,
    /// A run that should have planned has no plan that can be used.
    NoPlan,
    /// Another process drives the run, or a plan does.
    RunHeld,
    /// Another process wrote to the log meanwhile; this one let go, so that nothing is done twice.
    TakenOver,
    /// There is no store where one was named, or there is no home to look for one in.
    StoreMissing,
    /// The file is something else.
    StoreNotAStore,
    /// The store's file is damaged.
    StoreCorrupt,
    /// A newer version has written it; this one does not guess what it says.
    StoreNewer,
    /// The disk is full. What was durable before still is.
    StoreFull,
    /// The store cannot be written.
    StoreReadOnly,
    /// Another process keeps it locked for too long.
    StoreLocked,
    /// The file was removed, moved or replaced while it was open.
    StoreReplaced,
    /// No server answers at the store's address.
    StoreUnreachable,
    /// The store's server does not let this user in, or not do what is needed.
    StoreDenied,
    /// The server has no store yet, or an older one.
    StoreNotReady,
    /// The server would acknowledge what a crash can lose.
    StoreUnsynced,
    /// The server takes no further connections.
    StoreConnections,
    /// A pooler stands before the server.
    StorePooler,
    /// The process could not show in time that it lives, and stopped what it did for the run.
    LeaseLost,
    /// Reading or writing it failed otherwise.
    StoreIo,
    /// The run is a copy, or was moved: another store continues it.
    RunElsewhere,
    /// A log in the store to copy to is not the beginning of the one that was to be copied.
    CopyDiverged,
    /// Runs were driven while they were copied: the copy is made again.
    CopyUnfinished,
    /// Entries of a log are not what their hashes say, or are not the log of one run.
    BrokenLog,
    /// A log contradicts what is known of it elsewhere.
    Tampered,
    /// No fault was found, and there was nothing to compare with. It has an exit code of its own, because it is
    /// neither success nor a fault: a log that was cut at its end looks the same.
    NotCompared,
    /// Something stands in the way of an undo; nothing was changed.
    UndoRefused,
    /// The record of a run's changes cannot be read, or an undo was not made; nothing was changed.
    UndoFailed,
    /// A replay computed something else than what is recorded.
    ReplayDiffers,
    /// A receipt is not what it claims to be.
    BadReceipt,
    /// The data directory of a workspace is missing or holds a file that cannot be used.
    DataDir,
    /// The workspace did not make the change. The message begins with the code that programs meet over HTTP.
    Refused,
    /// The run ended, and not with success.
    RunFailed,
    /// A call waits for a person; the run goes on after the verdict.
    AwaitingReview,
    /// A signal asked the process to end; what was under way can be resumed. The exit code is 128 and the signal's
    /// number.
    Interrupted,
    /// What was to be read on stdout, or in files, could not be written.
    OutputFailed,
    /// Something that should not happen; there is nothing that a person can do about it but report it.
    Internal,
}

/// A code's name, its exit code, and its page.
macro_rules! page {
    ($name:literal, $exit:literal) => {
        (
            $name,
            $exit,
            include_str!(concat!("../../../docs/errors/", $name, ".md")),
        )
    };
}

impl Code {
    /// Every code once. The order is that of `bonded explain` without an argument.
    pub(crate) const ALL: [Self; 66] = [
        Self::Usage,
        Self::NoModel,
        Self::BadModel,
        Self::BadGoal,
        Self::BadScript,
        Self::BadRunId,
        Self::UnknownRun,
        Self::AmbiguousRun,
        Self::IdTaken,
        Self::NoSuchTurn,
        Self::NothingWaits,
        Self::OtherCall,
        Self::LookFirst,
        Self::NoPrice,
        Self::UnknownPlan,
        Self::BadPlan,
        Self::Workdir,
        Self::Tree,
        Self::AgentFile,
        Self::Config,
        Self::Untrusted,
        Self::TrustRecord,
        Self::UnknownTool,
        Self::Schema,
        Self::ToolServer,
        Self::Sandbox,
        Self::Listen,
        Self::TreeFailed,
        Self::TreeBusy,
        Self::CannotContinue,
        Self::NoPlan,
        Self::RunHeld,
        Self::TakenOver,
        Self::StoreMissing,
        Self::StoreNotAStore,
        Self::StoreCorrupt,
        Self::StoreNewer,
        Self::StoreFull,
        Self::StoreReadOnly,
        Self::StoreLocked,
        Self::StoreReplaced,
        Self::StoreUnreachable,
        Self::StoreDenied,
        Self::StoreNotReady,
        Self::StoreUnsynced,
        Self::StoreConnections,
        Self::StorePooler,
        Self::LeaseLost,
        Self::StoreIo,
        Self::RunElsewhere,
        Self::CopyDiverged,
        Self::CopyUnfinished,
        Self::BrokenLog,
        Self::Tampered,
        Self::NotCompared,
        Self::UndoRefused,
        Self::UndoFailed,
        Self::ReplayDiffers,
        Self::BadReceipt,
        Self::DataDir,
        Self::Refused,
        Self::RunFailed,
        Self::AwaitingReview,
        Self::Interrupted,
        Self::OutputFailed,
        Self::Internal,
    ];

    /// The code's name, its exit code, and its page.
    /// One match for all three, so that a code cannot be added without its exit code and its page: a page that is
    /// missing is a compile error.
    fn entry(self) -> (&'static str, u8, &'static str) {
        match self {
            Self::Usage => page!("usage", 4),
            Self::NoModel => page!("no-model", 4),
            Self::BadModel => page!("bad-model", 4),
            Self::BadGoal => page!("bad-goal", 4),
            Self::BadScript => page!("bad-script", 4),
            Self::BadRunId => page!("bad-run-id", 4),
            Self::UnknownRun => page!("unknown-run", 4),
            Self::AmbiguousRun => page!("ambiguous-run", 4),
            Self::IdTaken => page!("id-taken", 4),
            Self::NoSuchTurn => page!("no-such-turn", 4),
            Self::NothingWaits => page!("nothing-waits", 4),
            Self::OtherCall => page!("other-call", 4),
            Self::LookFirst => page!("look-first", 4),
            Self::NoPrice => page!("no-price", 4),
            Self::UnknownPlan => page!("unknown-plan", 4),
            Self::BadPlan => page!("bad-plan", 4),
            Self::Workdir => page!("workdir", 4),
            Self::Tree => page!("tree", 4),
            Self::AgentFile => page!("agent-file", 4),
            Self::Config => page!("config", 4),
            Self::Untrusted => page!("untrusted", 4),
            Self::TrustRecord => page!("trust-record", 4),
            Self::UnknownTool => page!("unknown-tool", 4),
            Self::Schema => page!("schema", 5),
            Self::ToolServer => page!("tool-server", 3),
            Self::Sandbox => page!("sandbox", 3),
            Self::Listen => page!("listen", 3),
            Self::TreeFailed => page!("tree-failed", 3),
            Self::TreeBusy => page!("tree-busy", 3),
            Self::CannotContinue => page!("cannot-continue", 4),
            Self::NoPlan => page!("no-plan", 1),
            Self::RunHeld => page!("run-held", 3),
            Self::TakenOver => page!("taken-over", 3),
            Self::StoreMissing => page!("store-missing", 4),
            Self::StoreNotAStore => page!("store-not-a-store", 4),
            Self::StoreCorrupt => page!("store-corrupt", 3),
            Self::StoreNewer => page!("store-newer", 3),
            Self::StoreFull => page!("store-full", 3),
            Self::StoreReadOnly => page!("store-read-only", 3),
            Self::StoreLocked => page!("store-locked", 3),
            Self::StoreReplaced => page!("store-replaced", 3),
            Self::StoreUnreachable => page!("store-unreachable", 3),
            Self::StoreDenied => page!("store-denied", 3),
            Self::StoreNotReady => page!("store-not-ready", 3),
            Self::StoreUnsynced => page!("store-unsynced", 3),
            Self::StoreConnections => page!("store-connections", 3),
            Self::StorePooler => page!("store-pooler", 3),
            Self::LeaseLost => page!("lease-lost", 3),
            Self::StoreIo => page!("store-io", 3),
            Self::RunElsewhere => page!("run-elsewhere", 3),
            Self::CopyDiverged => page!("copy-diverged", 1),
            Self::CopyUnfinished => page!("copy-unfinished", 6),
            Self::BrokenLog => page!("broken-log", 1),
            Self::Tampered => page!("tampered", 1),
            Self::NotCompared => page!("not-compared", 7),
            Self::UndoRefused => page!("undo-refused", 1),
            Self::UndoFailed => page!("undo-failed", 3),
            Self::ReplayDiffers => page!("replay-differs", 1),
            Self::BadReceipt => page!("bad-receipt", 1),
            Self::DataDir => page!("data-dir", 4),
            Self::Refused => page!("refused", 4),
            Self::RunFailed => page!("run-failed", 1),
            Self::AwaitingReview => page!("awaiting-review", 6),
            Self::Interrupted => page!("interrupted", 143),
            Self::OutputFailed => page!("output-failed", 3),
            Self::Internal => page!("internal", 3),
        }
    }

    /// The name that an error is printed with, which is also that of its page.
    pub(crate) fn name(self) -> &'static str {
        self.entry().0
    }

    /// As the table has it. For an error that is met, `CliError::exit_code` counts: only that knows which signal it
    /// was.
    pub(crate) fn exit_code(self) -> u8 {
        self.entry().1
    }

    /// The page as Markdown, built in: it is there without the network and of the same version.
    pub(crate) fn page(self) -> &'static str {
        self.entry().2
    }
}

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
