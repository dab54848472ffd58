//! What the launcher is told. It travels in the launcher's environment, which only the same user can read, under names
//! that mean nothing to a loader or a library: what a command is given does not act on what starts it.
//!
//! An order says what was decided, and leaves nothing to decide: the launcher looks neither at a configuration
//! nor at the machine. It is split over several variables, since one of them may hold no more than 128 KiB, and
//! its paths may be many. The command's variables travel beside it with a prefix, which is taken off when the
//! command is started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bonded_kernel::{ProcessLimits, SandboxLevel};
use serde::{Deserialize, Serialize};

/// How the namespaces are made.
///
/// Without walls a command is confined by Landlock, the filter and the limits alone, as far as the machine has
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Walls {
    None,
    Namespaces,
    Bubblewrap,
}

/// Both stages read the same one. The supervisor replaces `parent` by itself before the second stage begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    /// Who started this stage: it does not live on without it.
    pub(super) parent: i32,
    pub(super) level: SandboxLevel,
    pub(super) network: bool,
    pub(super) walls: Walls,
    pub(super) landlock: bool,
    pub(super) seccomp: bool,
    /// Whether a fresh view of the processes can be mounted.
    pub(super) private_proc: bool,
    pub(super) limits: ProcessLimits,
    /// The working directory, absolute and without links.
    pub(super) workdir: PathBuf,
    pub(super) scratch: PathBuf,
    /// Known to the launcher and to us: words that come with it are the launcher's.
    pub(super) token: String,
    pub(super) home: OwnHome,
    /// Read-only, although it lies in what is hidden.
    #[serde(with = "any_paths")]
    pub(super) shown: Vec<PathBuf>,
    /// Covered: the homes of the person, and other places where keys are kept.
    #[serde(with = "any_paths")]
    pub(super) hidden: Vec<PathBuf>,
    /// In the working directory, and never written.
    #[serde(with = "any_paths")]
    pub(super) protected: Vec<PathBuf>,
    /// The command's own.
    #[serde(skip)]
    pub(super) variables: Vec<(OsString, OsString)>,
}

/// The command's own home.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OwnHome {
    /// Where it is kept.
    pub(super) kept: PathBuf,
    /// Where the command sees it.
    pub(super) seen: PathBuf,
}

/// What the names of the order's parts begin with; a number follows.
const PART: &str = "BONDED_ORDER_";
/// What is put before the name of each variable of the command.
const VARIABLE: &str = "BONDED_VARIABLE_";
/// The system bounds a single variable.
///
/// Linux takes 131,072 bytes for a variable with its name.
const PART_BYTES_MAX: usize = 100_000;

impl Order {
    /// The directories that the command may change.
    ///
    /// The command's temporary directory and its home come on top at every level.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        match self.level {
            SandboxLevel::ReadOnly => vec![],
            SandboxLevel::WorkspaceWrite | SandboxLevel::Full => vec![self.workdir.clone()],
        }
    }

    /// The order as variables of a launcher, without those of the command.
    pub(super) fn parts(&self) -> serde_json::Result<Vec<(OsString, OsString)>> {
        let text = serde_json::to_vec(self)?;
        let parts = text.chunks(PART_BYTES_MAX).enumerate();
        let named = parts.map(|(number, part)| {
            let name = format!("{PART}{number}").into();
            (name, OsString::from_vec(part.to_vec()))
        });
        Ok(named.collect())
    }

    /// Reads the order, and what the command is given, from the launcher's own variables.
    ///
    /// `None` where there is none, or a part of it is missing: a person has called the launcher, and it does
    /// nothing.
    pub(super) fn from_variables(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Option<Self> {
        let (mut parts, mut variables) = (vec![], vec![]);
        for (name, value) in ours {
            if let Some(number) = after(&name, PART) {
                parts.push((number.to_str()?.parse::<usize>().ok()?, value));
            } else if let Some(name) = after(&name, VARIABLE) {
                variables.push((name.to_owned(), value));
            }
        }
        parts.sort();
        let text: Vec<u8> = parts
            .into_iter()
            .flat_map(|(_, part)| part.into_vec())
            .collect();
        let mut order: Self = serde_json::from_slice(&text).ok()?;
        order.variables = variables;
        Some(order)
    }
}

/// Paths as texts. One that is no UTF-8 is written byte by byte, behind a character that no path has.
mod any_paths {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::PathBuf;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    const BYTES: char = '\0';

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| match path.to_str() {
            Some(text) => text.to_owned(),
            None => {
                let bytes = path.as_os_str().as_bytes().iter();
                let digits: String = bytes.map(|byte| format!("{byte:02x}")).collect();
                format!("{BYTES}{digits}")
            }
        }))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let paths = texts
            .into_iter()
            .map(|text| match text.strip_prefix(BYTES) {
                None => Some(PathBuf::from(text)),
                Some(digits) => {
                    let pairs = digits.as_bytes().chunks(2);
                    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
                    bytes.map(|bytes| OsString::from_vec(bytes).into())
                }
            });
        let paths: Option<Vec<PathBuf>> = paths.collect();
        paths.ok_or_else(|| D::Error::custom("not a path"))
    }
}

/// On bytes: the names of a command's variables need not be UTF-8.
fn after<'a>(name: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    let rest = name.as_bytes().strip_prefix(prefix.as_bytes())?;
    Some(OsStr::from_bytes(rest))
}

/// The name under which the launcher is handed a variable of the command.
pub(super) fn handed(name: &OsStr) -> OsString {
    let mut handed = OsString::from(VARIABLE);
    handed.push(name);
    handed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            parent: 7,
            level: SandboxLevel::WorkspaceWrite,
            network: false,
            walls: Walls::Namespaces,
            landlock: true,
            seccomp: true,
            private_proc: true,
            limits: ProcessLimits::default(),
            workdir: "/w".into(),
            scratch: "/s".into(),
            token: "t".into(),
            home: OwnHome::default(),
            shown: vec![],
            hidden: vec![],
            protected: vec![],
            variables: vec![],
        }
    }

    #[test]
    fn an_order_of_any_length_is_read_as_it_was_written_with_the_variables_beside_it() {
        let mut order = order();
        order.protected = (0..20_000)
            .map(|it| format!("/w/{it}/.git").into())
            .collect();
        order.hidden = vec![OsString::from_vec(vec![b'/', 0xff, 0xfe]).into()];
        let mut parts = order.parts().expect("it can be written");
        assert!(parts.len() > 1, "it is more than one variable holds");
        parts.reverse();
        let variables = [("LD_PRELOAD", "./evil.so"), ("A", "")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        parts.extend(
            variables
                .clone()
                .map(|(name, value): (OsString, _)| (handed(&name), value)),
        );
        let loud = ["LD_PRELOAD", "A"];
        assert!(
            parts
                .iter()
                .all(|(name, _)| !loud.iter().any(|it| name == it))
        );
        parts.push(("PATH".into(), "/x".into()));
        order.variables = variables.into();
        assert_eq!(Order::from_variables(parts), Some(order));
        assert_eq!(Order::from_variables([]), None);
    }
}
