//! Which module names which: the paths that each module writes, resolved to the module that defines what they name.
//!
//! A name that a module only passes on is followed to where it is from, so that what counts is who needs whom and not
//! through whose door.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, Path, UseTree, VisRestricted};

use crate::house::source::{Place, SourceFile, joined};

/// A path of re-exports longer than this goes in a circle.
const HOPS_MAX: usize = 16;

/// The modules of one crate, by their paths.
pub(crate) struct Modules(BTreeMap<Vec<String>, Scope>);

#[derive(Default)]
struct Scope {
    /// The file's module: an inline module lies in the file of another.
    file: Vec<String>,
    defined: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    mentions: Vec<(Vec<String>, Place)>,
}

/// One module's file names something that another's defines.
pub(crate) struct Edge {
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
    pub(crate) place: Place,
}

impl Modules {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Self {
        let mut modules = BTreeMap::new();
        for file in files {
            let mut reader = Reader {
                file,
                module: file.module.clone(),
                modules: &mut modules,
            };
            reader.enter(&file.ast.items);
            reader.visit_file(&file.ast);
        }
        Self(modules)
    }

    /// The modules of all files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Vec<String>> {
        self.0.values().map(|scope| &scope.file)
    }

    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges = vec![];
        for (module, scope) in &self.0 {
            for (path, place) in &scope.mentions {
                if let Some(to) = self.resolve(module, path, HOPS_MAX)
                    && let Some(target) = self.0.get(&to)
                    && target.file != scope.file
                {
                    edges.push(Edge {
                        from: scope.file.clone(),
                        to: target.file.clone(),
                        place: place.clone(),
                    });
                }
            }
        }
        edges
    }

    /// The module that defines what a path means where it is written. None for what is from another crate.
    fn resolve(&self, module: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(module[..1].to_vec(), rest, hops),
            "self" => self.descend(module.to_vec(), rest, hops),
            "super" => {
                let (_, parent) = module.split_last()?;
                match rest.first().is_some_and(|next| next == "super") {
                    true => self.resolve(parent, rest, hops),
                    false => self.descend(parent.to_vec(), rest, hops),
                }
            }
            _ if self.0.contains_key(&joined(module, first)) => {
                self.descend(joined(module, first), rest, hops)
            }
            _ => self.imported(module, path, hops),
        }
    }

    fn descend(&self, mut at: Vec<String>, path: &[String], hops: usize) -> Option<Vec<String>> {
        for (passed, name) in path.iter().enumerate() {
            let child = joined(&at, name);
            if self.0.contains_key(&child) {
                at = child;
                continue;
            }
            if self.0.get(&at)?.defined.contains(name) {
                return Some(at);
            }
            let imported = self.imported(&at, &path[passed..], hops);
            return Some(imported.unwrap_or(at));
        }
        Some(at)
    }

    /// What a path means whose first name the module imports.
    fn imported(&self, module: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let hops = hops.checked_sub(1)?;
        let (name, rest) = path.split_first()?;
        let scope = self.0.get(module)?;
        if let Some(import) = scope.imports.get(name) {
            let whole: Vec<String> = import.iter().chain(rest).cloned().collect();
            // `use x::y as x` names another crate, and not itself.
            return (import.first() != Some(name)).then(|| self.resolve(module, &whole, hops))?;
        }
        scope.globs.iter().find_map(|glob| {
            let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
            let from = self.resolve(module, glob, hops)?;
            self.knows(&from, name)
                .then(|| self.resolve(module, &whole, hops))?
        })
    }

    fn knows(&self, module: &[String], name: &str) -> bool {
        let is_here = |scope: &Scope| {
            scope.defined.contains(name)
                || scope.imports.contains_key(name)
                || !scope.globs.is_empty()
        };
        self.0.contains_key(&joined(module, name)) || self.0.get(module).is_some_and(is_here)
    }
}

struct Reader<'a> {
    file: &'a SourceFile,
    module: Vec<String>,
    modules: &'a mut BTreeMap<Vec<String>, Scope>,
}

impl Reader<'_> {
    fn scope(&mut self) -> &mut Scope {
        self.modules.entry(self.module.clone()).or_default()
    }

    fn enter(&mut self, items: &[Item]) {
        let file = self.file.module.clone();
        let scope = self.scope();
        scope.file = file;
        scope.defined.extend(items.iter().filter_map(defined));
    }

    fn mention(&mut self, path: Vec<String>, span: proc_macro2::Span) {
        let place = self.file.place(span, path.join("::"));
        self.scope().mentions.push((path, place));
    }

    fn import(&mut self, path: Vec<String>, name: Option<String>, span: proc_macro2::Span) {
        let scope = self.scope();
        match name {
            Some(name) => drop(scope.imports.insert(name, path.clone())),
            None => scope.globs.push(path.clone()),
        }
        self.mention(path, span);
    }

    fn import_tree(&mut self, before: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(it) => {
                self.import_tree(&joined(before, &it.ident.to_string()), &it.tree);
            }
            UseTree::Name(it) if it.ident == "self" => {
                self.import(before.to_vec(), before.last().cloned(), it.ident.span());
            }
            UseTree::Name(it) => {
                let name = it.ident.to_string();
                self.import(joined(before, &name), Some(name), it.ident.span());
            }
            UseTree::Rename(it) => {
                let path = match it.ident == "self" {
                    true => before.to_vec(),
                    false => joined(before, &it.ident.to_string()),
                };
                self.import(path, Some(it.rename.to_string()), it.ident.span());
            }
            UseTree::Glob(it) => self.import(before.to_vec(), None, it.star_token.spans[0]),
            UseTree::Group(it) => it
                .items
                .iter()
                .for_each(|tree| self.import_tree(before, tree)),
        }
    }

    /// The paths in what a macro is given, whatever its grammar.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<Ident> = vec![];
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention_all(&mut path);
                    }
                    path.push(ident);
                    colons = 0;
                }
                TokenTree::Punct(it) if it.as_char() == ':' => colons += 1,
                other => {
                    self.mention_all(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.scan(group.stream());
                    }
                }
            }
        }
        self.mention_all(&mut path);
    }

    /// One name alone is that of something here, or of an import that is a mention already.
    fn mention_all(&mut self, path: &mut Vec<Ident>) {
        let path = std::mem::take(path);
        if let [first, _, ..] = path.as_slice() {
            let names = path.iter().map(Ident::to_string).collect();
            self.mention(names, first.span());
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        let Some((_, items)) = &node.content else {
            return;
        };
        self.module.push(node.ident.to_string());
        self.enter(items);
        visit::visit_item_mod(self, node);
        self.module.pop();
    }

    fn visit_item_use(&mut self, node: &'ast ItemUse) {
        self.import_tree(&[], &node.tree);
    }

    fn visit_path(&mut self, node: &'ast Path) {
        let mut names = node.segments.iter().map(|it| it.ident.clone()).collect();
        self.mention_all(&mut names);
        visit::visit_path(self, node);
    }

    /// Who may see something is no need of it.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_macro(&mut self, node: &'ast Macro) {
        self.scan(node.tokens.clone());
        visit::visit_macro(self, node);
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}
