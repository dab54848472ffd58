//! The public conformance suite for clients, all of its scenarios.

use std::collections::BTreeMap;
use std::process::Command;

use tempfile::TempDir;

use crate::reference::Installed;

/// The scenarios that we refuse, one a line: its name, a colon and the reason.
const REFUSED: &str = include_str!("refused_scenarios.txt");

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
fn the_public_conformance_suite_passes_except_for_what_is_refused_with_a_reason() {
    let Some(installed) = Installed::find() else {
        return;
    };
    let refused: BTreeMap<&str, &str> = REFUSED
        .lines()
        .map(|line| line.split_once(": ").expect("a name and a reason"))
        .collect();
    let scenarios = scenarios(&installed);
    assert!(scenarios.len() >= 26, "{scenarios:?}");
    for name in refused.keys() {
        assert!(scenarios.iter().any(|it| it == name), "{name} is unknown");
    }
    for scenario in scenarios {
        let (passed, told) = passes(&installed, &scenario);
        let is_expected = !refused.contains_key(scenario.as_str());
        assert_eq!(passed, is_expected, "{scenario}: {told}");
    }
}
