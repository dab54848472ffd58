//! What is wrong with a command line, in the words of every other error where clap's own say too little.
//!
//! A value with a unit is refused as it is refused in a file, and a command that is not there is answered with the one
//! that was meant. Everything else is left in clap's words.

use std::error::Error as _;
use std::ffi::OsString;

use bonded_kernel::{BadMeasure, nearest};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;
use crate::error::{CliError, Code};

/// The error in our words, if we have any.
pub(crate) fn in_our_words(error: &clap::Error, words: &[OsString]) -> Option<CliError> {
    // What clap reports may become more kinds with each version of it.
    if error.kind() == ErrorKind::ValueValidation {
        bad_measure(error)
    } else if error.kind() == ErrorKind::InvalidSubcommand {
        unknown_command(error, words)
    } else {
        None
    }
}

/// `--max-time 5x is not a duration. …`
fn bad_measure(error: &clap::Error) -> Option<CliError> {
    let bad = error.source()?.downcast_ref::<BadMeasure>()?;
    let flag = context_text(error, ContextKind::InvalidArg)?;
    let flag = flag.split_whitespace().next()?;
    Some(CliError::new(Code::Usage, format!("{flag} {bad}")))
}

/// The names are those of the command in which the word stands.
fn unknown_command(error: &clap::Error, words: &[OsString]) -> Option<CliError> {
    let typed = context_text(error, ContextKind::InvalidSubcommand)?;
    let program = Cli::cli_command();
    let mut within = &program;
    let mut path = String::new();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if word == typed {
            break;
        }
        if let Some(found) = within.find_subcommand(word) {
            path.push_str(&format!("{} ", found.get_name()));
            within = found;
        }
    }
    let shown = within.get_subcommands().filter(|it| !it.is_hide_set());
    let meant = nearest(typed, shown.map(clap::Command::get_name));
    let message = format!("there is no command {path}{}", bonded_kernel::short(typed));
    Some(match meant {
        Some(meant) => {
            let message = format!("{message}. Did you mean {path}{meant}?");
            CliError::new(Code::Usage, message)
        }
        None => CliError::new(Code::Usage, message)
            .hint(format!("list the commands: bonded {path}--help")),
    })
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    let value = error.get(kind)?;
    if let ContextValue::String(text) = value {
        Some(text)
    } else {
        None
    }
}
