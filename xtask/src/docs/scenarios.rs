//! `docs/scenarios.md`: a table row for each scenario, with an id of its own and the tests that hold it, or
//! in words why there are none.

use std::collections::BTreeSet;
use std::path::Path;

use super::{named_test, read};
use crate::fault::Fault;

const PAGE: &str = "docs/scenarios.md";

/// Fewer words give no reason.
const REASON_WORDS_MIN: usize = 3;

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let page = read(&root.join(PAGE))?;
    findings(&page, |test| named_test::exists(root, test))
}

fn findings(
    page: &str,
    exists: impl Fn(&str) -> Result<bool, Fault>,
) -> Result<Vec<String>, Fault> {
    let mut findings = vec![];
    let mut ids = BTreeSet::new();
    for (at, line) in page.lines().enumerate() {
        let Some(cells) = cells(line) else { continue };
        let mut found = |what: String| findings.push(format!("{PAGE}:{}: {what}", at + 1));
        let [id, _, held] = cells[..] else {
            found(format!("{} cells, not three", cells.len()));
            continue;
        };
        if !ids.insert(id) {
            found(format!("{id} stands here a second time"));
        }
        let tests = named_test::quoted(held);
        if tests.is_empty() && !is_reason(held) {
            found(format!("{id} names no test and does not say why"));
        }
        for test in tests {
            if !exists(test)? {
                found(format!("{id}: there is no test `{test}`"));
            }
        }
    }
    if ids.is_empty() {
        findings.push(format!("{PAGE}: there is no scenario"));
    }
    Ok(findings)
}

/// The cells of a table's row; none where the line is a head, a rule or no row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let is_rule = cells.iter().all(|cell| cell.trim_matches('-').is_empty());
    let is_head = cells[0] == "id";
    (!is_rule && !is_head).then_some(cells)
}

/// A whole sentence: whatever stands in backticks is a name, and a path alone is none.
fn is_reason(held: &str) -> bool {
    let words = held.split_whitespace();
    words.count() >= REASON_WORDS_MIN && held.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<String> {
        let page = format!("# Scenarios\n| id | given | held by |\n|---|---|---|\n{rows}\n");
        let exists = |test: &str| Ok(test == "crates/x/tests/y.rs::it_holds");
        findings(&page, exists).expect("nothing is read")
    }

    #[test]
    fn a_scenario_names_tests_that_exist_or_says_why_not() {
        for good in [
            "| a-1 | this | `crates/x/tests/y.rs::it_holds` |",
            "| a-1 | this | There are no caches. |",
            "| a-1 | this | Not `so`. `crates/x/tests/y.rs::it_holds` |",
        ] {
            assert_eq!(found(good), [""; 0], "{good}");
        }
    }

    #[test]
    fn a_wrong_row_is_found_with_its_line() {
        let good = "| a-1 | this | There are no caches. |";
        for (bad, what) in [
            ("| a-2 | this | |", "a-2 names no test"),
            ("| a-2 | this | later |", "a-2 names no test"),
            (
                "| a-2 | this | `crates/x/tests/y.rs` |",
                "a-2 names no test",
            ),
            (
                "| a-2 | this | `crates/x/tests/y.rs::gone` |",
                "no test `crates/x/tests/y.rs::gone`",
            ),
            (good, "a-1 stands here a second time"),
            ("| a-2 | this |", "2 cells, not three"),
            (
                "| a-2 | this | There are | no caches. |",
                "4 cells, not three",
            ),
        ] {
            let found = found(&format!("{good}\n{bad}"));
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert!(found[0].starts_with("docs/scenarios.md:5: "), "{found:?}");
            assert!(found[0].contains(what), "{bad}: {found:?}");
        }
    }

    #[test]
    fn a_page_without_scenarios_is_no_page_of_scenarios() {
        assert_eq!(found(""), ["docs/scenarios.md: there is no scenario"]);
    }
}
