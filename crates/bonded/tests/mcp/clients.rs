//! The official Python client against the real program, over both transports and by both ways to begin.

use std::process::{Command, Stdio};

use crate::installed::installed;
use crate::place::Place;
use crate::served::{Served, report, write_agent};

/// Runs the client's script with a server's address or command; `None` where it is not installed.
fn client(arguments: &[&str], place: &Place) -> Option<(bool, String)> {
    let python = installed("BONDED_MCP_PYTHON")?.join("python");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py");
    let output = Command::new(python)
        .args(["-I", script])
        .args(arguments)
        .env("BONDED_STORE", place.path("store.db"))
        .current_dir(place.work())
        .stdin(Stdio::null())
        .output()
        .expect("the interpreter can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), said))
}

#[test]
fn the_official_client_lists_calls_and_reads_over_stdio() {
    for mode in ["legacy", "auto"] {
        let place = Place::new();
        write_agent(
            &place,
            "agent",
            &[report("Because.")],
            "description: Tests.",
        );
        let agent = place.path("agent.ai").display().to_string();
        let program = env!("CARGO_BIN_EXE_bonded");
        let flags = ["mcp", "--tooling-transport", "native", "--agent", &agent];
        let arguments: Vec<&str> = [mode, program].into_iter().chain(flags).collect();
        if let Some((succeeded, said)) = client(&arguments, &place) {
            assert!(succeeded, "{mode}: {said}");
        }
    }
}

#[test]
fn the_official_client_lists_calls_and_reads_over_http() {
    for mode in ["legacy", "auto"] {
        let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
        let url = format!("http://{}/mcp", served.address);
        if let Some((succeeded, said)) = client(&[mode, &url], &served.place) {
            assert!(succeeded, "{mode}: {said}");
        }
    }
}
