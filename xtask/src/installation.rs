//! What is installed once below `target`, in the exact versions that files in this crate name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::root;
use crate::stage::run;

/// The versions, each with those of everything below it.
const REQUIREMENTS: &str = "requirements.txt";
const PACKAGE: &str = "package.json";
const LOCK: &str = "package-lock.json";
/// Holds the versions that were installed whole.
const MARKER: &str = "installed.txt";

/// Packages for Python and for Node that belong together.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Where they are installed.
    pub(crate) dir: PathBuf,
    /// Where their versions are named.
    source: PathBuf,
}

impl Installation {
    /// The one of this name: `xtask/NAME` names what is installed in `target/NAME`.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            dir: root().join("target").join(name),
            source: root().join("xtask").join(name),
        }
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.dir.join("python/bin/python")
    }

    pub(crate) fn js(&self) -> PathBuf {
        self.dir.join("js")
    }

    /// Installs what is missing. With the exact versions in place nothing is fetched. Node's packages come last, and
    /// how is said by whoever knows where Node is.
    pub(crate) fn install(
        &self,
        install_js: impl FnOnce(&Path) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.install_whole(&[REQUIREMENTS, PACKAGE, LOCK], || {
            self.install_python()?;
            self.install_js(install_js)
        })
    }

    /// The same for what has nothing for Python.
    pub(crate) fn install_js_alone(
        &self,
        install_js: impl FnOnce(&Path) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.install_whole(&[PACKAGE, LOCK], || self.install_js(install_js))
    }

    /// The same for what has nothing for Node.
    pub(crate) fn install_python_alone(&self) -> Result<(), Fault> {
        self.install_whole(&[REQUIREMENTS], || self.install_python())
    }

    fn install_whole(
        &self,
        files: &[&str],
        install: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // What is installed names its own place, so a moved tree needs another installation.
        let versions = format!("{}\n{}", self.dir.display(), self.versions(files)?);
        let marker = self.dir.join(MARKER);
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == versions) {
            return Ok(());
        }
        if self.dir.exists() {
            fs::remove_dir_all(&self.dir).map_err(Fault::file(&self.dir))?;
        }
        fs::create_dir_all(&self.dir).map_err(Fault::file(&self.dir))?;
        install()?;
        // Last, so that an installation that broke off is made again.
        fs::write(&marker, versions).map_err(Fault::file(&marker))
    }

    fn versions(&self, files: &[&str]) -> Result<String, Fault> {
        let read = |name: &&str| {
            let path = self.source.join(name);
            fs::read_to_string(&path).map_err(Fault::file(&path))
        };
        files.iter().map(read).collect()
    }

    fn install_js(&self, install: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
        let js = self.js();
        fs::create_dir_all(&js).map_err(Fault::file(&js))?;
        for name in [PACKAGE, LOCK] {
            fs::copy(self.source.join(name), js.join(name)).map_err(Fault::file(&js))?;
        }
        install(&js)
    }

    fn install_python(&self) -> Result<(), Fault> {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(self.dir.join("python"));
        run(venv)?;
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"])
            .arg(self.source.join(REQUIREMENTS));
        run(pip)
    }
}
