//! What was seen of a server besides its messages: what an error says about it.
//!
//! It belongs to one link and is shared by all that read from the server. Everything in it is bounded: the end
//! of stderr, the first line that was no message, a count of the others.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::Notice;
use super::news::Voice;

/// How much of stderr is kept: its end.
const STDERR_BYTES_MAX: usize = 8 * 1024;

/// How much of a line is shown.
const SHOWN_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) struct Witness {
    seen: Mutex<Sightings>,
    /// How often the server has said that its tools are others now.
    changes: AtomicU64,
    voice: Arc<Voice>,
}

/// What a server says may hold anything; it is shown in errors and never acted on.
#[derive(Debug, Default)]
struct Sightings {
    stderr: VecDeque<u8>,
    noise: Option<String>,
    noise_lines: u64,
    /// As the end of a sentence about the server.
    broken: Option<String>,
}

impl Witness {
    pub(super) fn new(voice: Arc<Voice>) -> Self {
        Self {
            seen: Mutex::default(),
            changes: AtomicU64::new(0),
            voice,
        }
    }

    pub(super) fn notice(&self, notice: &Notice) {
        match notice {
            Notice::ToolsChanged => {
                self.changes.fetch_add(1, Ordering::Relaxed);
            }
            Notice::Progress(text) => self.voice.progress(text),
        }
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn stderr(&self, bytes: &[u8]) {
        let mut seen = self.lock();
        let bytes = &bytes[bytes.len().saturating_sub(STDERR_BYTES_MAX)..];
        let over = (seen.stderr.len() + bytes.len()).saturating_sub(STDERR_BYTES_MAX);
        seen.stderr.drain(..over);
        seen.stderr.extend(bytes);
    }

    /// A line on stdout that is no message.
    pub(super) fn noise(&self, line: &[u8]) {
        let mut seen = self.lock();
        seen.noise_lines += 1;
        if seen.noise.is_none() {
            let line = &line[..line.len().min(4 * SHOWN_CHARS_MAX)];
            let shown = String::from_utf8_lossy(line);
            seen.noise = Some(shown.chars().take(SHOWN_CHARS_MAX).collect());
        }
    }

    /// Why nothing more is read from the server. The first reason counts.
    pub(super) fn broken(&self, why: String) {
        self.lock().broken.get_or_insert(why);
    }

    pub(super) fn why_broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    /// What else a person should know about a server that cannot have a stderr.
    pub(super) fn noise_remarks(&self) -> String {
        let seen = self.lock();
        match &seen.noise {
            None => String::new(),
            Some(noise) => {
                let lines = seen.noise_lines;
                format!("; {lines} of its messages are not JSON-RPC, the first is {noise:?}")
            }
        }
    }

    /// What else a person should know, to be put behind what happened.
    pub(super) fn remarks(&self) -> String {
        let mut seen = self.lock();
        let mut remarks = String::new();
        if let Some(noise) = &seen.noise {
            let lines = seen.noise_lines;
            remarks = format!(
                "; {lines} of its lines on stdout are not JSON-RPC messages, the first is {noise:?}"
            );
        }
        let stderr = String::from_utf8_lossy(seen.stderr.make_contiguous());
        match stderr.trim() {
            "" => remarks.push_str("; it said nothing on stderr"),
            stderr => {
                remarks.push_str("; the end of its stderr is:\n");
                remarks.push_str(stderr);
                remarks.push('\n');
            }
        }
        remarks
    }

    fn lock(&self) -> MutexGuard<'_, Sightings> {
        // Every change is whole by itself.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness() -> Witness {
        Witness::new(Arc::new(Voice::new("s", None)))
    }

    #[test]
    fn the_end_of_stderr_is_kept_however_it_came() {
        let witness = witness();
        witness.stderr(&vec![b'x'; 1_000_000]);
        for number in 0..10_000 {
            witness.stderr(format!("{number}\n").as_bytes());
        }
        assert_eq!(witness.lock().stderr.len(), STDERR_BYTES_MAX);
        assert!(witness.remarks().ends_with("\n9998\n9999\n"));
    }

    #[test]
    fn the_first_noise_is_shown_shortened_and_counted() {
        let witness = witness();
        witness.noise("ä".repeat(5000).as_bytes());
        witness.noise(b"second");
        let remarks = witness.remarks();
        assert!(remarks.contains("2 of its lines"), "{remarks}");
        assert!(
            remarks.contains("ääää") && remarks.len() < 1000,
            "{remarks}"
        );
        assert!(!remarks.contains("second"), "{remarks}");
    }
}
