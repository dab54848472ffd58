//! Tests that a page names in backticks, as `crate::path::test` or `crates/x/tests/file.rs::test`.

use std::path::Path;

use super::{files_below, read};
use crate::fault::Fault;

/// The tests that a piece of a page names.
pub(super) fn quoted(text: &str) -> Vec<&str> {
    // Every second piece between backticks is inside a pair.
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.contains("::")).collect()
}

/// Whether the sources hold a function of the test's name, where the test is said to be.
pub(super) fn exists(root: &Path, test: &str) -> Result<bool, Fault> {
    let Some((place, name)) = test.rsplit_once("::") else {
        return Ok(false);
    };
    let sources = if place.ends_with(".rs") {
        vec![root.join(place)]
    } else {
        let package = place.split("::").next().unwrap_or(place).replace('_', "-");
        let short = package.strip_prefix("bonded-").unwrap_or(&package);
        let dir = root.join("crates").join(short);
        if !dir.is_dir() {
            return Ok(false);
        }
        files_below(&dir, ".rs")?
    };
    for source in sources.iter().filter(|source| source.is_file()) {
        if defines(&read(source)?, name) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn defines(source: &str, name: &str) -> bool {
    source.split("fn ").skip(1).any(|rest| {
        rest.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        let source = "#[test]\nfn the_log_is_kept() {}";
        assert!(defines(source, "the_log_is_kept"));
        assert!(!defines(source, "the_log"));
        assert!(!defines(source, "log_is_kept"));
    }

    #[test]
    fn what_is_quoted_is_a_test_if_it_has_a_path() {
        let text = "Not `batch`. `crates/x/tests/y.rs::z`, `a::b` and c::d";
        assert_eq!(quoted(text), ["crates/x/tests/y.rs::z", "a::b"]);
    }
}
