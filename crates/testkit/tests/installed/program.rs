//! Programs of others that tests are started with. `cargo xtask sdk` installs them, and names each by a variable.

use std::ffi::OsString;

/// The interpreter that has the official SDKs.
pub(crate) const SDK_PYTHON: &str = "BONDED_SDK_PYTHON";

/// The program that a variable names; `None`, and a word about it, where it is not here and nobody promised it.
pub(crate) fn installed(variable: &str) -> Option<OsString> {
    let program = std::env::var_os(variable);
    assert!(
        program.is_some() || std::env::var_os("BONDED_XTASK").is_none(),
        "{variable} is not set: `cargo xtask test` must install the SDKs and name them"
    );
    if program.is_none() {
        #[expect(clippy::print_stderr, reason = "who runs the tests should know")]
        {
            eprintln!(
                "not run: {variable} is not set; `cargo xtask sdk` installs the SDKs and names them"
            );
        }
    }
    program
}
