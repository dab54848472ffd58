//! Programs of Debian that tests need: installed where that can be done, and else asked for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::root;
use crate::stage::run;

/// A program, and the package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) path: &'static str,
    package: &'static str,
    why: &'static str,
}

pub(crate) const BUBBLEWRAP: Program = Program {
    path: "/usr/bin/bwrap",
    package: "bubblewrap",
    why: "the sandbox is tested with it",
};

/// Chromium without windows: the browser around the pages costs twice as much as the pages do.
pub(crate) const CHROMIUM: Program = Program {
    path: "/usr/bin/chromium-headless-shell",
    package: "chromium-headless-shell",
    why: "the pages are tested in it",
};

/// The server's programs lie in a directory of their version, which is that of the system.
pub(crate) const POSTGRES: Program = Program {
    path: "/usr/lib/postgresql",
    package: "postgresql",
    why: "stores on a server are tested with it",
};

pub(crate) const PGBOUNCER: Program = Program {
    path: "/usr/sbin/pgbouncer",
    package: "pgbouncer",
    why: "stores on a server are tested behind it",
};

/// The programs of the newest PostgreSQL that is installed.
pub(crate) fn postgres_programs() -> PathBuf {
    let versions = fs::read_dir(POSTGRES.path).into_iter().flatten();
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let newest: u32 = versions.max().unwrap_or_default();
    Path::new(POSTGRES.path)
        .join(newest.to_string())
        .join("bin")
}

/// Prometheus and its tool lie in one package. They are unpacked and not installed: installed, they would be a service of this
/// machine.
#[derive(Debug)]
pub(crate) struct Prometheus;

impl Prometheus {
    /// Where its programs are.
    pub(crate) fn programs() -> PathBuf {
        Self::dir().join("usr/bin")
    }

    fn dir() -> PathBuf {
        root().join("target/debian/prometheus")
    }

    pub(crate) fn install() -> Result<(), Fault> {
        if Self::programs().join("promtool").exists() {
            return Ok(());
        }
        let dir = Self::dir();
        fs::create_dir_all(&dir).map_err(Fault::file(&dir))?;
        // Where the list of packages is old, or there is none.
        let _ = apt_get(&["update", "--quiet"]);
        let mut download = Command::new("apt-get");
        download.args(["download", "--quiet", "prometheus"]);
        download.current_dir(&dir);
        run(download)?;
        for entry in fs::read_dir(&dir).map_err(Fault::file(&dir))? {
            let path = entry.map_err(Fault::file(&dir))?.path();
            if path.extension().is_some_and(|it| it == "deb") {
                let mut unpack = Command::new("dpkg-deb");
                unpack.arg("-x").arg(&path).arg(&dir);
                run(unpack)?;
            }
        }
        Ok(())
    }
}

impl Program {
    /// Installs the package where it is missing and this is a Debian, or one of its kin, whose packages we may change.
    pub(crate) fn install(self) -> Result<(), Fault> {
        if self.is_here() {
            return Ok(());
        }
        if Path::new("/usr/bin/apt-get").exists() {
            // Whether it worked is seen below; what it says itself is on the terminal.
            let _ = apt_get(&["update", "--quiet"]);
            let _ = apt_get(&["install", "--yes", "--no-install-recommends", self.package]);
        }
        match self.is_here() {
            true => Ok(()),
            false => Err(Fault::Found {
                findings: vec![format!(
                    "{} is missing: {}; install the package `{}`",
                    self.path, self.why, self.package
                )],
            }),
        }
    }

    fn is_here(self) -> bool {
        Path::new(self.path).exists()
    }
}

/// As whoever we are, or without a question through `sudo`.
fn apt_get(words: &[&str]) -> Result<(), Fault> {
    let mut plain = Command::new("apt-get");
    plain.args(words);
    run(plain).or_else(|_| {
        let mut sudo = Command::new("sudo");
        sudo.args(["--non-interactive", "apt-get"]).args(words);
        run(sudo)
    })
}
