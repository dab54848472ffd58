//! The streams of a session that its client may take up again.
//!
//! The registry only leads a returning connection to the task that has the stream; the events are kept there. A
//! stream is named by a number that counts within the session, so that an event of another session names nothing
//! here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::mpsc;

/// How many streams are kept whose answer is there: for a client that lost the end of one.
pub(super) const ENDED_MAX: usize = 32;
/// How many connections may come at once for the same stream.
const ARRIVALS_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<OpenStreams>);

#[derive(Debug, Default)]
struct OpenStreams {
    /// How many were begun: the name of the last one.
    begun: u64,
    open: BTreeMap<u64, mpsc::Sender<StreamReader>>,
    /// Those whose answer is there, the oldest first.
    ended: VecDeque<u64>,
}

/// A connection that reads a stream, from the event after the number `last` on.
#[derive(Debug)]
pub(super) struct StreamReader {
    pub(super) last: u64,
    pub(super) out: mpsc::Sender<Bytes>,
}

/// The name of an event: it is unique in its session.
pub(super) fn event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

impl StreamReader {
    pub(super) fn after(last: u64) -> (Self, mpsc::Receiver<Bytes>) {
        let (out, pieces) = mpsc::channel(1);
        (Self { last, out }, pieces)
    }
}

impl Streams {
    /// Names a new stream; those who come back to it arrive here.
    pub(super) fn begin(&self) -> (u64, mpsc::Receiver<StreamReader>) {
        let mut known = self.lock();
        known.begun += 1;
        let name = known.begun;
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        known.open.insert(name, sender);
        (name, arrivals)
    }

    /// Takes a stream up after an event; `None` if it is not there any more.
    pub(super) fn take_up(&self, last_event_id: &str) -> Option<mpsc::Receiver<Bytes>> {
        let (stream, last) = last_event_id.split_once('-')?;
        let (stream, last): (u64, u64) = (stream.parse().ok()?, last.parse().ok()?);
        let known = self.lock();
        let sender = known.open.get(&stream)?;
        let (reader, pieces) = StreamReader::after(last);
        sender.try_send(reader).ok().map(|()| pieces)
    }

    /// The answer of a stream is there. The oldest such stream makes room.
    pub(super) fn end(&self, stream: u64) {
        let mut known = self.lock();
        known.ended.push_back(stream);
        if known.ended.len() > ENDED_MAX
            && let Some(oldest) = known.ended.pop_front()
        {
            known.open.remove(&oldest);
        }
    }

    /// Called when the task of the stream ends; one that made room before is not there any more, which is no fault.
    pub(super) fn forget(&self, stream: u64) {
        let mut known = self.lock();
        known.open.remove(&stream);
        known.ended.retain(|ended| *ended != stream);
    }

    fn lock(&self) -> MutexGuard<'_, OpenStreams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_stream_whose_answer_is_there_makes_room() {
        let streams = Streams::default();
        let mut begun: Vec<_> = (0..=ENDED_MAX).map(|_| streams.begin()).collect();
        begun.iter().for_each(|(name, _)| streams.end(*name));
        assert!(streams.take_up("1-0").is_none(), "it made room");
        assert!(begun[0].1.recv().await.is_none());
        assert!(streams.take_up("2-7").is_some());
        assert_eq!(begun[1].1.recv().await.map(|reader| reader.last), Some(7));
        streams.forget(2);
        assert!(streams.take_up("2-7").is_none());
    }

    #[test]
    fn what_names_no_event_takes_nothing_up() {
        let streams = Streams::default();
        let _open = streams.begin();
        for id in [
            "",
            "1",
            "1-",
            "-1",
            "1-x",
            "2-0",
            "1-0-0",
            "-",
            "99999999999999999999-1",
        ] {
            assert!(streams.take_up(id).is_none(), "{id}");
        }
        assert!(streams.take_up("1-0").is_some());
    }
}
