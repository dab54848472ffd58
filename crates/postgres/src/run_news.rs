//! What the processes of a store tell one another through the server, so that who waits need not look so often.
//!
//! It is a hint and no more: nothing is decided by it, what is lost is found by the next look, and what is made up costs a
//! look. PostgreSQL commits what tells something one after the other, so an append tells nothing itself: what there is to
//! tell is gathered, told by a statement of its own, and only of runs that another process follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::RunId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The channel of all processes of a store.
pub(crate) const CHANNEL: &str = "bonded";

/// The server takes less than 8,000 bytes.
const MESSAGE_BYTES_MAX: usize = 7_000;

/// How often those who follow a run say so.
pub(crate) const FOLLOWING_AGAIN: Duration = Duration::from_secs(1);

/// How long a run counts as followed. Who has not listened for so long tells of all runs: someone may follow them.
const FOLLOWED: Duration = Duration::from_secs(3);

/// How often to look where news may not come.
const LOOK: Duration = Duration::from_millis(100);

/// How often where they do.
const RARE_LOOK: Duration = Duration::from_secs(1);

/// How long news is not relied on after a look has found something that nobody told of.
const DISTRUST: Duration = Duration::from_secs(5);

/// What a message begins with.
const MOVED: &str = "moved";
const FOLLOWED_BY: &str = "follow";
const QUEUED: &str = "queued";
const ECHO: &str = "echo";

/// What this process has to tell, and what it was told.
#[derive(Debug, Default)]
pub(crate) struct RunNews {
    state: Mutex<NewsState>,
    /// There is something to tell.
    pub(crate) untold: Notify,
    /// Something was told of runs that this process follows.
    pub(crate) moved: Notify,
    /// Something was told of the queue.
    pub(crate) queued: Notify,
    /// Held by who tells it.
    pub(crate) telling: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct NewsState {
    to_tell: ToTell,
    /// Runs that this process drives, and when another one last said that it follows them.
    followed: BTreeMap<RunId, Instant>,
    /// Runs that this process began, and since when it has heard who follows them: since before there was anything to follow.
    begun: BTreeMap<RunId, Instant>,
    /// Runs that were told of and have not been looked at.
    moved: BTreeSet<RunId>,
    /// Since when everything that is told is heard.
    heard_since: Option<Instant>,
    /// When a look last found what nobody had told.
    missed: Option<Instant>,
}

#[derive(Debug, Default)]
struct ToTell {
    moved: BTreeSet<RunId>,
    following: BTreeSet<RunId>,
    queued: bool,
    echo: Option<u64>,
}

impl RunNews {
    fn state(&self) -> MutexGuard<'_, NewsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, note: impl FnOnce(&mut ToTell)) {
        note(&mut self.state().to_tell);
        self.untold.notify_one();
    }

    /// A run has new entries. Who drives it tells those who follow; another one tells always: it is the driver that waits.
    pub(crate) fn tell_moved(&self, run: &RunId, is_held: bool) {
        if is_held && !self.state().is_followed(run) {
            return;
        }
        self.tell(|it| it.moved.extend([run.clone()]));
    }

    /// Since when everything that is told is heard.
    pub(crate) fn hears_since(&self) -> Option<Instant> {
        self.state().heard_since
    }

    /// This process has begun a run, and had heard everything for a while when it sent that.
    pub(crate) fn begin_run(&self, run: &RunId, heard_since: Option<Instant>) {
        let heard = heard_since.map(|since| (run.clone(), since));
        self.state().begun.extend(heard);
    }

    /// This process drives a run no more.
    pub(crate) fn leave_run(&self, run: &RunId) {
        self.state().begun.remove(run);
    }

    pub(crate) fn tell_following(&self, runs: impl IntoIterator<Item = RunId>) {
        self.tell(|it| it.following.extend(runs));
    }

    pub(crate) fn tell_queued(&self) {
        self.tell(|it| it.queued = true);
    }

    pub(crate) fn tell_echo(&self, token: u64) {
        self.tell(|it| it.echo = Some(token));
    }

    /// The messages that tell everything that is to be told.
    pub(crate) fn take_messages(&self) -> Vec<String> {
        let to_tell = std::mem::take(&mut self.state().to_tell);
        let mut messages = named(MOVED, &to_tell.moved);
        messages.extend(named(FOLLOWED_BY, &to_tell.following));
        messages.extend(to_tell.queued.then(|| QUEUED.to_owned()));
        messages.extend(to_tell.echo.map(|token| format!("{ECHO} {token:x}")));
        messages
    }

    /// Takes in what was told. A token that came back is returned.
    pub(crate) fn hear(&self, message: &str, follows: impl Fn(&RunId) -> bool) -> Option<u64> {
        let (what, rest) = message.split_once(' ').unwrap_or((message, ""));
        let runs = rest.split(' ').filter_map(|id| RunId::new(id).ok());
        match what {
            MOVED => {
                let moved: Vec<RunId> = runs.filter(follows).collect();
                if !moved.is_empty() {
                    self.state().moved.extend(moved);
                    self.moved.notify_one();
                }
            }
            FOLLOWED_BY => {
                let now = Instant::now();
                let mut state = self.state();
                state.followed.retain(|_, at| now - *at < FOLLOWED);
                state.followed.extend(runs.map(|run| (run, now)));
            }
            QUEUED => self.queued.notify_one(),
            ECHO => return u64::from_str_radix(rest, 16).ok(),
            // A newer program may tell more.
            _ => {}
        }
        None
    }

    /// From now on what is told is heard.
    pub(crate) fn begin_hearing(&self) {
        self.state().heard_since.get_or_insert_with(Instant::now);
    }

    pub(crate) fn end_hearing(&self) {
        let mut state = self.state();
        state.heard_since = None;
        state.followed.clear();
    }

    /// A look has found what nobody told.
    pub(crate) fn miss(&self) {
        self.state().missed = Some(Instant::now());
    }

    /// The runs that were told of since this was asked last.
    pub(crate) fn take_moved(&self) -> BTreeSet<RunId> {
        std::mem::take(&mut self.state().moved)
    }

    /// How long to wait between two looks.
    pub(crate) fn pace(&self) -> Duration {
        let state = self.state();
        let is_missing = state.missed.is_some_and(|at| at.elapsed() < DISTRUST);
        match state.heard_since.is_some() && !is_missing {
            true => RARE_LOOK,
            false => LOOK,
        }
    }
}

impl NewsState {
    /// Whether someone may follow a run. Who cannot hear it tells nothing: then it is found by looking.
    fn is_followed(&self, run: &RunId) -> bool {
        let Some(since) = self.heard_since else {
            return false;
        };
        let is_recent = |at: &Instant| at.elapsed() < FOLLOWED;
        let is_known = self.begun.get(run) == Some(&since) || !is_recent(&since);
        !is_known || self.followed.get(run).is_some_and(is_recent)
    }
}

/// Messages that name runs, each as long as may be.
fn named(what: &str, runs: &BTreeSet<RunId>) -> Vec<String> {
    let mut messages: Vec<String> = vec![];
    for run in runs {
        let run = run.as_str();
        match messages.last_mut() {
            Some(last) if last.len() + 1 + run.len() <= MESSAGE_BYTES_MAX => {
                last.push(' ');
                last.push_str(run);
            }
            _ => messages.push(format!("{what} {run}")),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunId {
        RunId::new(name).expect("a good id")
    }

    #[tokio::test(start_paused = true)]
    async fn a_driver_tells_of_runs_that_are_followed_and_of_all_until_it_knows() {
        let news = RunNews::default();
        let tells = |name: &str| {
            news.tell_moved(&run(name), true);
            news.take_messages()
        };
        assert!(tells("a").is_empty(), "it cannot hear who follows");
        news.begin_hearing();
        assert_eq!(tells("a"), ["moved a"], "someone may have said so before");
        tokio::time::advance(FOLLOWED).await;
        assert!(tells("a").is_empty());
        news.hear("follow b a", |_| false);
        assert_eq!(tells("a"), ["moved a"]);
        tokio::time::advance(FOLLOWED).await;
        assert!(tells("a").is_empty());
        news.tell_moved(&run("a"), false);
        assert_eq!(news.take_messages(), ["moved a"], "its driver waits");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_was_begun_while_all_was_heard_is_told_of_once_somebody_follows_it() {
        let news = RunNews::default();
        let tells = |name: &str| {
            news.tell_moved(&run(name), true);
            news.take_messages()
        };
        news.begin_run(&run("deaf"), news.hears_since());
        news.begin_hearing();
        news.begin_run(&run("a"), news.hears_since());
        assert!(tells("a").is_empty());
        assert_eq!(tells("deaf"), ["moved deaf"]);
        news.hear("follow a", |_| false);
        assert_eq!(tells("a"), ["moved a"]);
        news.end_hearing();
        tokio::time::advance(Duration::from_millis(1)).await;
        news.begin_hearing();
        assert_eq!(tells("a"), ["moved a"], "who follows it may have said so");
        news.begin_run(&run("b"), news.hears_since());
        news.leave_run(&run("b"));
        assert_eq!(tells("b"), ["moved b"], "another process drove it since");
    }

    #[tokio::test(start_paused = true)]
    async fn looks_are_rare_while_all_is_told() {
        let news = RunNews::default();
        assert_eq!(news.pace(), LOOK);
        news.begin_hearing();
        assert_eq!(news.pace(), RARE_LOOK);
        news.miss();
        assert_eq!(news.pace(), LOOK);
        tokio::time::advance(DISTRUST).await;
        assert_eq!(news.pace(), RARE_LOOK);
        news.end_hearing();
        assert_eq!(news.pace(), LOOK);
    }

    #[test]
    fn what_is_told_is_gathered_and_no_message_is_too_long() {
        let news = RunNews::default();
        let runs: Vec<RunId> = (0..2_000).map(|it| run(&format!("run-{it:020}"))).collect();
        news.tell_following(runs.iter().chain(&runs).cloned());
        news.tell_queued();
        news.tell_queued();
        news.tell_echo(255);
        let messages = news.take_messages();
        assert!(messages.iter().all(|it| it.len() <= MESSAGE_BYTES_MAX));
        let (named, others): (Vec<_>, Vec<_>) =
            messages.iter().partition(|it| it.starts_with(FOLLOWED_BY));
        let named = named.iter().flat_map(|it| it.split(' ').skip(1));
        assert!(named.eq(runs.iter().map(RunId::as_str)));
        assert_eq!(others, ["queued", "echo ff"]);
        assert!(news.take_messages().is_empty());
    }

    #[test]
    fn what_no_process_of_ours_would_tell_is_passed_over() {
        let news = RunNews::default();
        for message in [
            "",
            " ",
            "moved",
            "moved  ../x \u{1b}[2J",
            "follow",
            "echo",
            "echo zz",
            "echo 1ffffffffffffffff",
            "queuedx",
            "MOVED a",
        ] {
            assert_eq!(news.hear(message, |_| true), None, "{message:?}");
        }
        assert!(news.take_moved().is_empty());
        assert_eq!(news.hear("echo ff", |_| true), Some(255));
        news.hear("moved a b c", |run| run.as_str() != "b");
        let moved = news.take_moved();
        assert!(moved.iter().map(RunId::as_str).eq(["a", "c"]));
    }
}
