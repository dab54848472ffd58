//! The recorder is told of a change before it is made.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::temp::{self, OtherName};
use super::{FILE_BYTES_MAX, HeldFile, Place};
use crate::fault::{self, ToolFault};
use crate::recording::{
    ChangeEnd, ChangeRecorder, ComingChange, DirTime, FileRights, NewContent, RecordedChange,
    SeenFile,
};

/// A change that the recorder was told of, and that is being made.
pub(super) struct Recording<'a> {
    recorder: &'a dyn ChangeRecorder,
    place: &'a Place<'a>,
    others: &'a [OtherName],
    change: RecordedChange,
}

impl Recording<'_> {
    /// Says what came of it: the rights of the file, or nothing where the change was not made.
    pub(super) fn end(self, made: Option<FileRights>) {
        let end = match (made, self.place.dir_times(self.others)) {
            (None, _) => ChangeEnd::NotMade,
            (Some(rights), Ok(dirs)) => ChangeEnd::Made { rights, dirs },
            // Not to know the times is as if nobody had said what came of it.
            (Some(_), Err(_)) => return,
        };
        self.recorder.end(self.place.job.call, self.change, &end);
    }
}

impl<'a> Place<'a> {
    /// Tells the recorder, where there is one, and gives what is to be ended. Nothing is changed before it has kept it.
    pub(super) fn record(
        &'a self,
        seen: Option<&mut HeldFile>,
        after: NewContent<'_>,
        others: &'a [OtherName],
    ) -> Result<Option<Recording<'a>>, ToolFault> {
        let job = self.job;
        let Some(recorder) = job.workdir.recorder() else {
            return Ok(None);
        };
        let before = match seen {
            Some(seen) => Some(self.seen_file(seen)?),
            None => None,
        };
        let mut names = vec![self.real.clone()];
        names.extend(others.iter().map(|other| other.path.clone()));
        let dirs = self.dir_times(others).map_err(|error| self.fail(error))?;
        let leftover = temp::first_name(&self.name, &job.call.key());
        let coming = ComingChange {
            call: job.call,
            names,
            before,
            after,
            made_dirs: self.made_dirs(),
            dirs,
            leftover: Some(self.real.with_file_name(leftover)),
        };
        let change = recorder.begin(&coming).map_err(|error| {
            let message = format!(
                "{:?} was not changed, because the change could not be recorded: {error}",
                self.path
            );
            ToolFault::new(fault::IO, message)
        })?;
        Ok(Some(Recording {
            recorder,
            place: self,
            others,
            change,
        }))
    }

    /// What is exchanged is compared with the content that is told here.
    fn seen_file<'s>(&self, seen: &'s mut HeldFile) -> Result<SeenFile<'s>, ToolFault> {
        if seen.size_bytes() <= FILE_BYTES_MAX {
            seen.content(&self.path)?;
        }
        Ok(SeenFile {
            rights: FileRights::of(&seen.stat),
            bytes: seen.size_bytes(),
            content: seen.content.as_deref(),
        })
    }

    /// The deepest directory on the way that was there.
    fn base_path(&self) -> PathBuf {
        let above = self.real.ancestors().nth(self.missing.len() + 1);
        above.unwrap_or(Path::new("")).to_owned()
    }

    fn made_dirs(&self) -> Vec<PathBuf> {
        let mut path = self.base_path();
        let missing = self.missing.iter();
        missing
            .map(|name| {
                path.push(name);
                path.clone()
            })
            .collect()
    }

    /// Those whose entries a change touches, and that are there before it.
    fn dir_times(&self, others: &[OtherName]) -> std::io::Result<Vec<DirTime>> {
        let mut times = vec![DirTime::of(self.base_path(), self.base.as_fd())?];
        for other in others {
            let above = other.path.parent().unwrap_or(Path::new(""));
            if times.iter().all(|time| time.path != above) {
                times.push(DirTime::of(above.to_owned(), other.dir.as_fd())?);
            }
        }
        Ok(times)
    }
}
