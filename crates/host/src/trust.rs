//! Trust in files that others may have written: configuration and agent files that are found, not named.
//!
//! What is found counts whole only if a person trusts just this content; else only what tightens of it counts, or
//! nothing starts. Nothing here is printed: a surface that has a person asks the question.
//!
//! The danger is a directory that somebody else filled: a cloned project whose files start servers,
//! send keys elsewhere or loosen the sandbox. And it is the agent itself, which writes where it works;
//! after `seal` nothing new is trusted by an answer, because the file may be the agent's.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

mod contents;
mod question;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::HeldFile;

pub use contents::Contents;
pub use question::{Question, Untrusted, Wants};
pub use record::{TrustError, TrustRecord, Trusted};

/// How much of a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustExtent {
    /// All of it, within what flags and the person's own files allow.
    Whole,
    /// What tightens.
    Tightening,
}

/// What a person says to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Trust this content, from now on.
    Trust,
    /// Go on with what tightens of it.
    Without,
    /// Nothing starts.
    Stop,
}

/// Somebody who can be asked.
pub type TrustAsker = Box<dyn Fn(&Question) -> TrustAnswer + Send + Sync>;

/// What happens with what the record does not trust.
pub enum Stance {
    /// Nothing starts.
    Refuse,
    /// It is trusted for this once.
    Once,
    /// Only what tightens counts, also of what the record trusts.
    Never,
    /// It is only looked at: only what tightens counts, and nothing is started.
    Look,
    /// A person is asked, once for each content.
    Ask(TrustAsker),
}

impl fmt::Debug for Stance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::Once => "Once",
            Self::Never => "Never",
            Self::Look => "Look",
            Self::Ask(_) => "Ask",
        })
    }
}

/// The places whose files are the person's own.
#[derive(Clone, Debug, Default)]
pub struct OwnPlaces {
    /// The person's files lie in `.ai-agent` there.
    pub home: Option<PathBuf>,
    /// The machine's files lie in `ai-agent` there.
    pub etc: Option<PathBuf>,
    /// Only the configuration beside the program counts of it.
    pub binary_dir: Option<PathBuf>,
}

/// Decides what counts of files that are not the person's own, and remembers it for a process: what was shown to a
/// person is what counts, however the file changes meanwhile.
pub struct Trust {
    /// Files there are the person's own and are never asked about.
    pub own: OwnPlaces,
    record: Option<TrustRecord>,
    stance: Stance,
    state: Mutex<TrustState>,
}

#[derive(Default)]
struct TrustState {
    /// Whether everything was read that a person may have been shown.
    sealed: bool,
    /// What was decided, by the real path of each file; it goes into the logs of runs.
    held: BTreeMap<PathBuf, HeldFile>,
    /// The contents that count whole, wherever they lie: a copy of a tree has the same.
    whole: BTreeSet<String>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trust").field(&self.record).finish()
    }
}

impl Default for Trust {
    /// Trusts nothing that is found, and asks nobody.
    fn default() -> Self {
        Self::new(OwnPlaces::default(), None, Stance::Refuse)
    }
}

impl Trust {
    /// Without a record, as where there is no home, nothing is trusted and nothing can be.
    pub fn new(own: OwnPlaces, record: Option<TrustRecord>, stance: Stance) -> Self {
        Self {
            own,
            record,
            stance,
            state: Mutex::default(),
        }
    }

    /// Trusts what is found, for this once.
    pub fn once() -> Self {
        Self::new(OwnPlaces::default(), None, Stance::Once)
    }

    /// From now on nothing that was not seen yet is trusted by an answer or for once: somebody else works there now.
    pub fn seal(&self) {
        self.state().sealed = true;
    }

    /// Takes over what counted when a run began.
    pub fn remember(&self, held: &[HeldFile]) {
        let mut state = self.state();
        for file in held {
            state.whole.extend(file.hash.clone());
            let place = state.held.entry(PathBuf::from(&file.file));
            place.or_insert_with(|| file.clone());
        }
    }

    /// What counted so far, for the log of a run.
    pub fn held(&self) -> Vec<HeldFile> {
        self.state().held.values().cloned().collect()
    }

    /// Whether a file that was read before was named by a person.
    pub(crate) fn was_named(&self, file: &Path) -> bool {
        let state = self.state();
        state.held.get(file).is_some_and(|held| held.named)
    }

    /// Takes a file as it is because a person named it. Once sealed, only the content that was there then counts.
    pub(crate) fn name(&self, contents: &Contents) -> Result<(), Box<Untrusted>> {
        let mut state = self.state();
        let identity = contents.identity();
        match state.held.get(contents.main()) {
            Some(held) if held.named && held.hash.as_deref() == Some(&identity) => return Ok(()),
            None if !state.sealed => {}
            _ => {
                drop(state);
                return self.decide(contents, &Wants::everything()).map(drop);
            }
        }
        state.whole.insert(identity.clone());
        let held = HeldFile {
            file: contents.main().to_string_lossy().into_owned(),
            hash: Some(identity),
            named: true,
        };
        state.held.insert(contents.main().to_owned(), held);
        Ok(())
    }

    /// How much of a found file counts that wants more than to tighten.
    ///
    /// The order matters: a content that counts already, then the stance that never trusts, then the
    /// record, then what was decided before, and a person last. A record that cannot be read is no
    /// reason to ask: the answer could not be kept.
    pub(crate) fn decide(
        &self,
        contents: &Contents,
        wants: &Wants,
    ) -> Result<TrustExtent, Box<Untrusted>> {
        let identity = contents.identity();
        let (earlier, sealed) = {
            let state = self.state();
            if state.whole.contains(&identity) {
                return Ok(TrustExtent::Whole);
            }
            (state.held.get(contents.main()).cloned(), state.sealed)
        };
        if matches!(self.stance, Stance::Never) {
            return Ok(self.note(contents, TrustExtent::Tightening));
        }
        let (is_trusted, trouble) = match self.trusts(contents) {
            Ok(is_trusted) => (is_trusted, None),
            Err(trouble) => (false, Some(trouble)),
        };
        if is_trusted {
            return Ok(self.note(contents, TrustExtent::Whole));
        }
        if matches!(&earlier, Some(held) if held.hash.is_none())
            || matches!(self.stance, Stance::Look)
        {
            return Ok(self.note(contents, TrustExtent::Tightening));
        }
        let question = self.question(contents, wants, earlier.is_some());
        let refused = |trouble| {
            let question = question.clone();
            Box::new(Untrusted { question, trouble })
        };
        match &self.stance {
            Stance::Once if !sealed => Ok(self.note(contents, TrustExtent::Whole)),
            Stance::Ask(ask) if !sealed && trouble.is_none() => match ask(&question) {
                TrustAnswer::Trust => self.keep(contents).map_err(|it| refused(Some(it))),
                TrustAnswer::Without => Ok(self.note(contents, TrustExtent::Tightening)),
                TrustAnswer::Stop => Err(refused(None)),
            },
            Stance::Refuse | Stance::Once | Stance::Never | Stance::Look | Stance::Ask(_) => {
                Err(refused(trouble))
            }
        }
    }

    /// Whether all of a found file counts, as far as that is known. Nobody is asked: what only informs needs no answer.
    pub(crate) fn counts_whole(&self, contents: &Contents) -> bool {
        let (is_whole, is_sealed) = {
            let state = self.state();
            (state.whole.contains(&contents.identity()), state.sealed)
        };
        match &self.stance {
            Stance::Never => false,
            Stance::Once if !is_sealed => true,
            Stance::Once | Stance::Refuse | Stance::Look | Stance::Ask(_) => {
                is_whole || self.trusts(contents).unwrap_or(false)
            }
        }
    }

    /// The same. What counts is remembered: it goes into the logs of runs, and for this process it goes on counting.
    pub(crate) fn takes_whole(&self, contents: &Contents) -> bool {
        let is_whole = self.counts_whole(contents);
        if is_whole {
            self.note(contents, TrustExtent::Whole);
        }
        is_whole
    }

    /// Recorded first and noted afterwards: what could not be recorded is not trusted.
    fn keep(&self, contents: &Contents) -> Result<TrustExtent, TrustError> {
        let record = self.record.as_ref().ok_or(TrustError::NoHome)?;
        record.add(std::slice::from_ref(contents))?;
        Ok(self.note(contents, TrustExtent::Whole))
    }

    fn trusts(&self, contents: &Contents) -> Result<bool, TrustError> {
        match &self.record {
            Some(record) => record.trusts(contents),
            None => Ok(false),
        }
    }

    fn question(&self, contents: &Contents, wants: &Wants, since_start: bool) -> Question {
        let changed = self.record.as_ref().map(|record| record.changed(contents));
        Question {
            file: contents.main().to_owned(),
            wants: wants.clone(),
            // A record that cannot be read is told as such.
            changed: changed.and_then(Result::ok).flatten(),
            since_start,
        }
    }

    /// A content that counts whole is remembered by its hash, one that does not by its file alone.
    fn note(&self, contents: &Contents, as_what: TrustExtent) -> TrustExtent {
        let hash = (as_what == TrustExtent::Whole).then(|| contents.identity());
        let mut state = self.state();
        state.whole.extend(hash.clone());
        let held = HeldFile {
            file: contents.main().to_string_lossy().into_owned(),
            hash,
            named: false,
        };
        state.held.insert(contents.main().to_owned(), held);
        as_what
    }

    fn state(&self) -> MutexGuard<'_, TrustState> {
        // A panic elsewhere cannot leave a map of finished values half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnPlaces {
    /// The directories that nobody but the person, or who runs the machine, writes.
    fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home.as_ref().map(|home| home.join(".ai-agent"));
        let etc = self.etc.as_ref().map(|etc| etc.join("ai-agent"));
        [home, etc].into_iter().flatten()
    }

    /// Whether a file is the person's own, wherever an agent works: `dir`. What lies beneath that is not, because
    /// an agent writes there.
    pub(crate) fn holds(&self, file: &Path, dir: &Path) -> bool {
        let real = real(file);
        let in_own = self.dirs().any(|own| real.starts_with(self::real(&own)));
        let beside = self.binary_dir.as_ref().is_some_and(|own| {
            let is_hidden = real.file_name() == Some(".ai-agent.json".as_ref());
            is_hidden && real.parent() == Some(&self::real(own))
        });
        let is_home_file = self
            .dirs()
            .any(|own| real == self::real(&own.join("ai-agent.json")));
        is_home_file || ((in_own || beside) && !real.starts_with(self::real(dir)))
    }
}

/// A path that is not there stays as it is.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
