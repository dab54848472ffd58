//! The reference servers and the conformance suite of MCP that the client's tests use: exact versions,
//! installed once below `target`, with the Node that the client SDKs are run with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::root;
use crate::sdk::Sdks;
use crate::stage::run;

/// The versions, each with those of everything below it.
const REQUIREMENTS: &str = "requirements.txt";
const PACKAGE: &str = "package.json";
const LOCK: &str = "package-lock.json";
const VERSIONS: [&str; 3] = [REQUIREMENTS, PACKAGE, LOCK];
/// Holds the versions that were installed whole.
const MARKER: &str = "installed.txt";

/// Where the installed servers are.
#[derive(Debug)]
pub(crate) struct Servers {
    dir: PathBuf,
}

impl Servers {
    /// Tells a test run where they are.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.envs(self.variables());
    }

    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("BONDED_MCP_PYTHON", self.dir.join("python/bin")),
            ("BONDED_MCP_JS", self.js().join("node_modules")),
        ]
    }

    fn js(&self) -> PathBuf {
        self.dir.join("js")
    }
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
pub(crate) fn install(sdks: &Sdks) -> Result<Servers, Fault> {
    let servers = Servers {
        dir: root().join("target/mcp"),
    };
    // What is installed names its own place, so a moved tree needs another installation.
    let versions = format!("{}\n{}", servers.dir.display(), versions()?);
    let marker = servers.dir.join(MARKER);
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == versions) {
        return Ok(servers);
    }
    if servers.dir.exists() {
        fs::remove_dir_all(&servers.dir).map_err(Fault::file(&servers.dir))?;
    }
    let js = servers.js();
    fs::create_dir_all(&js).map_err(Fault::file(&js))?;
    install_python(&servers)?;
    install_js(sdks, &js)?;
    // Last, so that an installation that broke off is made again.
    fs::write(&marker, versions).map_err(Fault::file(&marker))?;
    Ok(servers)
}

fn source(name: &str) -> PathBuf {
    root().join("xtask/mcp").join(name)
}

fn versions() -> Result<String, Fault> {
    let read = |name: &&str| {
        let path = source(name);
        fs::read_to_string(&path).map_err(Fault::file(&path))
    };
    VERSIONS.iter().map(read).collect()
}

fn install_python(servers: &Servers) -> Result<(), Fault> {
    let python = servers.dir.join("python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&python);
    run(venv)?;
    let mut pip = Command::new(python.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"])
        .arg(source(REQUIREMENTS));
    run(pip)
}

fn install_js(sdks: &Sdks, js: &Path) -> Result<(), Fault> {
    for name in [PACKAGE, LOCK] {
        fs::copy(source(name), js.join(name)).map_err(Fault::file(js))?;
    }
    run(sdks.npm_ci(js)?)
}
