//! What is a caller's own where several tokens are served: a directory to work in, and the runs that it began.
//!
//! Names of directories and runs are derived from the hash of the token, so that they stay the same over restarts and
//! nothing has to be remembered. That a run belongs to a caller is told by the beginning of its id.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use bonded_host::Host;
use bonded_kernel::{Hash, RunId};

use super::access::{Caller, Tokens};

/// How many digits tell callers apart.
const DIGITS: usize = 16;

/// Whether callers are kept apart, and where.
#[derive(Clone, Debug, Default)]
pub struct Apart(Option<PathBuf>);

/// What one caller has for himself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    /// The name of the directory and of the runs.
    name: String,
    /// Below the directory of the server.
    dir: PathBuf,
}

impl Apart {
    /// Callers with different tokens are kept apart below a directory, unless they share it.
    pub fn of(tokens: &Tokens, dir: &Path, are_shared: bool) -> Self {
        let apart = tokens.count() > 1 && !are_shared;
        Self(apart.then(|| dir.to_owned()))
    }

    /// None where everything is everybody's.
    pub fn dir(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// The directories of all callers, which are made where they are missing.
    pub fn make_all(&self, tokens: &Tokens) -> std::io::Result<Vec<PathBuf>> {
        let all = tokens.callers().filter_map(|caller| self.own(caller));
        all.map(|own| own.make().map(|()| own.dir)).collect()
    }

    /// What is this caller's own; `None` where everything is everybody's.
    pub(crate) fn own(&self, caller: Caller) -> Option<Own> {
        let below = self.0.as_ref()?;
        let name = caller.name();
        let dir = below.join(&name);
        Some(Own { name, dir })
    }
}

impl Caller {
    /// What a caller is called. It is no help in guessing the token: that is hashed twice, and differently.
    pub(super) fn name(self) -> String {
        let salt = b"a caller of bonded serve: ".as_slice();
        let hash = Hash::of(&[salt, self.0.as_bytes().as_slice()].concat());
        let digits = hash.to_string();
        let digits = digits.chars().filter(char::is_ascii_hexdigit).take(DIGITS);
        format!("client-{}", digits.collect::<String>())
    }
}

impl Own {
    /// The directory that its runs work in.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory where it is missing. Where something else is in its place, that is an error.
    /// For its user only. A link in its place is refused: it could lead into the directory of another caller.
    fn make(&self) -> std::io::Result<()> {
        let made = std::fs::DirBuilder::new().mode(0o700).create(&self.dir);
        let is_dir = || std::fs::symlink_metadata(&self.dir).is_ok_and(|it| it.is_dir());
        made.or_else(|error| if is_dir() { Ok(()) } else { Err(error) })
    }

    /// How the ids of its runs begin.
    pub(crate) fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    /// A new id among the caller's own.
    pub(crate) fn draw_id(&self) -> RunId {
        let id = format!("{}{}", self.prefix(), Host::draw_id());
        RunId::new(&id).expect("letters, digits and hyphens name a run")
    }

    /// Whether a run is the caller's.
    pub(crate) fn has(&self, run: &RunId) -> bool {
        run.as_str().starts_with(&self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_tokens_are_kept_apart_and_one_is_not() {
        let caller = |token: &str| Caller(Hash::of(token.as_bytes()));
        let apart = |tokens: &[&str], shared| {
            Apart::of(
                &Tokens::new(tokens.iter().copied()),
                Path::new("/d"),
                shared,
            )
        };
        for alone in [
            apart(&[], false),
            apart(&["a", "a"], false),
            apart(&["a", "b"], true),
        ] {
            assert_eq!(alone.own(caller("a")), None);
        }
        let apart = apart(&["a", "b"], false);
        let (a, b) = (apart.own(caller("a")), apart.own(caller("b")));
        let (a, b) = (a.expect("it is a's"), b.expect("it is b's"));
        assert_ne!(a, b);
        assert!(a.has(&a.draw_id()) && !b.has(&a.draw_id()));
        assert!(a.dir.starts_with("/d") && a.dir != Path::new("/d"));
    }
}
