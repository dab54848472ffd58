//! A file of source, parsed, with what is only for its tests set apart.

use std::ops::RangeInclusive;

use proc_macro2::TokenStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ImplItem, Item, Macro, Meta, Token};

use crate::fault::Fault;
use crate::house::comments::{self, Comment};

/// The crate that is there for tests alone.
pub(crate) const TESTKIT: &str = "testkit";

pub(crate) struct SourceFile {
    pub(crate) crate_name: String,
    /// From the root of the checkout.
    pub(crate) path: String,
    /// The target first (`crate`, or `bin/NAME`), then the modules in it.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    pub(crate) tokens: TokenStream,
    /// Without what is only compiled for tests.
    pub(crate) ast: syn::File,
    pub(crate) comments: Vec<Comment>,
    /// Modules in files of their own that are only compiled for tests.
    pub(crate) test_modules: Vec<Vec<String>>,
    test_lines: Vec<RangeInclusive<usize>>,
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl SourceFile {
    /// `path` is that below the crate's `src`.
    pub(crate) fn parse(crate_name: &str, path: &str, text: String) -> Result<Self, Fault> {
        let shown = format!("crates/{crate_name}/src/{path}");
        let unread = |why: &dyn std::fmt::Display| Fault::unmeasured(format!("{shown}: {why}"));
        let tokens: TokenStream = text.parse().map_err(|why| unread(&why))?;
        let mut ast: syn::File = syn::parse2(tokens.clone()).map_err(|why| unread(&why))?;
        let mut tests = Tests::default();
        let module = module_of(path);
        tests.take_out(&module, &mut ast.items);
        Ok(Self {
            crate_name: crate_name.to_owned(),
            path: shown,
            module,
            comments: comments::find(&text, &tokens),
            text,
            tokens,
            ast,
            test_modules: tests.modules,
            test_lines: tests.lines,
        })
    }

    pub(crate) fn is_for_tests(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    pub(crate) fn is_shipped(&self) -> bool {
        self.crate_name != TESTKIT
    }

    pub(crate) fn place(&self, span: proc_macro2::Span, what: impl Into<String>) -> Place {
        Place {
            path: self.path.clone(),
            line: span.start().line,
            what: what.into(),
        }
    }
}

/// The module that a file is: `event/call.rs` is `crate::event::call`.
fn module_of(path: &str) -> Vec<String> {
    let bare = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Vec<String> = bare.split('/').map(str::to_owned).collect();
    let mut module = vec!["crate".to_owned()];
    if parts.len() > 1 && parts[0] == "bin" {
        module = vec![format!("bin/{}", parts[1])];
        parts.drain(..2);
    }
    let is_root = parts.len() == 1 && ["lib", "main"].contains(&parts[0].as_str());
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    module.extend(parts);
    module
}

#[derive(Default)]
struct Tests {
    modules: Vec<Vec<String>>,
    lines: Vec<RangeInclusive<usize>>,
}

impl Tests {
    fn take_out(&mut self, module: &[String], items: &mut Vec<Item>) {
        items.retain(|item| !self.takes(module, item));
        for item in items {
            match item {
                Item::Mod(inner) => {
                    let path = joined(module, &inner.ident.to_string());
                    if let Some((_, items)) = &mut inner.content {
                        self.take_out(&path, items);
                    }
                }
                Item::Impl(inner) => inner.items.retain(|item| !self.takes_method(item)),
                _ => {}
            }
        }
    }

    fn takes(&mut self, module: &[String], item: &Item) -> bool {
        if !attributes(item).iter().any(is_test) {
            return false;
        }
        if let Item::Mod(inner) = item
            && inner.content.is_none()
        {
            self.modules.push(joined(module, &inner.ident.to_string()));
        }
        self.lines.push(lines(item));
        true
    }

    fn takes_method(&mut self, item: &ImplItem) -> bool {
        let attributes = match item {
            ImplItem::Const(it) => &it.attrs,
            ImplItem::Fn(it) => &it.attrs,
            ImplItem::Type(it) => &it.attrs,
            _ => return false,
        };
        let is_test = attributes.iter().any(is_test);
        if is_test {
            self.lines.push(lines(item));
        }
        is_test
    }
}

fn lines(spanned: &impl Spanned) -> RangeInclusive<usize> {
    let span = spanned.span();
    span.start().line..=span.end().line
}

pub(crate) fn joined(module: &[String], name: &str) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(name.to_owned());
    path
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Whether it is `#[cfg(test)]`, or `test` and more.
fn is_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let condition = list.tokens.to_string();
    let is_all = condition.starts_with("all") && condition.contains("test");
    list.path.is_ident("cfg") && (condition == "test" || is_all)
}

/// What a macro such as `format!` is called with. Nothing where it has a grammar of its own.
pub(crate) fn arguments(call: &Macro) -> Vec<Expr> {
    let parsed = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
    parsed.map_or_else(|_| vec![], |all| all.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_module_follows_from_its_place() {
        let expected = [
            ("lib.rs", "crate"),
            ("event.rs", "crate event"),
            ("event/mod.rs", "crate event"),
            ("event/main.rs", "crate event main"),
            ("bin/one.rs", "bin/one"),
            ("bin/two/main.rs", "bin/two"),
            ("bin/two/part.rs", "bin/two part"),
        ];
        for (path, module) in expected {
            assert_eq!(module_of(path).join(" "), module, "{path}");
        }
    }

    #[test]
    fn what_is_for_tests_alone_is_set_apart() -> Result<(), Fault> {
        let text = "fn one() {}\n\n#[cfg(test)]\nmod tests {\n    fn two() {}\n}\n\
                    #[cfg(not(test))]\nfn three() {}\n#[cfg(test)]\nmod far;\n";
        let file = SourceFile::parse("some", "a.rs", text.to_owned())?;
        assert_eq!(file.ast.items.len(), 2);
        assert_eq!(file.test_modules, [["crate", "a", "far"]]);
        let lines: Vec<usize> = (1..=10).filter(|it| file.is_for_tests(*it)).collect();
        assert_eq!(lines, [3, 4, 5, 6, 9, 10]);
        Ok(())
    }
}
