//! Public items without a doc comment.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Fields, ImplItem, ItemConst, ItemEnum, ItemFn, ItemImpl, ItemMod, ItemStatic,
    ItemStruct, ItemTrait, ItemType, TraitItem, Visibility,
};

use crate::house::source::{Place, SourceFile, joined};

#[derive(Default)]
pub(crate) struct Undocumented {
    /// Types, functions, methods, constants and modules.
    pub(crate) items: Vec<Place>,
    /// Fields and variants.
    pub(crate) members: Vec<Place>,
}

pub(crate) fn find(files: &[&SourceFile]) -> Undocumented {
    let mut found = Undocumented::default();
    let with_docs = files.iter().filter(|file| has_docs(&file.ast.attrs));
    let modules: BTreeSet<&Vec<String>> = with_docs.map(|file| &file.module).collect();
    for file in files {
        let mut finder = Finder {
            file,
            module: file.module.clone(),
            documented: &modules,
            found: &mut found,
        };
        finder.visit_file(&file.ast);
    }
    found
}

struct Finder<'a> {
    file: &'a SourceFile,
    module: Vec<String>,
    /// The modules whose files begin with docs.
    documented: &'a BTreeSet<&'a Vec<String>>,
    found: &'a mut Undocumented,
}

impl Finder<'_> {
    fn item(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &Ident) {
        if is_public(visibility) && !has_docs(attributes) {
            let place = self.file.place(name.span(), name.to_string());
            self.found.items.push(place);
        }
    }

    fn member(&mut self, attributes: &[Attribute], span: Span, name: Option<&Ident>) {
        if !has_docs(attributes) {
            let name = name.map(Ident::to_string).unwrap_or_default();
            self.found.members.push(self.file.place(span, name));
        }
    }

    fn fields(&mut self, fields: &Fields) {
        // The field of a type that only wraps another says nothing that the type does not.
        let Fields::Named(fields) = fields else {
            return;
        };
        for field in &fields.named {
            if is_public(&field.vis) {
                self.member(&field.attrs, field.span(), field.ident.as_ref());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        let path = joined(&self.module, &node.ident.to_string());
        if !self.documented.contains(&path) {
            self.item(&node.vis, &node.attrs, &node.ident);
        }
        let outer = std::mem::replace(&mut self.module, path);
        visit::visit_item_mod(self, node);
        self.module = outer;
    }

    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.item(&node.vis, &node.attrs, &node.sig.ident);
    }

    fn visit_item_const(&mut self, node: &'ast ItemConst) {
        self.item(&node.vis, &node.attrs, &node.ident);
    }

    fn visit_item_static(&mut self, node: &'ast ItemStatic) {
        self.item(&node.vis, &node.attrs, &node.ident);
    }

    fn visit_item_type(&mut self, node: &'ast ItemType) {
        self.item(&node.vis, &node.attrs, &node.ident);
    }

    fn visit_item_struct(&mut self, node: &'ast ItemStruct) {
        self.item(&node.vis, &node.attrs, &node.ident);
        if is_public(&node.vis) {
            self.fields(&node.fields);
        }
    }

    fn visit_item_enum(&mut self, node: &'ast ItemEnum) {
        self.item(&node.vis, &node.attrs, &node.ident);
        if !is_public(&node.vis) {
            return;
        }
        for variant in &node.variants {
            self.member(&variant.attrs, variant.ident.span(), Some(&variant.ident));
        }
    }

    fn visit_item_trait(&mut self, node: &'ast ItemTrait) {
        self.item(&node.vis, &node.attrs, &node.ident);
        for item in &node.items {
            if let TraitItem::Fn(function) = item {
                self.item(&node.vis, &function.attrs, &function.sig.ident);
            }
        }
    }

    /// What a trait asks for is documented there.
    fn visit_item_impl(&mut self, node: &'ast ItemImpl) {
        if node.trait_.is_some() {
            return;
        }
        for item in &node.items {
            match item {
                ImplItem::Fn(it) => self.item(&it.vis, &it.attrs, &it.sig.ident),
                ImplItem::Const(it) => self.item(&it.vis, &it.attrs, &it.ident),
                _ => {}
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn has_docs(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| it.path().is_ident("doc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn what_is_public_without_docs_is_found() -> Result<(), Fault> {
        let text = "pub mod a; pub mod b;\n/// One.\npub struct One { pub x: u8, y: u8 }\n\
                    pub enum Two { A, /// B.\n B }\npub(crate) fn three() {}\n\
                    impl One { pub fn four() {} fn five() {} }\nimpl Clone for One { fn clone() {} }";
        let root = SourceFile::parse("some", "lib.rs", text.to_owned())?;
        let a = SourceFile::parse("some", "a.rs", "//! A.".to_owned())?;
        let found = find(&[&root, &a]);
        let names = |all: Vec<Place>| all.into_iter().map(|it| it.what).collect::<Vec<_>>();
        assert_eq!(names(found.items), ["b", "Two", "four"]);
        assert_eq!(names(found.members), ["x", "A"]);
        Ok(())
    }
}
