//! The pages in a real browser: each file of `crates/pages/tests-browser` against a `bonded ui` of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};

use bonded_testkit::installed::installed;
use bonded_testkit::place::program;

/// Two browsers at a time: each has processes of its own, and more of them only wait for each other.
static PLACES: Mutex<usize> = Mutex::new(2);
static LEFT: Condvar = Condvar::new();

/// One of the places for a browser. Whoever comes takes the one that is free first.
struct Place;

impl Place {
    fn take() -> Self {
        let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = LEFT
            .wait_while(places, |it| *it == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *places -= 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *PLACES.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        LEFT.notify_one();
    }
}

/// A check that takes longer has hung.
const CHECK_MS_MAX: u32 = 240_000;

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pages")
}

/// Node, among the packages that drive the browser; `None` where they are not here and nobody promised them.
fn node() -> Option<Command> {
    let mut node = Command::new(installed("BONDED_SDK_NODE")?);
    node.current_dir(installed("BONDED_SDK_JS")?)
        .env("CHROMIUM", installed("BONDED_CHROMIUM")?)
        .env("BONDED", program())
        // How fast pages are is measured by hand on a quiet machine; here only one that freezes fails.
        .env("SLACK", "10")
        .env("DISCONNECTS", "40")
        .stdin(Stdio::null());
    Some(node)
}

/// Runs the checks of a file. Each one that fails is named, with what it found. A browser on a machine that is busy with
/// others can be late by more than any patience, so that what fails is tried once more: what is broken fails again.
#[track_caller]
fn check(name: &str) {
    let _place = Place::take();
    for is_last in [false, true] {
        let Some(output) = checked(name) else {
            return;
        };
        if output.status.success() {
            return;
        }
        assert!(!is_last, "{}", failures(&output));
    }
}

fn checked(name: &str) -> Option<Output> {
    let mut node = node()?;
    let node = node
        .args(["--test-reporter=tap", "--test-force-exit"])
        .arg(format!("--test-timeout={CHECK_MS_MAX}"))
        .arg(pages().join("tests-browser").join(file_of(name)));
    Some(node.output().expect("node can be started"))
}

fn file_of(name: &str) -> String {
    let path = name.replacen("workspace_", "workspace/", 1);
    format!("{}.test.mjs", path.replace('_', "-"))
}

/// The part of the report that is about checks that failed; all of it where there is none.
fn failures(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    let mut found = String::new();
    let mut is_failure = false;
    for line in said.lines() {
        if line.starts_with("ok ") || line.starts_with("# Subtest") {
            is_failure = false;
        }
        if line.starts_with("not ok ") {
            is_failure = true;
        }
        if is_failure {
            found.push_str(line);
            found.push('\n');
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    match found.is_empty() {
        true => format!("{said}\n{errors}"),
        false => format!("{found}\n{errors}"),
    }
}

/// The files of checks in a directory, each named from the directory of all of them.
fn files_in(inner: &'static str) -> impl Iterator<Item = String> {
    std::fs::read_dir(pages().join("tests-browser").join(inner))
        .expect("the checks are there")
        .map(|entry| entry.expect("an entry").file_name())
        .map(move |name| format!("{inner}{}", name.to_string_lossy()))
        .filter(|name| name.ends_with(".test.mjs"))
}

macro_rules! checks {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_file_of_checks_is_run() {
            let named: BTreeSet<String> = [$(stringify!($name)),*].map(file_of).into();
            let found: BTreeSet<String> = files_in("").chain(files_in("workspace/")).collect();
            assert_eq!(named, found);
        }
    };
}

checks![
    access,
    compare,
    hostile,
    inbox,
    libraries,
    real_inbox,
    real_list,
    real_run,
    real_size,
    real_work,
    run,
    runs,
    size,
    states,
    verify,
    work,
    workspace_access,
    workspace_agent,
    workspace_automation,
    workspace_libraries,
    workspace_merge,
    workspace_notes,
    workspace_notes_states,
    workspace_people,
    workspace_rows,
    workspace_rules,
    workspace_signin,
    workspace_together,
];

/// The scenarios that people walk through in a browser are checks of the same name, and the other way round.
#[test]
fn every_scenario_of_the_browser_is_a_check() {
    let page = include_str!("../../../../docs/scenarios.md");
    let told = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let told: BTreeSet<&str> = told.filter(|it| it.starts_with("E2E-")).collect();
    let file = pages().join("tests-browser/workspace/rows.test.mjs");
    let checks = std::fs::read_to_string(file).expect("the checks are there");
    let checked = checks.split("row('").skip(1);
    let checked: BTreeSet<&str> = checked.filter_map(|it| it.split('\'').next()).collect();
    assert_eq!(told, checked);
}

#[test]
fn the_types_of_the_app_hold() {
    let Some(mut node) = node() else {
        return;
    };
    let output = node
        .arg("node_modules/typescript/bin/tsc")
        .arg("--project")
        .arg(pages().join("tsconfig.json"))
        .output()
        .expect("node can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
