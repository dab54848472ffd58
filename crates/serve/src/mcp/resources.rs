//! Runs as resources: the list of them, and what each did, as `bonded show --json` prints it.
//!
//! What is shown is the log as the command line shows it. A long one is given in parts, each with the address of the
//! next; nothing is ever left out silently.

use bonded_kernel::{Event, RunId};
use bonded_state::{ListFilter, Listed, Store, StoreError};
use serde_json::{Value, json};

use super::tools::ListPage;
use crate::agents::{Own, STORE_FAILED};
use bonded_host::shapes::listing;
use bonded_host::shapes::{json as shown, text};
use bonded_host::with_causes;
use bonded_mcp::{ClientRequest, RpcFault};

/// The list.
const RUNS: &str = "bonded://runs";
/// What the address of a run begins with.
const RUN: &str = "bonded://runs/";
/// How many runs are listed at a time, and in the list that is a resource.
const PAGE: usize = 50;
/// More runs are not listed: whoever looks for older ones asks at the server.
const LISTED_MAX: usize = 1000;
/// One JSON value a line.
const LINES: &str = "application/jsonl";
/// How much of a run is given at once: the rest is asked for with `?after=SEQ`.
const RUN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many entries are read at a time.
const PART_ENTRIES: usize = 128;

/// What a URI means.
#[derive(Debug, PartialEq)]
pub(super) enum Resource {
    Runs,
    /// A run from the entry after this one on.
    Run {
        run: RunId,
        after: u64,
    },
}

impl Resource {
    /// None for whatever is no address of ours; nothing in it is ever a path.
    pub(super) fn of(uri: &str) -> Option<Self> {
        if uri == RUNS {
            return Some(Self::Runs);
        }
        let named = uri.strip_prefix(RUN)?;
        let (id, after) = match named.split_once("?after=") {
            Some((id, after)) => (id, after.parse().ok()?),
            None => (named, 0),
        };
        let run = RunId::new(id).ok()?;
        Some(Self::Run { run, after })
    }
}

/// The only one.
pub(super) fn templates() -> Value {
    let template = json!({
        "uriTemplate": "bonded://runs/{id}{?after}",
        "name": "run",
        "title": "A run",
        "description": "What a run did: one entry of its log a line, those after the number `after` if it is given.",
        "mimeType": LINES,
    });
    json!({ "resourceTemplates": [template] })
}

/// The list of runs, then the runs, the newest first.
pub(super) async fn list(
    store: &dyn Store,
    own: Option<&Own>,
    asked: &ClientRequest,
) -> Result<Value, RpcFault> {
    let page = ListPage::of(asked, PAGE)?;
    let limit = page.skip.saturating_add(PAGE + 1).min(LISTED_MAX);
    let listed = newest(store, own, limit).await?;
    let all = json!({
        "uri": RUNS,
        "name": "runs",
        "title": "The newest runs",
        "description": "One run a line, the newest first, as `bonded runs --json` prints them.",
        "mimeType": LINES,
    });
    let runs = listed.iter().map(resource);
    Ok(page.list(
        "resources",
        std::iter::once(all).chain(runs).skip(page.skip),
    ))
}

/// The goal is its title; of a log that is damaged there is none.
fn resource(listed: &Listed) -> Value {
    let ends = listed.ends.as_ref().ok();
    let goal = match ends.and_then(|ends| ends.first.event.started()) {
        Some(started) => text::brief(&started.goal, 80),
        None => "the log is damaged".to_owned(),
    };
    json!({
        "uri": format!("{RUN}{}", listed.run),
        "name": listed.run.as_str(),
        "title": goal,
        "description": "What the run did: one entry of its log a line.",
        "mimeType": LINES,
    })
}

/// Another caller's run is told to be unknown, like one that is not there.
pub(super) async fn read(
    store: &dyn Store,
    own: Option<&Own>,
    uri: &str,
) -> Result<Value, RpcFault> {
    let unknown = || RpcFault::unknown_resource(uri);
    let (text, next) = match Resource::of(uri).ok_or_else(unknown)? {
        Resource::Runs => (runs_text(store, own).await?, None),
        Resource::Run { run, .. } if own.is_some_and(|own| !own.has(&run)) => {
            return Err(unknown());
        }
        Resource::Run { run, after } => {
            let head = store.head(&run).await.map_err(unreadable)?;
            head.ok_or_else(unknown)?;
            run_text(store, &run, after).await?
        }
    };
    let mut contents = json!({ "uri": uri, "mimeType": LINES, "text": text });
    if let Some(next) = next {
        contents["_meta"] = json!({ "bonded/next": next });
    }
    Ok(json!({ "contents": [contents] }))
}

/// As many as fit on one page.
async fn runs_text(store: &dyn Store, own: Option<&Own>) -> Result<String, RpcFault> {
    let mut text = String::new();
    for listed in newest(store, own, PAGE).await? {
        let status = listing::status(store, &listed).await;
        text.push_str(&listing::json_line(&listed, status));
        text.push('\n');
    }
    Ok(text)
}

/// The entries of a run, and where to read on if they are too many.
async fn run_text(
    store: &dyn Store,
    run: &RunId,
    mut after: u64,
) -> Result<(String, Option<String>), RpcFault> {
    let mut text = String::new();
    loop {
        let part = store.load_part(run, after, PART_ENTRIES).await;
        let part = part.map_err(unreadable)?;
        if part.is_empty() {
            return Ok((text, None));
        }
        for entry in &part {
            let line = shown::entry(entry);
            // One entry is given whole, whatever its size: otherwise nobody could read on.
            if !text.is_empty() && text.len() + line.len() > RUN_BYTES_MAX {
                return Ok((text, Some(format!("{RUN}{run}?after={after}"))));
            }
            text.push_str(&line);
            text.push('\n');
            after = entry.seq;
        }
    }
}

/// Whether nothing comes after this entry any more.
pub(super) async fn has_ended(store: &dyn Store, run: &RunId, seq: u64) -> Result<bool, RpcFault> {
    let last = store.load_part(run, seq.saturating_sub(1), 1).await;
    let last = last.map_err(unreadable)?;
    Ok(last
        .iter()
        .any(|entry| matches!(entry.event, Event::RunEnded(_))))
}

/// Only those of the caller, where callers are kept apart.
async fn newest(
    store: &dyn Store,
    own: Option<&Own>,
    limit: usize,
) -> Result<Vec<Listed>, RpcFault> {
    let filter = ListFilter {
        prefix: own.map(Own::prefix),
        limit,
    };
    store.list(filter).await.map_err(unreadable)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what map_err passes on"
)]
pub(super) fn unreadable(error: StoreError) -> RpcFault {
    tracing::error!("error: {}", with_causes(&error));
    RpcFault::internal(STORE_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_the_list_or_one_run_and_nothing_else() {
        let run = |id: &str, after| {
            let run = RunId::new(id).expect("the row names a run");
            Some(Resource::Run { run, after })
        };
        let rows = [
            ("bonded://runs", Some(Resource::Runs)),
            ("bonded://runs/3f2a", run("3f2a", 0)),
            ("bonded://runs/3f2a?after=7", run("3f2a", 7)),
            ("bonded://runs/", None),
            ("bonded://runs/3f2a?after=x", None),
            ("bonded://runs/3f2a?after=-1", None),
            ("bonded://runs/../../etc/passwd", None),
            ("bonded://runs/3f2a?before=1", None),
            ("bonded://other", None),
            ("file:///etc/passwd", None),
            ("", None),
        ];
        for (uri, expected) in rows {
            assert_eq!(Resource::of(uri), expected, "{uri}");
        }
    }
}
