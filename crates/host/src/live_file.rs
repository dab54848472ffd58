//! What a model says just now, for a process that does not drive the run: a file beside the store, which is written only
//! while a page watches.
//!
//! Whoever watches keeps a mark beside the store. The driver looks for it once whenever it asks a model; without it
//! nothing is written and nothing else is done. With it the end of what was said is written now and then over what stood
//! there. All of it may be late, lost or torn, and none of it is in the log.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bonded_kernel::RunId;
use bonded_state::Store;
use serde::{Deserialize, Serialize};

use crate::live::{LivePiece, LiveSink, LiveWriting};
use crate::private::HeldDir;

/// A mark that is older was left by somebody who is gone.
const MARK_FRESH: Duration = Duration::from_secs(20);
/// Between two writings of what is said.
const WRITE_PAUSE: Duration = Duration::from_millis(200);
/// So much of the end of what was said is shown.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Longer than any that we write.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What a model has said of a reply so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    /// The turn that is under way.
    pub turn: u32,
    /// Another attempt begins the reply again.
    pub attempt: u32,
    /// The end of it, without secrets.
    pub text: String,
    /// How many bytes came before.
    pub from: u64,
}

/// Where the mark and the text of a run are. The store may lie where agents work or where others may write, so that both
/// are opened as what is kept is: no link is followed, and what is not a file of our own is left alone.
#[derive(Clone, Debug)]
struct LiveFiles {
    dir: PathBuf,
    run: RunId,
}

impl LiveFiles {
    /// None where the store has no files.
    fn of(store: &dyn Store, run: &RunId) -> Option<Self> {
        let mut dir = store.files().into_iter().next()?.into_os_string();
        dir.push(".live");
        let (dir, run) = (PathBuf::from(dir), run.clone());
        Some(Self { dir, run })
    }

    fn mark(&self) -> String {
        format!("{}.mark", self.run)
    }

    fn text(&self) -> String {
        format!("{}.text", self.run)
    }

    fn is_marked(&self) -> bool {
        let mark = self.dir.join(self.mark());
        let touched = fs::symlink_metadata(mark).and_then(|about| about.modified());
        let age = touched.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.is_ok_and(|age| age < MARK_FRESH)
    }

    /// The links above it are the person's own; it must be none itself.
    fn hold(&self) -> io::Result<HeldDir> {
        match (self.dir.parent(), self.dir.file_name()) {
            (Some(above), Some(name)) => HeldDir::make(&above.canonicalize()?.join(name)),
            _ => HeldDir::make(&self.dir),
        }
    }

    fn open(&self, name: &str) -> io::Result<File> {
        self.hold()?.open_to_append(OsStr::new(name))
    }
}

/// Writes what a model says where somebody watches, and tells another sink too.
pub(crate) struct LiveFile {
    files: LiveFiles,
    other: Option<Arc<dyn LiveSink>>,
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    text: LiveText,
    written: Option<Instant>,
}

impl LiveFile {
    /// A sink for the next reply, if somebody watches the run from elsewhere; else the one that there is.
    pub(crate) fn beside(
        other: Option<&Arc<dyn LiveSink>>,
        store: &dyn Store,
        run: &RunId,
    ) -> Option<Arc<dyn LiveSink>> {
        let other = other.cloned();
        match LiveFiles::of(store, run).filter(LiveFiles::is_marked) {
            Some(files) => Some(Arc::new(Self {
                files,
                other,
                latest: Mutex::default(),
            })),
            None => other,
        }
    }

    /// Whoever watches can do without it.
    fn write(&self, live: &LiveText) -> io::Result<()> {
        let text = serde_json::to_vec(live)?;
        let mut file = self.files.open(&self.files.text())?;
        file.set_len(0)?;
        file.write_all(&text)
    }
}

impl LiveSink for LiveFile {
    fn tell(&self, piece: &LivePiece<'_>) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let live = &mut latest.text;
        (live.turn, live.attempt) = (piece.turn, piece.attempt);
        live.text.push_str(piece.text);
        let too_much = live.text.len().saturating_sub(TEXT_BYTES_MAX);
        let cut = live.text.ceil_char_boundary(too_much);
        live.text.drain(..cut);
        live.from += cut as u64;
        if latest.written.is_none_or(|at| at.elapsed() >= WRITE_PAUSE) {
            let _unwritten = self.write(&latest.text);
            latest.written = Some(Instant::now());
        }
        drop(latest);
        if let Some(other) = &self.other {
            other.tell(piece);
        }
    }

    fn notice(&self, writing: &LiveWriting<'_>) {
        if let Some(other) = &self.other {
            other.notice(writing);
        }
    }
}

/// Watches what the model of a run says, wherever the run is driven. The mark and the text are gone with it.
#[derive(Debug)]
pub struct LiveWatch {
    files: LiveFiles,
    marked: Option<Instant>,
    seen: LiveText,
}

impl LiveWatch {
    /// None where the store has no files, and so no other process.
    pub fn new(store: &dyn Store, run: &RunId) -> Option<Self> {
        Some(Self {
            files: LiveFiles::of(store, run)?,
            marked: None,
            seen: LiveText::default(),
        })
    }

    /// What was said, if that is more than when it was last asked for. To be called again and again: it keeps the mark.
    pub fn look(&mut self) -> Option<LiveText> {
        if self.marked.is_none_or(|at| at.elapsed() >= MARK_FRESH / 4) {
            // Without it nothing is written, and there is nothing to see.
            let _unmarked = self.keep_mark();
            self.marked = Some(Instant::now());
        }
        let mut text = vec![];
        let file = self.files.open(&self.files.text()).ok()?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        let live: LiveText = serde_json::from_slice(&text).ok()?;
        if live == self.seen {
            return None;
        }
        self.seen = live.clone();
        Some(live)
    }

    fn keep_mark(&self) -> io::Result<()> {
        let mark = self.files.open(&self.files.mark())?;
        mark.set_modified(SystemTime::now())
    }
}

impl Drop for LiveWatch {
    fn drop(&mut self) {
        // Another one that watches the same run makes its mark again.
        if let Ok(dir) = self.files.hold() {
            let _gone = dir.remove(&self.files.mark());
            let _gone = dir.remove(&self.files.text());
        }
    }
}
