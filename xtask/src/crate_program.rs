//! Programs that other people publish as crates: built once below `target`, in the version that is named here.

use std::path::PathBuf;

use crate::fault::Fault;
use crate::root;
use crate::stage::{cargo, run};

#[derive(Clone, Copy, Debug)]
pub(crate) struct CrateProgram {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What `cargo install` is told beside the version.
    pub(crate) flags: &'static [&'static str],
}

impl CrateProgram {
    /// Builds it where it is missing, and says where it is.
    pub(crate) fn install(self) -> Result<PathBuf, Fault> {
        let path = self.path();
        if path.exists() {
            return Ok(path);
        }
        let mut install = cargo(["install", "--quiet", "--locked", self.name, "--version"]);
        install
            .arg(self.version)
            .args(self.flags)
            .arg("--root")
            .arg(self.root());
        run(install)?;
        Ok(path)
    }

    pub(crate) fn path(self) -> PathBuf {
        self.root().join("bin").join(self.name)
    }

    fn root(self) -> PathBuf {
        root().join("target").join(self.name).join(self.version)
    }
}
