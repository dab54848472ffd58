//! What happens while a page is open, as lines of JSON: entries of the run that it shows, and that the list has changed.

use std::convert::Infallible;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bonded_host::{LiveWatch, SaidSoFar};
use bonded_kernel::RunId;
use serde_json::{Value, json};

use super::Console;
use super::access::Deed;
use super::ask::ConsoleAsk;
use super::entries::{self, ENTRIES_MAX};
use super::list_watch::ListChanges;

/// Whatever stands between takes a silent connection for a dead one.
const BEAT: Duration = Duration::from_secs(10);
/// The list is asked for again after each change of it, so that changes are told together.
const LIST_PAUSE: Duration = Duration::from_millis(500);
/// Between two looks at what a model says.
const LIVE_PAUSE: Duration = Duration::from_millis(250);

/// Where a page is.
struct Stream {
    /// Who asked: it is looked at again before anything is told.
    ask: ConsoleAsk,
    list: ListChanges,
    /// The version of the list that was told last.
    told: u64,
    /// The run that the page shows, and the last entry that it has.
    run: Option<(RunId, u64)>,
    /// What the model of that run says, until the run has ended.
    live: Option<LiveWatch>,
    is_first: bool,
}

/// A response that ends with the server or when the page goes.
pub(super) fn stream(ask: ConsoleAsk, run: Option<(RunId, u64)>) -> Response {
    let list = ask.console.list_watch.changes();
    let shown = run.as_ref();
    let live = shown.and_then(|(run, _)| LiveWatch::new(&*ask.console.host.store, run));
    let told = *list.changes.borrow();
    let stream = Stream {
        ask,
        told,
        list,
        run,
        live,
        is_first: true,
    };
    let pieces = futures_util::stream::unfold(stream, |mut stream| async {
        let lines = stream.next().await?;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Some((Ok::<_, Infallible>(Bytes::from(text)), stream))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Stream {
    /// Waits for the next thing to tell.
    async fn next(&mut self) -> Option<Vec<Value>> {
        if std::mem::take(&mut self.is_first) {
            // A page knows at once that the stream is there.
            return Some(vec![beat()]);
        }
        let console = self.ask.console.clone();
        let lines = tokio::select! {
            () = console.stop.cancelled() => return None,
            lines = more(&console, &mut self.run) => lines,
            said = heard(&mut self.live) => vec![live(&said)],
            version = changed(&mut self.list, self.told) => {
                self.told = version;
                vec![json!({ "kind": "runs", "version": version })]
            }
            () = tokio::time::sleep(BEAT) => vec![beat()],
        };
        let has_ended = |line: &Value| line["entry"]["kind"] == "run_ended";
        if lines.iter().any(has_ended) {
            self.live = None;
        }
        self.is_still_admitted().await.then_some(lines)
    }

    /// A session may have ended, and a person may have lost their role.
    async fn is_still_admitted(&self) -> bool {
        let ask = &self.ask;
        let Ok(access) = ask.console.door.admit(&ask.headers, false).await else {
            return false;
        };
        match &self.run {
            Some((run, _)) => ask.run_as(&access, run.as_str(), Deed::Read).await.is_ok(),
            None => true,
        }
    }
}

/// The list's version once it is another than the one that was told. It may be given up at any time: what was not told is
/// still another version then. The store is looked at by a task that lives as long as we do.
async fn changed(list: &mut ListChanges, told: u64) -> u64 {
    if list
        .changes
        .wait_for(|version| *version != told)
        .await
        .is_err()
    {
        return std::future::pending().await;
    }
    tokio::time::sleep(LIST_PAUSE).await;
    *list.changes.borrow()
}

/// The next entries of the run. Where it cannot be read there are none: the page finds out when it asks.
async fn more(console: &Console, run: &mut Option<(RunId, u64)>) -> Vec<Value> {
    let Some((id, last)) = run else {
        return std::future::pending().await;
    };
    let store = &console.host.store;
    if store.changed(id, *last).await.is_err() {
        return std::future::pending().await;
    }
    let Ok(found) = store.load_part(id, *last, ENTRIES_MAX).await else {
        return std::future::pending().await;
    };
    if found.is_empty() {
        return std::future::pending().await;
    }
    *last = found.last().map_or(*last, |entry| entry.seq);
    let entries = found.iter().map(entries::shown);
    entries
        .map(|entry| json!({ "kind": "entry", "entry": entry }))
        .collect()
}

/// What the model has said since the last look.
async fn heard(watch: &mut Option<LiveWatch>) -> SaidSoFar {
    let Some(watch) = watch else {
        return std::future::pending().await;
    };
    loop {
        if let Some(said) = watch.look() {
            return said;
        }
        tokio::time::sleep(LIVE_PAUSE).await;
    }
}

fn live(said: &SaidSoFar) -> Value {
    json!({
        "kind": "live", "turn": said.turn, "attempt": said.attempt, "text": said.text, "from": said.from,
    })
}

fn beat() -> Value {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    json!({ "kind": "beat", "now": now.as_millis() as u64 })
}
