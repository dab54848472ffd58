//! `bonded completions`: for the shells that people use.
//!
//! The script is made from the same description of the command line that reads it, so that the two cannot differ.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::{Shell as Target, generate};

use crate::args::{Cli, CompletionsArgs, Shell};
use crate::output;

pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    let shell = match args.shell {
        Shell::Bash => Target::Bash,
        Shell::Elvish => Target::Elvish,
        Shell::Fish => Target::Fish,
        Shell::Powershell => Target::PowerShell,
        Shell::Zsh => Target::Zsh,
    };
    let mut script = vec![];
    generate(shell, &mut Cli::command(), "bonded", &mut script);
    output::stdout(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}
