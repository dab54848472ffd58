//! The reference servers and the conformance suite of MCP that the client's tests use: exact versions,
//! installed once below `target`, with the Node that the client SDKs are run with.

use std::path::PathBuf;
use std::process::Command;

use crate::fault::Fault;
use crate::installation::Installation;
use crate::sdk::Sdks;
use crate::stage::run;

/// Where the installed servers are.
#[derive(Debug)]
pub(crate) struct Servers(Installation);

impl Servers {
    /// Tells a test run where they are.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.envs(self.variables());
    }

    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("BONDED_MCP_PYTHON", self.0.dir.join("python/bin")),
            ("BONDED_MCP_JS", self.0.js().join("node_modules")),
        ]
    }
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
pub(crate) fn install(sdks: &Sdks) -> Result<Servers, Fault> {
    let servers = Installation::named("mcp");
    servers.install(|js| run(sdks.npm_ci(js)?))?;
    Ok(Servers(servers))
}
