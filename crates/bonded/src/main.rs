//! `bonded`: the command line. It parses, asks the host, renders, and maps what came of it to an exit
//! code. No rule of the contract and no logic that another surface would need lives here.

mod agents;
mod args;
mod commands;
mod error;
mod event_stream;
mod goal;
mod keeping;
mod ledger;
mod loopback;
mod mcp;
mod options;
mod output;
mod refused;
mod render;
mod serve;
mod settings;
mod signals;
mod snapshot;
mod traced;
mod work;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Commands are started through this program: that comes before anything else is set up.
    if let Some(code) = bonded_host::sandbox::enter(std::env::args_os()) {
        return code;
    }
    if let Some(code) = bonded_host::work::tree::enter(std::env::args_os()) {
        return code;
    }
    bonded_host::sandbox::hide_memory();
    match commands::dispatch() {
        Ok(code) => code,
        Err(error) => {
            output::stderr(&error.render());
            ExitCode::from(error.exit_code())
        }
    }
}
