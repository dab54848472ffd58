//! Modules that need each other: the strongly connected components of the graph of who names whom.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::modules::{Edge, Modules};
use crate::house::source::{Place, SourceFile};

/// The circles of one crate at one granularity, the largest first.
#[derive(Default)]
pub(crate) struct Circles {
    pub(crate) members: Vec<Vec<String>>,
    /// Who names whom in a circle, how often, and where first.
    pub(crate) links: Vec<(usize, Place)>,
}

impl Circles {
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn in_them(&self) -> usize {
        self.members.iter().map(Vec::len).sum()
    }

    pub(crate) fn largest(&self) -> usize {
        self.members.first().map_or(0, Vec::len)
    }
}

/// Among the top-level modules, and among all files.
pub(crate) fn find<'a>(files: impl Iterator<Item = &'a SourceFile>) -> [Circles; 2] {
    let modules = Modules::of(files);
    let edges = modules.edges();
    let nodes: BTreeSet<&Vec<String>> = modules.files().collect();
    [
        of_graph(&nodes, &edges, top),
        of_graph(&nodes, &edges, file),
    ]
}

/// The root names every module below it, and is no part of one.
fn top(module: &[String]) -> Option<String> {
    let [target, name, ..] = module else {
        return None;
    };
    match target.as_str() {
        "crate" => Some(name.clone()),
        _ => Some(format!("{target}::{name}")),
    }
}

fn file(module: &[String]) -> Option<String> {
    match module {
        [target, rest @ ..] if target == "crate" && !rest.is_empty() => Some(rest.join("::")),
        _ => Some(module.join("::")),
    }
}

fn of_graph(
    nodes: &BTreeSet<&Vec<String>>,
    edges: &[Edge],
    named: fn(&[String]) -> Option<String>,
) -> Circles {
    let names = nodes.iter().filter_map(|node| named(node));
    let mut graph: BTreeMap<String, BTreeSet<String>> =
        names.map(|name| (name, BTreeSet::new())).collect();
    let mut links: BTreeMap<(String, String), (usize, Place)> = BTreeMap::new();
    for edge in edges {
        let (Some(from), Some(to)) = (named(&edge.from), named(&edge.to)) else {
            continue;
        };
        if from == to {
            continue;
        }
        graph.entry(from.clone()).or_default().insert(to.clone());
        let first = || (0, edge.place.clone());
        links.entry((from, to)).or_insert_with(first).0 += 1;
    }
    let members = components(&graph);
    let links = inside(&members, links);
    Circles { members, links }
}

fn inside(
    members: &[Vec<String>],
    links: BTreeMap<(String, String), (usize, Place)>,
) -> Vec<(usize, Place)> {
    let is_inside = |from: &String, to: &String| {
        let mut circles = members.iter();
        circles.any(|circle| circle.contains(from) && circle.contains(to))
    };
    let mut found = vec![];
    for ((from, to), (count, mut place)) in links {
        if is_inside(&from, &to) {
            place.what = format!("{from} -> {to}");
            found.push((count, place));
        }
    }
    found
}

/// The components of at least two, by Tarjan's algorithm.
fn components(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut search = Search {
        graph,
        seen: BTreeMap::new(),
        open: vec![],
        found: vec![],
    };
    for node in graph.keys() {
        if !search.seen.contains_key(node.as_str()) {
            search.visit(node);
        }
    }
    let mut found = search.found;
    found.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    found
}

struct Search<'a> {
    graph: &'a BTreeMap<String, BTreeSet<String>>,
    /// When each node was first seen.
    seen: BTreeMap<&'a str, usize>,
    /// The nodes whose component is not known yet.
    open: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    /// Gives the earliest node that can be reached and is still open.
    fn visit(&mut self, node: &'a str) -> usize {
        let (at, depth) = (self.seen.len(), self.open.len());
        self.seen.insert(node, at);
        self.open.push(node);
        let mut earliest = at;
        for next in self.graph.get(node).into_iter().flatten() {
            match self.seen.get(next.as_str()) {
                None => earliest = earliest.min(self.visit(next)),
                Some(seen) if self.open.contains(&next.as_str()) => earliest = earliest.min(*seen),
                Some(_) => {}
            }
        }
        if earliest == at {
            let component = self.open.split_off(depth);
            if component.len() > 1 {
                let mut names: Vec<String> = component.into_iter().map(str::to_owned).collect();
                names.sort();
                self.found.push(names);
            }
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn circles(files: &[(&str, &str)]) -> Result<[Vec<String>; 2], Fault> {
        let parse = |(path, text): &(&str, &str)| SourceFile::parse("some", path, (*text).into());
        let files: Vec<SourceFile> = files.iter().map(parse).collect::<Result<_, _>>()?;
        let shown = |circles: Circles| circles.members.iter().map(|it| it.join(" ")).collect();
        Ok(find(files.iter()).map(shown))
    }

    #[test]
    fn modules_that_name_each_other_are_a_circle() -> Result<(), Fault> {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use c::C;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "fn f() { crate::d::g(); } pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
            ("d.rs", "pub fn g() { let _ = vec![crate::C]; }"),
        ];
        let [top, all] = circles(&files)?;
        assert_eq!(top, ["a b c d"]);
        assert_eq!(all, ["a b c d"]);
        Ok(())
    }

    #[test]
    fn one_way_is_no_circle_and_tests_make_none() -> Result<(), Fault> {
        let files = [
            ("lib.rs", "mod a; mod b; pub struct Root;"),
            ("a.rs", "use crate::b::B; use crate::Root; use std::fmt;"),
            (
                "b.rs",
                "pub struct B;\n#[cfg(test)] mod tests { use crate::a; }",
            ),
        ];
        assert_eq!(circles(&files)?, [vec![], Vec::<String>::new()]);
        Ok(())
    }

    #[test]
    fn files_of_one_top_level_module_can_be_a_circle() -> Result<(), Fault> {
        let files = [
            ("a.rs", "mod x; mod y; pub use x::X; pub use y::Y;"),
            ("a/x.rs", "use super::Y; pub struct X;"),
            ("a/y.rs", "use super::super::a::X; pub struct Y;"),
        ];
        let [top, all] = circles(&files)?;
        assert_eq!(top, Vec::<String>::new());
        assert_eq!(all, ["a::x a::y"]);
        Ok(())
    }
}
