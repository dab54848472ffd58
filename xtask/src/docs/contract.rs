//! `docs/contract.md`: a table row for each clause, which names in backticks the tests that hold it.

use std::path::Path;

use super::{named_test, read};
use crate::fault::Fault;

/// The clauses that must be listed, each with a test: family and last number.
const CLAUSES: [(&str, u32); 3] = [("RX", 21), ("AIA", 42), ("RUN", 12)];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let page = read(&root.join("docs/contract.md"))?;
    let rows = rows(&page);
    let ids = CLAUSES
        .iter()
        .flat_map(|(family, last)| (1..=*last).map(move |number| format!("{family}-{number}")));
    let mut findings: Vec<String> = ids
        .filter(|id| !rows.iter().any(|row| row.id == id && !row.tests.is_empty()))
        .map(|id| format!("docs/contract.md: {id} names no test"))
        .collect();
    for row in &rows {
        for test in &row.tests {
            if !named_test::exists(root, test)? {
                findings.push(format!(
                    "docs/contract.md: {}: there is no test `{test}`",
                    row.id
                ));
            }
        }
    }
    Ok(findings)
}

#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    id: &'a str,
    tests: Vec<&'a str>,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let rows = page.lines().filter_map(|line| {
        let cells = line.trim().strip_prefix('|')?;
        let id = cells.split('|').next()?.trim().trim_matches('`');
        let (family, number) = id.split_once('-')?;
        let is_clause = !family.is_empty()
            && family.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.parse::<u32>().is_ok();
        let tests = named_test::quoted(cells);
        is_clause.then_some(Row { id, tests })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_clause_with_the_tests_that_it_quotes() {
        let page = "| id | clause | tests |\n|---|---|---|\n\
                    | RX-1 | no `free text` | `bonded_kernel::a::b`, `crates/x/tests/y.rs::z` |\n\
                    | RX-2 | nothing here | |\n\
                    text about RX-3 `a::b`\n";
        let expected = [
            Row {
                id: "RX-1",
                tests: vec!["bonded_kernel::a::b", "crates/x/tests/y.rs::z"],
            },
            Row {
                id: "RX-2",
                tests: vec![],
            },
        ];
        assert_eq!(rows(page), expected);
    }
}
