//! The reference servers of MCP, as their users start them.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bonded_kernel::{Limits, Mask, Outcome};
use bonded_testkit::installed::installed;
use bonded_tools::mcp::{HttpEndpoint, McpServer, McpTransport, StdioCommand};
use serde_json::{Value, json};

use crate::world::{invocation, pool, registry, until};

/// Where `cargo xtask` has put what these tests need.
pub(crate) struct Installed {
    pub(crate) node: PathBuf,
    js: PathBuf,
    python: PathBuf,
}

impl Installed {
    /// `None`, and a word about it, where nothing is installed.
    pub(crate) fn find() -> Option<Self> {
        Some(Self {
            node: installed("BONDED_SDK_NODE")?,
            js: installed("BONDED_MCP_JS")?,
            python: installed("BONDED_MCP_PYTHON")?,
        })
    }

    pub(crate) fn script(&self, package: &str) -> String {
        let package = self.js.join("@modelcontextprotocol").join(package);
        package.join("dist/index.js").display().to_string()
    }

    fn js(&self, package: &str, args: &[&str], env: &[(&str, &Path)]) -> StdioCommand {
        let args = args.iter().map(|arg| (*arg).to_owned());
        let env = env.iter();
        StdioCommand {
            command: self.node.display().to_string(),
            args: std::iter::once(self.script(package)).chain(args).collect(),
            env: env
                .map(|(name, path)| ((*name).to_owned(), path.display().to_string()))
                .collect(),
            cwd: None,
            sandbox: None,
        }
    }

    fn python(&self, program: &str, args: &[&str]) -> StdioCommand {
        StdioCommand {
            command: self.python.join(program).display().to_string(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..StdioCommand::default()
        }
    }
}

/// Calls tools in turn: each with a part of its output, which must be a success.
async fn check(mut server: McpServer, calls: &[(&str, Value, &str)]) {
    server.name = "ref".into();
    server.start_timeout_ms = 60_000;
    let pool = pool(1);
    let registry = registry(pool.start(&[server]).await.expect("it starts"));
    for (tool, arguments, part) in calls {
        let call = invocation(
            &registry,
            &Limits::default(),
            &format!("ref__{tool}"),
            arguments,
        );
        let output = registry.invoke(&call, &Mask::default()).await;
        assert_eq!(output.outcome, Outcome::Ok, "{tool}: {}", output.text);
        assert!(
            output.text.contains(part),
            "{tool}: {part} in {}",
            output.text
        );
    }
    pool.stop().await;
}

fn everything() -> [(&'static str, Value, &'static str); 4] {
    let weather = json!({ "location": "Chicago" });
    [
        ("echo", json!({ "message": "through" }), "through"),
        ("get-sum", json!({ "a": 20, "b": 22 }), "42"),
        ("get-tiny-image", json!({}), "[image 1: image/png"),
        ("get-structured-content", weather, "temperature"),
    ]
}

#[tokio::test]
async fn the_reference_servers_are_used_over_stdio() {
    let Some(installed) = Installed::find() else {
        return;
    };
    let temp = tempfile::tempdir().expect("a temporary directory");
    let root = temp.path().canonicalize().expect("it is there");
    std::fs::write(root.join("a.txt"), "hello from a file").expect("it is written");
    repository(&root);
    let root = root.display().to_string();
    check(
        McpServer::stdio("ref", installed.js("server-everything", &["stdio"], &[])),
        &everything(),
    )
    .await;
    let file = format!("{root}/a.txt");
    check(
        McpServer::stdio("ref", installed.js("server-filesystem", &[&root], &[])),
        &[
            (
                "read_text_file",
                json!({ "path": file }),
                "hello from a file",
            ),
            ("list_directory", json!({ "path": root }), "a.txt"),
        ],
    )
    .await;
    let entity = json!({ "entities": [{ "name": "bond", "entityType": "agent", "observations": ["kept"] }] });
    let memory_file = temp.path().join("memory.json");
    check(
        McpServer::stdio(
            "ref",
            installed.js("server-memory", &[], &[("MEMORY_FILE_PATH", &memory_file)]),
        ),
        &[
            ("create_entities", entity, "bond"),
            ("search_nodes", json!({ "query": "kept" }), "bond"),
        ],
    )
    .await;
    check(
        McpServer::stdio(
            "ref",
            installed.python("mcp-server-git", &["--repository", &root]),
        ),
        &[("git_status", json!({ "repo_path": root }), "a.txt")],
    )
    .await;
    check(
        McpServer::stdio(
            "ref",
            installed.python("mcp-server-time", &["--local-timezone", "UTC"]),
        ),
        &[("get_current_time", json!({ "timezone": "UTC" }), "UTC")],
    )
    .await;
}

fn repository(root: &Path) {
    let made = Command::new("git")
        .arg("init")
        .arg("--quiet")
        .arg(root)
        .status();
    assert!(made.expect("git is there").success());
}

/// A server in a process of its own, which ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Starts a program that listens on a port of this machine, and waits until it does.
async fn listening(mut command: Command, port: u16) -> Running {
    let server = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let running = Running(server.expect("the program is there"));
    until("it listens", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    })
    .await;
    running
}

fn at(url: String) -> HttpEndpoint {
    HttpEndpoint {
        url,
        ..HttpEndpoint::default()
    }
}

#[tokio::test]
async fn a_reference_server_is_used_over_http_and_over_the_older_stream_of_events() {
    let Some(installed) = Installed::find() else {
        return;
    };
    for (transport, path) in [("streamableHttp", "mcp"), ("sse", "sse")] {
        let port = free_port();
        let mut command = Command::new(&installed.node);
        command
            .arg(installed.script("server-everything"))
            .arg(transport)
            .env("PORT", port.to_string());
        let _running = listening(command, port).await;
        let endpoint = at(format!("http://127.0.0.1:{port}/{path}"));
        let transport = match transport {
            "sse" => McpTransport::Sse(endpoint),
            _ => McpTransport::Http(endpoint),
        };
        check(McpServer::new("ref", transport), &everything()).await;
    }
}
