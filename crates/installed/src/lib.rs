//! Programs of others that tests are started with. `cargo xtask sdk` installs them, and names each by a variable.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter that has the official SDKs.
pub const SDK_PYTHON: &str = "BONDED_SDK_PYTHON";

/// What a variable names; `None`, and a word about it, where it is not here and nobody promised it.
pub fn installed(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    assert!(
        found.is_some() || std::env::var_os("BONDED_XTASK").is_none(),
        "{variable} is not set: `cargo xtask test` must install what it names"
    );
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "who runs the tests should know")]
        {
            eprintln!("not run: {variable} is not set; `cargo xtask sdk` installs what it names");
        }
    }
    found
}

/// The interpreter that has the SDKs, among the programs that judge requests by their types.
pub fn judge() -> Option<Command> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/wires");
    let mut command = Command::new(installed(SDK_PYTHON)?);
    command.arg("-B").current_dir(programs);
    Some(command)
}
