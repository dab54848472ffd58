//! Copies of logs, from the memory and into it.

use std::sync::Arc;

use bonded_kernel::{Entry, Event, Head, RunId};
use futures_util::future::BoxFuture;

use super::{Logs, MemoryStore, NAME, Stored};
use crate::append::Append;
use crate::aside::RunAside;
use crate::copies::{CopiedPart, LogPart, RunCopies, StoredRun};
use crate::{Holder, StoreError};

impl Logs {
    fn stored_run(&self, place: usize, this: u64) -> StoredRun {
        let stored = &self.runs[place];
        let last = stored.rows.len().checked_sub(1);
        let last = last.and_then(|last| self.open(stored, last).ok());
        StoredRun {
            place: i64::try_from(place + 1).unwrap_or(i64::MAX),
            run: stored.run.clone(),
            goal: stored.goal.clone(),
            head: stored.head(),
            has_ended: last.is_some_and(|it| matches!(it.event, Event::RunEnded(_))),
            held: self.holder(stored, this),
            aside: stored.aside.clone(),
            queued: None,
        }
    }

    fn check_free(&self, stored: &Stored, this: u64) -> Result<(), StoreError> {
        match self.holder(stored, this) {
            Holder::Nobody | Holder::Queue => Ok(()),
            Holder::This | Holder::Other => Err(StoreError::Held {
                run: stored.run.clone(),
                by: "a worker".into(),
            }),
        }
    }

    fn add(&mut self, part: &CopiedPart, this: u64) -> Result<(), StoreError> {
        let Some(first) = part.steps.first() else {
            return Ok(());
        };
        let place = self.place_for(first)?;
        self.check_free(&self.runs[place], this)?;
        for step in &part.steps {
            self.keep(place, step);
        }
        let aside = (!part.ends_run()).then(|| RunAside::CopyOf(part.from.clone()));
        self.runs[place].aside = aside;
        self.runs[place].worker = None;
        Ok(())
    }

    fn read(&self, run: &RunId, after: Head, room: &mut usize) -> LogPart {
        let mut part = LogPart {
            run: run.clone(),
            steps: vec![],
            fault: None,
        };
        let filled = self.fill(&mut part, after, room);
        part.fault = filled.err();
        part
    }

    fn fill(&self, part: &mut LogPart, after: Head, room: &mut usize) -> Result<(), StoreError> {
        let stored = &self.runs[self.place(&part.run)?];
        let mut before = after;
        for last in stored.appends.range(after.seq + 1..) {
            if *room == 0 {
                break;
            }
            let entries: Result<Vec<Entry>, StoreError> = (before.seq..*last)
                .map(|index| self.open(stored, usize::try_from(index).unwrap_or(usize::MAX)))
                .collect();
            let append = Append::new(before, entries?.into())?;
            before = append.head;
            part.steps.push(append);
            *room -= 1;
        }
        Ok(())
    }
}

impl RunCopies for MemoryStore {
    fn label(&self) -> String {
        NAME.into()
    }

    fn identity(&self) -> BoxFuture<'_, Result<String, StoreError>> {
        let identity = format!("{:p}", Arc::as_ptr(&self.shared));
        Box::pin(async move { Ok(identity) })
    }

    fn runs_after(
        &self,
        place: i64,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        Box::pin(async move {
            let content = self.shared.content();
            let first = usize::try_from(place).unwrap_or(0);
            let end = content.runs.len().min(first.saturating_add(count));
            let places = first.min(end)..end;
            Ok(places
                .map(|it| content.stored_run(it, self.worker))
                .collect())
        })
    }

    fn runs_named(&self, runs: Vec<RunId>) -> BoxFuture<'_, Result<Vec<StoredRun>, StoreError>> {
        Box::pin(async move {
            let content = self.shared.content();
            let places = runs.iter().filter_map(|run| content.places.get(run));
            Ok(places
                .map(|place| content.stored_run(*place, self.worker))
                .collect())
        })
    }

    fn head_at<'a>(
        &'a self,
        run: &'a RunId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        Box::pin(async move {
            let content = self.shared.content();
            let stored = content.places.get(run).map(|place| &content.runs[*place]);
            let stored = stored.filter(|stored| stored.appends.contains(&seq));
            Ok(stored.and_then(|stored| {
                let index = usize::try_from(seq.checked_sub(1)?).ok()?;
                let hash = stored.hash_of(index);
                Some(Head { seq, hash })
            }))
        })
    }

    fn read_steps(
        &self,
        after: Vec<(RunId, Head)>,
        steps_max: usize,
    ) -> BoxFuture<'_, Result<Vec<LogPart>, StoreError>> {
        Box::pin(async move {
            let content = self.shared.content();
            let mut room = steps_max.max(1);
            let after = after.iter();
            Ok(after
                .map(|(run, head)| content.read(run, *head, &mut room))
                .collect())
        })
    }

    fn add_copies(
        &self,
        parts: Vec<CopiedPart>,
    ) -> BoxFuture<'_, Result<Vec<Result<(), StoreError>>, StoreError>> {
        Box::pin(async move {
            let mut added = vec![];
            for part in &parts {
                let done = self.shared.content().add(part, self.worker);
                if done.is_ok() && !part.steps.is_empty() {
                    self.shared.watchers.publish(part.run(), part.after().seq);
                }
                added.push(done);
            }
            Ok(added)
        })
    }

    fn set_aside<'a>(
        &'a self,
        run: &'a RunId,
        aside: RunAside,
    ) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        Box::pin(async move {
            let mut content = self.shared.content();
            let place = content.place(run)?;
            let found = content.stored_run(place, self.worker);
            if found.has_ended {
                return Ok(None);
            }
            content.check_free(&content.runs[place], self.worker)?;
            content.runs[place].aside = Some(aside);
            Ok(Some(found.head))
        })
    }

    fn let_go<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut content = self.shared.content();
            let place = content.place(run)?;
            content.runs[place].aside = None;
            Ok(())
        })
    }
}
