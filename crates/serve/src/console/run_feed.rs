//! What happens in a run, read and written down once for all pages that show it.
//!
//! A page keeps its own place. What it is to be told next is among the newest lines most of the time; a page that is
//! further behind, or has just come, reads the log on its own until it has caught up. So a slow page holds up nobody, and
//! two hundred pages of one run cost one reader.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use bonded_host::{CancellationToken, LiveText, LiveWatch};
use bonded_kernel::{Entry, Event, RunId};
use bonded_state::{Listed, Store};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::entries::{self, ENTRIES_MAX};

/// Between two looks at what a model says.
const LIVE_PAUSE: Duration = Duration::from_millis(250);
/// From a change of a log until it is read: what a turn appends in a few steps is told as one.
const SETTLE_PAUSE: Duration = Duration::from_millis(15);
/// Between two reads of a log that goes on and on.
const JOIN_PAUSE: Duration = Duration::from_millis(40);
/// A store that cannot be read now is asked again.
const FAULT_PAUSE: Duration = Duration::from_secs(1);
/// So many lines are kept for pages that are a little behind, in so many bytes.
const RECENT_MAX: usize = 1_000;
const RECENT_BYTES_MAX: usize = 1 << 20;

/// The feeds of all runs that a page shows.
pub(super) struct RunFeeds {
    store: Arc<dyn Store>,
    feeds: Mutex<BTreeMap<RunId, Weak<RunFeed>>>,
}

/// One run, as long as a page shows it.
pub(super) struct RunFeed {
    /// As it was when the first page came; who may see it never changes.
    pub(super) listed: Listed,
    store: Arc<dyn Store>,
    recent: Mutex<Recent>,
    /// The last entry that was read.
    last: watch::Sender<u64>,
    /// What the model says.
    live: watch::Sender<Bytes>,
    /// Ends the task that reads, with the feed.
    stop: CancellationToken,
}

impl Drop for RunFeed {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The newest lines, each with the number of its entry, without a gap.
#[derive(Default)]
struct Recent {
    lines: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// What was asked for last, as one: after which entry, up to which.
    joined: Option<(u64, u64, Bytes)>,
}

/// A page's place in a feed.
pub(super) struct FeedPage {
    pub(super) feed: Arc<RunFeed>,
    /// The last entry that the page has.
    sent: u64,
    last: watch::Receiver<u64>,
    live: watch::Receiver<Bytes>,
}

impl RunFeeds {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            feeds: Mutex::default(),
        }
    }

    /// A page that has the entries up to a number.
    pub(super) fn page(&self, listed: Listed, sent: u64) -> FeedPage {
        let feed = self.feed(listed);
        FeedPage {
            last: feed.last.subscribe(),
            live: feed.live.subscribe(),
            feed,
            sent,
        }
    }

    fn feed(&self, listed: Listed) -> Arc<RunFeed> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = feeds.get(&listed.run).and_then(Weak::upgrade) {
            return feed;
        }
        let run = listed.run.clone();
        let last = listed.ends.as_ref().map_or(0, |ends| ends.last.seq);
        let has_ended = |entry: &Entry| matches!(entry.event, Event::RunEnded(_));
        let is_over = listed.ends.as_ref().is_ok_and(|ends| has_ended(&ends.last));
        let live = (!is_over).then(|| LiveWatch::new(&*self.store, &run));
        let stop = CancellationToken::new();
        let feed = Arc::new(RunFeed {
            listed,
            store: self.store.clone(),
            recent: Mutex::default(),
            last: watch::Sender::new(last),
            live: watch::Sender::default(),
            stop: stop.clone(),
        });
        feeds.insert(run.clone(), Arc::downgrade(&feed));
        let reader = FeedReader {
            store: self.store.clone(),
            feed: Arc::downgrade(&feed),
            run,
            last,
            decided: 0,
            live: live.flatten().map(|watch| LiveReply {
                watch,
                due: Instant::now(),
            }),
        };
        tokio::spawn(reader.read(stop));
        feed
    }
}

impl RunFeed {
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, entries: &[Entry]) {
        let mut recent = self.recent();
        for entry in entries {
            recent.push(entry.seq, line(entry));
        }
        drop(recent);
        if let Some(entry) = entries.last() {
            self.last.send_replace(entry.seq);
        }
    }
}

impl Recent {
    fn push(&mut self, seq: u64, line: Bytes) {
        self.bytes += line.len();
        self.lines.push_back((seq, line));
        while self.lines.len() > RECENT_MAX || self.bytes > RECENT_BYTES_MAX {
            let Some((_, dropped)) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= dropped.len();
        }
    }

    /// What comes after an entry, and the number of the last one; `None` where that is not here any more. Pages that have
    /// got equally far share it.
    fn since(&mut self, seq: u64) -> Option<(u64, Bytes)> {
        let (first, _) = self.lines.front()?;
        let (last, _) = self.lines.back()?;
        let (skipped, last) = ((seq + 1).checked_sub(*first)?, *last);
        match &self.joined {
            Some((after, until, joined)) if (*after, *until) == (seq, last) => {
                return Some((last, joined.clone()));
            }
            Some(_) | None => {}
        }
        let lines = self.lines.iter().skip(usize::try_from(skipped).ok()?);
        let joined = joined(lines.map(|(_, line)| line));
        self.joined = Some((seq, last, joined.clone()));
        Some((last, joined))
    }
}

impl FeedPage {
    /// The next lines. It may be given up at any time: what was not returned is told again. Where the log cannot be read
    /// there are none: the page finds out when it asks.
    pub(super) async fn next(&mut self) -> Bytes {
        let sent = self.sent;
        let (has_more, is_live) = tokio::select! {
            last = self.last.wait_for(|last| *last > sent) => (last.is_ok(), false),
            live = self.live.changed() => (false, live.is_ok()),
        };
        if is_live {
            return self.live.borrow_and_update().clone();
        }
        if !has_more {
            return std::future::pending().await;
        }
        let recent = self.feed.recent().since(sent);
        let (last, lines) = match recent {
            Some(recent) => recent,
            None => self.read_log().await,
        };
        if lines.is_empty() {
            return std::future::pending().await;
        }
        self.sent = last;
        lines
    }

    async fn read_log(&self) -> (u64, Bytes) {
        let (store, run) = (&self.feed.store, &self.feed.listed.run);
        let found = store.load_part(run, self.sent, ENTRIES_MAX).await;
        let found = found.unwrap_or_default();
        let last = found.last().map_or(self.sent, |entry| entry.seq);
        let lines: Vec<Bytes> = found.iter().map(line).collect();
        (last, joined(lines.iter()))
    }
}

/// Lines as one piece.
fn joined<'a>(mut lines: impl Iterator<Item = &'a Bytes>) -> Bytes {
    let Some(first) = lines.next() else {
        return Bytes::new();
    };
    let Some(second) = lines.next() else {
        return first.clone();
    };
    let mut joined = [&first[..], &second[..]].concat();
    lines.for_each(|line| joined.extend_from_slice(line));
    joined.into()
}

/// Reads a log as it grows, until no page is left.
struct FeedReader {
    store: Arc<dyn Store>,
    feed: Weak<RunFeed>,
    run: RunId,
    last: u64,
    /// The last turn whose reply is in the log.
    decided: u32,
    /// Until the run has ended.
    live: Option<LiveReply>,
}

/// What the model says, looked at from time to time.
struct LiveReply {
    watch: LiveWatch,
    due: Instant,
}

impl FeedReader {
    async fn read(mut self, stop: CancellationToken) {
        let store = self.store.clone();
        loop {
            let pause = tokio::select! {
                () = stop.cancelled() => return,
                changed = settled(&*store, &self.run, self.last) => match changed && self.take().await {
                    true => JOIN_PAUSE,
                    false => FAULT_PAUSE,
                },
                reply = next_reply(&mut self.live) => {
                    self.send(&reply);
                    continue;
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Whether the next entries could be read.
    async fn take(&mut self) -> bool {
        let found = self.store.load_part(&self.run, self.last, ENTRIES_MAX);
        let Ok(found) = found.await else {
            return false;
        };
        let Some(newest) = found.last() else {
            return false;
        };
        self.last = newest.seq;
        let decided = found.iter().rev();
        let mut decided = decided.filter(|it| matches!(it.event, Event::DecisionMade(_)));
        self.decided = decided.next().map_or(self.decided, |entry| entry.turn);
        if matches!(newest.event, Event::RunEnded(_)) {
            self.live = None;
        }
        if let Some(feed) = self.feed.upgrade() {
            feed.publish(&found);
        }
        true
    }

    /// A reply that the log has says nothing new.
    fn send(&self, reply: &LiveText) {
        if reply.turn <= self.decided {
            return;
        }
        if let Some(feed) = self.feed.upgrade() {
            let line = json!({
                "kind": "live", "turn": reply.turn, "attempt": reply.attempt, "text": reply.text, "from": reply.from,
            });
            feed.live.send_replace(line_of(&line));
        }
    }
}

/// Waits for entries after one, and a moment for those that come with them; whether the store can tell. It may be given up
/// at any time.
async fn settled(store: &dyn Store, run: &RunId, last: u64) -> bool {
    let is_told = store.changed(run, last).await.is_ok();
    tokio::time::sleep(SETTLE_PAUSE).await;
    is_told
}

/// What the model has said since the last look. It may be given up at any time: the next look is due when it was.
async fn next_reply(live: &mut Option<LiveReply>) -> LiveText {
    let Some(live) = live else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep_until(live.due).await;
        live.due = Instant::now() + LIVE_PAUSE;
        if let Some(reply) = live.watch.look() {
            return reply;
        }
    }
}

fn line(entry: &Entry) -> Bytes {
    line_of(&json!({ "kind": "entry", "entry": entries::shown(entry) }))
}

/// As it goes out.
pub(super) fn line_of(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_there_for_whoever_lacks_only_them() {
        let mut recent = Recent::default();
        assert!(recent.since(0).is_none());
        for seq in 5..=8 {
            recent.push(seq, Bytes::from(seq.to_string()));
        }
        let mut since = |seq| recent.since(seq);
        let expected = |lines: &'static str| Some((8, Bytes::from(lines)));
        assert_eq!(since(3), None, "entry 4 is not here");
        assert_eq!(since(4), expected("5678"));
        assert_eq!(since(5), expected("678"));
        assert_eq!(since(7), expected("8"));
        assert_eq!(since(8), expected(""));
        assert_eq!(since(20), expected(""));
        recent.push(9, Bytes::from("9"));
        assert_eq!(recent.since(20), Some((9, Bytes::new())));
        assert_eq!(recent.since(7), Some((9, Bytes::from("89"))));
    }

    #[test]
    fn what_is_kept_has_bounds() {
        let mut recent = Recent::default();
        let long = Bytes::from(vec![b'x'; RECENT_BYTES_MAX / 4]);
        for seq in 1..=20 {
            recent.push(seq, long.clone());
        }
        assert_eq!((recent.lines.len(), recent.bytes), (4, RECENT_BYTES_MAX));
        assert!(recent.since(15).is_none() && recent.since(16).is_some());
    }
}
