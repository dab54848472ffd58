//! The command line: one struct for each command. The doc comments are the help text.
//!
//! clap reads them, so that a comment on a field is what people see with `--help`; what is for readers of the code
//! stands in these headers. The structs only say what was typed: defaults that depend on files, variables or on
//! each other are worked out in `settings`. Flags for options of agents are not written here, but made from the
//! table of options.

mod about;
mod amount;
mod check;
mod config;
mod models;
mod new;
mod review;
mod run;
mod schema;
mod serve;
mod shared;
mod short_help;
mod store;
mod stored;
mod ui;
mod work;
mod worker;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::style::{ColorChoice, LookFlags};

pub(crate) use about::{CompletionsArgs, DemoArgs, DoctorArgs, ExplainArgs, Shell};
pub(crate) use check::{ReplayArgs, VerifyArgs};
pub(crate) use config::{
    ConfigArgs, ConfigCommand, ConfigPlaceArgs, LoginArgs, LogoutArgs, TrustArgs,
};
pub(crate) use models::ModelsArgs;
pub(crate) use new::{NewArgs, NewKind};
pub(crate) use review::{ApproveArgs, DenyArgs, VerdictArgs};
pub(crate) use run::RunArgs;
pub(crate) use schema::{SchemaArgs, SchemaName};
pub(crate) use serve::{McpArgs, ServeArgs, ServedArgs};
pub(crate) use shared::{AgentArgs, LimitArgs, ModelArgs, Prompting, ShowProgress};
pub(crate) use short_help::TOP;
pub(crate) use store::{StoreArgs, StoreCommand, StoreInitArgs, StoreQueueArgs};
pub(crate) use stored::{CancelArgs, ForkArgs, ResumeArgs, RunsArgs, ShowArgs};
pub(crate) use ui::UiArgs;
pub(crate) use work::WorkArgs;
pub(crate) use worker::{WorkerArgs, WorkersArgs};
pub(crate) use workspace::{
    ExportArgs, ImportArgs, InitArgs, NoteAddArgs, NoteArgs, NoteCommand, NoteEditArgs,
    NoteHistoryArgs, NoteListArgs, NoteSearchArgs, NoteShowArgs, PlaceArgs, RuleArgs, RuleCommand,
    UserArgs, UserCommand,
};

/// Run LLM agents within limits that code enforces
///
/// What an agent may do, spend and change is enforced by code. Every step is recorded before the next begins, so that a
/// run survives a crash and can be verified and replayed offline.
#[derive(Debug, Parser)]
#[command(
    name = "bonded",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Examples:
  bonded demo                                        watch an agent work, without a key
  bonded run --model openai/gpt-5-mini \"fix the failing test\"
  bonded run --model llama3 --base-url http://127.0.0.1:11434/v1 @goal.txt
  bonded runs                                        list the runs
  bonded show 3f2a                                   step through one, by a prefix of its id
  bonded replay 3f2a                                 recompute every step of it, offline

Exit codes: 0 success, 1 the run failed or a check found a difference, 3 the store or the start-up
failed, 4 bad arguments or configuration, 5 a schema that does not match, 6 a call needs approval,
7 verified, but nothing to compare with, 130 stopped by Ctrl-C.
`bonded explain CODE` says more about an error.")]
pub(crate) struct Cli {
    /// Store: a file, or postgres://… [default: bonded/store.db in the data directory]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "BONDED_STORE",
        hide_env_values = true,
        value_name = "STORE"
    )]
    pub(crate) store: Option<PathBuf>,

    /// When to use colour: auto, always or never
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_enum,
        default_value_t,
        value_name = "WHEN"
    )]
    #[arg(help_heading = "Output", hide_possible_values = true)]
    pub(crate) color: ColorChoice,

    /// Draw with ASCII characters only
    #[arg(long, global = true, hide_short_help = true, help_heading = "Output")]
    pub(crate) ascii: bool,

    /// No redrawing, no symbols, no colour [also: ACCESSIBLE=1]
    #[arg(long, global = true, hide_short_help = true, help_heading = "Output")]
    pub(crate) plain: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// All commands, for those who look for one by its name.
    pub(crate) fn cli_command() -> clap::Command {
        Self::command()
    }

    /// What it says of drawing.
    pub(crate) fn look(&self) -> LookFlags {
        LookFlags {
            color: self.color,
            ascii: self.ascii,
            plain: self.plain,
        }
    }

    /// Reads a command line, and the variables that stand for what it does not say. Empty means unset.
    pub(crate) fn read<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let mut command = short_help::shorten(without_empty_variables(Self::command()));
        let mut found = command.try_get_matches_from_mut(words)?;
        let read = Self::from_arg_matches_mut(&mut found);
        read.map_err(|error| error.format(&mut command))
    }
}

/// clap would take an empty variable for a value, such as a store whose file has no name.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let set = |arg: Arg| {
        let is_empty =
            |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|it| it.is_empty());
        match arg.get_env().is_some_and(is_empty) {
            true => arg.env(Resettable::Reset),
            false => arg,
        }
    };
    command
        .mut_args(set)
        .mut_subcommands(without_empty_variables)
}

/// A variable that is set once for everything. Empty means unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Work(Box<WorkArgs>),
    Serve(Box<ServeArgs>),
    Mcp(Box<McpArgs>),
    Init(InitArgs),
    Note(Box<NoteArgs>),
    Rule(Box<RuleArgs>),
    User(Box<UserArgs>),
    Export(ExportArgs),
    Import(ImportArgs),
    Ui(UiArgs),
    Runs(RunsArgs),
    Show(ShowArgs),
    Resume(ResumeArgs),
    Approve(ApproveArgs),
    Deny(DenyArgs),
    Cancel(CancelArgs),
    Replay(ReplayArgs),
    Verify(VerifyArgs),
    Fork(Box<ForkArgs>),
    Models(ModelsArgs),
    Store(StoreArgs),
    Worker(WorkerArgs),
    Workers(WorkersArgs),
    Doctor(DoctorArgs),
    Demo(DemoArgs),
    New(NewArgs),
    Config(ConfigArgs),
    Schema(SchemaArgs),
    Trust(TrustArgs),
    Login(Box<LoginArgs>),
    Logout(Box<LogoutArgs>),
    Explain(ExplainArgs),
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether it answers several at the same time.
    pub(crate) fn is_server(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Ui(_) | Self::Worker(_) => true,
            Self::Run(_)
            | Self::Work(_)
            | Self::Init(_)
            | Self::Note(_)
            | Self::Rule(_)
            | Self::User(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Runs(_)
            | Self::Show(_)
            | Self::Resume(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Cancel(_)
            | Self::Replay(_)
            | Self::Verify(_)
            | Self::Fork(_)
            | Self::Models(_)
            | Self::Store(_)
            | Self::Workers(_)
            | Self::Doctor(_)
            | Self::Demo(_)
            | Self::New(_)
            | Self::Config(_)
            | Self::Schema(_)
            | Self::Trust(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Explain(_)
            | Self::Completions(_) => false,
        }
    }
}
