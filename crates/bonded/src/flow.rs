//! Prose that is shown while it is being written, broken into rows between words.
//!
//! A row that is full will not change any more and can be printed for good; the last one still grows. Code is left as
//! it is: a line break that nobody wrote would be part of what somebody copies.

use crate::masking;
use crate::style::{columns, wrapped};

/// A line that is longer is given out as far as it has come: nothing that a model writes is kept without a bound.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Text on its way to rows.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// What follows the last row that was given out.
    line: String,
    /// Between the marks of a block of code.
    in_code: bool,
    has_begun: bool,
}

impl Flow {
    /// Takes the next piece and gives the rows that are finished. Whatever it holds is harmless afterwards.
    pub(crate) fn push(&mut self, piece: &str, room: usize) -> Vec<String> {
        let piece = masking::for_terminal(piece).replace('\t', "    ");
        let mut rows = vec![];
        let mut lines = piece.split('\n');
        self.line.push_str(lines.next().unwrap_or_default());
        for line in lines {
            rows.extend(self.end_line(room));
            self.line.push_str(line);
        }
        if self.line.len() > LINE_BYTES_MAX {
            rows.push(std::mem::take(&mut self.line));
        }
        if !self.is_code() && columns(&self.line) > room {
            // What follows may be the next word, so that the space before it is kept.
            let spaces = self.line[self.line.trim_end().len()..].to_owned();
            let mut all = wrapped(&self.line, room);
            self.line = all.pop().unwrap_or_default() + &spaces;
            rows.append(&mut all);
        }
        rows
    }

    /// The row that still grows; empty where none has begun.
    pub(crate) fn growing(&self) -> &str {
        self.line.trim_end()
    }

    /// Nothing follows.
    pub(crate) fn finish(&mut self, room: usize) -> Vec<String> {
        let rows = match self.line.trim().is_empty() {
            true => vec![],
            false => self.end_line(room),
        };
        *self = Self::default();
        rows
    }

    /// Empty lines before the first word are not shown.
    fn end_line(&mut self, room: usize) -> Vec<String> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_end();
        self.has_begun |= !line.is_empty();
        if !self.has_begun {
            return vec![];
        }
        let is_mark = line.trim_start().starts_with("```");
        let is_code = self.in_code || is_mark || line.starts_with("    ");
        self.in_code ^= is_mark;
        match is_code {
            true => vec![line.to_owned()],
            false => wrapped(line, room),
        }
    }

    fn is_code(&self) -> bool {
        self.in_code || self.line.starts_with("    ")
    }
}

/// A whole text as rows.
pub(crate) fn rows(text: &str, room: usize) -> Vec<String> {
    let mut flow = Flow::default();
    let mut rows = flow.push(text.trim_end(), room);
    rows.extend(flow.finish(room));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_the_same_however_the_text_is_cut() {
        let text = "\n\nThe century rule lacks its exception.\n\n```sh\nif [ $((year % 100)) -ne 0 ]; then\n```\n日本語の文章 🦀 end";
        let whole = rows(text, 16);
        assert_eq!(
            whole,
            [
                "The century rule",
                "lacks its",
                "exception.",
                "",
                "```sh",
                "if [ $((year % 100)) -ne 0 ]; then",
                "```",
                "日本語の文章 🦀",
                "end"
            ]
        );
        let letters: Vec<char> = text.chars().collect();
        for size in 1..40 {
            let mut flow = Flow::default();
            let mut found = vec![];
            for part in letters.chunks(size) {
                found.extend(flow.push(&part.iter().collect::<String>(), 16));
            }
            found.extend(flow.finish(16));
            assert_eq!(found, whole, "by {size}");
        }
    }

    #[test]
    fn nothing_drives_the_terminal_and_no_line_is_kept_without_a_bound() {
        let mut flow = Flow::default();
        flow.push("a\x1b[2Jb\u{202e}", 80);
        assert_eq!(flow.growing(), "a␛[2Jb\u{fffd}");
        let mut flow = Flow::default();
        flow.push("```\n", 80);
        for _ in 0..100 {
            flow.push(&"x".repeat(1000), 80);
            assert!(flow.growing().len() <= LINE_BYTES_MAX);
        }
    }
}
