//! The dependencies held to `deny.toml`: their licences, where they come from, and what is banned. Known weaknesses
//! are not looked up: that list lies on a server that a test run may not be able to reach.

use std::process::Command;

use crate::crate_program::CrateProgram;
use crate::fault::Fault;
use crate::root;
use crate::stage::run;

/// Built without optimisation: it runs for a second, and is built for minutes otherwise.
const CARGO_DENY: CrateProgram = CrateProgram {
    name: "cargo-deny",
    version: "0.20.2",
    flags: &["--debug", "--no-default-features"],
};

pub(crate) fn check() -> Result<(), Fault> {
    let mut deny = Command::new(CARGO_DENY.install()?);
    deny.current_dir(root()).args(["--log-level", "error"]);
    deny.args(["check", "--hide-inclusion-graph"]);
    deny.args(["licenses", "bans", "sources"]);
    run(deny)
}
