//! The commands, one file each.
//!
//! A command is a function from its arguments to an exit code or an error. It prints what it has to say itself and
//! leaves the error to `main`. What is set up for all of them is here: the runtime, the signal that must not end
//! the process, and, for plans, the ground, which has to be made while the process has one thread.

mod acp;
mod approve;
mod attend;
mod cancel;
mod chat;
mod completions;
mod config;
mod demo;
mod deny;
mod detach;
mod diff;
mod doctor;
mod each;
mod explain;
mod export;
mod fork;
mod import;
mod init;
mod login;
mod logout;
mod mcp;
mod models;
mod new;
mod note;
mod planned;
mod pursue;
mod replay;
mod replay_receipt;
mod resume;
mod rule;
mod run;
pub(crate) mod runs;
mod schema;
mod serve;
mod show;
mod store;
mod trust;
mod ui;
mod undo;
mod user;
mod verify;
mod verify_receipt;
mod work;
mod worker;
mod workers;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::args::{Cli, Command, TOP};
use crate::error::{CliError, Code};
use crate::style;
use crate::usage::in_our_words;
use crate::work::Ground;
use crate::{output, signals, telemetry};

/// Parses the command line and runs the command.
/// Most commands have a runtime of one thread, where nothing of theirs happens at the same time; servers have
/// several.
pub(crate) fn dispatch() -> Result<ExitCode, CliError> {
    let mut words = with_agent_file(std::env::args_os());
    match words.get(1..).unwrap_or_default() {
        [] if chat::is_at_a_terminal() => words.push("chat".into()),
        [] => {
            output::stderr(TOP.trim_end());
            return Ok(ExitCode::from(Code::Usage.exit_code()));
        }
        [only] if only == "-h" => {
            output::stdout(TOP.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let cli = match Cli::read(&words) {
        Ok(cli) => cli,
        Err(error) => {
            return match in_our_words(&error, &words) {
                Some(error) => Err(error),
                None => Ok(usage(&error)),
            };
        }
    };
    style::set(cli.look());
    // Before there are threads.
    let ground = Ground::enter(&cli.command);
    let mut runtime = match cli.command.is_server() {
        // What one client searches for, or has checked, must not hold up the others.
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Code::Internal, format!("cannot start: {error}")))?;
    let store = cli.store();
    runtime.block_on(async {
        let ended = command(&cli.command, store, ground.as_ref()).await;
        telemetry::flush().await;
        ended
    })
}

/// `bonded FILE.ai …` runs the agent: so that an agent file with `#!/usr/bin/env bonded` is a program.
/// Only a file that is there counts, so that no command of the future is hidden by a name that ends in `.ai`.
fn with_agent_file(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let is_agent = args.get(1).is_some_and(|first| {
        let path = Path::new(first);
        path.extension().is_some_and(|it| it == "ai") && path.is_file()
    });
    if is_agent {
        args.splice(1..1, ["run".into(), "--agent".into()]);
    }
    args
}

/// The future of a plan is boxed: it is large, and would make that of every command as large.
async fn command(
    command: &Command,
    store: Option<&Path>,
    ground: Option<&Ground>,
) -> Result<ExitCode, CliError> {
    signals::outlive_size_limits();
    match command {
        Command::Work(args) => Box::pin(work::work(args, store, ground)).await,
        Command::Chat(args) => Box::pin(chat::chat(args, store)).await,
        Command::Run(args) if args.detach => detach::detach(args, store).await,
        Command::Run(args) if args.continue_last || args.continue_run.is_some() => {
            pursue::pursue(args, store).await
        }
        Command::Run(args) if args.each.is_some() => each::each(args, store).await,
        Command::Run(args) => run::run(args, store).await,
        Command::Serve(args) => serve::serve(args, store).await,
        Command::Mcp(args) => mcp::mcp(args, store).await,
        Command::Acp(args) => acp::acp(args, store).await,
        Command::Init(args) => init::init(args).await,
        Command::Note(args) => note::note(args).await,
        Command::Rule(args) => rule::rule(args).await,
        Command::User(args) => user::user(args).await,
        Command::Export(args) => export::export(args).await,
        Command::Import(args) => import::import(args).await,
        Command::Ui(args) => ui::ui(args, store).await,
        Command::Runs(args) => runs::runs(args, store).await,
        Command::Show(args) => show::show(args, store).await,
        Command::Resume(args) => resume::resume(args, store).await,
        Command::Approve(args) => approve::approve(args, store).await,
        Command::Deny(args) => deny::deny(args, store).await,
        Command::Cancel(args) => cancel::cancel(args, store).await,
        Command::Replay(args) => replay::replay(args, store).await,
        Command::Verify(args) => verify::verify(args, store).await,
        Command::Fork(args) => fork::fork(args, store).await,
        Command::Diff(args) => diff::diff(args, store).await,
        Command::Undo(args) => undo::undo(args, store).await,
        Command::Models(args) => models::models(args).await,
        Command::Worker(args) => worker::worker(args, store, ground).await,
        Command::Workers(args) => workers::workers(args, store).await,
        Command::Store(args) => store::store(args, store).await,
        Command::Doctor(args) => doctor::doctor(args, store).await,
        Command::Demo(args) => demo::demo(args).await,
        Command::New(args) => new::new(args),
        Command::Config(args) => config::config(args),
        Command::Schema(args) => Ok(schema::schema(args)),
        Command::Login(args) => login::login(args).await,
        Command::Logout(args) => logout::logout(args).await,
        Command::Trust(args) => trust::trust(args),
        Command::Explain(args) => explain::explain(args),
        Command::Completions(args) => Ok(completions::completions(args)),
    }
}

/// Help and version are answers; everything else is a mistake in the arguments.
/// clap's own words, with our code put in: the page of a mistake is found in the same way as any other.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() {
        let code = format!("error[{}]:", Code::Usage.name());
        output::stderr(&text.trim_end().replacen("error:", &code, 1));
        ExitCode::from(Code::Usage.exit_code())
    } else {
        output::stdout(text.trim_end());
        ExitCode::SUCCESS
    }
}
