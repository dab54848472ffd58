//! Everything that must hold before a change is good: the one command that a person and CI run.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::clients;
use crate::debian;
use crate::dependencies;
use crate::docs;
use crate::fault::Fault;
use crate::mcp_servers;
use crate::programs::{self, Setting};
use crate::retry;
use crate::sdk;
use crate::stage::{cargo, run, stage};

/// Worlds that are simulated in [`check`].
const CHECK_WORLDS: &str = "200";

/// The tests of what is pure, and those that simulate worlds around it, by their targets.
const RULES: [&str; 4] = ["kernel", "simulation", "work_rules", "workspace_rules"];

/// Worlds that are simulated in `test`; `test --all` leaves it to the simulation, which takes minutes.
const TEST_WORLDS: &str = "1000";

/// Tests of each program that `test` runs at once: most wait for processes. `test --all` has cargo's own number, because its
/// tests that measure and kill do so beside others.
const THREADS: &str = "3";

/// Tests by their targets that kill and attack the program again and again, start browsers, or need what others published:
/// `test` leaves them to `test --all`.
const LONG: [&str; 9] = [
    "attack",
    "crash",
    "crash_everywhere",
    "pages",
    "sdk_types",
    "signals",
    "soak",
    "work_crash",
    "workspace_crash",
];

/// Tests by the beginning of their names that take twenty seconds and more each, in a debug build: ten megabytes through
/// everything, hundreds of turns, every model of every family, every option in every place, a second build, another's
/// whole suite, nights of schedules. `test` leaves them to `test --all` too.
const LONG_TESTS: [&str; 19] = [
    "absurd::a_report_of_ten_megabytes",
    "absurd::a_usage_that_is_a_lie",
    "absurd::an_answer_of_ten_megabytes",
    "absurd::ten_megabytes",
    "clock::",
    "conformance::the_public_conformance_suite",
    "endings::four_hundred_turns",
    "help::every_example_of_every_help",
    "hostile::every_hostile_request",
    "hostile_replies::no_reply_costs",
    "limits::every_limit_ends_the_run",
    "options::what_a_provider_is_sent",
    "options::what_bounds_a_run",
    "replay_differs::",
    "rest_openapi_bounds::a_document_that_grows",
    "schedules::an_hour_that",
    "schemas::the_schema_of",
    "tree_copies_random::",
    "wires::",
];

/// What a person runs again and again while they work.
pub(crate) fn check() -> Result<(), Fault> {
    stage("format", || run(cargo(["fmt", "--all", "--check"])))?;
    stage("lints", lints)?;
    stage("unit tests, the rules, simulated worlds", || {
        // All in one command over the whole workspace: for some packages alone cargo builds their dependencies once
        // more, with other features.
        let mut tests = cargo(["test", "--workspace", "--lib", "--bins"]);
        for name in RULES {
            tests.args(["--test", name]);
        }
        tests.env("BONDED_SIM_SEEDS", CHECK_WORLDS);
        run(tests)
    })
}

/// `test`, and `test --all`.
pub(crate) fn test(words: &[String]) -> Result<(), Fault> {
    let is_all = match words {
        [] => false,
        [all] if all == "--all" => true,
        [other, ..] => {
            let why = format!("there is no option {other:?} here; `cargo xtask help` lists them");
            return Err(Fault::Usage { why });
        }
    };
    stage("what the tests need", || {
        prerequisites()?;
        debian::BUBBLEWRAP.install()?;
        debian::CHROMIUM.install()?;
        debian::POSTGRES.install()?;
        debian::PGBOUNCER.install()?;
        debian::Prometheus::install()
    })?;
    stage("format", || run(cargo(["fmt", "--all", "--check"])))?;
    let mut tests = Setting {
        variables: cargo([]),
        arguments: vec![],
        spares: is_all,
    };
    let mut build = cargo(["test", "--workspace", "--no-run"]);
    if !is_all {
        tests.variables.env("BONDED_SIM_SEEDS", TEST_WORLDS);
        tests.variables.env("RUST_TEST_THREADS", THREADS);
        for name in LONG_TESTS {
            tests
                .arguments
                .extend(["--skip".to_owned(), name.to_owned()]);
        }
        build.args(["--lib", "--bins"]);
        for name in test_targets()?
            .iter()
            .filter(|it| !LONG.contains(&it.as_str()))
        {
            build.args(["--test", name]);
        }
    }
    let mut programs = vec![];
    let fetch = || {
        stage("client SDKs and MCP servers", || {
            fetch(&mut tests.variables)
        })
    };
    beside(fetch, || {
        stage("lints", lints)?;
        stage("dependencies", dependencies::check)?;
        stage("build of the tests", || {
            programs = programs::built(build)?;
            Ok(())
        })
    })?;
    stage("tests", || retry::test(programs, &tests))?;
    if is_all {
        let examples = cargo(["test", "--workspace", "--doc"]);
        let examples = || stage("examples in comments", || run(examples));
        // The examples of one crate are looked for after those of another.
        beside(examples, || stage("rustdoc", rustdoc))?;
    }
    stage("docs", docs::check)
}

/// Does two things at once. Both come to their ends.
fn beside(
    one: impl FnOnce() -> Result<(), Fault> + Send,
    other: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join().unwrap_or_else(|panic| resume_unwind(panic));
        other.and(one)
    })
}

/// What waits for the network more than for a processor.
fn fetch(variables: &mut Command) -> Result<(), Fault> {
    let sdks = sdk::install()?;
    sdks.tell(variables);
    mcp_servers::install(&sdks)?.tell(variables);
    clients::install(&sdks)?.tell(variables);
    Ok(())
}

/// A link in a doc comment that leads nowhere is a sentence that is not true.
fn rustdoc() -> Result<(), Fault> {
    let mut doc = cargo(["doc", "--workspace", "--no-deps", "--lib", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)
}

fn lints() -> Result<(), Fault> {
    let words = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run(cargo(words))
}

/// The names of all integration tests: a file or a directory with a `main.rs` below a crate's `tests`.
fn test_targets() -> Result<BTreeSet<String>, Fault> {
    let mut names = BTreeSet::new();
    for tests in listed(&crate::root().join("crates"))? {
        for path in listed(&tests.join("tests"))? {
            let is_target =
                path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").is_file();
            let name = path.file_stem().and_then(|name| name.to_str());
            names.extend(name.filter(|_| is_target).map(str::to_owned));
        }
    }
    Ok(names)
}

/// What lies in a directory; nothing where there is none.
fn listed(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let failed = |source| Fault::File {
        path: dir.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.map_err(failed)?,
    };
    entries
        .map(|entry| Ok(entry.map_err(failed)?.path()))
        .collect()
}

/// The tests need the toolchain, git, a POSIX shell, Python, bubblewrap, Chromium, PostgreSQL, pgbouncer and Prometheus, and
/// once the network, for the SDKs;
/// all that is missing and cannot be installed is named at once.
fn prerequisites() -> Result<(), Fault> {
    let needed: [(&str, &[&str], &str); 5] = [
        (
            "python3",
            &["-c", "import tomllib, venv"],
            "the client SDKs are installed with it: 3.11 or later, with venv",
        ),
        (
            "git",
            &["--version"],
            "the demo makes its scratch repository with it",
        ),
        (
            "sh",
            &["-c", "exit 0"],
            "the `run` tool starts its commands with it",
        ),
        (
            "cargo",
            &["fmt", "--version"],
            "`rustup component add rustfmt` installs it",
        ),
        (
            "cargo",
            &["clippy", "--version"],
            "`rustup component add clippy` installs it",
        ),
    ];
    let findings: Vec<String> = needed
        .iter()
        .filter(|(program, words, _)| !answers(program, words))
        .map(|(program, words, why)| {
            format!("`{program} {}` does not work: {why}", words.join(" "))
        })
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Fault::Found { findings })
    }
}

fn answers(program: &str, words: &[&str]) -> bool {
    let silent = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}
