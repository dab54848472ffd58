//! The protocol's official library, which checks every message against its own schema. `cargo xtask test` installs it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::editor::words;
use crate::installed::installed;
use crate::place::{Place, call, program, with};

#[test]
fn the_official_library_converses_approves_stops_and_loads() {
    let Some(clients) = installed("BONDED_CLIENTS") else {
        return;
    };
    let place = Place::new();
    let script = place.script(&[
        with(
            call("write", json!({ "path": "a.txt", "content": "one\n" })),
            "text",
            "I write it.",
        ),
        words("It is written."),
        call("run", json!({ "command": "sleep 600" })),
        words("Hello again."),
    ]);
    let program_of_the_client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/editor.mjs");
    let output = Command::new("node")
        .arg(program_of_the_client)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.path("home"))
        .env(
            "LIBRARY",
            clients.join("@agentclientprotocol/sdk/dist/v1/stable/acp.js"),
        )
        .env("BONDED", program())
        .env("BONDED_STORE", place.store())
        .env("MODEL", script)
        .env("WORK", place.work())
        .stdin(Stdio::null())
        .output()
        .expect("node can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{errors}");
    let written = std::fs::read_to_string(place.work().join("a.txt"));
    assert_eq!(written.ok().as_deref(), Some("one\n"));
}
