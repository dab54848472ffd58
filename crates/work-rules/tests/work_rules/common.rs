//! Small trees, plans and items that are right in everything that a test is not about.

use std::collections::BTreeSet;
use std::sync::Arc;

use bonded_kernel::Hash;
use bonded_work_rules::{
    Child, Constraints, Directory, ItemId, Node, PlanContext, PlanFault, Tree, TreePath, WorkItem,
    WorkPlan,
};
use serde_json::{Value, json};

pub(crate) fn path(path: &str) -> TreePath {
    TreePath::new(path).expect("a path of a test")
}

pub(crate) fn id(id: &str) -> ItemId {
    ItemId::new(id).expect("an id of a test")
}

pub(crate) fn file(content: &str) -> Node {
    Node::File {
        mode: 0o644,
        bytes: content.len() as u64,
        content: Hash::of(content.as_bytes()),
    }
}

pub(crate) fn link(target: &str) -> Node {
    Node::Link {
        target: target.as_bytes().into(),
    }
}

pub(crate) fn directory(mode: u32) -> Node {
    Node::Directory { mode }
}

/// A tree of these nodes; directories that are not named have mode 755. Later ones win over earlier ones.
pub(crate) fn tree_of(nodes: &[(TreePath, Node)]) -> Tree {
    let refs: Vec<(Vec<&[u8]>, &Node)> = nodes
        .iter()
        .map(|(path, node)| (path.names().collect(), node))
        .collect();
    Tree::new(children(&refs))
}

fn children(nodes: &[(Vec<&[u8]>, &Node)]) -> Vec<(Box<[u8]>, Child)> {
    let names: BTreeSet<&[u8]> = nodes.iter().map(|(names, _)| names[0]).collect();
    let child = |name: &[u8]| {
        let here = nodes.iter().filter(|(names, _)| names[0] == name);
        let own = here.clone().rev().find(|(names, _)| names.len() == 1);
        let below: Vec<(Vec<&[u8]>, &Node)> = here
            .filter(|(names, _)| names.len() > 1)
            .map(|(names, node)| (names[1..].to_vec(), *node))
            .collect();
        match own {
            Some((_, Node::Directory { mode })) => directory_of(*mode, &below),
            Some((_, leaf)) if below.is_empty() => Child::Leaf((*leaf).clone()),
            _ => directory_of(0o755, &below),
        }
    };
    names
        .iter()
        .map(|name| ((*name).into(), child(name)))
        .collect()
}

fn directory_of(mode: u32, below: &[(Vec<&[u8]>, &Node)]) -> Child {
    Child::Directory(Arc::new(Directory::new(mode, children(below))))
}

/// A tree of files: path and content.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let nodes: Vec<(TreePath, Node)> = files
        .iter()
        .map(|(at, content)| (path(at), file(content)))
        .collect();
    tree_of(&nodes)
}

/// The least that makes an item.
pub(crate) fn minimal(id: &str) -> Value {
    json!({ "id": id, "agent_id": "agent-1", "description": "Do it." })
}

/// The least that makes an item, and what a test is about.
pub(crate) fn with(id: &str, more: &Value) -> Value {
    let mut item = minimal(id);
    for (key, value) in more.as_object().into_iter().flatten() {
        item[key] = value.clone();
    }
    item
}

pub(crate) fn read(value: &Value) -> Result<WorkPlan, Vec<PlanFault>> {
    let done = BTreeSet::from([id("done-before")]);
    let context = PlanContext {
        root: Some("/home/user/repo"),
        done: &done,
        defaults: Constraints::default(),
    };
    WorkPlan::from_value(value, &context)
}

pub(crate) fn plan(value: &Value) -> WorkPlan {
    read(value).expect("a good plan")
}

pub(crate) fn item(more: &Value) -> WorkItem {
    plan(&with("item", more)).items()[0].clone()
}

pub(crate) fn faults(value: &Value) -> Vec<String> {
    let faults = read(value).expect_err("a bad plan");
    faults.iter().map(ToString::to_string).collect()
}

pub(crate) fn levels(plan: &WorkPlan) -> Vec<Vec<&str>> {
    let levels = plan.levels().into_iter();
    levels
        .map(|level| level.into_iter().map(|item| item.id.as_str()).collect())
        .collect()
}
