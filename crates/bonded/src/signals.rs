//! Ctrl-C and SIGTERM: the first one ends the run as cancelled, the second one ends the process.

use std::io;

use bonded_host::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;

/// What a person is told, and how a process ends that is asked twice.
#[derive(Clone, Copy)]
pub(crate) struct Stopping {
    pub(crate) told: &'static str,
    pub(crate) exit_code: i32,
}

/// For a process that drives runs until they end.
const RUNS: Stopping = Stopping {
    told: "cancelling the run; press Ctrl-C again to stop at once",
    exit_code: 130,
};

/// The signal that a file is as large as it may be; the same number on every system that this program runs on.
const SIGXFSZ: i32 = 25;

/// Whoever limits the size of files, or has a full quota, is to see writes fail, not a server die.
pub(crate) fn outlive_file_limits() {
    // Once it is listened for, it ends nothing; nobody has to hear it.
    let _heard = signal(SignalKind::from_raw(SIGXFSZ));
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Gives a token that the first signal cancels.
pub(crate) fn cancel_on_signal() -> CancellationToken {
    stop_on_signal(RUNS)
}

/// The same for any process; the second signal ends it at once.
pub(crate) fn stop_on_signal(stopping: Stopping) -> CancellationToken {
    let token = CancellationToken::new();
    // Without handlers a signal ends the process at once, which the log survives as it does any crash.
    if let Ok(mut signals) = Signals::new() {
        let cancelled = token.clone();
        tokio::spawn(async move {
            signals.next().await;
            output::stderr(stopping.told);
            cancelled.cancel();
            signals.next().await;
            #[expect(
                clippy::exit,
                reason = "the person asked twice; the log is safe at any moment"
            )]
            std::process::exit(stopping.exit_code);
        });
    }
    token
}
