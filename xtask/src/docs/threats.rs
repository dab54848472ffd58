//! `docs/threats.md`: what holds at each door, a table row each, with the tests that hold it.

use std::path::Path;

use super::{named_test, read};
use crate::fault::Fault;

const PAGE: &str = "docs/threats.md";

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let page = read(&root.join(PAGE))?;
    let mut findings = vec![];
    let mut promises = 0;
    for promise in promises_of(&page) {
        promises += 1;
        let tests = named_test::quoted(promise);
        if tests.is_empty() {
            findings.push(format!("{PAGE}: no test holds {:?}", first_cell(promise)));
        }
        for test in tests {
            if !named_test::exists(root, test)? {
                findings.push(format!("{PAGE}: there is no test `{test}`"));
            }
        }
    }
    if promises == 0 {
        findings.push(format!("{PAGE}: it promises nothing"));
    }
    Ok(findings)
}

/// The rows of all tables whose last column is headed `held by`, without the heads.
fn promises_of(page: &str) -> Vec<&str> {
    let mut rows = vec![];
    let mut is_held = false;
    for line in page.lines().map(str::trim) {
        if !line.starts_with('|') {
            is_held = false;
        } else if line.ends_with("| held by |") {
            is_held = true;
        } else if is_held && !line.starts_with("|--") {
            rows.push(line);
        }
    }
    rows
}

fn first_cell(row: &str) -> &str {
    row.trim_matches('|')
        .split('|')
        .next()
        .unwrap_or(row)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_a_row_below_the_head_that_names_what_holds_it() {
        let page = "| who | trusted with |\n|---|---|\n| a model | nothing |\n\n\
                    | attempt | held by |\n|---|---|\n| a link | `a.rs::b` |\n| a pipe | |\n\ntext\n";
        let rows = promises_of(page);
        assert_eq!(rows, ["| a link | `a.rs::b` |", "| a pipe | |"]);
        assert_eq!(first_cell(rows[1]), "a pipe");
    }
}
