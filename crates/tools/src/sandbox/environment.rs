//! The environment of a command: built up from what is harmless, not torn down from what we have.
//!
//! A list of what is dangerous would never be whole: a new tool keeps its key under a new name. So a variable
//! that nobody knows is left out, and a person names those that a command needs. Variables that act on a loader
//! (`LD_PRELOAD`) are not handed on either, unless somebody names them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What programs need to find their way, and what toolchains are told by. None of them holds a secret.
const HANDED_ON: [&str; 31] = [
    "CARGO_HOME",
    "COLORTERM",
    "CONDA_PREFIX",
    "CURL_CA_BUNDLE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "MANPATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_PATH",
    "NO_COLOR",
    "NVM_DIR",
    "PATH",
    "PKG_CONFIG_PATH",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "SOURCE_DATE_EPOCH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// The variables of ours that a command gets: the harmless ones and those that are named.
pub(crate) fn handed_on(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[String],
) -> Vec<(OsString, OsString)> {
    let is_handed_on = |name: &OsStr| {
        let name = name.to_string_lossy();
        HANDED_ON.contains(&name.as_ref())
            || name.starts_with("LC_")
            || named.iter().any(|given| *given == name)
    };
    let ours = ours.into_iter();
    ours.filter(|(name, _)| is_handed_on(name)).collect()
}

/// Where a command puts what it does not keep, and its home where that is not the person's.
pub(super) fn own_places(tmp: &Path, home: Option<&Path>) -> Vec<(&'static str, OsString)> {
    let mut places = vec![("TMPDIR", tmp.into())];
    places.extend(home.map(|home| ("HOME", home.into())));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_harmless_or_named_is_handed_on() {
        let ours = [
            "PATH",
            "LC_TIME",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "NAMED",
            "NAMED_TOO",
        ];
        let ours = ours.map(|name| (OsString::from(name), OsString::from("x")));
        let handed = handed_on(ours, &["NAMED".into()]);
        let names: Vec<_> = handed.iter().map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, [Some("PATH"), Some("LC_TIME"), Some("NAMED")]);
    }
}
