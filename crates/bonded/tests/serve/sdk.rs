//! The official SDKs against the real server. `cargo xtask test` installs them and says where they are.

use std::path::Path;
use std::process::{Command, Stdio};

use bonded_testkit::installed::{SDK_PYTHON, installed};
use serde_json::{Value, json};

use crate::place::call;
use crate::served::{Served, report};

/// Runs a client's script, unless its SDK is not here and nobody promised it.
fn check(variable: &str, flags: &[&str], script: &str) {
    let Some(program) = installed(variable) else {
        return;
    };
    let fails: Value = json!({ "fail": "auth", "message": "bad key" });
    let fetch = call("fetch", json!({ "url": "a" }));
    let agents = [
        ("answers", vec![report("Because.")]),
        ("fails", vec![fails]),
        ("calls", vec![fetch, report("Because.")]),
    ];
    let served = Served::start(&agents, &["--token", "right"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/serve")
        .join(script);
    let output = Command::new(program)
        .args(flags)
        .arg(script)
        .env("BASE_URL", format!("http://{}/v1", served.address))
        .stdin(Stdio::null())
        .output()
        .expect("the SDK's interpreter can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // Once whole, once streamed, once as a response: no SDK has asked again by itself.
    let failed = served
        .place
        .statuses()
        .iter()
        .filter(|it| *it == "failed")
        .count();
    assert_eq!(failed, 3, "a run that failed was asked for again");
}

#[test]
fn the_python_sdk_finds_models_answers_streams_and_errors_as_it_expects_them() {
    // Isolated, so that the script's own name does not hide the SDK's.
    check(SDK_PYTHON, &["-I"], "openai.py");
}

#[test]
fn the_javascript_sdk_finds_models_answers_streams_and_errors_as_it_expects_them() {
    check("BONDED_SDK_NODE", &[], "openai.mjs");
}
