//! Programs of Debian that tests need: installed where that can be done, and else asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
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
    why: "it is a pooler that a store must recognise",
};

/// The programs of the newest PostgreSQL that is installed.
pub(crate) fn postgres_programs() -> PathBuf {
    let versions = std::fs::read_dir(POSTGRES.path).into_iter().flatten();
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let newest: u32 = versions.max().unwrap_or_default();
    Path::new(POSTGRES.path)
        .join(newest.to_string())
        .join("bin")
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
