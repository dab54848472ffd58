//! Lines: what ships, what tests it, what of it is comments, and the functions and files that are long.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::house::source::{Place, SourceFile};

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 400;

#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) shipped: usize,
    /// Of those that are shipped.
    pub(crate) docs: usize,
    pub(crate) comments: usize,
    pub(crate) for_tests: usize,
}

pub(crate) fn count<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Lines {
    let mut lines = Lines::default();
    for file in files {
        count_file(file, &mut lines);
    }
    lines
}

fn count_file(file: &SourceFile, lines: &mut Lines) {
    let mut start = 0;
    for (at, line) in file.text.split_inclusive('\n').enumerate() {
        let first = start + line.len() - line.trim_start().len();
        start += line.len();
        if !file.is_shipped() || file.is_for_tests(at + 1) {
            lines.for_tests += 1;
            continue;
        }
        lines.shipped += 1;
        let mut comments = file.comments.iter();
        let is_blank = line.trim().is_empty();
        if let Some(comment) = comments.find(|it| !is_blank && it.range.contains(&first)) {
            lines.comments += 1;
            lines.docs += usize::from(comment.is_doc);
        }
    }
}

#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) all: usize,
    pub(crate) long: Vec<Place>,
}

pub(crate) fn functions<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Functions {
    let mut found = Functions::default();
    for file in files {
        let mut finder = Finder {
            file,
            found: &mut found,
        };
        finder.visit_file(&file.ast);
    }
    found
}

struct Finder<'a> {
    file: &'a SourceFile,
    found: &'a mut Functions,
}

impl Finder<'_> {
    fn take(&mut self, signature: &Signature, block: &Block) {
        self.found.all += 1;
        let span = signature.span();
        let lines = block.brace_token.span.close().end().line + 1 - span.start().line;
        if lines > FUNCTION_LINES_MAX {
            let what = format!("{lines} lines: {}", signature.ident);
            self.found.long.push(self.file.place(span, what));
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.take(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.take(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast TraitItemFn) {
        if let Some(block) = &node.default {
            self.take(&node.sig, block);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

/// The files that are long, with the tests in them.
pub(crate) fn heavy<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Vec<Place> {
    let mut heavy = vec![];
    for file in files {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            heavy.push(Place {
                path: file.path.clone(),
                line: lines,
                what: String::new(),
            });
        }
    }
    heavy.sort_by_key(|it| std::cmp::Reverse(it.line));
    heavy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn lines_are_counted_by_what_they_are_for() -> Result<(), Fault> {
        let text = "//! One.\n\n// Two.\nfn a() {\n    let b = \"\n    // no\";\n} // three\n\
                    #[cfg(test)]\nmod tests {\n    // Four.\n}\n";
        let file = SourceFile::parse("some", "a.rs", text.to_owned())?;
        let lines = count(std::iter::once(&file));
        let found = [lines.shipped, lines.docs, lines.comments, lines.for_tests];
        assert_eq!(found, [7, 1, 2, 4]);
        Ok(())
    }

    #[test]
    fn a_function_is_long_by_its_own_lines() -> Result<(), Fault> {
        let body = |lines: usize| "\n".repeat(lines - 1);
        let text = format!("fn a() {{{}}}\nfn b() {{{}}}", body(70), body(71));
        let file = SourceFile::parse("some", "a.rs", text)?;
        let found = functions(std::iter::once(&file));
        assert_eq!(found.all, 2);
        let long: Vec<&str> = found.long.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(long, ["71 lines: b"]);
        Ok(())
    }
}
