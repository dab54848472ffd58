//! `bonded`: the command line. It parses, asks the host, renders, and maps what came of it to an exit
//! code. No rule of the contract and no logic that another surface would need lives here.
//!
//! The order of `main` matters. The program is its own launcher: started as one, it enters the sandbox or the
//! tree's process and does nothing else. Then its memory is closed to other processes and its descriptors to its
//! children, before anything secret is read, and only then is a command dispatched. Whatever came of it, the last
//! lines on stderr get a moment to be read.

#![warn(clippy::wildcard_enum_match_arm)]

mod acp;
mod agents;
mod args;
mod commands;
mod dirs;
mod editor;
mod error;
mod flow;
mod goal;
mod goal_images;
mod log_form;
mod logging;
mod masking;
mod options;
mod output;
mod prompt;
mod queued_runs;
mod raw_mode;
mod refused;
mod render;
mod resumable_run;
mod review;
mod settings;
mod signals;
mod stderr_writer;
mod stdin;
mod style;
mod telemetry;
mod traced;
mod trust;
mod usage;
mod work;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use crate::error::{CliError, Code};

/// How long a reader of stderr may take for nothing at all at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Never panics on purpose and never exits early: all ways out are an exit code that this function returns.
fn main() -> ExitCode {
    // Commands are started through this program: that comes before anything else is set up.
    if let Some(code) = bonded_host::sandbox::enter(std::env::args_os()) {
        return code;
    }
    if let Some(code) = bonded_work::tree::enter(std::env::args_os()) {
        return code;
    }
    bonded_host::sandbox::hide_memory();
    bonded_host::sandbox::keep_descriptors_to_ourselves();
    logging::begin();
    let code = match all_written(commands::dispatch()) {
        Ok(code) => code,
        Err(error) => {
            output::stderr(&error.render());
            ExitCode::from(error.exit_code())
        }
    };
    stderr_writer::settle(LAST_WORDS);
    code
}

/// What came of a command counts only where it can be read: heads that nobody could keep are compared with nothing.
/// A command that failed keeps its own error: it is the more important one.
fn all_written(ended: Result<ExitCode, CliError>) -> Result<ExitCode, CliError> {
    let is_lost = match &ended {
        Ok(code) => *code == ExitCode::SUCCESS,
        Err(error) => error.code == Code::NotCompared,
    };
    match output::unwritten() {
        Some(why) if is_lost => {
            let message = format!("stdout cannot be written: {why}");
            Err(CliError::new(Code::OutputFailed, message))
        }
        _ => ended,
    }
}
