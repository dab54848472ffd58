//! What is said on stderr, written by a thread of its own: whoever started the program may have stopped reading, and
//! neither who is served nor a run with its limits may wait for that.
//!
//! Until `begin` is called, lines are written by whoever says them, which is right for commands that end soon.
//! Afterwards they go through a bounded queue: where the reader is too slow, lines are left out and counted, and
//! nobody waits. Only the end of the process waits, and only while lines are still being taken.

use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// How many lines may wait for a reader.
const WAITING_MAX: usize = 8192;

/// What goes through the queue.
enum Queued {
    /// Masked and made harmless already.
    Line(String),
    /// Everything before it was written.
    Mark(SyncSender<()>),
}

/// Set by `begin`, and never taken away: the thread lives as long as the process.
static WRITER: OnceLock<SyncSender<Queued>> = OnceLock::new();
/// Those since the writer last reported them.
static LINES_LEFT_OUT: AtomicU64 = AtomicU64::new(0);
/// Only ever grows: whether it does tells a slow reader from one that is gone.
static LINES_WRITTEN: AtomicU64 = AtomicU64::new(0);

/// From now on nobody waits for stderr.
pub(crate) fn begin() {
    WRITER.get_or_init(|| {
        let (sender, lines) = sync_channel(WAITING_MAX);
        // Without the thread, lines are counted and not written: the server works all the same.
        let _none = thread::Builder::new()
            .name("stderr".into())
            .spawn(move || write_all(&lines));
        sender
    });
}

/// Takes a line, where [`begin`] was called; else gives it back.
pub(crate) fn take(line: String) -> Option<String> {
    let Some(writer) = WRITER.get() else {
        return Some(line);
    };
    if writer.try_send(Queued::Line(line)).is_err() {
        LINES_LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
    None
}

/// Waits until what was said is written, as long as somebody reads it.
/// `patience` is how long nothing at all may be taken; as long as lines go out, it begins anew.
pub(crate) fn settle(patience: Duration) {
    let Some(writer) = WRITER.get() else {
        return;
    };
    let (sender, written) = sync_channel(1);
    let mut mark = Some(Queued::Mark(sender));
    loop {
        let before = LINES_WRITTEN.load(Ordering::Relaxed);
        mark = mark.and_then(|mark| match writer.try_send(mark) {
            Ok(()) => None,
            Err(TrySendError::Full(mark) | TrySendError::Disconnected(mark)) => Some(mark),
        });
        let waited = written.recv_timeout(patience);
        // A reader that takes nothing is gone, and does not come back now.
        if waited != Err(RecvTimeoutError::Timeout)
            || LINES_WRITTEN.load(Ordering::Relaxed) == before
        {
            return;
        }
    }
}

/// What was left out is reported before the next line that gets through.
fn write_all(lines: &Receiver<Queued>) {
    for queued in lines {
        let left_out = LINES_LEFT_OUT.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            write(&format!("{left_out} lines were left out: nobody read them"));
        }
        match queued {
            Queued::Line(line) => write(&line),
            Queued::Mark(written) => {
                let _gone = written.try_send(());
            }
        }
    }
}

/// A line that could not be written counts too: the stream took nothing, but did not keep anybody waiting.
fn write(line: &str) {
    let _unread = writeln!(io::stderr().lock(), "{line}");
    LINES_WRITTEN.fetch_add(1, Ordering::Relaxed);
}
