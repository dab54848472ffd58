//! The end of servers: with the pool, and with this process, however it ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bonded_tools::mcp::{McpError, McpServer, StdioCommand};
use serde_json::json;

use crate::world::{World, command, is_alive, pool, server, until};

#[tokio::test]
async fn stopping_ends_every_process_of_a_servers_group_and_waits_for_it() {
    let world = World::new(&[("IGNORE_TERM", "1")]).await;
    let pid = world.pid().await;
    let child = stubborn_child(&world.lines("log"));
    assert!(is_alive(&pid) && is_alive(&child));
    world.pool.stop().await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "it is reaped");
    until("the child is dead", || !is_alive(&child)).await;
    let reason = world.fault("pid", json!({})).await;
    assert!(reason.starts_with("mcp_stopped: "), "{reason}");
    let error = world.pool.start(&[server("new", &world.temp, &[])]).await;
    let error = error.expect_err("the pool was stopped").to_string();
    assert_eq!(error, "the MCP servers were stopped");
}

fn stubborn_child(log: &[String]) -> String {
    let line = log.iter().find_map(|line| line.strip_prefix("child "));
    line.expect("it is logged").to_owned()
}

#[tokio::test]
async fn a_server_that_ignores_the_request_to_end_is_killed() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let inner = command(&temp, &[("STAY", "1")]);
    let script = format!(
        "trap '' TERM; echo shell $$ >> $LOG_FILE; {}; true",
        inner.command
    );
    let shell = StdioCommand {
        command: "sh".into(),
        args: vec!["-c".into(), script],
        ..inner
    };
    let pool = pool(1);
    pool.start(&[McpServer::stdio("srv", shell)])
        .await
        .expect("it starts");
    let log = std::fs::read_to_string(temp.path().join("log")).expect("it was written");
    let pid = log.lines().find_map(|line| line.strip_prefix("shell "));
    let pid = pid.expect("it is logged").to_owned();
    let begun = Instant::now();
    pool.stop().await;
    assert!(!is_alive(&pid));
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_secs(10),
        "{took:?}"
    );
}

#[tokio::test]
async fn a_start_that_takes_its_time_does_not_hold_up_the_end() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let pool = pool(1);
    let wanted = [server(
        "srv",
        &temp,
        &[("START_DELAY_MS", "60000"), ("IGNORE_TERM", "1")],
    )];
    let log = temp.path().join("log");
    let begun = Instant::now();
    let stop = async {
        until("the server runs", || log.exists()).await;
        pool.stop().await;
        begun.elapsed()
    };
    let (started, took) = tokio::join!(pool.start(&wanted), stop);
    assert!(matches!(started, Err(McpError::Stopped)), "{started:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    let log = std::fs::read_to_string(log).expect("it was written");
    let child = stubborn_child(&log.lines().map(str::to_owned).collect::<Vec<_>>());
    until("the child is dead", || !is_alive(&child)).await;
}

#[tokio::test]
async fn dropping_the_pool_ends_its_servers() {
    let world = World::new(&[]).await;
    let pid = world.pid().await;
    let World { pool, registry, .. } = world;
    drop(pool);
    until("the server is ended", || !is_alive(&pid)).await;
    drop(registry);
}

/// Set where this test binary is started by the test below, to be killed.
const HOLD: &str = "HOLD_SERVER_IN";

#[tokio::test]
async fn servers_die_with_this_process_even_if_it_is_killed() {
    if let Some(dir) = std::env::var_os(HOLD) {
        return hold(Path::new(&dir)).await;
    }
    let temp = tempfile::tempdir().expect("a temporary directory");
    let mut holder = Command::new(std::env::current_exe().expect("it is known"))
        .args([
            "--exact",
            "stop::servers_die_with_this_process_even_if_it_is_killed",
        ])
        .env(HOLD, temp.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    let told = temp.path().join("pids");
    until("the server runs", || told.exists()).await;
    let pids = std::fs::read_to_string(told).expect("it was written");
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert!(
        pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)),
        "{pids:?}"
    );
    holder.kill().expect("it can be killed");
    holder.wait().expect("it was killed");
    until("the servers are dead", || {
        !pids.iter().any(|pid| is_alive(pid))
    })
    .await;
}

/// Starts a server that does not end with its stdin, tells its processes, and waits to be killed.
async fn hold(dir: &Path) {
    let world = World::new(&[("STAY", "1"), ("IGNORE_TERM", "1")]).await;
    let pids = format!(
        "{} {}",
        world.pid().await,
        stubborn_child(&world.lines("log"))
    );
    std::fs::write(dir.join("new"), pids).expect("it can be written");
    std::fs::rename(dir.join("new"), dir.join("pids")).expect("it can be named");
    std::future::pending::<()>().await;
}
