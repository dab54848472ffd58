//! What signals mean to what is under way. Ctrl-C, SIGTERM and SIGHUP stop the process and end no run: runs are let go
//! of at their last recorded step and can be resumed. A second signal ends the process at once.
//!
//! Only `bonded cancel` ends a run for good: somebody who presses Ctrl-C wants it to stop, not to be lost. No signal
//! handler does more than wake a task. Nothing has to be saved at the end,
//! because every step was durable before the next began; so a second signal may end the process in any state.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_host::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{output, raw_mode, resumable_run, stderr_writer};

/// What a person is told, and how a process ends that is asked twice.
#[derive(Clone, Copy)]
pub(crate) struct Stopping {
    /// Written at the first signal.
    pub(crate) message: &'static str,
    /// Of a process that a second signal ends.
    pub(crate) exit_code: i32,
}

/// After Ctrl-C.
const STOPPING: &str = "stopping; press Ctrl-C again to stop now";
/// After Ctrl-C in a conversation.
const STOPPING_TURN: &str = "stopping; press Ctrl-C again to quit now";
/// After SIGTERM or SIGHUP.
const INTERRUPTING: &str = "interrupted: stopping what is under way; it can be resumed";
/// For those who expect a server to read its configuration again at SIGHUP.
const NOTHING_TO_READ: &str =
    "SIGHUP: the configuration is read when the server starts; restart it to read it again";

/// How long a terminal may take nothing before the process ends all the same.
const LAST_ROW: Duration = Duration::from_millis(200);

/// Added to the number of a signal, this is how a process ends that one has ended.
pub(crate) const BY_SIGNAL: u8 = 128;

/// Cancelled when this process is about to end and lets go of its runs.
static INTERRUPT: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// The number of the signal that has cancelled it.
static INTERRUPTED_BY: AtomicU8 = AtomicU8::new(0);

/// What every host of this process is interrupted by.
pub(crate) fn interrupt() -> CancellationToken {
    INTERRUPT.clone()
}

/// The exit code of a process that was interrupted.
pub(crate) fn interrupted_code() -> u8 {
    match INTERRUPTED_BY.load(Ordering::Relaxed) {
        0 => BY_SIGNAL + number(SignalKind::terminate()),
        by => BY_SIGNAL + by,
    }
}

/// Whether Ctrl-C interrupted this process.
pub(crate) fn is_stopped_by_key() -> bool {
    INTERRUPTED_BY.load(Ordering::Relaxed) == number(SignalKind::interrupt())
}

fn number(kind: SignalKind) -> u8 {
    u8::try_from(kind.as_raw_value()).unwrap_or(0)
}

/// The signal that a file is as large as it may be; the same number on every system that this program runs on.
const SIGXFSZ: i32 = 25;

/// Made once for each process; what is listened for here ends nothing by itself any more.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Nothing where whoever started the process has it ignored, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Signals {
    /// A signal that is ignored stays so: to listen for it would undo what `nohup` has done.
    fn new() -> io::Result<Self> {
        let hang_up = match is_ignored(SignalKind::hangup()) {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// Waits for the next signal of those that are listened for.
    async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            () = received(self.hang_up.as_mut()) => SignalKind::hangup(),
        }
    }
}

/// For what is not listened for it never resolves.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether a signal was ignored when the process began.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (number(kind).saturating_sub(1)) & 1 == 1)
}

/// A file that may not grow any more is an error of whoever writes it, and not the end of the process.
pub(crate) fn outlive_size_limits() {
    // Once it is listened for, it ends nothing; nobody has to hear it.
    let _heard = signal(SignalKind::from_raw(SIGXFSZ));
}

/// Lets go of the runs of this process without a signal: whoever wanted them is gone.
pub(crate) fn let_go() {
    INTERRUPT.cancel();
}

/// From now on a signal interrupts the runs of this process; gives what is cancelled then.
pub(crate) fn interrupt_on_signal() -> CancellationToken {
    // From here on runs are driven, with limits that do not wait for a reader.
    stderr_writer::begin();
    // Without handlers a signal ends the process at once, which the log survives as it does any crash.
    if let Ok(mut signals) = Signals::new() {
        tokio::spawn(async move {
            let first = signals.next().await;
            raw_mode::leave();
            INTERRUPTED_BY.store(number(first), Ordering::Relaxed);
            output::stderr(match first == SignalKind::interrupt() {
                true => STOPPING,
                false => INTERRUPTING,
            });
            INTERRUPT.cancel();
            exit_at_once(signals.next().await);
        });
    }
    interrupt()
}

/// The command that continues the run comes last.
fn exit_at_once(second: SignalKind) {
    if let Some(next) = resumable_run::next_command() {
        output::stderr(&next);
    }
    // No half-drawn row is left on the terminal.
    stderr_writer::draw(None);
    stderr_writer::settle(LAST_ROW);
    exit(i32::from(BY_SIGNAL + number(second)));
}

/// What a person is waiting for in a conversation, while it is under way.
static TURN: Mutex<Option<CancellationToken>> = Mutex::new(None);

fn turn() -> MutexGuard<'static, Option<CancellationToken>> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on Ctrl-C stops what is under way in a conversation, and the process only when it is pressed again. Every
/// other signal interrupts the process, as it does elsewhere.
pub(crate) fn stop_turns_on_signal() {
    stderr_writer::begin();
    if let Ok(mut signals) = Signals::new() {
        tokio::spawn(async move {
            loop {
                let kind = signals.next().await;
                let at_hand = turn().clone();
                let is_at_work = at_hand.is_some();
                let Some(turn) = at_hand.filter(|_| kind == SignalKind::interrupt()) else {
                    INTERRUPTED_BY.store(number(kind), Ordering::Relaxed);
                    if is_at_work {
                        output::stderr(INTERRUPTING);
                    }
                    INTERRUPT.cancel();
                    exit_at_once(signals.next().await);
                    return;
                };
                if turn.is_cancelled() {
                    return exit_at_once(kind);
                }
                output::stderr(STOPPING_TURN);
                turn.cancel();
            }
        });
    }
}

/// Begins what Ctrl-C stops; gives what is cancelled then, and when the process is interrupted.
pub(crate) fn begin_turn() -> CancellationToken {
    let token = interrupt().child_token();
    *turn() = Some(token.clone());
    token
}

/// Nothing is under way: Ctrl-C is a key of the prompt.
pub(crate) fn end_turn() {
    *turn() = None;
}

/// For a server: gives a token that Ctrl-C and SIGTERM cancel. SIGHUP changes nothing.
pub(crate) fn stop_on_signal(stopping: Stopping) -> CancellationToken {
    stop_after(stopping, || {})
}

/// The same for a server that lets go of its runs at once.
pub(crate) fn let_go_on_signal(stopping: Stopping) -> CancellationToken {
    // First: clients that leave because of the stop would cancel their runs.
    stop_after(stopping, || INTERRUPT.cancel())
}

/// The message comes before the tokens are cancelled, so that it stands above what the stop brings about.
fn stop_after(stopping: Stopping, first: fn()) -> CancellationToken {
    let token = CancellationToken::new();
    if let Ok(mut signals) = Signals::new() {
        let cancelled = token.clone();
        tokio::spawn(async move {
            stop_of(&mut signals).await;
            output::stderr(stopping.message);
            first();
            cancelled.cancel();
            stop_of(&mut signals).await;
            exit(stopping.exit_code);
        });
    }
    token
}

/// The next signal that stops a server.
async fn stop_of(signals: &mut Signals) {
    while signals.next().await == SignalKind::hangup() {
        output::stderr(NOTHING_TO_READ);
    }
}

/// The only place that ends the process without unwinding.
#[expect(
    clippy::exit,
    reason = "the person asked twice; the log is safe at any moment"
)]
fn exit(code: i32) {
    raw_mode::leave_all();
    std::process::exit(code);
}
