//! Requests against the official SDKs' own request types, at the versions that are pinned or at the newest, and against a
//! strict provider that refuses what services are known to refuse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::root;
use crate::sdk;
use crate::stage::{cargo, run, shown, stage};

/// What is fetched in its newest version.
const SDKS: [&str; 3] = ["openai", "anthropic", "google-genai"];

/// The tests of `bonded-transport` that hold requests to the SDKs' types.
const HOLDING: [&str; 9] = [
    "accepted",
    "accepts",
    "encode",
    "fallover",
    "fit",
    "responses_go_back",
    "returned",
    "sdk_types",
    "thinking",
];

pub(crate) fn check(words: &[String]) -> Result<(), Fault> {
    match words {
        [] => types(None),
        [word] if word == "--models" => models(),
        [word] if word == "--newest" => newest(),
        _ => Err(Fault::Usage {
            why: "wires takes --models or --newest alone; `cargo xtask help` lists them".into(),
        }),
    }
}

/// Holds requests to the types of the pinned SDKs, or of another interpreter's.
fn types(python: Option<&Path>) -> Result<(), Fault> {
    let mut tests = cargo(["test", "--package", "bonded-transport", "--no-fail-fast"]);
    tests.args(HOLDING.iter().flat_map(|name| ["--test", name]));
    sdk::install()?.tell(&mut tests);
    if let Some(python) = python {
        tests.env("BONDED_SDK_PYTHON", python);
    }
    stage("requests against the SDKs' types", || run(tests))
}

/// Has the real program ask every model in every mode, and lists what is refused.
fn models() -> Result<(), Fault> {
    let mut tests = cargo(["test", "--package", "bonded", "--test", "agent", "wires::"]);
    tests.args(["--", "--include-ignored", "--nocapture"]);
    sdk::install()?.tell(&mut tests);
    stage("models of every family", || run(tests))
}

/// The same types in the newest SDKs, and what changed in them since the pinned ones.
fn newest() -> Result<(), Fault> {
    let dir = root().join("target/sdk-newest");
    let python = dir.join("bin/python");
    stage("install the newest SDKs", || install(&dir, &python))?;
    let pinned = described(&sdk::install()?.python(), &dir.join("pinned.json"))?;
    let newest = described(&python, &dir.join("newest.json"))?;
    stage("what changed in the types", || {
        let mut compare = program(&python);
        compare.arg(pinned).arg(newest);
        run(compare)
    })?;
    types(Some(&python))
}

fn install(dir: &Path, python: &Path) -> Result<(), Fault> {
    if !python.exists() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(dir);
        run(venv)?;
    }
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade"])
        .args(["--upgrade-strategy", "eager"])
        .args(SDKS);
    run(pip)
}

/// The program that describes types, and compares descriptions.
fn program(python: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .arg("-B")
        .arg(root().join("xtask/wires/changes.py"))
        .current_dir(root());
    command
}

/// Writes down what the types of an interpreter's SDKs are.
fn described(python: &Path, file: &Path) -> Result<PathBuf, Fault> {
    let mut describe = program(python);
    let output = describe.output().map_err(|source| Fault::Missing {
        program: python.display().to_string(),
        source,
    })?;
    if !output.status.success() {
        return Err(Fault::Failed {
            command: shown(&describe),
            status: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    fs::write(file, output.stdout).map_err(Fault::file(file))?;
    Ok(file.to_owned())
}
