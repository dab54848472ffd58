//! Ctrl-C and SIGTERM: the first one ends the run as cancelled, the second one ends the process.

use std::io;

use bonded_host::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;

/// The exit code of a process that was stopped before its run could be ended.
const STOPPED: i32 = 130;

pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Gives a token that the first signal cancels.
pub(crate) fn cancel_on_signal() -> CancellationToken {
    let token = CancellationToken::new();
    // Without handlers a signal ends the process at once, which the log survives as it does any crash.
    if let Ok(mut signals) = Signals::new() {
        let cancelled = token.clone();
        tokio::spawn(async move {
            signals.next().await;
            output::stderr("cancelling the run; press Ctrl-C again to stop at once");
            cancelled.cancel();
            signals.next().await;
            #[expect(
                clippy::exit,
                reason = "the person asked twice; the log is safe at any moment"
            )]
            std::process::exit(STOPPED);
        });
    }
    token
}
