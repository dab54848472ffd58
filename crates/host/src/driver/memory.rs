//! The memory of a run that works in loops, kept in a file where a person sees it.
//!
//! The log holds the memory; the file is a view of it that a person may edit. An edit becomes an input
//! of the kernel before anything is written over it, so that none is lost and each is in the log. A
//! file that cannot be kept ends the run with a code of its own.

use std::path::PathBuf;

use bonded_kernel::{self as kernel, Effect, Hash, Input, Memory, MemoryEdit};

use super::Driver;
use crate::error::HostError;
use crate::memory_file::{MemoryFile, MemoryFileError, MemoryFileState};

/// What the driver knows of the file.
#[derive(Debug, Default)]
pub(crate) struct MemoryLink {
    /// The memory that was written last.
    shown: Option<Memory>,
    /// The content of the file that has gone into the log.
    taken: Option<Hash>,
}

impl Driver<'_> {
    /// `None` for runs that do not loop, or whose memory has no file.
    fn memory_file(&self) -> Option<MemoryFile> {
        let looping = self.run.config().looping.as_ref()?;
        looping.memory_file.as_ref().map(MemoryFile::new)
    }

    /// Writes the memory where it has changed. What a person changed meanwhile goes into the log first.
    ///
    /// In a loop, because a person may edit again while an edit is being committed. It ends once what
    /// was written is what the run has.
    pub(super) async fn keep_memory(&mut self, effect: Effect) -> Result<Effect, HostError> {
        let mut effect = effect;
        while let (Some(file), Some(memory)) = (self.memory_file(), self.run.memory()) {
            if self.memory.shown.as_ref() == Some(memory) {
                break;
            }
            let (memory, run) = (memory.clone(), self.run.id().to_string());
            let taken = self.memory.taken;
            let written = {
                let memory = memory.clone();
                on_disk(move || write(&file, &memory, &run, taken)).await
            };
            let has_ended = self.run.termination().is_some();
            let input = match written {
                Ok(MemoryFileState::Edited { edit, seen }) if !has_ended => {
                    self.memory.taken = Some(seen);
                    if changes_nothing(&memory, &edit) {
                        continue;
                    }
                    Input::MemoryEdited(self.masked_edit(edit))
                }
                // A run that has ended takes nothing in any more: the next one does.
                Ok(_) => {
                    self.memory.shown = Some(memory);
                    break;
                }
                Err(_) if has_ended => break,
                Err(error) => Input::HostFailed {
                    code: MemoryFileError::CODE.into(),
                    message: error.to_string(),
                },
            };
            let now = self.now();
            let step = kernel::step(&mut self.run, now, input);
            effect = self.commit(step).await?;
        }
        Ok(effect)
    }

    /// A person may have put a secret into the file; it does not enter the log.
    ///
    /// Masked as JSON text. Should that make the edit unreadable, it is taken as it was.
    fn masked_edit(&self, edit: MemoryEdit) -> MemoryEdit {
        let written = serde_json::to_string(&edit).unwrap_or_default();
        serde_json::from_str(&self.mask().text(&written)).unwrap_or(edit)
    }

    /// A run that rested takes in what a person changed before it goes on.
    pub(super) async fn with_edits(&mut self, effect: &Effect, input: Input) -> Input {
        let (Effect::Wait { .. }, Input::Woke, Some(file)) = (effect, &input, self.memory_file())
        else {
            return input;
        };
        match on_disk(move || file.look()).await {
            Ok(MemoryFileState::Edited { edit, seen }) if self.memory.taken != Some(seen) => {
                self.memory.taken = Some(seen);
                Input::MemoryEdited(self.masked_edit(edit))
            }
            // What cannot be read is told when the memory is written.
            Ok(
                MemoryFileState::Edited { .. }
                | MemoryFileState::Missing
                | MemoryFileState::Unchanged
                | MemoryFileState::Broken { .. },
            )
            | Err(_) => input,
        }
    }
}

/// Writes the file. What a person left there that is no memory is put aside first.
fn write(
    file: &MemoryFile,
    memory: &Memory,
    run: &str,
    taken: Option<Hash>,
) -> Result<MemoryFileState, MemoryFileError> {
    match file.write(memory, run, taken)? {
        MemoryFileState::Broken { why } => {
            let _aside: PathBuf = file.put_aside(&why)?;
            file.write(memory, run, taken)
        }
        found @ (MemoryFileState::Missing
        | MemoryFileState::Unchanged
        | MemoryFileState::Edited { .. }) => Ok(found),
    }
}

/// Whether the memory is already as a person wants it: then a run began with it.
fn changes_nothing(memory: &Memory, edit: &MemoryEdit) -> bool {
    let mut edited = memory.clone();
    edited.edit(edit);
    edited == *memory
}

/// Files are small, but disks are slow.
///
/// A panic in the work is passed on, as if it had been done here.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // It never began, because the process is about to end; and so is this one.
        Err(Err(_ended)) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn what_has_not_begun_when_the_process_ends_is_not_waited_for_with_a_panic() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime can be made");
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let _inside = handle.enter();
        assert_eq!(on_disk(|| 1).now_or_never(), None);
    }
}
