//! What an import came to: what was taken, and what was not and why.
//!
//! A vault may have a hundred thousand files, and a person reads a screen: each kind is cut, and the last line has
//! the figures. Paths and reasons are written out, because names of files are anybody's.

use std::path::Path;

use bonded_host::letters::written_out;
use bonded_workspace::NoteFiles;

/// Of each kind so many are named; the rest is counted.
pub(super) const LINES_MAX: usize = 50;
/// So many endings are named, those that most files have first.
const ENDINGS_MAX: usize = 20;

/// The order is that of the counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NoteChange {
    /// The note was not there before.
    New,
    /// Something of it differed, or it was deleted and is back.
    Changed,
    /// Nothing was written.
    Same,
}

/// Lines are kept ready to be shown.
pub(super) struct Summary {
    /// By `NoteChange`.
    counts: [u64; 3],
    /// What the directory holds and nobody looks into, each with the reason.
    left_out: Vec<String>,
    /// Files that are no Markdown, counted by ending.
    others: Vec<String>,
    /// What should be a note and is none. These alone make the import incomplete.
    not_taken: Vec<String>,
    /// What a person should know of files that were taken in.
    notices: Vec<String>,
}

impl Summary {
    pub(super) fn new(found: &NoteFiles) -> Self {
        Self {
            counts: [0; 3],
            left_out: found
                .left_out
                .iter()
                .map(|it| line(&it.path, it.why))
                .collect(),
            others: others(found),
            not_taken: vec![],
            notices: vec![],
        }
    }

    pub(super) fn taken(&mut self, taken: NoteChange) {
        self.counts[taken as usize] += 1;
    }

    pub(super) fn not_taken(&mut self, path: &Path, why: &str) {
        self.not_taken.push(line(path, why));
    }

    /// Something about a file that was taken.
    pub(super) fn tell(&mut self, path: &Path, what: &str) {
        self.notices.push(line(path, what));
    }

    /// Whether a file that should be a note is none.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.not_taken.is_empty()
    }

    /// The figures stand last, where a person looks first.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![];
        let mut some = |kind: &str, all: &[String]| {
            let first = all.iter().take(LINES_MAX);
            lines.extend(first.map(|line| format!("{kind}{line}")));
            if all.len() > LINES_MAX {
                lines.push(format!("{kind}and {} more", all.len() - LINES_MAX));
            }
        };
        some("", &self.notices);
        some("left out: ", &self.left_out);
        if !self.others.is_empty() {
            some(
                "left out, because they are not Markdown: ",
                &[self.others.join(", ")],
            );
        }
        some("not imported: ", &self.not_taken);
        let [new, changed, same] = self.counts;
        let not_taken = match self.not_taken.len() {
            0 => String::new(),
            count => format!(", {count} not imported"),
        };
        lines.push(format!(
            "{new} new, {changed} changed, {same} unchanged{not_taken}"
        ));
        lines
    }
}

/// One line, whatever a path or a file's own words hold.
pub(super) fn line(path: &Path, what: &str) -> String {
    written_out(&format!("{}: {what}", path.display()))
}

/// How many files have which ending.
fn others(found: &NoteFiles) -> Vec<String> {
    let mut all: Vec<(&String, &u64)> = found.others.iter().collect();
    all.sort_by_key(|(ending, count)| (std::cmp::Reverse(**count), ending.as_str()));
    let named = all.iter().take(ENDINGS_MAX);
    let mut others: Vec<String> = named
        .map(|(ending, count)| match ending.as_str() {
            "" => format!("{count} without an extension"),
            ending => format!("{count} .{}", written_out(ending)),
        })
        .collect();
    let rest = all.get(ENDINGS_MAX..).unwrap_or_default();
    if !rest.is_empty() {
        let files: u64 = rest.iter().map(|(_, count)| **count).sum();
        others.push(format!("{files} with {} other extensions", rest.len()));
    }
    others
}
