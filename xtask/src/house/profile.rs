//! Where the kernel asks what kind of run it has before it: each such branch outside of the profile's own module is a
//! rule that a new kind of run would have to be told about. What is asked of the profile itself, such as whether it
//! reports, is answered there and is no such branch; to match on its variants elsewhere is one.

use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprAssign, ExprBinary, ExprBlock, ExprCall, ExprClosure, ExprField, ExprIf,
    ExprLet, ExprMatch, ExprMethodCall, ExprTry, ExprWhile, Local, LocalInit, Macro, Member, Pat,
    Path,
};

use crate::house::source::{Place, SourceFile, arguments};

/// The fields and accessors by which the kind of a run is seen.
const NAMES: [&str; 3] = ["agent", "looping", "profile"];
/// Accessors of what only one kind of run has.
const ACCESSORS: [&str; 2] = ["loop_config", "loop_rules"];
/// Accessors whose answer is the branch itself.
const QUESTIONS: [&str; 2] = ["is_agent", "is_looping"];

/// The enums of the profile, whose variants tell the kinds of runs apart.
const ENUMS: [&str; 2] = ["Profile", "Standing"];

/// What only hands an option on.
const HANDS_ON: [&str; 8] = [
    "as_deref",
    "as_deref_mut",
    "as_mut",
    "as_ref",
    "clone",
    "cloned",
    "copied",
    "take",
];
/// What does one thing where there is something, and another where there is not.
const BRANCHES: [&str; 22] = [
    "and",
    "and_then",
    "filter",
    "filter_map",
    "into_iter",
    "is_none",
    "is_none_or",
    "is_some",
    "is_some_and",
    "iter",
    "iter_mut",
    "map",
    "map_or",
    "map_or_default",
    "map_or_else",
    "ok_or",
    "ok_or_else",
    "or",
    "or_else",
    "unwrap_or",
    "unwrap_or_default",
    "unwrap_or_else",
];

#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) branches: Vec<Place>,
    /// What is read and handed on without a branch there.
    pub(crate) reads: Vec<Place>,
}

pub(crate) fn find<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Asked {
    let mut found = Asked::default();
    for file in files.filter(|file| !is_profile(file)) {
        let mut finder = Finder {
            file,
            is_branch: false,
            found: &mut found,
        };
        finder.visit_file(&file.ast);
    }
    found.branches.sort();
    found.reads.sort();
    found
}

fn is_profile(file: &SourceFile) -> bool {
    file.module.iter().any(|name| name == "profile")
}

struct Finder<'a> {
    file: &'a SourceFile,
    /// Whether what is visited decides which way is gone.
    is_branch: bool,
    found: &'a mut Asked,
}

impl Finder<'_> {
    fn within(&mut self, is_branch: bool, expression: &Expr) {
        let outer = std::mem::replace(&mut self.is_branch, is_branch);
        self.visit_expr(expression);
        self.is_branch = outer;
    }

    fn note(&mut self, name: &str, span: proc_macro2::Span) {
        let place = self.file.place(span, name);
        match self.is_branch || QUESTIONS.contains(&name) {
            true => self.found.branches.push(place),
            false => self.found.reads.push(place),
        }
    }

    /// A pattern that names a variant tells the kinds apart, whatever the value is called that it is held against.
    fn note_variants<'a>(&mut self, patterns: impl Iterator<Item = &'a Pat>) {
        let named = patterns.filter_map(variant_in).next();
        if let Some((name, span)) = named {
            self.found.branches.push(self.file.place(span, name));
        }
    }

    /// An inner block, closure or call decides for itself.
    fn apart(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.is_branch, false);
        visit(self);
        self.is_branch = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_field(&mut self, node: &'ast ExprField) {
        if let Member::Named(name) = &node.member
            && NAMES.iter().any(|it| name == it)
        {
            self.note(&name.to_string(), name.span());
        }
        self.within(false, &node.base);
    }

    fn visit_expr_method_call(&mut self, node: &'ast ExprMethodCall) {
        let name = node.method.to_string();
        let known = [&NAMES[..], &ACCESSORS, &QUESTIONS].concat();
        if known.contains(&name.as_str()) {
            self.note(&name, node.method.span());
        }
        let hands_on = self.is_branch && HANDS_ON.contains(&name.as_str());
        let is_branch = hands_on || BRANCHES.contains(&name.as_str());
        self.within(is_branch, &node.receiver);
        node.args.iter().for_each(|it| self.within(false, it));
    }

    fn visit_expr_if(&mut self, node: &'ast ExprIf) {
        self.within(true, &node.cond);
        self.apart(|it| it.visit_block(&node.then_branch));
        if let Some((_, other)) = &node.else_branch {
            self.within(false, other);
        }
    }

    fn visit_expr_while(&mut self, node: &'ast ExprWhile) {
        self.within(true, &node.cond);
        self.apart(|it| it.visit_block(&node.body));
    }

    fn visit_expr_let(&mut self, node: &'ast ExprLet) {
        self.note_variants(std::iter::once(&*node.pat));
        self.within(true, &node.expr);
    }

    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        self.note_variants(node.arms.iter().map(|arm| &arm.pat));
        self.within(true, &node.expr);
        self.apart(|it| node.arms.iter().for_each(|arm| it.visit_arm(arm)));
    }

    fn visit_local(&mut self, node: &'ast Local) {
        self.note_variants(std::iter::once(&node.pat));
        visit::visit_local(self, node);
    }

    fn visit_local_init(&mut self, node: &'ast LocalInit) {
        self.within(node.diverge.is_some(), &node.expr);
        if let Some((_, other)) = &node.diverge {
            self.within(false, other);
        }
    }

    fn visit_expr_try(&mut self, node: &'ast ExprTry) {
        self.within(true, &node.expr);
    }

    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        let compares = matches!(node.op, BinOp::Eq(_) | BinOp::Ne(_));
        let is_branch = self.is_branch || compares;
        self.within(is_branch, &node.left);
        self.within(is_branch, &node.right);
    }

    /// What is set is not asked.
    fn visit_expr_assign(&mut self, node: &'ast ExprAssign) {
        if let Expr::Field(field) = &*node.left {
            self.within(false, &field.base);
        } else {
            self.within(false, &node.left);
        }
        self.within(false, &node.right);
    }

    fn visit_expr_call(&mut self, node: &'ast ExprCall) {
        self.apart(|it| visit::visit_expr_call(it, node));
    }

    fn visit_expr_closure(&mut self, node: &'ast ExprClosure) {
        self.apart(|it| visit::visit_expr_closure(it, node));
    }

    fn visit_expr_block(&mut self, node: &'ast ExprBlock) {
        self.apart(|it| visit::visit_expr_block(it, node));
    }

    fn visit_macro(&mut self, node: &'ast Macro) {
        let Ok(first) = node.parse_body_with(first_argument) else {
            return;
        };
        let is_matches = node.path.is_ident("matches");
        match is_matches {
            true => {
                let patterns = node.parse_body_with(matched_pattern);
                self.note_variants(patterns.iter());
                self.within(true, &first);
            }
            false => arguments(node).iter().for_each(|it| self.within(false, it)),
        }
    }
}

/// The rest can be a pattern, which is no expression.
fn first_argument(input: syn::parse::ParseStream<'_>) -> syn::Result<Expr> {
    let first = input.parse()?;
    let _: proc_macro2::TokenStream = input.parse()?;
    Ok(first)
}

/// The pattern of `matches!`, without its guard.
fn matched_pattern(input: syn::parse::ParseStream<'_>) -> syn::Result<Pat> {
    let _: Expr = input.parse()?;
    let _: syn::Token![,] = input.parse()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    let _: proc_macro2::TokenStream = input.parse()?;
    Ok(pattern)
}

/// The first variant of the profile's enums that a pattern names.
fn variant_in(pattern: &Pat) -> Option<(String, proc_macro2::Span)> {
    let mut search = Variants(None);
    search.visit_pat(pattern);
    search.0
}

struct Variants(Option<(String, proc_macro2::Span)>);

impl<'ast> Visit<'ast> for Variants {
    fn visit_path(&mut self, node: &'ast Path) {
        let names: Vec<String> = node
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let of_ours = |pair: &[String]| ENUMS.contains(&pair[0].as_str());
        if self.0.is_none() && names.windows(2).any(of_ours) {
            self.0 = node
                .segments
                .last()
                .map(|it| (names.join("::"), it.ident.span()));
        }
        visit::visit_path(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn lines(path: &str, body: &str) -> Result<[Vec<usize>; 2], Fault> {
        let text = format!("fn f(&self) {{{body}}}");
        let file = SourceFile::parse("kernel", path, text)?;
        let found = find(std::iter::once(&file));
        let lines = |places: Vec<Place>| places.iter().map(|it| it.line).collect();
        Ok([lines(found.branches), lines(found.reads)])
    }

    #[test]
    fn every_branch_on_the_kind_of_a_run_is_found() -> Result<(), Fault> {
        let body = "
            if self.run.config().agent.is_some() && x {}
            let Some(looping) = &mut self.looping else { return };
            match (&run.phase, &run.looping) { _ => {} }
            if let Some(x) = config.agent.as_deref() && y {}
            let nonce = self.how.agent().map_or(1, |agent| agent.nonce);
            let agents = &self.config().agent.as_ref()?.agents;
            let limits = Limits { keeps: run.is_looping() };
            let is_loop = run.profile() == Profile::Loop;
            assert!(matches!(self.run.looping, Some(_)), \"{}\", 1);
            let it = self
                .run
                .looping
                .map(|it| it.x);
        ";
        let lines = lines("step/ask.rs", body)?;
        assert_eq!(lines, [vec![2, 3, 4, 5, 6, 7, 8, 9, 10, 13], vec![]]);
        Ok(())
    }

    #[test]
    fn what_is_handed_on_or_set_is_no_branch() -> Result<(), Fault> {
        let body = "
            let agent = config.agent.as_deref();
            if fits(config.agent.as_deref()) {}
            run.looping = Some(3);
            if self.run.profile().reports() {}
            let x = Self { agent: None, looping };
        ";
        assert_eq!(lines("step.rs", body)?, [vec![], vec![2, 3, 5]]);
        Ok(())
    }

    #[test]
    fn a_pattern_that_names_a_variant_of_the_profile_is_a_branch() -> Result<(), Fault> {
        let body = "
            match &self.standing { Standing::Loop(_) => 1, Standing::Plain(_) | Standing::Agent(_) => 2 };
            let Standing::Loop(it) = it else { return };
            if let Some(crate::profile::Profile::Agent(it)) = x {}
            let is_loop = matches!(x, Profile::Loop(_) if y);
            let other = matches!(x, Kind::Loop(_));
            let made = Profile::of(config);
        ";
        assert_eq!(lines("step.rs", body)?, [vec![2, 3, 4, 5], vec![]]);
        Ok(())
    }

    #[test]
    fn the_profile_itself_may_ask() -> Result<(), Fault> {
        let body = "if config.agent.is_some() {}";
        for path in ["profile.rs", "run/profile.rs", "profile/agent.rs"] {
            assert_eq!(lines(path, body)?, [vec![], Vec::<usize>::new()], "{path}");
        }
        Ok(())
    }
}
