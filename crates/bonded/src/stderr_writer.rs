//! What is said on stderr, written by a thread of its own: the process that started the program may have stopped
//! reading, and neither a client nor a run with its limits may wait for that.
//!
//! Until `begin` is called, lines are written by whoever says them, which is right for commands that end soon.
//! Afterwards they go through a bounded queue: where the reader is too slow, lines are left out and counted, and
//! nobody waits. Only the end of the process waits, and only while lines are still being taken.
//!
//! At a terminal the same thread draws the live rows below the last line. It alone knows what is drawn: so rows are
//! erased, lines printed and rows drawn again in one write, and nothing that is said gets in between.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::log_form;
use crate::style::Stream;

/// How many lines may wait for a reader.
const WAITING_MAX: usize = 8192;
/// How many of them are written at once.
const BATCH_MAX: usize = 256;
/// A terminal that is narrower than this has no live rows.
const COLUMNS_MIN: usize = 20;

/// A terminal that knows them shows what stands between these two at once, so that nothing flickers.
pub(crate) const TOGETHER: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");

/// Rows that are drawn below the last line, again and again.
pub(crate) trait Picture: Send + Sync {
    /// The rows now, for a terminal of so many columns, ready to be written.
    fn rows(&self, columns: usize) -> Vec<DrawnRow>;

    /// The rows that will not change any more once something else is said: they are printed above that.
    fn settle(&self, columns: usize) -> Vec<DrawnRow>;

    /// How long they may stand.
    fn pace(&self) -> Duration;
}

/// A row as it is written, and how many columns that takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DrawnRow {
    pub(crate) written: String,
    pub(crate) columns: usize,
}

/// What goes through the queue.
enum Queued {
    /// Masked and made harmless already.
    Line(String),
    /// The same for a line of who draws.
    Drawn(String),
    /// Everything before it was written.
    Mark(SyncSender<()>),
    /// What is drawn from now on.
    Picture(Option<Arc<dyn Picture>>),
}

/// Set by `begin`, and never taken away: the thread lives as long as the process.
static QUEUE: OnceLock<LineQueue> = OnceLock::new();
/// Those since the writer last reported them.
static LINES_LEFT_OUT: AtomicU64 = AtomicU64::new(0);
/// Only ever grows: whether it does tells a slow reader from one that is gone.
static LINES_WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The way to the thread, which is started by the first that has something for it: a quiet run has nothing.
///
/// What waits is counted here and not by the channel: one of a fixed size is laid out in memory before it is used.
#[derive(Default)]
struct LineQueue {
    writer: OnceLock<Sender<Queued>>,
    waiting: AtomicUsize,
}

impl LineQueue {
    /// Gives back what there is no room for.
    fn send(&'static self, queued: Queued) -> Result<(), Queued> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(queued);
        }
        let writer = self.writer.get_or_init(|| {
            let (sender, queue) = channel();
            // Without the thread, lines are counted and not written: the server works all the same.
            let _none = thread::Builder::new()
                .name("stderr".into())
                .spawn(move || Writer::default().write_all(&queue, &self.waiting));
            sender
        });
        writer.send(queued).map_err(|unsent| unsent.0)
    }
}

/// From now on nobody waits for stderr.
pub(crate) fn begin() {
    QUEUE.get_or_init(LineQueue::default);
}

/// Takes a line, where [`begin`] was called; else gives it back.
pub(crate) fn take(line: String) -> Option<String> {
    send(line, Queued::Line)
}

/// The same for a line that belongs to what is drawn.
pub(crate) fn take_drawn(line: String) -> Option<String> {
    send(line, Queued::Drawn)
}

fn send(line: String, queued: fn(String) -> Queued) -> Option<String> {
    let Some(queue) = QUEUE.get() else {
        return Some(line);
    };
    if queue.send(queued(line)).is_err() {
        LINES_LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
    None
}

/// Draws this below the lines from now on; nothing where there is none.
/// What a full queue has no room for is not drawn: its reader sees nothing anyway.
pub(crate) fn draw(picture: Option<Arc<dyn Picture>>) {
    if let Some(queue) = QUEUE.get() {
        let _full = queue.send(Queued::Picture(picture));
    }
}

/// Waits until what was said is written, as long as somebody reads it.
/// `patience` is how long nothing at all may be taken; as long as lines go out, it begins anew.
pub(crate) fn settle(patience: Duration) {
    let Some(queue) = QUEUE.get().filter(|it| it.writer.get().is_some()) else {
        return;
    };
    let (sender, written) = sync_channel(1);
    let mut mark = Some(Queued::Mark(sender));
    loop {
        let before = LINES_WRITTEN.load(Ordering::Relaxed);
        mark = mark.and_then(|mark| queue.send(mark).err());
        let waited = written.recv_timeout(patience);
        // A reader that takes nothing is gone, and does not come back now.
        if waited != Err(RecvTimeoutError::Timeout)
            || LINES_WRITTEN.load(Ordering::Relaxed) == before
        {
            return;
        }
    }
}

/// What the thread knows of the terminal.
#[derive(Default)]
struct Writer {
    picture: Option<Arc<dyn Picture>>,
    /// The rows that stand there now.
    drawn: Vec<DrawnRow>,
}

impl Writer {
    fn write_all(&mut self, queue: &Receiver<Queued>, waiting: &AtomicUsize) {
        loop {
            let first = match &self.picture {
                Some(picture) => queue.recv_timeout(picture.pace()),
                None => queue.recv().map_err(RecvTimeoutError::from),
            };
            let first = match first {
                Ok(queued) => Some(queued),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let batch = first.into_iter().chain(queue.try_iter()).take(BATCH_MAX);
            self.write_batch(batch.inspect(|_| {
                waiting.fetch_sub(1, Ordering::Relaxed);
            }));
        }
    }

    /// What was left out is reported before the next line that gets through.
    fn write_batch(&mut self, batch: impl Iterator<Item = Queued>) {
        let (mut lines, mut marks, mut count) = (String::new(), vec![], 0);
        for queued in batch {
            if let (Queued::Line(_), Some(picture)) = (&queued, &self.picture) {
                let settled = picture.settle(Stream::Err.size().0);
                settled
                    .iter()
                    .for_each(|row| lines.push_str(&format!("{}\n", row.written)));
            }
            match queued {
                Queued::Line(line) | Queued::Drawn(line) => {
                    let left_out = LINES_LEFT_OUT.swap(0, Ordering::Relaxed);
                    if left_out > 0 {
                        let message = format!("{left_out} lines were dropped: stderr was not read");
                        lines.push_str(&format!("{}\n", log_form::shaped(&message)));
                    }
                    lines.push_str(&line);
                    lines.push('\n');
                    count += 1;
                }
                Queued::Mark(written) => marks.push(written),
                Queued::Picture(picture) => self.picture = picture,
            }
        }
        self.write(&lines);
        LINES_WRITTEN.fetch_add(count, Ordering::Relaxed);
        for mark in marks {
            let _gone = mark.try_send(());
        }
    }

    /// One write for everything. What could not be written counts too: the stream took nothing, but did not keep
    /// anybody waiting.
    fn write(&mut self, lines: &str) {
        let (width, _) = match self.picture.is_some() || !self.drawn.is_empty() {
            true => Stream::Err.size(),
            false => (0, 0),
        };
        let rows = match &self.picture {
            Some(picture) if width >= COLUMNS_MIN => picture.rows(width),
            _ => vec![],
        };
        if lines.is_empty() && rows == self.drawn {
            return;
        }
        let mut out = String::with_capacity(lines.len() + 512);
        let is_drawing = !rows.is_empty() || !self.drawn.is_empty();
        if is_drawing {
            out.push_str(TOGETHER.0);
            out.push_str(&erased(&self.drawn, width));
        }
        out.push_str(lines);
        let written: Vec<&str> = rows.iter().map(|row| row.written.as_str()).collect();
        out.push_str(&written.join("\n"));
        if is_drawing {
            out.push_str(TOGETHER.1);
        }
        let mut stream = io::stderr().lock();
        let _unread = stream.write_all(out.as_bytes());
        self.drawn = rows;
    }
}

/// Goes to the beginning of the first row and erases from there on. A terminal that has become narrower has wrapped
/// its rows, so they are counted at the width of this moment.
fn erased(drawn: &[DrawnRow], width: usize) -> String {
    let columns: Vec<usize> = drawn.iter().map(|row| row.columns).collect();
    erased_above(&columns, width)
}

/// The same for rows of so many columns; the cursor stands at the end of the last.
pub(crate) fn erased_above(drawn: &[usize], width: usize) -> String {
    let rows = |columns: &usize| columns.div_ceil(width.max(1)).max(1);
    let high: usize = drawn.iter().map(rows).sum();
    match high {
        0 => String::new(),
        1 => "\r\x1b[J".into(),
        high => format!("\r\x1b[{}A\x1b[J", high - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> DrawnRow {
        DrawnRow {
            written: text.into(),
            columns: text.len(),
        }
    }

    #[test]
    fn rows_are_erased_as_high_as_they_are_at_the_width_of_the_moment() {
        let rows = [row(&"x".repeat(70)), row("short")];
        for (width, wanted) in [
            (80, "\r\x1b[1A\x1b[J"),
            (40, "\r\x1b[2A\x1b[J"),
            (20, "\r\x1b[4A\x1b[J"),
        ] {
            assert_eq!(erased(&rows, width), wanted, "{width}");
        }
        assert_eq!(erased(&rows[1..], 80), "\r\x1b[J");
        assert_eq!(erased(&[], 80), "");
    }
}
