//! `docs/scenarios.md`: a table row for each scenario, with an id of its own and the tests that hold it, or
//! in words why there are none.

use std::collections::BTreeSet;
use std::path::Path;

use super::{named_test, read};
use crate::fault::Fault;

const PAGE: &str = "docs/scenarios.md";

/// The scenarios of work items, all of which must be answered: family and members.
const DEMANDED: [(&str, &[&str]); 26] = [
    ("UN-RUN", &["2", "3"]),
    ("UN-REC", &["2", "3"]),
    ("UN-KS", &["1", "2"]),
    ("UN-MRG", &["2", "3"]),
    ("UN-G0", &["3", "4"]),
    ("UN-DAG", &["1", "2"]),
    ("UN-ADM", &["TOOLS"]),
    ("UN", &["TIMEOUT"]),
    (
        "UN-CAP",
        &["01", "03", "04", "05", "06", "07", "08", "10", "12"],
    ),
    ("UN-AG", &["02", "03", "04", "09", "10", "11"]),
    ("UN-WI", &["03", "04", "05", "08"]),
    ("UN-SH", &["01", "02", "03", "04", "05"]),
    ("UN-MG", &["02", "04", "05"]),
    ("UN-AA", &["02", "03"]),
    ("UN-RC", &["01", "02", "03", "04"]),
    ("UN-TD", &["01", "02", "03", "04", "05", "08"]),
    ("UN-GATE", &["01", "02", "03", "04", "05", "06", "07"]),
    ("UN-RCPT", &["01", "02"]),
    ("UN-FZ", &["01", "02", "03", "04"]),
    ("UN-FR", &["01", "03"]),
    ("UN-RPL", &["01", "02", "03"]),
    ("UN-CANON", &["01"]),
    ("UN-WS", &["01", "02", "03", "04"]),
    ("UN-STATE", &["01", "02", "03"]),
    ("UN-ALLOC", &["01"]),
    ("UN-E2E", &["01"]),
];

/// Fewer words give no reason.
const REASON_WORDS_MIN: usize = 3;

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let page = read(&root.join(PAGE))?;
    let mut findings = findings(&page, |test| named_test::exists(root, test))?;
    findings.extend(missing(&page));
    Ok(findings)
}

/// The demanded scenarios that have no row.
fn missing(page: &str) -> Vec<String> {
    let rows = page.lines().filter_map(cells);
    let ids: BTreeSet<&str> = rows.map(|cells| cells[0]).collect();
    let demanded = DEMANDED.iter().flat_map(|(family, members)| {
        let id = move |member: &&str| format!("{family}-{member}");
        members.iter().map(id)
    });
    demanded
        .filter(|id| !ids.contains(id.as_str()))
        .map(|id| format!("{PAGE}: {id} is not answered"))
        .collect()
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
    fn a_demanded_scenario_without_a_row_is_named() {
        let page = "| UN-RUN-2 | this | There is none here. |\n";
        let missing = missing(page);
        assert!(!missing.iter().any(|it| it.contains("UN-RUN-2")));
        assert!(missing.contains(&"docs/scenarios.md: UN-TIMEOUT is not answered".to_owned()));
        assert_eq!(missing.len(), 80);
    }

    #[test]
    fn a_page_without_scenarios_is_no_page_of_scenarios() {
        assert_eq!(found(""), ["docs/scenarios.md: there is no scenario"]);
    }
}
