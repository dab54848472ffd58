//! Where a file's comments are: whatever lies between its tokens, and the tokens that a doc comment becomes.

use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// In bytes of the file.
    pub(crate) range: Range<usize>,
    pub(crate) is_doc: bool,
}

pub(crate) fn find(text: &str, tokens: &TokenStream) -> Vec<Comment> {
    let lines = text.split_inclusive('\n').scan(0, |start, line| {
        let here = *start..*start + line.len();
        *start = here.end;
        Some(here)
    });
    let mut finder = Finder {
        text,
        lines: lines.collect(),
        end: 0,
        found: vec![],
    };
    finder.walk(tokens);
    finder.gap(text.len());
    finder.found
}

struct Finder<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    /// Of the token that was seen last.
    end: usize,
    found: Vec<Comment>,
}

impl Finder<'_> {
    fn walk(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            let range = self.range(token.span());
            if is_comment(&self.text[range.clone()]) {
                self.doc(range);
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    self.pass(group.span_open());
                    self.walk(&group.stream());
                    self.pass(group.span_close());
                }
                other => self.pass(other.span()),
            }
        }
    }

    /// A span knows its own bytes too, but counts the file's letters for each anew.
    fn range(&self, span: Span) -> Range<usize> {
        self.byte(span.start())..self.byte(span.end())
    }

    fn byte(&self, at: LineColumn) -> usize {
        let Some(line) = self.lines.get(at.line - 1) else {
            return self.text.len();
        };
        let text = &self.text[line.clone()];
        if text.is_ascii() {
            return line.start + at.column;
        }
        let letters = text.char_indices().map(|(byte, _)| byte);
        line.start + letters.chain([text.len()]).nth(at.column).unwrap_or(0)
    }

    /// A doc comment becomes several tokens, all of them where it stands.
    fn doc(&mut self, range: Range<usize>) {
        if range.start < self.end {
            return;
        }
        self.gap(range.start);
        self.end = range.end;
        self.found.push(Comment {
            range,
            is_doc: true,
        });
    }

    fn pass(&mut self, span: Span) {
        let range = self.range(span);
        self.gap(range.start);
        self.end = self.end.max(range.end);
    }

    fn gap(&mut self, until: usize) {
        let mut at = self.end;
        while let Some(gap) = self.text.get(at..until) {
            let rest = gap.trim_start();
            at += gap.len() - rest.len();
            let len = match rest.split_at_checked(2) {
                Some(("//", _)) => rest.find('\n'),
                Some(("/*", _)) => rest.find("*/").map(|end| end + 2),
                _ => break,
            };
            let range = at..at + len.unwrap_or(rest.len());
            at = range.end;
            self.found.push(Comment {
                range,
                is_doc: false,
            });
        }
    }
}

fn is_comment(text: &str) -> bool {
    text.starts_with("//") || text.starts_with("/*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_and_text_that_looks_like_one_is_not() -> Result<(), String> {
        let text = "//! é\n// one\n// two\nfn a() { // three\n    \"// no\" }\n/// four\nfn b() {}\n/* five */";
        let tokens: TokenStream = text.parse().map_err(|why| format!("{why}"))?;
        let found = find(text, &tokens);
        let shown: Vec<(&str, bool)> = found
            .iter()
            .map(|it| (&text[it.range.clone()], it.is_doc))
            .collect();
        let expected = [
            ("//! é", true),
            ("// one", false),
            ("// two", false),
            ("// three", false),
            ("/// four", true),
            ("/* five */", false),
        ];
        assert_eq!(shown, expected);
        Ok(())
    }
}
