//! Two texts compared line by line: for calls that wait for a person, and for versions of a note.
//!
//! One comparison for all, by one algorithm and on numbers: what the library makes of each kind of text and each algorithm
//! would be more than a megabyte of the program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, DiffableStr as _, group_diff_ops};

/// A coarser comparison is as true.
const COMPARED_TIME: Duration = Duration::from_millis(500);
/// Equal lines around what differs.
const CONTEXT_LINES: usize = 3;

/// What differs.
#[derive(Debug)]
pub struct LineDiff<'a> {
    pub hunks: Vec<LineHunk<'a>>,
    /// Whether there was time to find the smallest difference.
    pub is_exact: bool,
}

/// Lines that differ, with the equal ones around them.
#[derive(Debug)]
pub struct LineHunk<'a> {
    /// As in every unified diff: `@@ -1,3 +1,4 @@`.
    pub header: String,
    /// The first line in the old text and in the new one, from 1.
    pub first: (usize, usize),
    pub lines: Vec<LineChange<'a>>,
}

/// A line with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// Compares two texts.
pub fn line_diff<'a>(old: &'a str, new: &'a str) -> LineDiff<'a> {
    let begun = Instant::now();
    let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
    let ops = compared(&old, &new, begun + COMPARED_TIME);
    let is_exact = begun.elapsed() < COMPARED_TIME;
    let hunks = group_diff_ops(ops, CONTEXT_LINES)
        .iter()
        .filter_map(|ops| hunk(ops, &old, &new))
        .collect();
    LineDiff { hunks, is_exact }
}

/// How many lines come, and how many go.
pub fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let diff = line_diff(old, new);
    let lines = || diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let come = lines().filter(|it| matches!(it, LineChange::Added(_)));
    let gone = lines().filter(|it| matches!(it, LineChange::Removed(_)));
    (come.count(), gone.count())
}

/// On a number for each different line.
fn compared(old: &[&str], new: &[&str], deadline: Instant) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|line| number(*line)).collect();
    let new: Vec<usize> = new.iter().map(|line| number(*line)).collect();
    let (old, new) = (&*old, &*new);
    let mut captured = Compact::new(Replace::new(Capture::new()), old, new);
    let (olds, news) = (0..old.len(), 0..new.len());
    let Ok(()) = myers::diff_deadline(&mut captured, old, olds, new, news, Some(deadline));
    captured.into_inner().into_inner().into_ops()
}

fn hunk<'a>(ops: &[DiffOp], old: &[&'a str], new: &[&'a str]) -> Option<LineHunk<'a>> {
    let first = ops.first()?;
    let mut lines = vec![];
    for op in ops {
        let (gone, come) = (&old[op.old_range()], &new[op.new_range()]);
        if op.tag() == DiffTag::Equal {
            lines.extend(gone.iter().map(|line| LineChange::Same(line)));
        } else {
            lines.extend(gone.iter().map(|line| LineChange::Removed(line)));
            lines.extend(come.iter().map(|line| LineChange::Added(line)));
        }
    }
    Some(LineHunk {
        header: UnifiedHunkHeader::new(ops).to_string(),
        first: (first.old_range().start + 1, first.new_range().start + 1),
        lines,
    })
}

#[cfg(test)]
mod tests {
    use similar::TextDiff;

    use super::*;

    /// What the library itself makes of two texts.
    fn unified(old: &str, new: &str) -> String {
        let diff = TextDiff::from_lines(old, new);
        let mut unified = diff.unified_diff();
        let unified = unified.context_radius(CONTEXT_LINES);
        unified.missing_newline_hint(false).to_string()
    }

    fn ours(old: &str, new: &str) -> String {
        let mut text = String::new();
        for hunk in line_diff(old, new).hunks {
            text.push_str(&format!("{}\n", hunk.header));
            for line in hunk.lines {
                let (mark, line) = match line {
                    LineChange::Same(line) => (' ', line),
                    LineChange::Removed(line) => ('-', line),
                    LineChange::Added(line) => ('+', line),
                };
                let end = if line.ends_with(['\n', '\r']) {
                    ""
                } else {
                    "\n"
                };
                text.push_str(&format!("{mark}{line}{end}"));
            }
        }
        text
    }

    proptest::proptest! {
        #[test]
        fn it_is_the_unified_diff_of_both(
            old in "([a-d]{0,2}\r?\n){0,30}[ab]?",
            new in "([a-d]{0,2}\r?\n){0,30}[ab]?",
        ) {
            proptest::prop_assert_eq!(ours(&old, &new), unified(&old, &new));
        }
    }

    #[test]
    fn a_change_in_a_long_text_is_found_with_its_surroundings() {
        let old: String = (0..2000).map(|line| format!("{line}\n")).collect();
        let new = old.replace("\n1000\n", "\na thousand\n");
        let diff = line_diff(&old, &new);
        assert!(diff.is_exact);
        let [hunk] = &*diff.hunks else {
            panic!("{diff:?}");
        };
        assert_eq!(hunk.first, (998, 998));
        assert_eq!(hunk.header, "@@ -998,7 +998,7 @@");
        assert_eq!(hunk.lines[3], LineChange::Removed("1000\n"));
        assert_eq!(hunk.lines[4], LineChange::Added("a thousand\n"));
    }
}
