//! Names: those that several modules give to types of their own, and words that say little.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{ItemEnum, ItemMod, ItemStruct, ItemTrait, ItemType};

use crate::house::source::SourceFile;

/// More modules than this with a type of one name are told.
const SAME_NAME_MAX: usize = 2;

/// The names that are defined in many modules, with the modules, the most frequent first.
pub(crate) fn types<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Vec<(String, Vec<String>)> {
    let mut finder = Finder::default();
    for file in files {
        finder.module = vec![file.crate_name.clone()];
        finder.module.extend(file.module.iter().skip(1).cloned());
        finder.visit_file(&file.ast);
    }
    let mut names: Vec<(String, Vec<String>)> = finder.found.into_iter().collect();
    names.iter_mut().for_each(|(_, modules)| modules.dedup());
    names.retain(|(_, modules)| modules.len() > SAME_NAME_MAX);
    names.sort_by_key(|(_, modules)| std::cmp::Reverse(modules.len()));
    names
}

#[derive(Default)]
struct Finder {
    module: Vec<String>,
    found: BTreeMap<String, Vec<String>>,
}

impl Finder {
    fn take(&mut self, name: &Ident) {
        let modules = self.found.entry(name.to_string()).or_default();
        modules.push(self.module.join("::"));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_struct(&mut self, node: &'ast ItemStruct) {
        self.take(&node.ident);
    }

    fn visit_item_enum(&mut self, node: &'ast ItemEnum) {
        self.take(&node.ident);
    }

    fn visit_item_trait(&mut self, node: &'ast ItemTrait) {
        self.take(&node.ident);
    }

    fn visit_item_type(&mut self, node: &'ast ItemType) {
        self.take(&node.ident);
    }

    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        self.module.push(node.ident.to_string());
        syn::visit::visit_item_mod(self, node);
        self.module.pop();
    }
}

pub(crate) const WORDS: [&str; 3] = ["said", "told", "usual"];

/// How often each word is a part of a name, and how often it is in a comment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) in_code: [usize; WORDS.len()],
    pub(crate) in_comments: [usize; WORDS.len()],
}

pub(crate) fn words<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Words {
    let mut words = Words::default();
    for file in files {
        in_code(file, file.tokens.clone(), &mut words.in_code);
        in_comments(file, &mut words.in_comments);
    }
    words
}

fn in_code(file: &SourceFile, tokens: TokenStream, counts: &mut [usize; WORDS.len()]) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => in_code(file, group.stream(), counts),
            TokenTree::Ident(name) if !file.is_for_tests(name.span().start().line) => {
                add(&split_capitals(&name.to_string()), counts);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// `UsualLimits` as `Usual Limits`.
fn split_capitals(name: &str) -> String {
    let mut split = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            split.push(' ');
        }
        split.push(letter);
    }
    split
}

fn in_comments(file: &SourceFile, counts: &mut [usize; WORDS.len()]) {
    for comment in &file.comments {
        let line = 1 + file.text[..comment.range.start].matches('\n').count();
        if !file.is_for_tests(line) {
            add(&file.text[comment.range.clone()], counts);
        }
    }
}

fn add(text: &str, counts: &mut [usize; WORDS.len()]) {
    for part in text.split(|it: char| !it.is_alphanumeric()) {
        let known = WORDS
            .iter()
            .position(|word| part.eq_ignore_ascii_case(word));
        if let Some(at) = known {
            counts[at] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn words_are_counted_in_names_and_apart_in_comments() -> Result<(), Fault> {
        let text = "/// Told what was said.\nfn was_said(said: UsualSaid) { let unusual = \"told\"; }\n\
                    #[cfg(test)]\nmod tests { fn said() {} }";
        let file = SourceFile::parse("some", "a.rs", text.to_owned())?;
        let expected = Words {
            in_code: [3, 0, 1],
            in_comments: [1, 1, 0],
        };
        assert_eq!(words(std::iter::once(&file)), expected);
        Ok(())
    }

    #[test]
    fn names_in_three_modules_are_told() -> Result<(), Fault> {
        let parse = |path| SourceFile::parse("some", path, "struct A; enum B {}".to_owned());
        let (one, two) = (parse("one.rs")?, parse("two.rs")?);
        let three = "mod inner { type A = u8; }".to_owned();
        let three = SourceFile::parse("other", "lib.rs", three)?;
        let modules = ["some::one", "some::two", "other::inner"].map(str::to_owned);
        let found = types([&one, &two, &three].into_iter());
        assert_eq!(found, [("A".to_owned(), modules.to_vec())]);
        Ok(())
    }
}
