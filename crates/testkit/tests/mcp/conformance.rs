//! The public conformance suite for clients, all of its scenarios.

use std::process::Command;

use tempfile::TempDir;

use crate::reference::Installed;

/// How many scenarios the suite has for clients: all must pass.
const SCENARIOS: usize = 26;

fn suite(installed: &Installed, args: &[&str]) -> (bool, String) {
    let temp = TempDir::new().expect("a temporary directory");
    let output = Command::new(&installed.node)
        .arg(installed.script("conformance"))
        .args(args)
        .current_dir(temp.path())
        .output()
        .expect("node is there");
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.success(), told)
}

/// The names of the suite itself: one that a later version adds is run too.
fn scenarios(installed: &Installed) -> Vec<String> {
    let (_, told) = suite(installed, &["list", "--client"]);
    let lines = told.lines().filter_map(|line| line.strip_prefix("  - "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Whether the suite finds nothing, not even something to warn of.
fn passes(installed: &Installed, scenario: &str) -> (bool, String) {
    let command = env!("CARGO_BIN_EXE_conformance_client");
    let args = ["client", "--command", command, "--scenario", scenario];
    let (is_good, told) = suite(installed, &[&args[..], &["--verbose"]].concat());
    let is_clean = !told.contains("\"FAILURE\"") && !told.contains("\"WARNING\"");
    (is_good && is_clean, told)
}

#[test]
fn the_public_conformance_suite_finds_nothing_in_any_scenario() {
    let Some(installed) = Installed::find() else {
        return;
    };
    let scenarios = scenarios(&installed);
    assert_eq!(scenarios.len(), SCENARIOS, "{scenarios:?}");
    for scenario in scenarios {
        let (passed, told) = passes(&installed, &scenario);
        assert!(passed, "{scenario}: {told}");
    }
}
