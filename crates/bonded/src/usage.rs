//! What is wrong with a command line, in the words of every other error where clap's own say too little.
//!
//! A value with a unit is refused as it is refused in a file, and a command or an option that is not there is answered with
//! the one that was meant. Everything else is left in clap's words.

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
    } else if error.kind() == ErrorKind::UnknownArgument {
        unknown_option(error, words)
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
    let (within, path) = command_of(words, typed);
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

/// A word without a dash is left to clap: it is one too many, not one that is unknown.
fn unknown_option(error: &clap::Error, words: &[OsString]) -> Option<CliError> {
    let typed = context_text(error, ContextKind::InvalidArg)?;
    let name = typed.strip_prefix("--")?;
    let (within, path) = command_of(words, typed);
    let shown = within.get_arguments().filter(|it| !it.is_hide_set());
    let names = shown.flat_map(|it| {
        let aliases = it.get_all_aliases().unwrap_or_default();
        it.get_long().into_iter().chain(aliases)
    });
    let command = format!("bonded {path}");
    let message = format!(
        "{} has no option {}",
        command.trim_end(),
        bonded_kernel::short(typed)
    );
    let message = match nearest(name, names) {
        Some(meant) => format!("{message}. Did you mean --{meant}?"),
        None => message,
    };
    let hint = format!("list the options: {command}--help");
    Some(CliError::new(Code::Usage, message).hint(hint))
}

/// The command in which a word stands, and the path to it with a blank behind each name.
fn command_of(words: &[OsString], typed: &str) -> (clap::Command, String) {
    let mut within = Cli::cli_command();
    let mut path = String::new();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if word == typed {
            break;
        }
        if let Some(found) = within.find_subcommand(word) {
            path.push_str(&format!("{} ", found.get_name()));
            within = found.clone();
        }
    }
    (within, path)
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    let value = error.get(kind)?;
    if let ContextValue::String(text) = value {
        Some(text)
    } else {
        None
    }
}
