//! A running tool server, a registry of its tools, and calls made by the kernel.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Limits, Mask, Outcome, ToolOutput};
pub(crate) use bonded_testkit::invocation;
use bonded_tools::mcp::{McpServer, McpServers, McpTools, StdioCommand};
use bonded_tools::{Queues, Registry};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) temp: TempDir,
    pub(crate) pool: McpServers,
    pub(crate) registry: Registry,
    pub(crate) limits: Limits,
}

impl World {
    /// A world with the server `srv`, which is steered by variables.
    pub(crate) async fn new(env: &[(&str, &str)]) -> Self {
        Self::with(pool(4), env).await
    }

    pub(crate) async fn with(pool: McpServers, env: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let server = server("srv", &temp, env);
        let started = pool.start(&[server]).await.expect("it starts");
        assert!(started.warnings.is_empty(), "{started:?}");
        Self {
            temp,
            pool,
            registry: registry(started),
            limits: Limits::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The lines that the server has written to a file of its own.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let call = invocation(
            &self.registry,
            &self.limits,
            &format!("srv__{tool}"),
            &arguments,
        );
        self.registry.invoke(&call, &Mask::default()).await
    }

    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, Outcome::Ok, "{}", output.text);
        output.text
    }

    /// The reason of a call that must fail.
    pub(crate) async fn fault(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, Outcome::Failed, "{}", output.text);
        let reason = output.text.strip_prefix("(tool failed: ");
        let reason = reason.and_then(|reason| reason.strip_suffix(')'));
        reason.expect("a failure says so").to_owned()
    }

    pub(crate) async fn pid(&self) -> String {
        self.ok("pid", json!({})).await
    }
}

pub(crate) fn pool(starts_max: usize) -> McpServers {
    let queues = Queues::new([("narrow".into(), 1), ("four".into(), 4)]).expect("they are usable");
    McpServers::new(Arc::new(queues), starts_max)
}

pub(crate) fn command(temp: &TempDir, env: &[(&str, &str)]) -> StdioCommand {
    let file = |name: &str| temp.path().join(name).display().to_string();
    let mut all = BTreeMap::from([
        ("COUNT_FILE".to_owned(), file("count")),
        ("LOG_FILE".to_owned(), file("log")),
        ("EXTRA_TOOLS_FILE".to_owned(), file("tools")),
    ]);
    all.extend(
        env.iter()
            .map(|(name, value)| ((*name).into(), (*value).into())),
    );
    StdioCommand {
        command: env!("CARGO_BIN_EXE_tool_server").into(),
        env: all,
        ..StdioCommand::default()
    }
}

pub(crate) fn server(name: &str, temp: &TempDir, env: &[(&str, &str)]) -> McpServer {
    McpServer::stdio(name, command(temp, env))
}

pub(crate) fn registry(started: McpTools) -> Registry {
    Registry::new(started.tools).expect("the specs are usable")
}

/// Whether a process lives. One that nobody has reaped yet is dead.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits until something is so, which must be soon.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it is never so: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The most memory that this process ever had.
pub(crate) fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it can be read");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    let peak = digits.and_then(|digits| digits.parse().ok());
    peak.expect("a number")
}
