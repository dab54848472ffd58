//! The watch over a server. Unlike a command it stays, and writes whenever it likes: what it made is put aside at the end
//! of each of its calls, and when it has ended.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Sandbox;
use super::watch::Watch;

/// The watches over the servers that run now.
static ALL: Mutex<Vec<Weak<LongWatch>>> = Mutex::new(vec![]);

/// What was there when the server began, and what a person has approved since.
#[derive(Debug)]
pub(crate) struct LongWatch(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Gone when the server has ended: what is made later is not its.
    watch: Option<Watch>,
    /// How many calls that a person approved are under way: what they make is not told from what the server makes.
    approved: usize,
}

impl LongWatch {
    pub(super) fn begin(watch: Watch) -> Arc<Self> {
        let long = Arc::new(Self(Mutex::new(State {
            watch: Some(watch),
            approved: 0,
        })));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&long));
        long
    }

    /// Puts aside what is new, and says so.
    pub(crate) fn settle(&self) -> Option<String> {
        let state = self.lock();
        match (&state.watch, state.approved) {
            (Some(watch), 0) => watch.put_aside(),
            _ => None,
        }
    }

    /// The same for the last time: the server has ended.
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

    fn lock(&self) -> MutexGuard<'_, State> {
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
