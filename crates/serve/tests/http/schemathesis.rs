//! The server against its own OpenAPI document, with requests that a tool makes up: none may fail the server, and every
//! answer has the shape that was promised. `cargo xtask test` installs the tool, `cargo xtask schemathesis` lets it try
//! for longer.

use std::process::{Command, Stdio};

use bonded_testkit::installed::{SDK_PYTHON, installed};
use serde_json::json;

use crate::server::Server;

/// How many requests are made up for each route, beside those at the edges of what the document allows.
const EXAMPLES: &str = "3";

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance,unsupported_method";

#[test]
fn made_up_requests_never_fail_the_server_and_are_answered_as_promised() {
    let Some(python) = installed(SDK_PYTHON) else {
        return;
    };
    let tool = python.with_file_name("schemathesis");
    let server = Server::with_config(&json!({ "server": { "writes_per_second_max": 100_000 } }));
    let url = format!("http://{}/api/openapi.json", server.address);
    let header = server.owner.headers().trim().to_owned();
    let examples = std::env::var("BONDED_SCHEMATHESIS_EXAMPLES");
    let examples = examples.as_deref().unwrap_or(EXAMPLES);
    let output = Command::new(tool)
        .args(["run", &url, "--header", &header, "--checks", CHECKS])
        .args(["--phases", "coverage,fuzzing", "--max-examples", examples])
        .args([
            "--generation-deterministic",
            "--suppress-health-check",
            "all",
        ])
        .args(["--request-timeout", "60", "--warnings", "off", "--no-color"])
        .current_dir(server.place.work())
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the tool can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("passed"), "{said}");
    assert_eq!(server.nobody().get("/readyz").status, 200);
}
