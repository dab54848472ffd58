//! Arms that take whatever is left of an enum of ours: a variant that is added later falls into them unseen.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, ExprMatch, ItemEnum, ItemImpl, ItemUse, Macro, Pat, Path, Type, UseTree};

use crate::house::source::{Place, SourceFile, arguments, joined};

/// The enums of the workspace, by their names, with their variants.
#[derive(Default)]
pub(crate) struct Enums(BTreeMap<String, BTreeSet<String>>);

impl Enums {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Self {
        let mut enums = Self::default();
        files.for_each(|file| enums.visit_file(&file.ast));
        enums
    }

    fn has(&self, name: &str, variant: &str) -> bool {
        self.0.get(name).is_some_and(|all| all.contains(variant))
    }
}

impl<'ast> Visit<'ast> for Enums {
    fn visit_item_enum(&mut self, node: &'ast ItemEnum) {
        let variants = self.0.entry(node.ident.to_string()).or_default();
        variants.extend(node.variants.iter().map(|it| it.ident.to_string()));
    }
}

#[derive(Default)]
pub(crate) struct Wildcards {
    /// Where the other arms are variants of an enum of ours.
    pub(crate) direct: Vec<Place>,
    /// Where such variants are inside tuples, options and the like.
    pub(crate) within: Vec<Place>,
}

pub(crate) fn find<'a>(files: impl Iterator<Item = &'a SourceFile>, enums: &Enums) -> Wildcards {
    let mut found = Wildcards::default();
    for file in files {
        let mut imports = Imports::default();
        imports.visit_file(&file.ast);
        let mut finder = Finder {
            file,
            enums,
            imports,
            self_type: None,
            found: &mut found,
        };
        finder.visit_file(&file.ast);
    }
    found
}

/// What a file imports, by the name that it has there.
#[derive(Default)]
struct Imports {
    paths: BTreeMap<String, Vec<String>>,
    globs: Vec<String>,
}

impl Imports {
    fn take(&mut self, before: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(it) => self.take(&joined(before, &it.ident.to_string()), &it.tree),
            UseTree::Name(it) => {
                let name = it.ident.to_string();
                self.paths.insert(name.clone(), joined(before, &name));
            }
            UseTree::Rename(it) => {
                let path = joined(before, &it.ident.to_string());
                self.paths.insert(it.rename.to_string(), path);
            }
            UseTree::Glob(_) => self.globs.extend(before.last().cloned()),
            UseTree::Group(it) => it.items.iter().for_each(|tree| self.take(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, node: &'ast ItemUse) {
        self.take(&[], &node.tree);
    }
}

struct Finder<'a> {
    file: &'a SourceFile,
    enums: &'a Enums,
    imports: Imports,
    self_type: Option<String>,
    found: &'a mut Wildcards,
}

impl Finder<'_> {
    /// Whether a path is that of a variant of ours.
    fn is_ours(&self, path: &[String]) -> bool {
        match path {
            [.., owner, variant] => self.is_variant(owner, variant),
            [name] => match self.imports.paths.get(name).map(Vec::as_slice) {
                Some([.., owner, variant]) => self.is_variant(owner, variant),
                _ => self
                    .imports
                    .globs
                    .iter()
                    .any(|it| self.is_variant(it, name)),
            },
            [] => false,
        }
    }

    fn is_variant(&self, owner: &str, variant: &str) -> bool {
        let owner = match (owner, &self.self_type) {
            ("Self", Some(name)) => name,
            (owner, _) => owner,
        };
        let renamed = self.imports.paths.get(owner).and_then(|path| path.last());
        self.enums.has(owner, variant) || renamed.is_some_and(|it| self.enums.has(it, variant))
    }

    fn is_direct(&self, pattern: &Pat) -> bool {
        match pattern {
            Pat::Guard(it) => self.is_direct(&it.pat),
            Pat::Paren(it) => self.is_direct(&it.pat),
            Pat::Reference(it) => self.is_direct(&it.pat),
            Pat::Or(it) => it.cases.iter().any(|it| self.is_direct(it)),
            Pat::Ident(it) => match &it.subpat {
                Some((_, pattern)) => self.is_direct(pattern),
                None => self.is_ours(&[it.ident.to_string()]),
            },
            Pat::Path(it) => self.is_ours(&names(&it.path)),
            Pat::Struct(it) => self.is_ours(&names(&it.path)),
            Pat::TupleStruct(it) => self.is_ours(&names(&it.path)),
            _ => false,
        }
    }

    fn is_within(&self, pattern: &Pat) -> bool {
        let mut inner = Inner {
            finder: self,
            is_ours: false,
        };
        // A guard is a question about something else.
        match pattern {
            Pat::Guard(it) => inner.visit_pat(&it.pat),
            other => inner.visit_pat(other),
        }
        inner.is_ours
    }

    fn judge(&mut self, wild: &Arm, others: &[&Arm]) {
        let what = match &wild.pat {
            Pat::Guard(_) => "_ if",
            _ => "_",
        };
        let place = self.file.place(wild.pat.span(), what);
        if others.iter().any(|arm| self.is_direct(&arm.pat)) {
            self.found.direct.push(place);
        } else if others.iter().any(|arm| self.is_within(&arm.pat)) {
            self.found.within.push(place);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_impl(&mut self, node: &'ast ItemImpl) {
        let outer = self.self_type.take();
        if let Type::Path(path) = &*node.self_ty {
            self.self_type = names(&path.path).pop();
        }
        visit::visit_item_impl(self, node);
        self.self_type = outer;
    }

    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        let (wild, others): (Vec<&Arm>, Vec<&Arm>) =
            node.arms.iter().partition(|arm| takes_all(&arm.pat));
        wild.into_iter().for_each(|arm| self.judge(arm, &others));
        visit::visit_expr_match(self, node);
    }

    fn visit_macro(&mut self, node: &'ast Macro) {
        let arguments = arguments(node);
        arguments.iter().for_each(|it| self.visit_expr(it));
    }
}

/// `_`, with or without a guard, and what means the same.
fn takes_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Guard(it) => takes_all(&it.pat),
        Pat::Paren(it) => takes_all(&it.pat),
        Pat::Or(it) => it.cases.iter().any(takes_all),
        Pat::Tuple(it) => !it.elems.is_empty() && it.elems.iter().all(takes_all),
        _ => false,
    }
}

/// Looks for a variant of ours anywhere in a pattern.
struct Inner<'a> {
    finder: &'a Finder<'a>,
    is_ours: bool,
}

impl<'ast> Visit<'ast> for Inner<'_> {
    fn visit_pat(&mut self, node: &'ast Pat) {
        self.is_ours |= self.finder.is_direct(node);
        visit::visit_pat(self, node);
    }
}

fn names(path: &Path) -> Vec<String> {
    let segments = path.segments.iter();
    segments.map(|segment| segment.ident.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn lines(text: &str) -> Result<[Vec<usize>; 2], Fault> {
        let kinds = "pub enum Kind { A, B(u8), C { x: u8 } }";
        let file = SourceFile::parse("some", "a.rs", text.to_owned())?;
        let other = SourceFile::parse("other", "kind.rs", kinds.to_owned())?;
        let enums = Enums::of([&file, &other].into_iter());
        let found = find(std::iter::once(&file), &enums);
        let lines = |places: Vec<Place>| places.iter().map(|it| it.line).collect();
        Ok([lines(found.direct), lines(found.within)])
    }

    #[test]
    fn an_arm_that_takes_what_is_left_of_an_enum_of_ours_is_found() -> Result<(), Fault> {
        let text = "use other::Kind as K;\nuse other::Kind::*;\nfn f(k: K) {\n\
            match k { K::A => 1,\n _ => 2 };\n\
            match k { other::Kind::B(_) if x => 1,\n _ if y => 2,\n z => 3 };\n\
            match k { A => 1,\n _ => 2 };\n\
            match (k, 1) { (K::C { .. }, 1) => 1,\n _ => 2 };\n\
            g(format!(\"{}\", match &k { K::A | K::B(_) => 1,\n _ => 2 }));\n}\n\
            enum Own { X, Y }\nimpl Own { fn g(&self) { match self { Self::X => 1,\n _ => 2 } } }";
        assert_eq!(lines(text)?, [vec![5, 7, 10, 14, 18], vec![12]]);
        Ok(())
    }

    #[test]
    fn arms_of_other_matches_are_left_alone() -> Result<(), Fault> {
        let text = "use other::Kind;\nfn f(k: Kind) {\n\
            match k { Kind::A => 1, Kind::B(_) => 2, Kind::C { .. } => 3 };\n\
            match 3 { 1 => 1, _ => 2 };\n\
            match order { Ordering::Less => 1, _ => 2 };\n\
            match k.kind() { ErrorKind::A => 1, Kind::NONE => 3, _ => 2 };\n}\n\
            #[cfg(test)]\nmod tests { fn f(k: Kind) { match k { Kind::A => 1, _ => 2 } } }";
        assert_eq!(lines(text)?, [vec![], Vec::<usize>::new()]);
        Ok(())
    }
}
