//! What a run changed, as a patch: the form that `git apply` and `patch -p1` read.
//!
//! Lines are given as they are. Who shows them at a terminal makes them harmless.

use std::fmt::Write as _;
use std::path::Path;

use bonded_changes::Node;

use crate::changes::ChangedFile;
use crate::line_diff::{LineChange, changed_lines, line_diff};
use crate::shapes::waiting::change::DiffKind;

/// A larger text is not compared line by line.
const COMPARED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A line of a patch, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchLine {
    /// What it is.
    pub kind: DiffKind,
    /// With its mark before it.
    pub text: String,
}

/// The patch of one path.
pub fn lines(file: &ChangedFile) -> Vec<PatchLine> {
    let (from, to) = (&file.net.from, &file.net.to);
    if is_directory(from) || is_directory(to) {
        return vec![];
    }
    let (old, new) = (name("a/", &file.net.path), name("b/", &file.net.path));
    let mut lines = vec![note(format!("diff --git {old} {new}"))];
    lines.extend(modes(from, to).into_iter().map(note));
    let (before, after) = (text(from, &file.before), text(to, &file.after));
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(before), Some(after)) => {
            let missing = |node: &Node, name: &str| match node {
                Node::Absent => "/dev/null".to_owned(),
                Node::File(_) | Node::Directory { .. } | Node::Link { .. } | Node::Other => {
                    name.to_owned()
                }
            };
            // An empty file has no lines to show.
            lines.push(note(format!("--- {}", missing(from, &old))));
            lines.push(note(format!("+++ {}", missing(to, &new))));
            lines.extend(compared(before, after));
        }
        _ => {
            let size = |node: &Node| match node {
                Node::File(file) => file.bytes,
                Node::Absent | Node::Directory { .. } | Node::Link { .. } | Node::Other => 0,
            };
            let (was, is) = (size(from), size(to));
            lines.push(note(format!("Binary files {old} and {new} differ")));
            lines.push(note(format!("# {was} bytes before, {is} bytes after")));
        }
    }
    lines
}

/// Lines that come and lines that go, where both texts are known.
pub fn counts(file: &ChangedFile) -> Option<(usize, usize)> {
    let before = text(&file.net.from, &file.before)?;
    let after = text(&file.net.to, &file.after)?;
    Some(changed_lines(before, after))
}

fn is_directory(node: &Node) -> bool {
    matches!(node, Node::Directory { .. })
}

/// As git writes it: in quotes where a letter of it could be mistaken.
fn name(before: &str, path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if bytes.iter().all(is_plain) {
        return format!("{before}{}", path.display());
    }
    let mut quoted = format!("\"{before}");
    for byte in bytes {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            byte if is_plain(byte) => quoted.push(char::from(*byte)),
            byte => {
                // Writing to a text cannot fail.
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}

fn modes(from: &Node, to: &Node) -> Vec<String> {
    let mode = |node: &Node| match node {
        Node::File(file) => Some(match file.mode {
            Some(mode) if mode & 0o100 != 0 => "100755",
            _ => "100644",
        }),
        Node::Link { .. } => Some("120000"),
        Node::Absent | Node::Directory { .. } | Node::Other => None,
    };
    match (mode(from), mode(to)) {
        (None, Some(mode)) => vec![format!("new file mode {mode}")],
        (Some(mode), None) => vec![format!("deleted file mode {mode}")],
        (Some(from), Some(to)) if from != to => {
            vec![format!("old mode {from}"), format!("new mode {to}")]
        }
        _ => vec![],
    }
}

/// What is compared line by line; nothing stands for what is not there.
fn text<'a>(node: &Node, content: &'a Option<Vec<u8>>) -> Option<&'a str> {
    match (node, content) {
        (Node::Absent, _) => Some(""),
        (_, Some(content)) if content.len() <= COMPARED_BYTES_MAX && !content.contains(&0) => {
            std::str::from_utf8(content).ok()
        }
        _ => None,
    }
}

fn note(text: String) -> PatchLine {
    let kind = DiffKind::Note;
    PatchLine { kind, text }
}

fn compared(old: &str, new: &str) -> Vec<PatchLine> {
    let mut lines = vec![];
    for hunk in line_diff(old, new).hunks {
        lines.push(PatchLine {
            kind: DiffKind::Hunk,
            text: hunk.header,
        });
        for change in hunk.lines {
            let (kind, mark, line) = match change {
                LineChange::Same(line) => (DiffKind::Same, ' ', line),
                LineChange::Removed(line) => (DiffKind::Removed, '-', line),
                LineChange::Added(line) => (DiffKind::Added, '+', line),
            };
            let text = line.strip_suffix('\n').unwrap_or(line);
            lines.push(PatchLine {
                kind,
                text: format!("{mark}{text}"),
            });
            if !line.ends_with('\n') {
                lines.push(note("\\ No newline at end of file".to_owned()));
            }
        }
    }
    lines
}
