//! A program that is nothing but a launcher, for tests that start commands without the real program.

use std::process::ExitCode;

fn main() -> ExitCode {
    bonded_tools::sandbox::enter(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
