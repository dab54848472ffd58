//! The command line: one struct for each command. The doc comments are the help text.
//!
//! clap reads them, so that a comment on a field is what people see with `--help`; what is for readers of the code
//! stands in these headers. The structs only say what was typed: defaults that depend on files, variables or on
//! each other are worked out in `settings`. Flags for options of agents are not written here, but made from the
//! table of options.

mod about;
mod acp;
mod amount;
mod changes;
mod chat;
mod check;
mod config;
mod log;
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
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::style::{ColorChoice, LookFlags};

pub(crate) use about::{CompletionsArgs, DemoArgs, DoctorArgs, ExplainArgs, Shell};
pub(crate) use acp::AcpArgs;
pub(crate) use changes::{DiffArgs, UndoArgs};
pub(crate) use chat::ChatArgs;
pub(crate) use check::{ReplayArgs, VerifyArgs};
pub(crate) use config::{
    ConfigArgs, ConfigCommand, ConfigPlaceArgs, LoginArgs, LogoutArgs, TrustArgs,
};
pub(crate) use log::LogArgs;
pub(crate) use models::ModelsArgs;
pub(crate) use new::{NewArgs, NewKind};
pub(crate) use review::{ApproveArgs, DenyArgs, VerdictArgs};
pub(crate) use run::RunArgs;
pub(crate) use schema::{SchemaArgs, SchemaName};
pub(crate) use serve::{McpArgs, ServeArgs, ServedArgs};
pub(crate) use shared::{AgentArgs, LimitArgs, ModelArgs, Prompting, ShowProgress};
pub(crate) use short_help::TOP;
pub(crate) use store::{
    StoreAdoptArgs, StoreArgs, StoreCommand, StoreCopyArgs, StoreInitArgs, StoreLimitArgs,
    StorePlanArgs,
};
pub(crate) use stored::{CancelArgs, ForkArgs, ResumeArgs, RunsArgs, ShowArgs};
pub(crate) use ui::UiArgs;
pub(crate) use work::WorkArgs;
pub(crate) use worker::{WorkerArgs, WorkersArgs};
pub(crate) use workspace::{
    ExportArgs, ImportArgs, InitArgs, NoteAddArgs, NoteArgs, NoteCommand, NoteEditArgs,
    NoteHistoryArgs, NoteListArgs, NoteSearchArgs, NoteShowArgs, PlaceArgs, RuleArgs, RuleCommand,
    UserArgs, UserCommand,
};

/// Help is no wider, however wide the terminal is.
const WIDTH_MAX: usize = 100;

/// Run LLM agents within limits that code enforces
///
/// What an agent may do, spend and change is enforced by code. Every step is recorded before the next begins, so that a
/// run survives a crash and can be verified and replayed offline.
#[derive(Debug, Parser)]
#[command(
    name = "bonded",
    version,
    propagate_version = true,
    max_term_width = WIDTH_MAX
)]
#[command(after_help = "\
Examples:
  bonded demo                                        watch an agent work, without a key
  bonded chat                                        talk with an agent in this directory
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
    #[command(flatten)]
    global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
struct GlobalArgs {
    /// Store: a file, or postgres://… [default: bonded/store.db in the data directory]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "BONDED_STORE",
        hide_env_values = true,
        value_name = "STORE"
    )]
    store: Option<PathBuf>,

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
    color: ColorChoice,

    /// Draw with ASCII characters only
    #[arg(long, global = true, hide_short_help = true, help_heading = "Output")]
    ascii: bool,

    /// No redrawing, no symbols, no colour [also: ACCESSIBLE=1]
    #[arg(long, global = true, hide_short_help = true, help_heading = "Output")]
    plain: bool,
}

impl Cli {
    /// All commands, for those who look for one by its name.
    pub(crate) fn cli_command() -> clap::Command {
        Self::command()
    }

    /// Those of some names alone, with which a line that names no others is read in the same way.
    fn command_with(is_named: impl Fn(&str) -> bool) -> clap::Command {
        let top = clap::Command::new("bonded")
            .version(env!("CARGO_PKG_VERSION"))
            .propagate_version(true)
            .max_term_width(WIDTH_MAX)
            .subcommand_required(true)
            .arg_required_else_help(true);
        let named = COMMANDS.iter().filter(|(name, _)| is_named(name));
        let named = named.map(|(name, augment)| augment(clap::Command::new(*name)));
        GlobalArgs::augment_args(top).subcommands(named)
    }

    /// The store that was typed, or that a variable names.
    pub(crate) fn store(&self) -> Option<&Path> {
        self.global.store.as_deref()
    }

    /// What it says of drawing.
    pub(crate) fn look(&self) -> LookFlags {
        LookFlags {
            color: self.global.color,
            ascii: self.global.ascii,
            plain: self.global.plain,
        }
    }

    /// Reads a command line, and the variables that stand for what it does not say. Empty means unset.
    ///
    /// All commands together have some thousand flags, which take longer to set up than everything else before a run's
    /// first request: only commands whose names are among the words are. What is wrong with a line is found out again
    /// with all of them.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let words = words.as_slice();
        let is_named = |name: &str| words.iter().skip(1).any(|word| word == name);
        Self::read_with(Self::command_with(is_named), words).or_else(|error| {
            let begins_with_its_name = || {
                let first = words.get(1);
                COMMANDS
                    .iter()
                    .any(|(name, _)| first.is_some_and(|it| it == name))
            };
            if error.kind() == ErrorKind::DisplayHelp && begins_with_its_name() {
                return Err(error);
            }
            Self::read_with(Self::command(), words)
        })
    }

    fn read_with(command: clap::Command, words: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = short_help::shorten(without_empty_variables(command));
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

/// Makes the commands, by their names, and the table of what each of them takes.
macro_rules! commands {
    ($($name:literal $variant:ident($args:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $(#[command(name = $name)] $variant($args),)*
        }

        /// What each command takes.
        const COMMANDS: &[(&str, fn(clap::Command) -> clap::Command)] =
            &[$(($name, <$args as Args>::augment_args),)*];
    };
}

commands! {
    "chat" Chat(Box<ChatArgs>),
    "run" Run(Box<RunArgs>),
    "work" Work(Box<WorkArgs>),
    "serve" Serve(Box<ServeArgs>),
    "mcp" Mcp(Box<McpArgs>),
    "acp" Acp(Box<AcpArgs>),
    "init" Init(InitArgs),
    "note" Note(Box<NoteArgs>),
    "rule" Rule(Box<RuleArgs>),
    "user" User(Box<UserArgs>),
    "export" Export(ExportArgs),
    "import" Import(ImportArgs),
    "ui" Ui(UiArgs),
    "runs" Runs(RunsArgs),
    "show" Show(ShowArgs),
    "resume" Resume(ResumeArgs),
    "approve" Approve(ApproveArgs),
    "deny" Deny(DenyArgs),
    "cancel" Cancel(CancelArgs),
    "replay" Replay(ReplayArgs),
    "verify" Verify(VerifyArgs),
    "fork" Fork(Box<ForkArgs>),
    "diff" Diff(DiffArgs),
    "undo" Undo(UndoArgs),
    "models" Models(ModelsArgs),
    "store" Store(StoreArgs),
    "worker" Worker(WorkerArgs),
    "workers" Workers(WorkersArgs),
    "doctor" Doctor(DoctorArgs),
    "demo" Demo(DemoArgs),
    "new" New(NewArgs),
    "config" Config(ConfigArgs),
    "schema" Schema(SchemaArgs),
    "trust" Trust(TrustArgs),
    "login" Login(Box<LoginArgs>),
    "logout" Logout(Box<LogoutArgs>),
    "explain" Explain(ExplainArgs),
    "completions" Completions(CompletionsArgs),
}

impl Command {
    /// Whether it answers several at the same time.
    pub(crate) fn is_server(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Acp(_) | Self::Ui(_) | Self::Worker(_) => true,
            Self::Chat(_)
            | Self::Run(_)
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
            | Self::Diff(_)
            | Self::Undo(_)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a person is shown, or `None` where the line is a command.
    fn shown(read: Result<Cli, clap::Error>) -> Option<String> {
        read.err().map(|error| error.to_string())
    }

    #[test]
    fn a_command_is_the_same_whether_or_not_the_others_are_set_up() {
        for (name, _) in COMMANDS {
            for more in [
                &["-h"][..],
                &["--help"],
                &["--version"],
                &["--no-such-flag"],
                &["a", "b", "c", "d"],
            ] {
                let words = [&["bonded", name], more].concat();
                let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
                let alone = Cli::read_with(Cli::command_with(|it| it == *name), &words);
                let (alone, all) = (shown(alone), shown(Cli::read_with(Cli::command(), &words)));
                assert_eq!(alone, all, "{words:?}");
                assert_eq!(shown(Cli::read(&words)), all, "{words:?}");
            }
        }
    }

    #[test]
    fn lines_that_are_wrong_are_answered_with_all_commands_in_mind() {
        for line in [
            "--help run",
            "rum show",
            "--store show run",
            "--store run",
            "help",
            "help run",
            "note",
            "run --store",
        ] {
            let words: Vec<OsString> = std::iter::once("bonded")
                .chain(line.split(' '))
                .map(OsString::from)
                .collect();
            let all = shown(Cli::read_with(Cli::command(), &words));
            assert_eq!(shown(Cli::read(&words)), all, "{line}");
        }
    }
}
