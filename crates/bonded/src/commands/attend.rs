//! A run at a terminal: driven, asked about, and driven on.

use std::process::ExitCode;

use bonded_host::{CancellationToken, Host};
use bonded_kernel::Run;

use super::run::watched;
use crate::error::CliError;
use crate::render::progress::{RunWatcher, Shown};
use crate::review::{Attendant, Judged};

/// What came of a run at a terminal.
pub(super) enum Attended {
    /// It has ended, or waits and nobody is to be asked.
    Left(Box<(Run, Shown)>),
    /// The person, or a signal, stopped it at a question; it still waits.
    Stopped(ExitCode),
}

/// Asks about every call that a run comes to wait for, and drives the run on after each answer. `watch` makes what
/// shows the entries after a sequence number.
pub(super) async fn see_through(
    attendant: Option<&mut Attendant>,
    host: &mut Host,
    first: (Run, Shown),
    watch: impl Fn(u64) -> RunWatcher,
    cancel: &CancellationToken,
) -> Result<Attended, CliError> {
    let mut left = Box::new(first);
    let Some(attendant) = attendant else {
        return Ok(Attended::Left(left));
    };
    loop {
        match Box::pin(attendant.judge(host, &left.0, cancel)).await? {
            Judged::Nothing => return Ok(Attended::Left(left)),
            Judged::Stopped(code) => return Ok(Attended::Stopped(code)),
            Judged::Answered => {}
        }
        let id = left.0.id().clone();
        let after = host.store.head(&id).await?.map_or(0, |head| head.seq);
        let watcher = watch(after);
        host.live = watcher.live_sink();
        let driving = Box::pin(host.resume(&id, cancel.clone()));
        left = Box::new(watched(watcher, driving).await?);
    }
}
