//! Names as labels: few and short, although strangers may choose them.
//!
//! Prometheus keeps a series for every value of a label. Names of tools and models come from files, servers and
//! providers, and names of queues from submitters: each kind of name has room for so many, and what comes later is
//! counted as `other`.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

/// How many names a kind may have.
const NAMES_MAX: usize = 64;
/// Longer names are told apart by nobody.
const NAME_BYTES_MAX: usize = 64;
/// For all others.
pub(crate) const OTHER: &str = "other";

/// The names of one kind that were seen first.
#[derive(Debug, Default)]
pub(crate) struct Labels(RwLock<BTreeSet<String>>);

impl Labels {
    /// The name, if it is one of the few.
    pub(crate) fn of<'a>(&self, name: &'a str) -> &'a str {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return OTHER;
        }
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (is_known, is_full) = (known.contains(name), known.len() >= NAMES_MAX);
        drop(known);
        match (is_known, is_full) {
            (true, _) => name,
            (false, true) => OTHER,
            (false, false) => self.admit(name),
        }
    }

    /// Others may have come meanwhile.
    fn admit<'a>(&self, name: &'a str) -> &'a str {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NAMES_MAX && !known.contains(name) {
            return OTHER;
        }
        known.insert(name.to_owned());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_labels_and_all_others_are_one() {
        let labels = Labels::default();
        for n in 0..NAMES_MAX {
            let name = format!("tool-{n}");
            assert_eq!(labels.of(&name), name);
        }
        assert_eq!(labels.of("one-too-many"), OTHER);
        assert_eq!(labels.of("tool-7"), "tool-7", "a known one stays");
        assert_eq!(labels.of(&"x".repeat(NAME_BYTES_MAX + 1)), OTHER);
        assert_eq!(labels.of(""), OTHER);
    }
}
