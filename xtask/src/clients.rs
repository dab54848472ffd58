//! Coding agents of others that the tests use a server of agents with, and the library that editors speak to agents with:
//! exact versions, installed once below `target`.

use std::path::PathBuf;
use std::process::Command;

use crate::fault::Fault;
use crate::installation::Installation;
use crate::sdk::Sdks;
use crate::stage::run;

/// Where the installed clients are.
#[derive(Debug)]
pub(crate) struct Clients(Installation);

impl Clients {
    /// Tells a test run where they are.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.envs(self.variables());
    }

    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 1] {
        [("BONDED_CLIENTS", self.0.js().join("node_modules"))]
    }
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
pub(crate) fn install(sdks: &Sdks) -> Result<Clients, Fault> {
    let clients = Installation::named("clients");
    clients.install_js_alone(|js| run(sdks.npm_ci(js)?))?;
    Ok(Clients(clients))
}
