//! The watch over a server. Unlike a command it stays, and writes whenever it likes: what it made is put aside at the end
//! of each of its calls, and when it has ended.
//!
//! A person may approve a call that changes what configures later programs. While such a call runs, nothing
//! tells what it makes from what a server makes, so every server of the same tree is left alone until the call
//! has ended; then all that is there counts as known. A server can use that moment. It is the price of
//! approving a call while others run.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Sandbox;
use super::watch::Watch;

/// The watches over the servers that run now.
///
/// Of all sandboxes of this process: an approval must reach the servers of other runs in the same directory.
/// Weak, so that the list keeps no server's watch alive; dead entries go when the next one begins.
static ALL: Mutex<Vec<Weak<LongWatch>>> = Mutex::new(vec![]);

/// What was there when the server began, and what a person has approved since.
///
/// It is shared between the process that owns the server and whoever ends a call.
#[derive(Debug)]
pub(crate) struct LongWatch(Mutex<LongWatchState>);

#[derive(Debug)]
struct LongWatchState {
    /// Gone when the server has ended: what is made later is not its.
    watch: Option<Watch>,
    /// How many calls that a person approved are under way: what they make is not told from what the server makes.
    approved: usize,
}

impl LongWatch {
    /// The watch was begun before the server was started, so that nothing that the server makes is taken for
    /// old.
    pub(super) fn begin(watch: Watch) -> Arc<Self> {
        let long = Arc::new(Self(Mutex::new(LongWatchState {
            watch: Some(watch),
            approved: 0,
        })));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&long));
        long
    }

    /// Puts aside what is new, and says so.
    ///
    /// Nothing is done while an approved call is under way, or when the server has ended.
    pub(crate) fn settle(&self) -> Option<String> {
        let state = self.lock();
        match (&state.watch, state.approved) {
            (Some(watch), 0) => watch.put_aside(),
            _ => None,
        }
    }

    /// The same for the last time: the server has ended.
    ///
    /// In the middle of an approved call, what is new is let be: it may be what the person wanted.
    pub(crate) fn end(&self) -> Option<String> {
        let mut state = self.lock();
        let watch = state.watch.take()?;
        match state.approved {
            0 => watch.settle(),
            _ => {
                watch.let_be();
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LongWatchState> {
        // Every change is whole by itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while a call runs that a person approved: what is made meanwhile stays, whoever of the directory's servers is
/// settled later.
#[derive(Debug)]
pub(crate) struct Approval(Vec<Arc<LongWatch>>);

impl Approval {
    /// What was made before is not the call's, and is put aside.
    ///
    /// Servers of directories above and below count too, because they see the same files. The list is let go of
    /// before any tree is looked at: that may take long, and beginning a server must not wait for it.
    pub(crate) fn begin(dir: &Path) -> Self {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let mut watches: Vec<Arc<LongWatch>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        watches.retain(|it| {
            let mut state = it.lock();
            let Some(watch) = &state.watch else {
                return false;
            };
            if !(watch.dir().starts_with(dir) || dir.starts_with(watch.dir())) {
                return false;
            }
            if state.approved == 0 {
                watch.put_aside();
            }
            state.approved += 1;
            true
        });
        Self(watches)
    }
}

impl Sandbox {
    /// Begins what a person approved in the working directory. A tree may be large.
    pub(crate) async fn approval(&self) -> Option<Approval> {
        let dir = self.workdir.clone();
        let begun = tokio::task::spawn_blocking(move || Approval::begin(&dir));
        begun.await.ok()
    }
}

/// What is there at the end becomes known before the count goes down, so that no settling comes in between.
impl Drop for Approval {
    fn drop(&mut self) {
        for it in &self.0 {
            let mut state = it.lock();
            if let Some(watch) = &mut state.watch {
                watch.accept();
            }
            state.approved -= 1;
        }
    }
}
