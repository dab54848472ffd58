//! A driver whose run is lost: whatever stands in the log, it begins nothing more.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use bonded_host::{CancellationToken, Goal, Host, HostError, SystemClock, Toolset};
use bonded_kernel::{Entry, Head, Invocation, Run, RunConfig, RunId, Target, ToolEffect, ToolSpec};
use bonded_state::{ListFilter, Listed, MemoryStore, Store, StoreError};
use bonded_tools::{Registry, Tool, ToolFault, ToolValue};
use bonded_transport::Providers;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// A store in which a run is lost after so many appends.
struct Losing {
    inner: MemoryStore,
    appends: AtomicU32,
    lost_after: u32,
}

impl Store for Losing {
    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let head = self.inner.append(expected, entries).await?;
            self.appends.fetch_add(1, Ordering::SeqCst);
            Ok(head)
        })
    }

    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        self.inner.load_part(run, after, count)
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        self.inner.head(run)
    }

    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.changed(run, seq)
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        self.inner.list(filter)
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.claim(run)
    }

    fn lost<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, StoreError> {
        Box::pin(std::future::poll_fn(move |_| {
            match self.appends.load(Ordering::SeqCst) < self.lost_after {
                true => Poll::Pending,
                false => Poll::Ready(StoreError::LeaseLost {
                    run: run.clone(),
                    why: "the test says so".into(),
                }),
            }
        }))
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(run)
    }
}

/// A tool that counts how often it was begun.
struct Counting {
    spec: ToolSpec,
    begun: Arc<AtomicU32>,
}

impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolValue::Json(Value::Null)) })
    }
}

/// The one tool of these runs.
struct OneTool(Arc<AtomicU32>);

impl Toolset for OneTool {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        let spec = ToolSpec {
            name: "count".into(),
            description: "Counts.".into(),
            schema: serde_json::json!({"type": "object"}),
            effect: ToolEffect::Write,
            sandbox: None,
            resource: None,
            deferred: false,
        };
        let begun = Arc::clone(&self.0);
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Counting { spec, begun })];
        let registry = Registry::of_run(tools, config).expect("its name is good");
        Box::pin(async move { Ok(Arc::new(registry)) })
    }
}

/// Drives a run that makes one call.
async fn drive(dir: &Path, store: Arc<Losing>, begun: Arc<AtomicU32>) -> Result<Run, HostError> {
    let script = dir.join("script.jsonl");
    let lines = concat!(
        r#"{"calls":[{"tool":"count","arguments":{}}]}"#,
        "\n",
        r#"{"calls":[{"tool":"done","arguments":{"reason":"ok"}}]}"#,
        "\n"
    );
    std::fs::write(&script, lines).expect("a file can be written");
    let host = Host {
        store,
        transport: Arc::new(Providers::from_variables(|_: &str| None)),
        tools: Arc::new(OneTool(begun)),
        clock: Arc::new(SystemClock::new()),
        children: None,
        secrets: Arc::default(),
        live: None,
        watch: None,
        interrupt: CancellationToken::new(),
        drain: CancellationToken::new(),
    };
    let script = script.to_str().expect("UTF-8");
    let target = Target::new("script", script, "m");
    let goal = Goal {
        text: "count once".into(),
        system: "be brief".into(),
        images: vec![],
        config: RunConfig::new(dir.to_str().expect("UTF-8"), vec![target]),
    };
    let ended = host.run(Host::draw_id(), goal, CancellationToken::new());
    Box::pin(ended).await
}

#[tokio::test]
async fn a_call_that_is_in_the_log_is_not_begun_once_the_run_is_lost() {
    // The run begins with the first append; the second has the call.
    for (lost_after, is_done) in [(1, false), (2, false), (100, true)] {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let store = Arc::new(Losing {
            inner: MemoryStore::new(),
            appends: AtomicU32::new(0),
            lost_after,
        });
        let begun = Arc::<AtomicU32>::default();
        let ended = drive(dir.path(), Arc::clone(&store), Arc::clone(&begun)).await;
        let is_lost = matches!(ended, Err(HostError::Store(StoreError::LeaseLost { .. })));
        assert_eq!(is_lost, !is_done, "after {lost_after}: {ended:?}");
        let appended = store.appends.load(Ordering::SeqCst);
        assert!(is_done || appended == lost_after, "{appended} appends");
        let begun = begun.load(Ordering::SeqCst);
        assert_eq!(begun, u32::from(is_done), "lost after {lost_after}");
    }
}
