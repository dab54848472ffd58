//! Bubblewrap, which a part of the sandbox's tests needs: installed where that can be done, and else asked for.

use std::path::Path;
use std::process::Command;

use crate::fault::Fault;
use crate::stage::run;

const PROGRAM: &str = "/usr/bin/bwrap";
const PACKAGE: &str = "bubblewrap";

/// Installs the package where it is missing and this is a Debian, or one of its kin, whose packages we may change.
pub(crate) fn install() -> Result<(), Fault> {
    if is_here() {
        return Ok(());
    }
    if Path::new("/usr/bin/apt-get").exists() {
        // Whether it worked is seen below; what it says itself is on the terminal.
        let _ = apt_get(&["update", "--quiet"]);
        let _ = apt_get(&["install", "--yes", "--no-install-recommends", PACKAGE]);
    }
    match is_here() {
        true => Ok(()),
        false => Err(Fault::Found {
            findings: vec![format!(
                "{PROGRAM} is missing: the sandbox is tested with it; install the package `{PACKAGE}`"
            )],
        }),
    }
}

fn is_here() -> bool {
    Path::new(PROGRAM).exists()
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
