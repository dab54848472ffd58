//! What happens while a page is open, as lines of JSON: entries of the run that it shows, and that the list has changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bonded_kernel::RunId;
use serde_json::{Value, json};

use super::Console;
use super::entries::{self, ENTRIES_MAX};
use super::list_watch::ListChanges;

/// Whatever stands between takes a silent connection for a dead one.
const BEAT: Duration = Duration::from_secs(10);
/// The list is asked for again after each change of it, so that changes are told together.
const LIST_PAUSE: Duration = Duration::from_millis(500);

/// Where a page is.
struct Stream {
    console: Arc<Console>,
    list: ListChanges,
    /// The version of the list that was told last.
    told: u64,
    /// The run that the page shows, and the last entry that it has.
    run: Option<(RunId, u64)>,
    is_first: bool,
}

/// A response that ends with the server or when the page goes.
pub(super) fn stream(console: Arc<Console>, run: Option<(RunId, u64)>) -> Response {
    let list = console.list_watch.changes();
    let told = *list.changes.borrow();
    let stream = Stream {
        console,
        told,
        list,
        run,
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
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
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
        let stop = self.console.stop.clone();
        let console = self.console.clone();
        tokio::select! {
            () = stop.cancelled() => None,
            lines = more(&console, &mut self.run) => Some(lines),
            version = changed(&mut self.list, self.told) => {
                self.told = version;
                Some(vec![json!({ "kind": "runs", "version": version })])
            }
            () = tokio::time::sleep(BEAT) => Some(vec![beat()]),
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

fn beat() -> Value {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    json!({ "kind": "beat", "now": now.as_millis() as u64 })
}
