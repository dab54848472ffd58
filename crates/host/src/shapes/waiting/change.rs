//! What a call that waits would make of a file, as a person reads it: a unified diff.
//!
//! It is computed at the moment of asking from the file as it is then. Who asks computes it again before the answer
//! counts: two that are equal are of the same file with the same content. Every letter of a line can be seen, tabs
//! excepted, and a line that is too long to be read is cut and says so.

use std::path::Path;

use bonded_kernel::{Run, WaitingCall};
use bonded_tools::{Before, Preview, Workdir, preview};

use crate::letters::written_out;
use crate::line_diff::{LineChange, line_diff};
use crate::shapes::text::grouped;

/// A file that is larger is not compared line by line.
const COMPARED_BYTES_MAX: usize = 1024 * 1024;
/// Nobody reads a longer line in a diff.
const LINE_CHARS_MAX: usize = 400;
/// What calls of the built-in file tools share.
const FILES: &str = "files";

/// What would become of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    preview: Preview,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is in the diff.
    pub kind: DiffKind,
    /// With its mark before it, every letter to be seen; never a line break.
    pub text: String,
    /// Whether something of it is left out.
    pub is_cut: bool,
}

/// What a line is in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// Where in the file the next lines are.
    Hunk,
    /// It stays.
    Same,
    /// It goes.
    Removed,
    /// It comes.
    Added,
    /// A word about the file, and no line of it.
    Note,
}

/// How much of a line is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineLength {
    /// All of it.
    Whole,
    /// Not more than a person reads in a diff.
    Readable,
}

/// What a call would make of its file, or why it will fail; nothing where it is no call of a built-in file tool, or
/// its directory is not the one that it would work in: items of plans work in copies.
pub fn change_of(run: &Run, call: &WaitingCall) -> Option<Result<FileChange, String>> {
    let spec = run.catalog().spec(&call.tool)?;
    let is_built_in = spec.resource.as_deref() == Some(FILES);
    if !is_built_in || run.config().item.is_some() {
        return None;
    }
    let workdir = Workdir::open(Path::new(&run.config().dir)).ok()?;
    let preview = preview(&workdir, &call.tool, &call.arguments)?;
    Some(
        preview
            .map(|preview| FileChange { preview })
            .map_err(|fault| written_out(&fault.message)),
    )
}

impl FileChange {
    /// Beneath the working directory, as it is on the disk.
    pub fn path(&self) -> &str {
        &self.preview.path
    }

    /// Whether the file is one that only a call which a person looked at may change.
    pub fn is_guarded(&self) -> bool {
        self.preview.is_guarded
    }

    /// The file now and then, where both are texts that are compared line by line; nothing before a new file.
    pub fn texts(&self) -> Option<(Option<&str>, &str)> {
        let after = std::str::from_utf8(&self.preview.after).ok();
        let after = after.filter(|_| is_small(&self.preview.after))?;
        match &self.preview.before {
            Before::Missing => Some((None, after)),
            Before::Content(old) if is_small(old) => {
                Some((Some(std::str::from_utf8(old).ok()?), after))
            }
            Before::Content(_) | Before::Huge { .. } => None,
        }
    }

    /// Lines that come and lines that go.
    pub fn counts(&self) -> (usize, usize) {
        let lines = self.lines(LineLength::Readable);
        let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
        (count(DiffKind::Added), count(DiffKind::Removed))
    }

    /// The whole diff. Where the two cannot be compared, the notes say so, and what the file would hold is there.
    pub fn lines(&self, length: LineLength) -> Vec<DiffLine> {
        let (before, after) = (&self.preview.before, &self.preview.after);
        let new = std::str::from_utf8(after);
        let mut lines = vec![];
        match (before, new) {
            (Before::Content(old), _) if old == after => {
                lines.push(note("the file has this content already"));
            }
            (Before::Missing, Ok(new)) => {
                lines.push(note("a new file"));
                lines.extend(compared("", new, length));
            }
            (Before::Content(old), Ok(new)) if is_small(old) && is_small(after) => {
                match std::str::from_utf8(old) {
                    Ok(old) => lines.extend(compared(old, new, length)),
                    Err(_) => {
                        let bytes = grouped(old.len() as u64);
                        lines.push(note(&format!("replaces a binary file of {bytes} bytes by")));
                        lines.extend(compared("", new, length));
                    }
                }
            }
            (before, Ok(new)) => {
                let was = match before {
                    Before::Content(old) => old.len() as u64,
                    Before::Huge { bytes, .. } => *bytes,
                    Before::Missing => 0,
                };
                let (was, is) = (grouped(was), grouped(after.len() as u64));
                lines.push(note(&format!(
                    "too large to compare: {was} bytes now, {is} bytes then; the new content is"
                )));
                lines.extend(compared("", new, length));
            }
            (_, Err(_)) => {
                let bytes = grouped(after.len() as u64);
                lines.push(note(&format!("becomes a binary file of {bytes} bytes")));
            }
        }
        lines
    }
}

fn is_small(content: &[u8]) -> bool {
    content.len() <= COMPARED_BYTES_MAX
}

fn note(text: &str) -> DiffLine {
    DiffLine {
        kind: DiffKind::Note,
        text: text.to_owned(),
        is_cut: false,
    }
}

fn compared(old: &str, new: &str, length: LineLength) -> Vec<DiffLine> {
    let mut lines = vec![];
    for hunk in line_diff(old, new).hunks {
        lines.push(DiffLine {
            kind: DiffKind::Hunk,
            text: hunk.header,
            is_cut: false,
        });
        for change in hunk.lines {
            let (kind, mark, line) = match change {
                LineChange::Same(line) => (DiffKind::Same, ' ', line),
                LineChange::Removed(line) => (DiffKind::Removed, '-', line),
                LineChange::Added(line) => (DiffKind::Added, '+', line),
            };
            lines.push(shown(kind, mark, line, length));
            if !line.ends_with(['\n', '\r']) {
                lines.push(note("\\ No newline at end of file"));
            }
        }
    }
    lines
}

/// A tab is what it is in every diff; every other letter that is not seen is written out.
fn shown(kind: DiffKind, mark: char, line: &str, length: LineLength) -> DiffLine {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let chars = line.chars().count();
    let is_cut = length == LineLength::Readable && chars > LINE_CHARS_MAX;
    let end = line.char_indices().nth(LINE_CHARS_MAX);
    let kept = match end {
        Some((end, _)) if is_cut => &line[..end],
        _ => line,
    };
    let parts: Vec<String> = kept.split('\t').map(written_out).collect();
    let mut text = format!("{mark}{}", parts.join("\t"));
    if is_cut {
        text.push_str(&format!("… ({} characters)", grouped(chars as u64)));
    }
    DiffLine { kind, text, is_cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Before, after: &[u8]) -> FileChange {
        FileChange {
            preview: Preview {
                path: "a".into(),
                before,
                after: after.to_vec(),
                is_guarded: false,
            },
        }
    }

    fn texts(before: Before, after: &[u8]) -> Vec<String> {
        let lines = change(before, after).lines(LineLength::Readable);
        lines.into_iter().map(|line| line.text).collect()
    }

    fn content(text: &str) -> Before {
        Before::Content(text.as_bytes().to_vec())
    }

    #[test]
    fn a_diff_shows_what_goes_and_what_comes_with_every_letter() {
        let changed = texts(content("a\nb\tc\nd\n"), "a\nb\u{202e}\r\nd".as_bytes());
        assert_eq!(
            changed,
            [
                "@@ -1,3 +1,3 @@",
                " a",
                "-b\tc",
                "-d",
                "+b\\u{202e}\\u{d}",
                "+d",
                "\\ No newline at end of file"
            ]
        );
        assert_eq!(change(content("a\n"), b"b\nc\n").counts(), (2, 1));
    }

    #[test]
    fn what_cannot_be_compared_says_so_and_shows_what_would_be_there() {
        let old = "x\n".repeat(COMPARED_BYTES_MAX);
        for (before, after, first) in [
            (Before::Missing, "new\n", "a new file"),
            (
                content("new\n"),
                "new\n",
                "the file has this content already",
            ),
            (
                Before::Content(vec![0xff; 1234]),
                "new\n",
                "replaces a binary file of 1,234 bytes by",
            ),
            (
                content(&old),
                "new\n",
                "too large to compare: 2,097,152 bytes now, 4 bytes then; the new content is",
            ),
        ] {
            let shown = texts(before, after.as_bytes());
            assert_eq!(shown[0], first);
            assert!(shown.len() == 1 || shown.last().is_some_and(|it| it == "+new"));
        }
    }

    #[test]
    fn a_line_that_nobody_reads_is_cut_and_says_how_long_it_is() {
        let long = format!("{}end\n", "é".repeat(1_000));
        let change = change(Before::Missing, long.as_bytes());
        let cut = change.lines(LineLength::Readable).pop().expect("a line");
        assert!(
            cut.is_cut && cut.text.ends_with("é… (1,003 characters)"),
            "{cut:?}"
        );
        let whole = change.lines(LineLength::Whole).pop().expect("a line");
        assert!(!whole.is_cut && whole.text.ends_with("éend"), "{whole:?}");
    }
}
