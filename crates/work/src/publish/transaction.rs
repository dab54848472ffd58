//! Changes reach a tree whole or not at all.
//!
//! In order: [`Publish::recover`] what an earlier process left; [`Publish::check`] that the tree is what the changes
//! began with; [`Publish::prepare`] stages the new contents and writes the journal, which is the commit point;
//! [`PreparedPublish::apply`] makes the changes; the caller writes down what came of it; [`SettledPublish::finish`] removes the
//! journal. After a crash anywhere, `recover` goes on: before the commit point nothing has happened, after it all
//! changes are made, or, where another changed one of the paths meanwhile, none.

mod aside;
mod check;
mod close;
mod commit;
mod commit_error;
mod error;
mod faults;
mod git;
mod journal;
mod notice;
mod root;
mod settle;
mod settle_state;
mod slot;
mod stage;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use bonded_work_rules::{Change, Clash, TreePath};
use serde_json::Value;

pub use aside::ReplacedFile;
pub use commit::{CommitPlan, MadeCommit};
pub use commit_error::CommitError;
pub use error::PublishError;
pub use faults::{DiskOperation, Faults, NoFaults};
pub use notice::notice_at;

use journal::{Format, Journal, Progress};
use root::Root;
use settle_state::{Failed, Settle, Way};
use stage::Stage;
use write::TreeWriter;

use crate::tree::{Contents, Processes, Writers};

/// Publishes to one tree, which the caller has locked.
#[derive(Debug)]
pub struct Publish<'a> {
    root: Root,
    journal: PathBuf,
    contents: &'a dyn Contents,
    faults: &'a dyn Faults,
    writers: &'a dyn Writers,
}

/// Changes that are past the commit point.
#[derive(Debug)]
#[must_use = "the changes are to be made"]
pub struct PreparedPublish<'a> {
    publish: &'a Publish<'a>,
    stage: Stage<'a>,
    journal: Journal,
}

/// Changes that are made or undone; only the journal is still there.
#[derive(Debug)]
#[must_use = "the journal stays until it is finished"]
pub struct SettledPublish<'a> {
    publish: &'a Publish<'a>,
    sealed: Value,
    settlement: Settlement,
    replaced: Vec<ReplacedFile>,
}

/// What became of the changes of a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// All changes are made, and committed where that was asked for.
    Published { commit: Option<MadeCommit> },
    /// No change is made, because these paths were changed by another, whose changes are still there.
    Undone { foreign: Vec<TreePath> },
}

impl<'a> Publish<'a> {
    /// `journal` is a file that belongs to this tree alone.
    pub fn new(
        tree: &Path,
        journal: &Path,
        contents: &'a dyn Contents,
    ) -> Result<Self, PublishError> {
        let root = Root::open(tree).map_err(|source| PublishError::Untouched {
            tree: tree.to_owned(),
            what: "opening it".to_owned(),
            source,
        })?;
        let absolute = std::path::absolute(journal);
        Ok(Self {
            root,
            journal: absolute.map_err(|source| journal::failed(journal, source))?,
            contents,
            faults: &NoFaults,
            writers: &Processes,
        })
    }

    /// Asked who has a file open, where this process itself may not look.
    #[must_use]
    pub fn with_writers(self, writers: &'a dyn Writers) -> Self {
        Self { writers, ..self }
    }

    /// For tests: lets operations fail.
    #[must_use]
    pub fn with_faults(self, faults: &'a dyn Faults) -> Self {
        Self { faults, ..self }
    }

    /// The paths at which the tree is not what the changes began with.
    pub fn check(&self, changes: &[Change]) -> Result<Vec<Clash>, PublishError> {
        check::clashes(&self.root, changes)
    }

    /// Writes down what is to be done. If this fails, the tree is as it was.
    pub fn prepare(
        &'a self,
        changes: &[Change],
        sealed: Value,
        commit: Option<CommitPlan>,
    ) -> Result<PreparedPublish<'a>, PublishError> {
        check::refuse_unpublishable(changes)?;
        if self.journal.exists() {
            let journal = self.journal.clone();
            return Err(PublishError::Unrecovered { journal });
        }
        let mut journal = Journal {
            format: Format,
            changes: self.wanted(changes)?,
            closed: vec![],
            sealed,
            commit,
            progress: Progress::Making,
            keeps_replaced: true,
        };
        let mut stage = self.opened_stage(false)?;
        let written = self.write_down(&mut stage, &mut journal);
        if let Err((what, source)) = written {
            // The first failure is the one to speak of; the next command removes what this cannot.
            let _ = Journal::remove(&self.journal, self.faults);
            let _ = stage.drop_all();
            return Err(self.after_failure(what, source));
        }
        Ok(PreparedPublish {
            publish: self,
            stage,
            journal,
        })
    }

    /// Goes on with what a process left that died, if there is any: makes its changes or undoes them. Doing it
    /// again gives the same until it is finished.
    pub fn recover(&'a self) -> Result<Option<SettledPublish<'a>>, PublishError> {
        let journal = Journal::read(&self.journal)?;
        let is_kept = journal.as_ref().is_some_and(|it| it.keeps_replaced);
        let mut stage = self.opened_stage(is_kept)?;
        let Some(journal) = journal else {
            // It says what is not true any more; where it cannot be removed now, the next command does.
            let _ = notice::remove(&self.root, self.faults);
            return Ok(None);
        };
        let mut settle = self.settle_in(&mut stage);
        let tidied = match is_kept {
            true => settle.tidy(&journal.changes),
            false => settle.sweep(&journal.changes),
        };
        tidied.map_err(|Failed { at, source }| self.unfinished(at, source))?;
        self.settle(stage, journal).map(Some)
    }

    fn opened_stage(&'a self, kept: bool) -> Result<Stage<'a>, PublishError> {
        let writer = TreeWriter {
            root: &self.root,
            contents: self.contents,
            faults: self.faults,
        };
        Stage::opened(writer, &self.journal, kept)
    }

    /// The changes in the order of their paths, without the directories that another has made alike meanwhile.
    fn wanted(&self, changes: &[Change]) -> Result<Vec<Change>, PublishError> {
        let mut wanted = vec![];
        for change in changes {
            let both = check::is_made_by_both(&self.root, change);
            if !both.map_err(|source| self.untouched(change.path.to_string(), source))? {
                wanted.push(change.clone());
            }
        }
        wanted.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(wanted)
    }

    fn write_down(
        &self,
        stage: &mut Stage<'_>,
        journal: &mut Journal,
    ) -> Result<(), (String, io::Error)> {
        check::refuse_missing_contents(&journal.changes, self.contents)?;
        journal.closed = check::closed_directories(&self.root, &journal.changes)?;
        for (number, change) in journal.changes.iter().enumerate() {
            let put = stage.put(number, change);
            put.map_err(|error| (format!("staging {}", change.path), error))?;
        }
        stage
            .sync()
            .map_err(|error| ("staging".to_owned(), error))?;
        let written = journal.write(&self.journal, self.faults);
        written.map_err(|error| (format!("the journal {}", self.journal.display()), error))
    }

    fn settle(
        &'a self,
        mut stage: Stage<'a>,
        mut journal: Journal,
    ) -> Result<SettledPublish<'a>, PublishError> {
        let unfinished = |Failed { at, source }| self.unfinished(at, source);
        let mut settle = self.settle_in(&mut stage);
        if journal.progress == Progress::Making {
            let put = notice::put(&self.root, self.faults);
            put.map_err(|source| self.unfinished("the notice", source))?;
            let progress = settle::make(&mut settle, &journal).map_err(unfinished)?;
            self.note(&mut journal, progress)?;
        }
        if let Progress::Undoing { foreign } = &journal.progress {
            let foreign = settle::undo(&mut settle, &journal, foreign).map_err(unfinished)?;
            self.note(&mut journal, Progress::Undone { foreign })?;
        }
        let replaced = match journal.progress == Progress::Made {
            true => settle.replaced(&journal.changes),
            false => Ok(vec![]),
        };
        let replaced = replaced.map_err(settle_state::aside).map_err(unfinished)?;
        settle.sweep(&journal.changes).map_err(unfinished)?;
        let dropped = stage.drop_all();
        dropped.map_err(|source| self.unfinished("the staged files", source))?;
        let removed = notice::remove(&self.root, self.faults);
        removed.map_err(|source| self.unfinished("the notice", source))?;
        self.settled(journal, replaced)
    }

    fn settle_in<'s>(&'a self, stage: &'s mut Stage<'a>) -> Settle<'a, 's> {
        Settle {
            root: &self.root,
            stage,
            faults: self.faults,
            writers: self.writers,
            way: Way::There,
            looked: vec![],
            moded: vec![],
            replaced: vec![],
        }
    }

    fn note(&self, journal: &mut Journal, progress: Progress) -> Result<(), PublishError> {
        journal.progress = progress;
        let written = journal.write(&self.journal, self.faults);
        written.map_err(|source| self.unfinished("the journal", source))
    }

    fn settled(
        &'a self,
        journal: Journal,
        replaced: Vec<ReplacedFile>,
    ) -> Result<SettledPublish<'a>, PublishError> {
        let settlement = match journal.progress {
            Progress::Undoing { foreign } | Progress::Undone { foreign } => {
                Settlement::Undone { foreign }
            }
            Progress::Making | Progress::Made => Settlement::Published {
                commit: self.commit(journal.commit.as_ref(), &journal.changes)?,
            },
        };
        Ok(SettledPublish {
            publish: self,
            sealed: journal.sealed,
            settlement,
            replaced,
        })
    }

    fn commit(
        &self,
        plan: Option<&CommitPlan>,
        changes: &[Change],
    ) -> Result<Option<MadeCommit>, PublishError> {
        let index = self.journal.with_extension("index");
        let committed = plan.map(|plan| {
            plan.commit(
                self.root.path(),
                changes,
                self.contents,
                &index,
                self.faults,
            )
            .map_err(|source| PublishError::Uncommitted {
                tree: self.root.path().to_owned(),
                source,
            })
        });
        committed.transpose()
    }

    /// If the journal could be neither written nor removed, the changes are past the commit point.
    fn after_failure(&self, what: String, source: io::Error) -> PublishError {
        match self.journal.exists() {
            true => self.unfinished(what, source),
            false => self.untouched(what, source),
        }
    }

    fn untouched(&self, what: impl Into<String>, source: io::Error) -> PublishError {
        PublishError::Untouched {
            tree: self.root.path().to_owned(),
            what: what.into(),
            source,
        }
    }

    fn unfinished(&self, what: impl Into<String>, source: io::Error) -> PublishError {
        PublishError::Unfinished {
            tree: self.root.path().to_owned(),
            what: what.into(),
            source,
        }
    }
}

impl<'a> PreparedPublish<'a> {
    /// Makes the changes. Where a path turns out to be changed by another, those that are made are undone.
    pub fn apply(self) -> Result<SettledPublish<'a>, PublishError> {
        self.publish.settle(self.stage, self.journal)
    }
}

impl SettledPublish<'_> {
    /// What was given to [`Publish::prepare`].
    pub fn sealed(&self) -> &Value {
        &self.sealed
    }

    /// Whether the changes are made.
    pub fn settlement(&self) -> &Settlement {
        &self.settlement
    }

    /// The files that were replaced or taken away. Whoever had one open may still write to it.
    pub fn take_replaced(&mut self) -> Vec<ReplacedFile> {
        std::mem::take(&mut self.replaced)
    }

    /// Removes the journal: what came of the changes is written down elsewhere by now.
    pub fn finish(self) -> Result<(), PublishError> {
        let path = &self.publish.journal;
        Journal::remove(path, self.publish.faults).map_err(|source| journal::failed(path, source))
    }
}
