//! Where `cargo xtask` has put the clients and the suite that these tests use.

use std::path::PathBuf;

/// What a variable names; `None`, and a word about it, where nothing is installed.
pub(crate) fn installed(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    let is_needed = std::env::var_os("BONDED_XTASK").is_some();
    assert!(
        found.is_some() || !is_needed,
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
