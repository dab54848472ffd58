//! Servers that cannot be started: a clear error, bounded memory and time, and nothing left behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_tools::Queues;
use bonded_tools::mcp::{McpServer, McpServers, StdioCommand};

fn pool() -> McpServers {
    let queues = Arc::new(Queues::new([]).expect("the default queue is usable"));
    McpServers::new(queues, 4)
}

fn shell(script: &str) -> StdioCommand {
    StdioCommand {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..StdioCommand::default()
    }
}

/// The error of a server that must not start, whose processes must be gone when it is told.
async fn error_of(command: StdioCommand, timeout_ms: u64) -> String {
    let mut server = McpServer::stdio("srv", command);
    server.start_timeout_ms = timeout_ms;
    let error = pool()
        .start(&[server])
        .await
        .expect_err("it must not start");
    error.to_string()
}

/// Whether a process lives. One that nobody has reaped yet is dead.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with('Z')
}

#[tokio::test]
async fn a_server_that_does_not_start_is_a_clear_error() {
    let say = "echo 'no key in the configuration' >&2;";
    let table = [
        (format!("{say} exit 3"), 20_000, &["exited with code 3", "no key in"][..]),
        ("kill -9 $$".into(), 20_000, &["was ended by signal 9", "nothing on stderr"]),
        (format!("{say} cat >/dev/null"), 300, &["within 300 ms", "no key in"]),
        ("exec 1>&-; sleep 100".into(), 20_000, &["closed its stdout"]),
        (
            "echo 'Listening on :80'; echo '{}'; sleep 100".into(),
            300,
            &["within 300 ms", "2 of its lines on stdout", "Listening on :80"],
        ),
        (
            r#"read l; echo '{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"go away"}}'; cat"#.into(),
            20_000,
            &["refused `initialize`: go away"],
        ),
        (
            r#"read l; echo '{"jsonrpc":"2.0","id":0,"result":{"hello":1}}'; cat"#.into(),
            20_000,
            &["did not answer `initialize` as the protocol requires"],
        ),
    ];
    for (script, timeout_ms, parts) in table {
        let error = error_of(shell(&script), timeout_ms).await;
        for part in parts
            .iter()
            .chain(&["\"srv\"", "(sh)", "run the command by hand"])
        {
            assert!(error.contains(part), "{script}: {part} in {error}");
        }
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_named_with_what_to_do() {
    let command = |command: &str, cwd: Option<&str>| StdioCommand {
        command: command.into(),
        cwd: cwd.map(PathBuf::from),
        ..StdioCommand::default()
    };
    for (command, parts) in [
        (
            command("no-such-program-at-all", None),
            ["no such program", "install it"],
        ),
        (
            command("/", None),
            ["may not be executed", "make it executable"],
        ),
        (
            command("sh", Some("/no/such/dir")),
            ["/no/such/dir is not there", "`cwd`"],
        ),
    ] {
        let name = command.command.clone();
        let error = error_of(command, 1000).await;
        for part in parts.iter().copied().chain(["\"srv\"", name.as_str()]) {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

/// The most memory that this process ever had.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it can be read");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    digits
        .and_then(|digits| digits.parse().ok())
        .expect("a number")
}

#[tokio::test]
async fn a_flood_is_cut_off_early_and_takes_little_memory() {
    let ping = r#"yes '{"jsonrpc":"2.0","id":1,"method":"ping"}'"#;
    for (script, timeout_ms, part) in [
        (
            "yes 'all work and no play' | head -c 1000000000",
            60_000,
            "that are not messages",
        ),
        (
            "tr '\\0' x < /dev/zero | head -c 100000000; sleep 100",
            60_000,
            "a line of more than",
        ),
        (ping, 1000, "within 1000 ms"),
        (
            "yes noise >&2 & sleep 0.3; exit 4",
            60_000,
            "exited with code 4",
        ),
    ] {
        let before_kb = peak_kb();
        let error = error_of(shell(script), timeout_ms).await;
        assert!(error.contains(part), "{script}: {error}");
        assert!(error.len() < 10_000, "{script}: {}", error.len());
        let grown_kb = peak_kb().saturating_sub(before_kb);
        assert!(grown_kb < 150_000, "{script}: {grown_kb} KB");
    }
}

#[tokio::test]
async fn no_process_is_left_of_a_server_that_did_not_start() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let pids = temp.path().join("pids");
    let script = format!(
        "echo $$ >> {0}; sh -c 'trap \"\" TERM; echo $$ >> {0}; sleep 1000' & trap '' TERM; sleep 1000",
        pids.display()
    );
    let begun = Instant::now();
    error_of(shell(&script), 500).await;
    assert!(
        begun.elapsed() >= Duration::from_millis(2500),
        "it had its grace"
    );
    let pids = read_lines(&pids);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        assert!(!is_alive(&pid), "{pid}");
        assert!(!Path::new(&format!("/proc/{pid}")).exists() || !is_alive(&pid));
    }
}

fn read_lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("it was written");
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_is_not_required_is_a_warning_and_a_bad_queue_is_an_error() {
    let mut server = McpServer::stdio("srv", shell("exit 1"));
    server.required = false;
    let started = pool()
        .start(&[server.clone()])
        .await
        .expect("it is not required");
    assert_eq!((started.tools.len(), started.warnings.len()), (0, 1));
    assert!(
        started.warnings[0].ends_with("; it is left out"),
        "{started:?}"
    );
    server.required = true;
    server.queue = Some("gone".into());
    let error = pool()
        .start(&[server.clone()])
        .await
        .expect_err("there is no such queue");
    assert!(error.to_string().contains("\"gone\""), "{error}");
    server.name = "a b".into();
    let error = pool()
        .start(&[server])
        .await
        .expect_err("the name is not usable");
    assert!(error.to_string().contains("\"a b\""), "{error}");
}
